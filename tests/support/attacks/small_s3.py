"""A small S3 server in this process, which keeps objects in memory and treats conditional puts as it is told.

It answers one request after another, so that a put with a condition is one step unless it is told otherwise.
"""

from __future__ import annotations

import email.utils
import hashlib
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.support.loopback import running, s3_options

__all__ = ["BUCKET", "SmallS3", "small_s3"]

BUCKET: Final = "bkt"


class SmallS3:
    """The server's state.

    Attributes:
        objects: Bytes by key.
        requests: Method, key, whether it was a conditional put, and the status of each answer.
        answer: Decides on a put: gets its key, its condition (None without one) and the number of puts before it, and
            gives a status to refuse it with, or None to take it whatever is there; `heed` is what S3 does.
        before_put: Called with a key just before a put is done: another writer comes first.
        after_put: Called with a key just after a put was done.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[tuple[str, str, bool, int]] = []
        self.answer: Callable[[str, str | None, int], int | None] = self.heed
        self.before_put: Callable[[str], None] | None = None
        self.after_put: Callable[[str], None] | None = None
        self.port = 0

    @property
    def options(self) -> dict[str, str]:
        """Storage options for the server."""
        return s3_options(self.port)

    def heed(self, key: str, condition: str | None, number: int) -> int | None:
        """Refuse a conditional put of a key that is taken."""
        del number
        return 412 if condition == "*" and key in self.objects else None

    def puts(self, *, of_commits: bool = False) -> int:
        """How many puts were asked for."""
        return sum(
            method == "PUT" and (not of_commits or (key.endswith(".json") and "/." not in key))
            for method, key, _, _ in self.requests
        )


@contextmanager
def small_s3() -> Iterator[SmallS3]:
    """Serve on a free port of the loopback."""
    state = SmallS3()
    handler = type("_Bound", (_Handler,), {"state": state, "lock": threading.Lock()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with running(server) as state.port:
        yield state


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    state: SmallS3
    lock: threading.Lock

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Say nothing of each request."""

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        key, condition, state = self._key(), self.headers.get("If-None-Match"), self.state
        with self.lock:
            if state.before_put is not None:
                state.before_put(key)
            status = state.answer(key, condition, state.puts())
            if status is None:
                state.objects[key] = data
                if state.after_put is not None:
                    state.after_put(key)
        code = {409: "ConditionalRequestConflict", 501: "NotImplemented"}.get(status or 0, "Refused")
        body = b"" if status is None else f"<Error><Code>{code}</Code></Error>".encode()
        self._send(status or 200, body, {"ETag": _tag(data)}, conditional=condition is not None)

    def do_GET(self) -> None:
        key, found = self._key(), self.state.objects.get(self._key())
        if "list-type" in self._query() or not key:
            self._send(200, self._listing(self._query()), {"Content-Type": "application/xml"})
        elif found is None:
            self._send(404, b"<Error><Code>NoSuchKey</Code></Error>", {})
        else:
            headers = {"ETag": _tag(found), "Last-Modified": email.utils.formatdate(usegmt=True)}
            asked = self.headers.get("Range")
            if asked:
                first, last = asked.removeprefix("bytes=").split("-")
                start = int(first) if first else max(0, len(found) - int(last))
                end = min(int(last) if first and last else len(found) - 1, len(found) - 1)
                headers["Content-Range"] = f"bytes {start}-{end}/{len(found)}"
                self._send(206, found[start : end + 1], headers)
            else:
                self._send(200, found, headers)

    do_HEAD = do_GET  # noqa: N815 - called by this name

    def do_DELETE(self) -> None:
        self.state.objects.pop(self._key(), None)
        self._send(204, b"", {})

    def _key(self) -> str:
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        return path.removeprefix(f"/{BUCKET}").strip("/")

    def _query(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query, keep_blank_values=True))

    def _listing(self, query: dict[str, str]) -> bytes:
        prefix, after, delimiter = query.get("prefix", ""), query.get("start-after", ""), query.get("delimiter", "")
        contents, folders = [], set()
        for key in sorted(self.state.objects):
            if not key.startswith(prefix) or key <= after:
                continue
            if delimiter and delimiter in key[len(prefix) :]:
                folders.add(prefix + key[len(prefix) :].split(delimiter)[0] + delimiter)
                continue
            data = self.state.objects[key]
            contents.append(
                f"<Contents><Key>{urllib.parse.quote(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                f"<ETag>{_tag(data)}</ETag><Size>{len(data)}</Size></Contents>"
            )
        common = "".join(f"<CommonPrefixes><Prefix>{each}</Prefix></CommonPrefixes>" for each in sorted(folders))
        return (
            f"<ListBucketResult><Name>{BUCKET}</Name><Prefix>{prefix}</Prefix><KeyCount>{len(contents)}</KeyCount>"
            f"<IsTruncated>false</IsTruncated>{''.join(contents)}{common}</ListBucketResult>"
        ).encode()

    def _send(self, status: int, body: bytes, headers: dict[str, str], *, conditional: bool = False) -> None:
        self.state.requests.append((self.command, self._key(), conditional, status))
        self.send_response(status)
        sent: dict[str, Any] = {"Content-Length": len(body), **headers}
        for name, value in sent.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
