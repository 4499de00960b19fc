"""A receiver of webhooks on the loopback, which answers as a test says, and verifies with another program's code."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import standardwebhooks

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
Answering = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Receiver:
    """What a receiver got, and what it answers.

    Attributes:
        url: Its address; the path is a secret, as those of chats are.
        answers: How the next requests are answered, in turn; then 204.
        got: The headers and the body of each request, in turn.
        verified: The bodies whose signature holds, as the package of Standard Webhooks says.
    """

    url: str = ""
    answers: list[Answering] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    verified: list[Any] = field(default_factory=list)

    def ids(self) -> list[str]:
        """The IDs of the messages, in turn."""
        return [headers["webhook-id"] for headers, _ in self.got]

    def wait(self, count: int, seconds: float = 60) -> None:
        """Wait until so many requests came."""
        ends = time.monotonic() + seconds
        while len(self.got) < count:
            assert time.monotonic() < ends, f"{len(self.got)} of {count} requests came"
            time.sleep(0.02)


def status(code: int, **headers: str) -> Answering:
    """Answer with a status and headers."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("content-length", "0")
        handler.end_headers()

    return answer


def cut_off(handler: BaseHTTPRequestHandler) -> None:
    """End the connection in the middle of the status line."""
    handler.wfile.write(b"HTTP/1.1 2")
    handler.close_connection = True


def hang(seconds: float) -> Answering:
    """Say nothing for a while."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)

    return answer


def drip(seconds: float) -> Answering:
    """Send a header a byte at a time, so that no single wait is long."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                handler.wfile.write(b"x")
            except OSError:
                return
            time.sleep(0.05)

    return answer


@contextmanager
def receiving(*answers: Answering, at_any_time: bool = False) -> Iterator[Receiver]:
    """Run a receiver; unless told otherwise, it takes messages of the last five minutes alone."""
    receiver = Receiver(answers=list(answers))
    verifier = standardwebhooks.Webhook(SECRET)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if at_any_time:
                when = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
                expected = verifier.sign(msg_id=headers["webhook-id"], timestamp=when, data=body.decode())
                assert headers["webhook-signature"] == expected
            else:
                receiver.verified.append(verifier.verify(body, headers))
            receiver.got.append((headers, body))
            (receiver.answers.pop(0) if receiver.answers else status(204))(self)

        do_GET = do_POST  # noqa: N815  # the server calls it

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}/hooks/secret-path?token=secret-token"
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
