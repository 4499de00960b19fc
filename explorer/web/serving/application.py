"""The Tornado application: the list of its addresses. The gate checks each request before any of them answers."""

from __future__ import annotations

from typing import Any, Final

from bokeh.core.types import ID
from bokeh.server.tornado import BokehTornado
from panel.io.application import build_applications
from tornado.httputil import HTTPServerRequest
from tornado.routing import URLSpec
from tornado.web import Application

from explorer.web.serving.documents import DocumentHandler, DocumentTokens
from explorer.web.serving.gate import Gate
from explorer.web.serving.handlers import Refused, UnknownAddress, static_routes
from explorer.web.serving.headers import SecurityHeaders
from explorer.web.serving.login import Login, Logout
from explorer.web.serving.people.access import Access, LoginAccess
from explorer.web.serving.people.failed_logins import FailedLogins
from explorer.web.serving.sockets import SIGNED_OUT, Socket

__all__ = ["ExplorerApplication"]

_LARGEST_MESSAGE: Final = 20 * 1024 * 1024
"""Bytes: a case file of eight million characters comes in one message."""


class ExplorerApplication(BokehTornado):
    """Bokeh's application with only our own addresses.

    Args:
        app: Makes the page of a request.
        gate: Refuses requests before any handler sees them.
        access: The people who may open the pages.

    Attributes:
        gate: As given.
    """

    def __init__(self, app: Any, gate: Gate, access: Access) -> None:
        applications = build_applications({"/": app}, title="Delta Table Explorer", location=False)
        super().__init__(
            applications,
            use_index=False,
            ico_path="none",
            websocket_max_message_size_bytes=_LARGEST_MESSAGE,
            default_handler_class=UnknownAddress,
        )
        self.transforms.append(SecurityHeaders)
        self.gate = gate
        self._sockets: dict[ID, Socket] = {}
        tokens, context = DocumentTokens(), self.applications["/"]
        # Addresses of Bokeh and Panel (the page as a script, its metadata, all files of a package) are dropped.
        self.wildcard_router.rules.clear()
        self.wildcard_router.add_rules(
            [
                URLSpec("/", DocumentHandler, {"access": access, "context": context, "tokens": tokens}),
                URLSpec("/ws", Socket, {"access": access, "application_context": context, "tokens": tokens}),
                *(URLSpec(pattern, handler, values) for pattern, handler, values in static_routes()),
            ]
        )
        if isinstance(access, LoginAccess):
            login = {"access": access, "failures": FailedLogins()}
            self.wildcard_router.add_rules(
                [URLSpec("/login", Login, login), URLSpec("/logout", Logout, {"access": access})]
            )

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """Return the handler of a request: the page of a refusal, or the handler of its address."""
        if (refusal := self.gate.refusal(request)) is not None:
            return self.get_handler_delegate(request, Refused, {"refusal": refusal})
        request.path = self.gate.inner_path(request.path) or "/"
        # Not that of BokehTornado, which `panel_server` replaces by this one.
        return Application.find_handler(self, request, **kwargs)

    def take_document(self, document: ID, socket: Socket) -> bool:
        """Reserve a document for a socket; return False if the document has another one."""
        return self._sockets.setdefault(document, socket) is socket

    def release_document(self, socket: Socket) -> None:
        """Release the document of a socket."""
        for document in [document for document, holder in self._sockets.items() if holder is socket]:
            del self._sockets[document]

    def close_sockets_of(self, session: str) -> None:
        """Close the open pages of a login session."""
        for socket in [socket for socket in self._sockets.values() if socket.login == session]:
            socket.close(SIGNED_OUT, "signed out")

    def _keep_alive(self) -> None:
        # Sockets that send nothing are checked, too, because they receive changes.
        for socket in list(self._sockets.values()):
            socket.is_still_allowed()
        super()._keep_alive()
