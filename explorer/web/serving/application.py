"""The Tornado application: its addresses, and the security and cache headers of every response.

The gate checks each request before a handler answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from bokeh.core.types import ID
from bokeh.server.tornado import BokehTornado
from panel.io.application import build_applications
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.routing import URLSpec
from tornado.web import Application, OutputTransform

from explorer.activity.event import Event
from explorer.activity.record import ActivityRecord
from explorer.page.host import Identity
from explorer.web.allocator import give_back
from explorer.web.html import nonce_of
from explorer.web.limits import ServerLimits
from explorer.web.recorder import Recorder
from explorer.web.serving.documents import DocumentHandler, DocumentTokens, open_pages
from explorer.web.serving.gate import Gate
from explorer.web.serving.handlers import HEALTH, Health, PageHandler, Refused, UnknownAddress, static_routes
from explorer.web.serving.login import Login, Logout
from explorer.web.serving.people.access import Access, LoginAccess
from explorer.web.serving.people.failed_logins import FailedLogins
from explorer.web.serving.sockets import SIGNED_OUT, Socket

# Only scripts with the nonce of their request run. There is no 'self' for scripts, because an injected element could
# name any of the libraries that Bokeh and Panel serve. There is no 'unsafe-eval': no call of `Function` or `eval` in
# Bokeh, Panel, or plotly is reached by these pages. static/first.js explains the styles. 'self' covers the WebSocket.
_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; "
    "worker-src 'none'; frame-ancestors 'none'"
)
# Other responses are not pages: opened in a window, they run nothing and load nothing.
_FILE_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
_ALWAYS: Final = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with "no-referrer", a form would send the Origin "null"
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": ", ".join(
        f"{feature}=()"
        for feature in (
            "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen", "geolocation",
            "gyroscope", "magnetometer", "microphone", "midi", "payment", "picture-in-picture",
            "publickey-credentials-get", "screen-wake-lock", "serial", "usb", "xr-spatial-tracking",
        )
    ) + ", clipboard-write=(self)",
}  # fmt: skip
_LASTING: Final = "public, max-age=31536000, immutable"


class SecurityHeaders(OutputTransform):
    """Sets the headers of every response of an application, whichever handler writes it."""

    def __init__(self, request: HTTPServerRequest) -> None:
        super().__init__(request)
        self._request = request

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002  # Tornado's signature
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Set the headers, replacing those of the handler."""
        is_page = headers.get("Content-Type", "").lower().startswith("text/html")
        for name in [name for name in headers if name == "Server" or name.startswith("Access-Control-")]:
            del headers[name]
        for name, value in _ALWAYS.items():
            headers[name] = value
        policy = _PAGE_POLICY.format(nonce=nonce_of(self._request)) if is_page else _FILE_POLICY
        headers["Content-Security-Policy"] = policy
        headers["Cache-Control"] = "no-store" if is_page else self._caching(status_code)
        headers.pop("Expires", None)
        return status_code, headers, chunk

    def _caching(self, status: int) -> str:
        """Return the caching of a file: a year if its address carries an edition, else revalidate."""
        is_file = "." in self._request.path.rpartition("/")[2]
        versioned = is_file and ("v" in self._request.query_arguments or self._request.path.startswith("/page/"))
        return _LASTING if versioned and status in {200, 206, 304} else "no-cache"


_LARGEST_MESSAGE: Final = 20 * 1024 * 1024
"""Bytes: a case file of eight million characters comes in one message."""


LoginPages: TypeAlias = Sequence[tuple[str, type[PageHandler]]]


class ExplorerApplication(BokehTornado):
    """Bokeh's application with only our own addresses.

    Args:
        app: Makes the page of a request.
        gate: Refuses requests before any handler sees them.
        access: The people who may open the pages.
        record: Where sign-ins are recorded; None for nowhere.
        login_pages: The addresses of single sign-on, and their handlers, which take ``access``.
        limits: What the people of the server have at the moment; None for a server without limits.

    Attributes:
        gate: As given.
    """

    def __init__(
        self,
        app: Any,
        gate: Gate,
        access: Access,
        record: ActivityRecord | None = None,
        login_pages: LoginPages = (),
        *,
        limits: ServerLimits | None = None,
    ) -> None:
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
        self._record = record
        self._sockets: dict[ID, Socket] = {}
        tokens, context = DocumentTokens(), self.applications["/"]
        if limits is not None:
            limits.open_pages = partial(open_pages, context)
        documents = {"access": access, "context": context, "tokens": tokens, "limits": limits}
        # Addresses of Bokeh and Panel (the page as a script, its metadata, all files of a package) are dropped.
        self.wildcard_router.rules.clear()
        self.wildcard_router.add_rules(
            [
                URLSpec("/", DocumentHandler, documents),
                URLSpec("/ws", Socket, {"access": access, "application_context": context, "tokens": tokens}),
                *(URLSpec(pattern, handler, values) for pattern, handler, values in static_routes()),
            ]
        )
        self.wildcard_router.add_rules([URLSpec(path, handler, {"access": access}) for path, handler in login_pages])
        if isinstance(access, LoginAccess):
            login = {"access": access, "failures": FailedLogins()}
            self.wildcard_router.add_rules(
                [URLSpec("/login", Login, login), URLSpec("/logout", Logout, {"access": access})]
            )

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """Return the handler of a request: the page of a refusal, or the handler of its address."""
        if self.gate.inner_path(request.path) == HEALTH:
            # A proxy asks the address of this machine that it knows, and gets the same answer whatever host it names.
            return self.get_handler_delegate(request, Health)
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

    def record(self, event: Event, identity: Identity) -> None:
        """Record that somebody signed in or out, or tried to."""
        recorder = Recorder(self._record, identity)
        if event.outcome == "refused":
            recorder.refused(event)
        else:
            recorder.after(event)

    def close_sockets_of(self, session: str) -> None:
        """Close the open pages of a login session."""
        for socket in [socket for socket in self._sockets.values() if socket.login == session]:
            socket.close(SIGNED_OUT, "signed out")

    def _keep_alive(self) -> None:
        # Sockets that send nothing are checked, too, because they receive changes.
        for socket in list(self._sockets.values()):
            socket.is_still_allowed()
        IOLoop.current().run_in_executor(None, give_back)
        super()._keep_alive()
