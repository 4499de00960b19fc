"""The Tornado application: what it answers is listed here, and the gate stands before all of it."""

from __future__ import annotations

import secrets
from typing import Any, Final

from bokeh.server.tornado import BokehTornado
from panel.io.application import build_applications
from panel.io.server import DocHandler, WSHandler
from tornado.httputil import HTTPServerRequest
from tornado.web import URLSpec

from explorer.web.serving.gate import Gate
from explorer.web.serving.handlers import Refused
from explorer.web.serving.static_files import static_routes
from explorer.web.serving.unknown_address import UnknownAddress

__all__ = ["ExplorerApplication"]

_LARGEST_MESSAGE: Final = 8 * 1024 * 1024


class ExplorerApplication(BokehTornado):
    """Bokeh's application with our own addresses alone.

    Args:
        app: Makes the page of a request.
        gate: Refuses requests before any handler sees them.
    """

    def __init__(self, app: Any, gate: Gate) -> None:
        applications = build_applications({"/": app}, title="Delta Table Explorer", location=False)
        super().__init__(
            applications,
            secret_key=secrets.token_bytes(32),
            sign_sessions=True,
            use_index=False,
            ico_path="none",
            websocket_max_message_size_bytes=_LARGEST_MESSAGE,
            default_handler_class=UnknownAddress,
        )
        self.gate = gate
        context = {"application_context": self.applications["/"], "bokeh_websocket_path": "/ws"}
        # What Bokeh and Panel list themselves (the page as a script, its metadata, every file of a package) is dropped.
        self.wildcard_router.rules.clear()
        self.wildcard_router.add_rules(
            [
                URLSpec("/", DocHandler, context),
                URLSpec("/ws", WSHandler, context),
                *(URLSpec(pattern, handler, values) for pattern, handler, values in static_routes()),
            ]
        )

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """Return what answers a request: the page of a refusal, or the handler of its address."""
        if (refusal := self.gate.refusal(request)) is not None:
            return self.get_handler_delegate(request, Refused, {"refusal": refusal})
        request.path = self.gate.inner_path(request.path) or "/"
        return super().find_handler(request, **kwargs)
