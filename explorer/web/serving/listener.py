"""The HTTP server, which limits how many connections wait for their client, and how long each of them may wait.

A client lets a connection wait while it has not sent a full request, and while it does not take the answer.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Iterable
from typing import Any, Final

from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPConnection, HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine
from tornado.ioloop import IOLoop, PeriodicCallback
from tornado.netutil import bind_sockets

from explorer.core.errors import RequestError

MOST_WAITING: Final = 200
"""Connections that have not sent a full request, and again connections whose client does not take the answer. Beyond
this number, the one that waits longest is closed."""
REQUEST_SECONDS: Final = 20
"""Seconds for the headers of a request, and again for its body; also until an unused connection is closed."""
ANSWER_SECONDS: Final = 60
"""Seconds within which a client has to take a part of its answer: as much as the system sends at once."""
_CHECK_EVERY: Final = 500
"""Milliseconds."""
_LARGEST_HEADERS: Final = 64 * 1024
_LARGEST_BODY: Final = 64 * 1024


class PatientServer(HTTPServer):
    """Answers new requests even if many others are half sent, or many answers are not taken."""

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Take the arguments of Tornado's server."""
        super().initialize(*args, **kwargs)
        # In the order of the start of their wait.
        self._waiting: dict[Any, None] = {}
        # The bytes of the answer that each client has taken, and since when it has taken no more.
        self._answering: dict[Any, tuple[int, float]] = {}
        self._check = PeriodicCallback(self._close_stalled, _CHECK_EVERY)
        self._check.start()

    def stop(self) -> None:
        """Accept no more connections."""
        self._check.stop()
        super().stop()

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
        self._answering.pop(server_conn, None)
        super().on_close(server_conn)

    def _close_stalled(self) -> None:
        """Close connections whose client takes nothing of its answer."""
        now = self._check.io_loop.time()
        for connection in self._connections:
            taken = connection.stream._total_write_done_index
            if not connection.stream.writing():
                self._answering.pop(connection, None)
            elif self._answering.get(connection, (-1, now))[0] != taken:
                self._answering[connection] = taken, now
        longest = sorted(self._answering, key=lambda connection: self._answering[connection][1])
        late = [each for each in longest if now - self._answering[each][1] > ANSWER_SECONDS]
        for connection in longest[: max(len(late), len(longest) - MOST_WAITING)]:
            connection.stream.close()


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


BLOCKED_PORTS: Final = frozenset(
    (
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
        110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
        531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
        5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    )
)  # fmt: skip


def check_port(port: int) -> None:
    """Refuse a port that no browser opens.

    Raises:
        RequestError: If browsers block it; the message names the nearest higher port that they open.
    """
    if port not in BLOCKED_PORTS:
        return
    nearest = next(number for number in range(max(port, 1024), 65536) if number not in BLOCKED_PORTS)
    raise RequestError(
        f"Browsers refuse to open port {port}: it belongs to another protocol. Choose another port, such as {nearest}.",
        field="port",
    )
