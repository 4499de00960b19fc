"""A folder as a bucket of S3, each request of which takes some time: what was asked, and how much of it in turn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.support.loopback import running, s3_options

__all__ = ["Request", "SlowS3", "slow_s3"]


@dataclass(frozen=True)
class Request:
    """A request: method, key (for a listing its prefix), bytes as asked for, and when it began and ended."""

    method: str
    key: str
    range: str
    began: float
    ended: float


@dataclass
class SlowS3:
    """The server.

    Attributes:
        options: Storage options for the bucket ``warehouse``.
        requests: What was asked.
    """

    options: dict[str, str]
    requests: list[Request] = field(default_factory=list)

    def depth(self) -> int:
        """Return the largest number of requests of which each began after the one before had ended."""
        count, after = 0, 0.0
        for request in sorted(self.requests, key=lambda each: each.ended):
            if request.began >= after:
                count, after = count + 1, request.ended
        return count


@contextmanager
def slow_s3(folder: Path, delay: float) -> Iterator[SlowS3]:
    """Serve a folder as the bucket ``warehouse``.

    Args:
        folder: The objects.
        delay: What each request takes, in seconds.
    """
    server = _Server(folder, delay)
    with running(server):
        yield server.facts


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, folder: Path, delay: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.delay = folder, delay
        self.facts = SlowS3(s3_options(self.server_address[1]))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Answer with an object, a part of one, or a listing."""
        self._answered()

    def do_HEAD(self) -> None:
        """Answer with the facts of an object."""
        self._answered()

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _answered(self) -> None:
        began = time.monotonic()
        url = urlsplit(self.path)
        key = unquote(url.path).removeprefix("/warehouse").strip("/")
        if not key:
            key = parse_qs(url.query).get("prefix", [""])[0]
            status, headers, body = self._listing(key, parse_qs(url.query).get("start-after", [""])[0])
        else:
            status, headers, body = self._object(self.server.folder / key)
        time.sleep(max(0, self.server.delay - (time.monotonic() - began)))
        asked = self.headers.get("Range", "")
        self.server.facts.requests.append(Request(self.command, key, asked, began, time.monotonic()))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _object(self, path: Path) -> tuple[int, dict[str, str], bytes]:
        if not path.is_file():
            return 404, {"Content-Length": "0"}, b""
        size = path.stat().st_size
        headers = {
            "Content-Length": str(size),
            "ETag": f'"{path.stat().st_mtime_ns:x}"',
            "Last-Modified": formatdate(path.stat().st_mtime, usegmt=True),
        }
        asked = self.headers.get("Range")
        if self.command == "HEAD" or asked is None:
            return 200, headers, path.read_bytes() if self.command == "GET" else b""
        first, _, last = asked.removeprefix("bytes=").partition("-")
        start, end = int(first), min(int(last) + 1 if last else size, size)
        if start >= size:
            return 416, {"Content-Length": "0", "Content-Range": f"bytes */{size}"}, b""
        with path.open("rb") as file:
            file.seek(start)
            body = file.read(end - start)
        part = {"Content-Length": str(end - start), "Content-Range": f"bytes {start}-{end - 1}/{size}"}
        return 206, headers | part, body

    def _listing(self, prefix: str, after: str) -> tuple[int, dict[str, str], bytes]:
        folder = self.server.folder
        # Only the folder that the prefix names is walked: others may hold a hundred thousand objects.
        within = folder / prefix.rpartition("/")[0]
        paths = sorted(
            (path.relative_to(folder).as_posix(), path.stat()) for path in within.rglob("*") if path.is_file()
        )
        contents = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{facts.st_size}</Size><ETag>&quot;{facts.st_mtime_ns:x}&quot;"
            f"</ETag><LastModified>{_time(facts.st_mtime)}</LastModified></Contents>"
            for name, facts in paths
            if name.startswith(prefix) and name > after
        )
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>".encode()
        return 200, {"Content-Length": str(len(body)), "Content-Type": "application/xml"}, body


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))
