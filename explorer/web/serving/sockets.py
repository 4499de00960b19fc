"""The socket of a page: one for each document, only for its person, and only for the messages of our script."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Final

from bokeh.protocol.message import Message
from bokeh.server.views.ws import WSHandler

from explorer.web.serving.client_messages import MessageRate, RefusedMessage, check_message
from explorer.web.serving.documents import DocumentTokens
from explorer.web.serving.gate import PageRefusal
from explorer.web.serving.handlers import PageHandler
from explorer.web.serving.people.access import Access

_log = logging.getLogger(__name__)
_REFUSED: Final = 4400
"""The code with which the socket is closed; the script of the page explains it."""


class CheckedSocket(WSHandler):
    """Closes at the first message of another program, and never sends internal errors."""

    receiver: Any  # both exist once the socket is connected to its document
    connection: Any

    def __init__(self, application: Any, request: Any, **values: Any) -> None:
        super().__init__(application, request, **values)
        self._rate = MessageRate()

    async def on_message(self, fragment: str | bytes) -> None:
        """Receive a part of a message."""
        if not self._rate.takes(fragment):
            self.refuse("too many messages")
        elif self.receiver is not None:
            await super().on_message(fragment)

    def refuse(self, why: str) -> None:
        """Close the socket, and log the reason."""
        _log.warning("A socket was closed: %s (address %s)", why, self.request.remote_ip)
        self.close(_REFUSED, "message refused")

    async def _receive(self, fragment: str | bytes) -> Message[Any] | None:
        try:
            message = await self.receiver.consume(fragment)
            if message is not None:
                check_message(message, self.connection.session.document)
        except RefusedMessage as error:
            self.refuse(str(error))
        except Exception as error:  # noqa: BLE001  # Bokeh's parser can raise anything; the message is not of our script
            self.refuse(f"not a message of the page ({type(error).__name__})")
        else:
            return message  # type: ignore[no-any-return]  # Bokeh's receiver is untyped
        return None

    async def _handle(self, message: Message[Any]) -> Any:
        work = await super()._handle(message)
        if isinstance(work, Message) and work.msgtype == "ERROR":
            # Bokeh's answer contains the traceback, which is in the log already.
            self.refuse("a message that the document cannot take")
            return None
        return work


SIGNED_OUT: Final = 4401
"""The code with which the socket of an ended login is closed; the script of the page explains it."""


class Socket(PageHandler, CheckedSocket):
    """A page's connection to its document.

    Attributes:
        login: The login session of the person.
    """

    SUPPORTED_METHODS = ("GET",)

    def __init__(self, application: Any, request: Any, **values: Any) -> None:
        super().__init__(application, request, **values)
        self.login = ""
        self._person: tuple[str, tuple[str, ...]] = ("", ())

    def initialize(self, access: Access, tokens: DocumentTokens, **_values: Any) -> None:  # type: ignore[override]  # as Tornado means it
        """Take the arguments; the base class has taken its own."""
        self._access = access
        self._tokens = tokens

    async def prepare(self) -> None:
        """Refuse a request without the token of a document of the same person, before the socket opens."""
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
            self.login, self._person = identity.session, (identity.name, identity.groups)
            # The application reads the person from the request of a document.
            self.request.identity = replace(identity, address=self.client)  # type: ignore[attr-defined]

    @property
    def bokeh(self) -> Any:
        """The application, with Bokeh's part of it."""
        return self.application

    def check_origin(self, origin: str) -> bool:
        """Return whether the origin may open a socket; the gate has checked it for every handler."""
        return bool(origin)

    def open(self) -> None:
        """Connect to the document."""
        self.bokeh.io_loop.add_callback(self._async_open, self._token)

    async def on_message(self, fragment: str | bytes) -> None:
        """Receive a part of a message, if the person is still signed in."""
        if self.is_still_allowed():
            await super().on_message(fragment)

    def is_still_allowed(self) -> bool:
        """Return whether the login session continues; close the socket if not.

        It ends with the groups, too: what a page may show was decided by those that the person had when it was opened.
        """
        identity = self._access.identity(self.request)
        is_same = identity is not None and (identity.name, identity.groups) == self._person
        if identity is not None and identity.session == self.login and is_same:
            return True
        self.close(SIGNED_OUT, "signed out")
        return False

    def on_finish(self) -> None:
        """Release the document if the request did not open a socket."""
        if self.get_status() != 101:
            self.bokeh.release_document(self)
        super().on_finish()

    def on_close(self) -> None:
        """Release the document."""
        self.bokeh.release_document(self)
        # A ping that could not be sent has detached the document already.
        if self.connection is None or self.connection._session is not None:
            super().on_close()


_NOT_SIGNED_IN: Final = PageRefusal(
    "Not signed in", "The page does not belong to a login of this browser.", "Reload the page."
)
_FOREIGN_TOKEN: Final = PageRefusal(
    "Foreign page",
    "The page was made by another server, for another login, or too long ago.",
    "Reload the page.",
)
_OPEN_ALREADY: Final = PageRefusal(
    "Page in use", "The page is already connected to the server, from another window.", "Open the address again."
)
