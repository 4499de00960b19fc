"""History over S3 with 20 ms added to each request: a local server that answers like S3, both readers through it."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import statistics
import sys
import xml.sax.saxutils as xml
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from explorer.variables import CACHE_VARIABLE
from tests.benchmarks.runs import run
from tests.benchmarks.sets import prepared

LATENCY = 0.020
ROUNDS = 5
ARGUMENTS = ["--commits", "10000", "--adds", "2", "--removes", "0", "--stats-cols", "2", "--checkpoint-every", "0"]
_COMMIT: Final = re.compile(r"/\d{20}\.json$")
OPTIONS = {
    "aws_access_key_id": "key",
    "aws_secret_access_key": "secret",
    "aws_region": "us-east-1",
    "aws_allow_http": "true",
    "allow_http": "true",
}


def measure(rounds: int = ROUNDS) -> Iterator[dict[str, Any]]:
    """Two records: the seconds that a history of ten thousand commits takes by each reader; and again here, out of what
    the first reading kept, in a fresh process, with how many commits it asked for, and what the listing takes alone."""
    folder = prepared("R", ARGUMENTS)
    runs: dict[str, list[dict[str, float]]] = {"explorer": [], "deltalake": []}
    with TemporaryDirectory() as kept, _server(folder) as (endpoint, asked):
        for _ in range(rounds):
            for reader, some in runs.items():
                some.append(run(__name__, reader, endpoint))
        run(__name__, "explorer", endpoint, kept)
        before = asked.value
        runs["again"] = [run(__name__, "explorer", endpoint, kept) for _ in range(rounds)]
        commits = asked.value - before
        runs["listing"] = [run(__name__, "listing", endpoint) for _ in range(rounds)]
    found = {reader: {"seconds": statistics.median(one["seconds"] for one in some)} for reader, some in runs.items()}
    again, listing, operation = found.pop("again"), found.pop("listing"), {"milliseconds": LATENCY * 1e3, **found}
    yield {"operation": "history of 10,000 commits", **operation, "goal": 8.0, "commits": None, "listing": None}
    yield {
        "operation": "the same out of what is kept",
        **operation,
        "explorer": again,
        "goal": 100.0,
        "commits": commits,
        "listing": listing,
    }


def _operation(reader: str, endpoint: str, kept: str = "off") -> None:
    import time

    os.environ[CACHE_VARIABLE] = kept
    options: dict[str, str] = {**OPTIONS, "aws_endpoint": endpoint}
    if reader == "explorer":
        import explorer

        del options["aws_allow_http"]
        start = time.perf_counter()
        rows = explorer.open_table("s3://bench/table", storage_options=options).history().num_rows
    elif reader == "listing":
        from obstore.store import S3Store

        del options["aws_allow_http"], options["allow_http"]
        names = {name.removeprefix("aws_"): value for name, value in options.items()}
        start = time.perf_counter()
        store = S3Store("bench", prefix="table", client_options={"allow_http": True}, **names)  # type: ignore[arg-type]
        rows = sum(_COMMIT.search(f"/{each['path']}") is not None for each in store.list("_delta_log/").collect())
    else:
        from deltalake import DeltaTable

        del options["allow_http"]
        start = time.perf_counter()
        rows = len(DeltaTable("s3://bench/table", storage_options=options).history())
    seconds = time.perf_counter() - start
    assert rows == 10_000, rows
    print(json.dumps({"seconds": seconds}))


@contextmanager
def _server(folder: Path) -> Iterator[tuple[str, Any]]:
    """Its address, and how many commits were asked for."""
    port: Any = multiprocessing.Queue()
    asked = multiprocessing.Value("i", 0)
    process = multiprocessing.Process(target=_serve, args=(folder, port, asked), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{port.get(timeout=60)}", asked
    finally:
        process.terminate()
        process.join()


def _serve(folder: Path, port: Any, asked: Any) -> None:
    from tornado import httpserver, netutil, web

    class Objects(web.RequestHandler):
        """GET and HEAD of an object, and the listing of a prefix."""

        async def get(self, key: str) -> None:
            asked.value += _COMMIT.search(key) is not None
            await asyncio.sleep(LATENCY)
            if not key:
                self.set_header("Content-Type", "application/xml")
                self.finish(_listing(entries, self.get_query_argument("prefix", ""), self._after()))
            elif key in files:
                self._describe(files[key])
                self.finish(_part(files[key].read_bytes(), self.request.headers.get("Range"), self))
            else:
                self.set_status(404)
                self.finish("<Error><Code>NoSuchKey</Code></Error>")

        async def head(self, key: str) -> None:
            await asyncio.sleep(LATENCY)
            if key not in files:
                self.set_status(404)
                return
            self._describe(files[key])
            self.set_header("Content-Length", files[key].stat().st_size)

        def _after(self) -> str:
            return self.get_query_argument("continuation-token", "") or self.get_query_argument("start-after", "")

        def _describe(self, path: Path) -> None:
            self.set_header("ETag", f'"{path.stat().st_size}"')
            self.set_header("Last-Modified", _moment(path).strftime("%a, %d %b %Y %H:%M:%S GMT"))

    files = {f"table/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*") if path.is_file()}
    entries = [(key, _entry(key, files[key])) for key in sorted(files)]

    async def run() -> None:
        sockets = netutil.bind_sockets(0, "127.0.0.1", backlog=1024)
        application = web.Application([(r"/bench/?(.*)", Objects)], log_function=lambda handler: None)
        httpserver.HTTPServer(application).add_sockets(sockets)
        port.put(sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(run())


def _entry(key: str, path: Path) -> str:
    """What a listing says of an object; it is made once, so that a listing takes the latency and little more."""
    return (
        f"<Contents><Key>{xml.escape(key)}</Key><LastModified>{_moment(path).isoformat()}</LastModified>"
        f"<ETag>x</ETag><Size>{path.stat().st_size}</Size></Contents>"
    )


def _listing(entries: list[tuple[str, str]], prefix: str, after: str) -> str:
    found = [
        entry for entry in entries[bisect_right(entries, after, key=itemgetter(0)) :] if entry[0].startswith(prefix)
    ]
    page, more = found[:1000], len(found) > 1000
    token = f"<NextContinuationToken>{xml.escape(page[-1][0])}</NextContinuationToken>" if more else ""
    return (
        "<?xml version='1.0'?><ListBucketResult><Name>bench</Name><MaxKeys>1000</MaxKeys>"
        f"<KeyCount>{len(page)}</KeyCount><IsTruncated>{json.dumps(more)}</IsTruncated>{token}"
        f"{''.join(text for _, text in page)}</ListBucketResult>"
    )


def _part(data: bytes, asked: str | None, handler: Any) -> bytes:
    if not asked:
        return data
    first, _, last = asked.removeprefix("bytes=").partition("-")
    start = int(first) if first else len(data) - int(last)
    end = min(int(last) + 1 if first and last else len(data), len(data))
    handler.set_status(206)
    handler.set_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
    return data[start:end]


def _moment(path: Path) -> datetime:
    return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)


if __name__ == "__main__":
    _operation(*sys.argv[1:])
