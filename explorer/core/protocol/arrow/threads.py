"""Work that mostly runs outside Python, on as many threads as there are processors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Final, TypeVar

import pyarrow as pa

_S = TypeVar("_S")
_T = TypeVar("_T")


class _Thread(threading.local):
    """What a thread is: ``helps`` if it was started here."""

    helps = False


_THREAD: Final = _Thread()


def in_parallel(action: Callable[[_S], _T], items: Iterable[_S]) -> list[_T]:
    """Return the results of an action, in the order of its items.

    Items are taken one by one on the calling thread, not far ahead of the others, so that few are in memory at once.
    For fewer than two items, on one processor, and inside of such an action no thread starts.
    """
    rest = iter(items)
    first = tuple(islice(rest, 2))
    workers = 1 if _THREAD.helps else pa.cpu_count()
    if min(len(first), workers) < 2:
        return [action(item) for item in chain(first, rest)]
    # Imported late: it imports logging, which opening a table does not need.
    from concurrent.futures import ThreadPoolExecutor

    room = threading.Semaphore(2 * workers)

    def act(item: _S) -> _T:
        _THREAD.helps = True
        try:
            return action(item)
        finally:
            room.release()

    results = []
    with ThreadPoolExecutor(workers) as pool:
        for item in chain(first, rest):
            room.acquire()
            results.append(pool.submit(act, item))
    return [result.result() for result in results]
