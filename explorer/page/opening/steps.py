"""Work that waits now and then for other threads: on a thread, or on the server's loop without holding it up."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

__all__ = ["Steps", "Stepwise", "Wait"]

_ResultT = TypeVar("_ResultT")


class Wait(NamedTuple):
    """Go on when one of these is done, and after so many seconds in any case."""

    futures: tuple[Future[Any], ...]
    seconds: float


Steps: TypeAlias = Generator[Wait, None, _ResultT]


class Stepwise(Generic[_ResultT]):
    """Work in steps, of a generator that yields what it waits for; it is done once, however often it is asked for."""

    def __init__(self, steps: Steps[_ResultT]) -> None:
        self._steps = steps
        self._end: Future[_ResultT] = Future()

    def waited(self) -> _ResultT:
        """The result, or what the work raised; the thread that asks waits for it."""
        while (step := self._next()) is not None:
            wait(step.futures, timeout=step.seconds, return_when=FIRST_COMPLETED)
        return self._end.result()

    async def awaited(self) -> _ResultT:
        """The same; the loop goes on meanwhile."""
        while (step := self._next()) is not None:
            await _one_done(step)
        return self._end.result()

    def _next(self) -> Wait | None:
        if self._end.done():
            return None
        try:
            return next(self._steps)
        except StopIteration as end:
            self._end.set_result(end.value)
        except Exception as error:  # noqa: BLE001  # raised again for the caller of the result
            self._end.set_exception(error)
        return None


async def _one_done(step: Wait) -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def tell(_future: Future[Any]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(done.set)

    for future in step.futures:
        future.add_done_callback(tell)
    with suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), step.seconds)
