"""The socket of a page: one for each document, for the person who asked for the page, and for our script's messages."""

from __future__ import annotations

from typing import Any, Final

from explorer.web.serving.checked_socket import CheckedSocket
from explorer.web.serving.document_tokens import DocumentTokens
from explorer.web.serving.gate import Refusal
from explorer.web.serving.handlers import PageHandler
from explorer.web.serving.people.access import Access

__all__ = ["SIGNED_OUT", "Socket"]

SIGNED_OUT: Final = 4401
"""The code with which the socket of an ended login is closed; the page's script has words for it."""


class Socket(PageHandler, CheckedSocket):
    """A page's connection to its document.

    Attributes:
        login: The login session of the person.
    """

    SUPPORTED_METHODS = ("GET",)

    def __init__(self, application: Any, request: Any, **values: Any) -> None:
        super().__init__(application, request, **values)
        self.login = ""

    def initialize(self, access: Access, tokens: DocumentTokens, **_values: Any) -> None:  # type: ignore[override]  # as Tornado means it
        """Take who may come; Bokeh's part has taken its own values."""
        self._access = access
        self._tokens = tokens

    async def prepare(self) -> None:
        """Refuse whoever does not present the token of a document of their own, before there is a socket."""
        identity = self._access.identity(self.request)
        offered = [part.strip() for part in self.request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        if identity is None:
            self.answer_refusal(_NOT_SIGNED_IN)
            return
        document = self._tokens.document_of(offered[1], identity) if len(offered) == 2 else None
        if document is None or offered[0] != "bokeh":
            self.answer_refusal(_FOREIGN_TOKEN)
        elif not self.bokeh.take_document(document, self):
            self.answer_refusal(_OPEN_ALREADY)
        else:
            self.login = identity.session
            # The application asks the request of a document for its person.
            self.request.identity = identity  # type: ignore[attr-defined]

    @property
    def bokeh(self) -> Any:
        """The application, with Bokeh's part of it."""
        return self.application

    def check_origin(self, origin: str) -> bool:
        """Whether the origin may open a socket; the gate has answered that for every handler."""
        return bool(origin)

    def open(self) -> None:
        """Connect to the document."""
        self.bokeh.io_loop.add_callback(self._async_open, self._token)

    async def on_message(self, fragment: str | bytes) -> None:
        """Hear a part of a message, from a person who is still signed in."""
        if self.is_still_allowed():
            await super().on_message(fragment)

    def is_still_allowed(self) -> bool:
        """Whether the login session goes on; otherwise the socket is closed."""
        identity = self._access.identity(self.request)
        if identity is not None and identity.session == self.login:
            return True
        self.close(SIGNED_OUT, "signed out")
        return False

    def on_finish(self) -> None:
        """Let go of the document too where no socket came of the request."""
        if self.get_status() != 101:
            self.bokeh.release_document(self)
        super().on_finish()

    def on_close(self) -> None:
        """Let go of the document."""
        self.bokeh.release_document(self)
        super().on_close()


_NOT_SIGNED_IN: Final = Refusal(
    "Not signed in", "The page does not belong to a login of this browser.", "Reload the page."
)
_FOREIGN_TOKEN: Final = Refusal(
    "Foreign page",
    "The page was made by another server, for another login, or too long ago.",
    "Reload the page.",
)
_OPEN_ALREADY: Final = Refusal(
    "Page in use", "The page is connected to the server already, from another window.", "Open the address again."
)
