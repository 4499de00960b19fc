"""The server of ``panel serve``: once our file has run in it, our own application answers every request."""

from __future__ import annotations

from typing import Any, Final

from bokeh.server.tornado import BokehTornado
from tornado.httputil import HTTPServerRequest
from tornado.process import task_id
from tornado.routing import URLSpec
from tornado.web import RedirectHandler

from explorer.web.serving.application import ExplorerApplication
from explorer.web.serving.gate import Gate, PageRefusal
from explorer.web.serving.handlers import Refused
from explorer.web.serving.people.access import OpenAccess, Rights
from explorer.web.serving.public_urls import PublicUrl, default_port

_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104  # Panel does not report where it listens; the gate compares each request
_OURS: Final = "explorer_application"
_NO_LOGIN: Final = PageRefusal(
    "Login not supported",
    "Panel was started with a login, but these pages do not use the logins of Panel.",
    "Start the server with: delta-explorer serve ROOT --basic-auth FILE.",
)
_SEVERAL_PROCESSES: Final = PageRefusal(
    "Several processes",
    "Panel was started with --num-procs. A page and its socket must reach the same process, but any of them may "
    "answer.",
    "Start Panel with one process. For more, start several servers, each on a port of its own, behind a proxy that "
    "sends each visitor to the same one.",
)


def take_over(app: Any) -> None:
    """Let our application answer each request that Panel's server receives from now on.

    Panel passes its server to no application, so that the method that all its servers share is replaced.
    """

    def find_handler(self: BokehTornado, request: HTTPServerRequest, **values: Any) -> Any:
        ours = self.settings.get(_OURS)
        if ours is None:
            ours = self.settings[_OURS] = _application(self, app, _port(request))
        if task_id() is not None:
            return ours.get_handler_delegate(request, Refused, {"refusal": _SEVERAL_PROCESSES})
        if self.auth_provider.get_user or self.auth_provider.get_user_async:
            return ours.get_handler_delegate(request, Refused, {"refusal": _NO_LOGIN})
        return ours.find_handler(request, **values)

    BokehTornado.find_handler = find_handler  # type: ignore[method-assign,assignment]  # see above


def _application(panel: BokehTornado, app: Any, port: int) -> ExplorerApplication:
    """Return our application, started, with the addresses and origins of Panel's."""
    urls = [url for origin in panel.websocket_origins for url in _urls(origin, panel.prefix)]
    ours = ExplorerApplication(app, Gate(_EVERYWHERE, port, urls), OpenAccess(Rights()))
    # Panel names an application after its file.
    ours.wildcard_router.add_rules(
        [URLSpec(path, RedirectHandler, {"url": "./", "permanent": False}) for path in panel.app_paths if path != "/"]
    )
    ours.initialize(panel.io_loop)
    ours.start()
    return ours


def _port(request: HTTPServerRequest) -> int:
    """Return the port at which a request came in; 0 for a socket without one."""
    connection: Any = request.connection
    name = connection.stream.socket.getsockname()
    return int(name[1]) if isinstance(name, tuple) else 0


def _urls(origin: str, prefix: str) -> list[PublicUrl]:
    """Return the URLs of an origin, which Panel takes without a scheme; none for a pattern of several hosts."""
    name, _, port = origin.lower().rpartition(":") if ":" in origin else (origin.lower(), "", "")
    if "*" in origin or (port and not port.isdecimal()):
        return []
    return [
        PublicUrl(scheme, name, int(port) if port else default_port(scheme), prefix) for scheme in ("http", "https")
    ]
