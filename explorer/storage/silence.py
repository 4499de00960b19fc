"""Requests to a store that may not answer: who waits, since when, and how to go on without the answer.

Invariants: a request that the main thread makes ends its wait at Ctrl-C, as its call runs on another thread; a store
gives up a request by itself after `GIVEN_UP`, so no thread waits forever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final, TypeVar

SILENT: Final = 5.0
"""Seconds without an answer from which on people are told."""
GIVEN_UP: Final = 60
"""Seconds after which a store that does not answer is given up."""
_AnswerT = TypeVar("_AnswerT")
# The requests under way: root of the store, and when each began.
_UNDER_WAY: Final[dict[object, tuple[str, float]]] = {}


def answered(root: str, request: Callable[[], _AnswerT]) -> _AnswerT:
    """Return the answer of a store to a request that changes nothing; what it raises is raised here.

    Args:
        root: The table's root.
        request: Sends it and waits.
    """
    with under_way(root):
        is_main = threading.current_thread() is threading.main_thread()
        return apart(request) if is_main else request()


def apart(request: Callable[[], _AnswerT], seconds: float | None = None) -> _AnswerT:
    """Return the result of a call that runs on a thread of its own, so that Ctrl-C ends the wait for it.

    Args:
        request: The call.
        seconds: How long to wait for it; None for as long as it takes.

    Raises:
        TimeoutError: It took longer; it goes on alone, and its result is dropped.
    """
    answer: Future[_AnswerT] = Future()

    def send() -> None:
        try:
            answer.set_result(request())
        except BaseException as error:  # noqa: BLE001  # raised again where it is awaited
            answer.set_exception(error)

    # Not one of a pool: Python waits for those before it ends.
    threading.Thread(target=send, name="explorer-request", daemon=True).start()
    return answer.result(seconds)


def silent_for(location: str | None = None) -> tuple[str, float] | None:
    """Return the store that has not answered for longest, and for how many seconds; None if none is silent.

    Args:
        location: The root of the table that is meant; None for any.
    """
    waited = tuple(_UNDER_WAY.values())
    if location is not None:
        waited = tuple(each for each in waited if each[0] == location.rstrip("/"))
    since = min(((began, root) for root, began in waited), default=None)
    if since is None or time.monotonic() - since[0] < SILENT:
        return None
    return since[1], time.monotonic() - since[0]


def waiting_line(location: str | None = None) -> str:
    """Say that a store is silent, and when it is given up; empty if none is.

    Args:
        location: As in `silent_for`.
    """
    silent = silent_for(location)
    if silent is None:
        return ""
    root, seconds = silent
    return f"Waiting for {root}: no answer for {seconds:.0f} seconds. It is given up after {GIVEN_UP} seconds."


@contextmanager
def under_way(root: str) -> Iterator[None]:
    """Note a request that is not to be interrupted, as a put, whose outcome would be unknown."""
    key = object()
    _UNDER_WAY[key] = root, time.monotonic()
    try:
        yield
    finally:
        del _UNDER_WAY[key]
