"""A reverse proxy as small as one can be: it takes a prefix away or leaves it, and passes the host on or changes it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

__all__ = ["small_proxy"]

_LONGEST: Final = 65_536


@contextmanager
def small_proxy(
    port: int, *, strip: str = "", host: str | None = None, added: tuple[tuple[str, str], ...] = ()
) -> Iterator[int]:
    """Run a proxy of a server on this machine; yields its port.

    Args:
        port: Of the server.
        strip: The prefix that it takes from paths.
        host: What it makes of the header Host; None passes it on.
        added: Headers that it adds.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
            method, path, version = first.split(" ")
            if path.startswith(strip):
                path = path.removeprefix(strip) or "/"
            upgrades = any(line.lower().startswith("upgrade:") for line in lines)
            named = {line.partition(":")[0].lower(): line for line in lines}
            if host is not None:
                named["host"] = f"Host: {host}"
            if not upgrades:
                named["connection"] = "Connection: close"
            for name, value in added:
                named[name.lower()] = f"{name}: {value}"
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
            sent = "\r\n".join([f"{method} {path} {version}", *named.values(), "", ""])
            inner_writer.write(sent.encode("latin-1"))
            await asyncio.gather(_pass(reader, inner_writer), _pass(inner_reader, writer))

    started, ports = threading.Event(), list[int]()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=_LONGEST)
        ports.append(server.sockets[0].getsockname()[1])
        started.set()
        await ended.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    def whole() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(run())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=whole, name="small-proxy")
    thread.start()
    assert started.wait(30)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(30)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.CancelledError):
        try:
            while data := await reader.read(_LONGEST):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()
