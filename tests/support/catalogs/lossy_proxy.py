"""A proxy on the loopback before a catalog's server: requests and answers that are lost, and a server that is away.

It works for any server, as it forwards what it gets: what is lost is decided before a request is read by the server
(nothing is done) or after its answer came (it is done, and the client does not know).
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

__all__ = ["LossyProxy", "lossy_proxy"]

_LOST_CHANGES = 0.3
_LOST_READS = 0.05
_FORWARDED = ("accept", "content-type", "authorization")


class LossyProxy:
    """A proxy that runs.

    Args:
        target: The address of the server.
        seed: What is lost is the same for the same seed and order of requests.

    Attributes:
        counts: How many requests were lost before the server (``request``), how many answers after it (``answer``), how
            many found no server (``away``), and how many changes it answered with 200 (``done``).
        losing: Whether something is lost at all.
    """

    def __init__(self, target: str, seed: int) -> None:
        self.counts, self.losing = Counter[str](), True
        self._host = urlsplit(target).netloc
        self._pick, self._lock = random.Random(seed), threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        """The address to use in place of the server's."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()

    def await_changes(self, number: int, seconds: float) -> None:
        """Return once the server has made so many changes."""
        until = time.monotonic() + seconds
        while self.counts["done"] < number:
            assert time.monotonic() < until, f"{self.counts} after {seconds} s"
            time.sleep(0.05)

    def fate(self, method: str) -> str | None:
        """Return what is lost of a request: ``request``, ``answer``, or None."""
        with self._lock:
            if not self.losing or self._pick.random() > (_LOST_READS if method == "GET" else _LOST_CHANGES):
                return None
            return self._pick.choice(["request", "answer"])

    def count(self, what: str) -> None:
        """Count what became of a request."""
        with self._lock:
            self.counts[what] += 1

    def forwarded(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str, bytes] | None:
        """Return status, content type, and answer of the server; None if it broke off, or is not there."""
        connection = HTTPConnection(self._host, timeout=60)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("content-type", ""), answer.read()
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()


@contextmanager
def lossy_proxy(target: str, seed: int = 0) -> Iterator[LossyProxy]:
    """Run a proxy; arguments as of `LossyProxy`."""
    proxy = LossyProxy(target, seed)
    try:
        yield proxy
    finally:
        proxy.close()


def _handler(proxy: LossyProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            lost = proxy.fate(self.command)
            if lost == "request":
                self._lose("request")
                return
            sent = {name: self.headers[name] for name in _FORWARDED if name in self.headers}
            answer = proxy.forwarded(self.command, self.path, sent, body)
            if answer is None:
                self._lose("away")
                return
            status, kind, content = answer
            if status == 200 and self.command == "POST":
                proxy.count("done")
            if lost == "answer":
                self._lose("answer")
                return
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = handle_any  # noqa: N815 - the base class calls these names

        def _lose(self, what: str) -> None:
            proxy.count(what)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler
