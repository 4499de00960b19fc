"""The explorer served in this process, on a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from explorer.storage.served_root import GivenRoots
from explorer.web import serve

__all__ = ["served_in_thread"]

_WITHIN = 20  # seconds


@contextmanager
def served_in_thread(roots: GivenRoots, **options: Any) -> Iterator[str]:
    """Serve the tables under some roots.

    Args:
        roots: The roots, or one of them.
        options: As for `explorer.web.serve`.

    Yields:
        The URL, with its last slash.
    """
    told: list[str] = []
    ready, begun = threading.Event(), list[Any]()

    def run() -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        server = serve(roots, start=False, ready=told.append, **options)
        server.start()
        begun.append(server)
        ready.set()
        server.io_loop.start()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(_WITHIN)
    (server,) = begun
    yield told[0]

    def stop() -> None:
        server.stop()
        server.io_loop.stop()

    server.io_loop.add_callback(stop)
    thread.join(_WITHIN)
    assert not thread.is_alive()
