"""A store on the loopback that refuses every request with one recorded answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.loopback import running

__all__ = ["Answer", "refusing_store"]


@dataclass
class Answer:
    """The answer: its status, text, and headers, which a test changes while the store runs.

    Attributes:
        port: Where the store listens.
        requests: Method and path of each request, with the headers.
    """

    status: int = 403
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    requests: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)

    @property
    def address(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def refusing_store() -> Iterator[Answer]:
    """Serve on a free port."""
    answer = Answer()
    handler = type("_Bound", (_Handler,), {"answer": answer})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with running(server) as answer.port:
        yield answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    answer: Answer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Say nothing of each request."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer.requests.append((self.command, self.path, dict(self.headers)))
        body = self.answer.text.encode()
        self.send_response(self.answer.status)
        for name, value in {"Content-Length": str(len(body)), **self.answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - called by these names
