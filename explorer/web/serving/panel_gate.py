"""The gate in the server of ``panel serve``, which is not ours: there, too, hosts, origins and messages are checked."""

from __future__ import annotations

import gc
from typing import Any, Final

from bokeh.document import Document
from bokeh.server.contexts import BokehSessionContext
from bokeh.server.tornado import BokehTornado
from panel.io.server import ComponentResourceHandler, DocHandler, RootHandler, WSHandler
from tornado.httputil import HTTPServerRequest
from tornado.web import StaticFileHandler

from explorer.web.serving.checked_socket import CheckedSocket
from explorer.web.serving.gate import Gate, Refusal
from explorer.web.serving.handlers import Refused
from explorer.web.serving.headers import SecurityHeaders
from explorer.web.serving.public_urls import PublicUrl, default_port
from explorer.web.serving.unknown_address import UnknownAddress

__all__ = ["guard_panel", "page_refusal"]

_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104  # Panel does not tell where it listens; the gate knows each address by itself
_OWN_FILES: Final = "explorer.web.page/Page/"


_applications: list[BokehTornado] = []
_NO_REQUEST: Final = Refusal("No request", "The page was not asked for by a browser.", "Open it in a browser.")


class PanelSocket(CheckedSocket, WSHandler):
    """Panel's socket, for our page's messages alone."""


def guard_panel() -> None:
    """Let the gate stand before every handler of Panel's server from now on."""
    unguarded = BokehTornado.find_handler
    # Panel hands its application to nobody, and it alone knows the origins that the server was started with.
    _applications.extend(found for found in gc.get_objects() if type(found) is BokehTornado)

    def find_handler(self: Any, request: HTTPServerRequest, **values: Any) -> Any:
        self.gate = _gate(self, request)
        if SecurityHeaders not in self.transforms:
            self.transforms.append(SecurityHeaders)
        if (refusal := self.gate.refusal(request)) is not None:
            return self.get_handler_delegate(request, Refused, {"refusal": refusal})
        found: Any = unguarded(self, request, **values)
        if not _is_offered(found.handler_class, request.path):
            return self.get_handler_delegate(request, UnknownAddress)
        if issubclass(found.handler_class, WSHandler):
            found.handler_class = PanelSocket
        return found

    BokehTornado.find_handler = find_handler  # type: ignore[method-assign]  # the one place before all of its handlers


def page_refusal(document: Document | None) -> Refusal | None:
    """Return why the request for a document is refused: the first one came before the gate was there."""
    context = None if document is None else document.session_context
    request: Any = context.request if isinstance(context, BokehSessionContext) else None
    if request is None:
        return _NO_REQUEST
    inner = request._request  # the headers of the proxy are those of the token
    refusal = _gate(None, inner).refusal(inner)
    if refusal is None:
        return None
    known = any(_gate(application, inner).refusal(inner) is None for application in _applications)
    return None if known else refusal


def _is_offered(handler: type[Any], path: str) -> bool:
    if issubclass(handler, ComponentResourceHandler):
        return _OWN_FILES in path
    return issubclass(handler, DocHandler | WSHandler | RootHandler | StaticFileHandler)


def _gate(application: Any, request: HTTPServerRequest) -> Gate:
    """The gate for a server that listens where the request came in, with the origins that Panel was started with."""
    connection: Any = request.connection
    stream = getattr(connection, "stream", None)
    port = 0 if stream is None or stream.socket is None else int(stream.socket.getsockname()[1])
    origins = set() if application is None else application.websocket_origins
    return Gate(_EVERYWHERE, port, [url for origin in origins for url in _urls(origin)])


def _urls(origin: str) -> list[PublicUrl]:
    """The URLs of an origin without a scheme, as Panel takes it; a pattern for several hosts is none."""
    name, _, port = origin.lower().rpartition(":") if ":" in origin else (origin.lower(), "", "")
    if "*" in origin or (port and not port.isdecimal()):
        return []
    return [PublicUrl(scheme, name, int(port) if port else default_port(scheme)) for scheme in ("http", "https")]
