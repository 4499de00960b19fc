"""An S3 server for reading, in front of a folder of this machine: each key is a file, and buckets are its folders.

It answers thousands of requests a second, counts them, refuses to list what it is told, and lists as S3 does: in the
order of the keys, a thousand at a time. ``python -m tests.support.folder_s3 FOLDER`` serves in a process of its own.
"""

from __future__ import annotations

import asyncio
import email.utils
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

from tests.support.loopback import s3_options

__all__ = ["FolderS3", "folder_s3"]


class FolderS3:
    """The server's state.

    Args:
        folder: What it serves; new files are there at once.

    Attributes:
        lists: How often each bucket and prefix was listed, ``lake/sales/``.
        reads: How often each key was read or looked at, ``lake/sales/orders/_delta_log/00000000000000000000.json``.
        denied: Buckets and prefixes whose listing is refused, ``lake/secret/``.
        page: How many keys an answer holds.
        delay: Seconds before each answer.
        under_way, most_under_way: How many requests wait for an answer, and the most that ever did.
        port: Where it listens.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lists, self.reads = Counter[str](), Counter[str]()
        self.denied = set[str]()
        self.page = 1_000
        self.delay = 0.0
        self.under_way = self.most_under_way = 0
        self.port = 0

    @property
    def options(self) -> dict[str, str]:
        """Storage options for the server."""
        return s3_options(self.port)

    def answer(self, method: str, target: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Return the answer to a request."""
        path, _, query = target.partition("?")
        bucket, _, key = unquote(path).strip("/").partition("/")
        asked = dict(parse_qsl(query, keep_blank_values=True))
        if not (self.folder / bucket).is_dir():
            return _refused(404, "NoSuchBucket", "The specified bucket does not exist")
        if "list-type" in asked or not key:
            return self._list(bucket, asked)
        return self._read(method, f"{bucket}/{key}", headers)

    def _list(self, bucket: str, asked: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        prefix = asked.get("prefix", "")
        self.lists[f"{bucket}/{prefix}"] += 1
        if any(f"{bucket}/{prefix}".startswith(each) for each in self.denied):
            return _refused(403, "AccessDenied", "User: arn:aws:iam::1:user/x is not authorized to list this")
        after = asked.get("continuation-token") or asked.get("start-after", "")
        keys = (each for each in self._keys(bucket, prefix, deep="delimiter" not in asked) if each > after)
        page = [key for key, _ in zip(keys, range(self.page + 1), strict=False)]
        more, page = len(page) > self.page, page[: self.page]
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        body = (
            f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>{bucket}</Name>'
            f"<Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount><IsTruncated>{str(more).lower()}"
            f"</IsTruncated>{token}{''.join(self._listed(bucket, key) for key in page)}</ListBucketResult>"
        )
        return 200, {"Content-Type": "application/xml"}, body.encode("utf-8", "surrogateescape")

    def _keys(self, bucket: str, prefix: str, *, deep: bool) -> Iterator[str]:
        """Yield the keys, and common prefixes unless all keys below them are asked for, in order."""
        base, _, start = prefix.rpartition("/")
        base = f"{base}/" if base else ""
        try:
            names = os.scandir(self.folder / bucket / base)
        except (FileNotFoundError, NotADirectoryError):
            return
        with names:
            found = sorted(f"{each.name}/" if each.is_dir() else each.name for each in names)
        for name in found:
            if not name.startswith(start):
                continue
            if deep and name.endswith("/"):
                yield from self._keys(bucket, f"{base}{name}", deep=True)
            else:
                yield f"{base}{name}"

    def _listed(self, bucket: str, key: str) -> str:
        if key.endswith("/"):
            return f"<CommonPrefixes><Prefix>{escape(key)}</Prefix></CommonPrefixes>"
        stat = (self.folder / bucket / key).stat()
        return (
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>&quot;{stat.st_mtime_ns:x}&quot;</ETag><Size>{stat.st_size}</Size></Contents>"
        )

    def _read(self, method: str, key: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        self.reads[key] += 1
        path = self.folder / key
        try:
            data = path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return _refused(404, "NoSuchKey", "The specified key does not exist.")
        sent = {
            "ETag": f'"{path.stat().st_mtime_ns:x}"',
            "Last-Modified": email.utils.formatdate(path.stat().st_mtime, usegmt=True),
        }
        if asked := headers.get("range", "").removeprefix("bytes="):
            first, last = asked.split("-")
            start = int(first) if first else max(0, len(data) - int(last))
            end = min(int(last) if first and last else len(data) - 1, len(data) - 1)
            sent["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
            return 206, sent, data[start : end + 1]
        return 200, sent | ({"Content-Length": str(len(data))} if method == "HEAD" else {}), data


def _refused(status: int, code: str, message: str) -> tuple[int, dict[str, str], bytes]:
    body = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return status, {"Content-Type": "application/xml"}, body.encode()


class _Connection(asyncio.Protocol):
    def __init__(self, state: FolderS3, opened: set[asyncio.Transport]) -> None:
        self._state, self._opened, self._waiting = state, opened, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._opened.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while (end := self._waiting.find(b"\r\n\r\n")) >= 0:
            head, self._waiting = self._waiting[:end].decode("latin-1"), self._waiting[end + 4 :]
            first, *lines = head.split("\r\n")
            method, target, _ = first.split(" ", 2)
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            self._state.under_way += 1
            self._state.most_under_way = max(self._state.most_under_way, self._state.under_way)
            if self._state.delay:
                loop = asyncio.get_running_loop()
                loop.call_later(self._state.delay, self._answer, method, target, headers)
            else:
                self._answer(method, target, headers)

    def _answer(self, method: str, target: str, headers: dict[str, str]) -> None:
        self._state.under_way -= 1
        if self._transport.is_closing():
            return
        status, sent, body = self._state.answer(method, target, headers)
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in sent.items())]
        if "Content-Length" not in sent:
            lines.append(f"Content-Length: {len(body)}")
        self._transport.write("\r\n".join([*lines, "", ""]).encode() + (b"" if method == "HEAD" else body))


@contextmanager
def folder_s3(folder: Path) -> Iterator[FolderS3]:
    """Serve a folder on a free port of the loopback, on a thread."""
    state, loop, opened = FolderS3(folder), asyncio.new_event_loop(), set[asyncio.Transport]()

    async def listen() -> asyncio.Server:
        return await loop.create_server(lambda: _Connection(state, opened), "127.0.0.1", 0, backlog=512)

    async def close() -> None:
        server.close()
        for transport in tuple(opened):
            transport.abort()
        # The loop closes their sockets at its next turn.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    # All is done on its thread: where a browser runs, the thread of the tests has a loop already.
    thread.start()
    server = asyncio.run_coroutine_threadsafe(listen(), loop).result()
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        asyncio.run_coroutine_threadsafe(close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def main() -> None:
    """Print the port, serve, and print the numbers of listings and reads when stdin ends."""
    with folder_s3(Path(sys.argv[1])) as state:
        print(state.port, flush=True)
        for _ in sys.stdin:
            print(sum(state.lists.values()), sum(state.reads.values()), flush=True)


if __name__ == "__main__":
    main()
