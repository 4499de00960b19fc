"""The HTTP server, which limits the waiting connections and the time that each has to send its request."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Iterable
from typing import Any, Final

from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPConnection, HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets

from explorer.core.errors import RequestError

__all__ = ["MOST_WAITING", "REQUEST_SECONDS", "bind", "listen"]

MOST_WAITING: Final = 200
"""Connections that have not sent a full request. Beyond this number, the one that waits longest is closed."""
REQUEST_SECONDS: Final = 20
"""Seconds for the headers of a request, and again for its body; also until an unused connection is closed."""
_LARGEST_HEADERS: Final = 64 * 1024
_LARGEST_BODY: Final = 64 * 1024


class PatientServer(HTTPServer):
    """Answers new requests even if many others are half sent."""

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Take the arguments of Tornado's server."""
        super().initialize(*args, **kwargs)
        # In the order of the start of their wait.
        self._waiting: dict[Any, None] = {}

    def start_request(self, server_conn: Any, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        """Wait for the next request of a connection."""
        self._waiting[server_conn] = None
        if len(self._waiting) > MOST_WAITING:
            longest = next(iter(self._waiting))
            del self._waiting[longest]
            longest.stream.close()
        return _Arriving(super().start_request(server_conn, request_conn), self._waiting, server_conn)

    def on_close(self, server_conn: Any) -> None:
        """Forget a connection."""
        self._waiting.pop(server_conn, None)
        super().on_close(server_conn)


class _Arriving(HTTPMessageDelegate):
    """A request that is being received; once it is complete, its connection no longer waits."""

    def __init__(self, inner: HTTPMessageDelegate, waiting: dict[Any, None], connection: Any) -> None:
        self._inner = inner
        self._waiting = waiting
        self._connection = connection

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        """Pass on the headers."""
        return self._inner.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Pass on a part of the body."""
        return self._inner.data_received(chunk)

    def finish(self) -> None:
        """Answer the request."""
        self._waiting.pop(self._connection, None)
        self._inner.finish()

    def on_connection_close(self) -> None:
        """Pass on the end of the connection."""
        self._inner.on_connection_close()


def bind(address: str, port: int) -> list[socket.socket]:
    """Return sockets at an address; port 0 takes a free one, the same for all of them.

    Raises:
        RequestError: If the address or the port is not available.
    """
    try:
        return bind_sockets(port, address)
    except OSError as error:
        raise RequestError(f"Cannot listen on {address}:{port}: {error}. Choose another port.", field="port") from error


def listen(application: BokehTornado, sockets: Iterable[socket.socket]) -> BaseServer:
    """Return a server of an application that listens, not started yet."""
    server = PatientServer(
        application,
        idle_connection_timeout=REQUEST_SECONDS,
        body_timeout=REQUEST_SECONDS,
        max_header_size=_LARGEST_HEADERS,
        max_body_size=_LARGEST_BODY,
    )
    server.add_sockets(sockets)
    return BaseServer(IOLoop.current(), application, server)
