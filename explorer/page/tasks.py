"""The work of one window: on threads, and back on its host's loop. What goes wrong on the way is said, never lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from explorer.page.host import Host

__all__ = ["CHECKING", "DRAWING", "WAITING", "WORKING", "Tasks"]

# Threads of their own for each kind of work: pages that wait for a table, or a long export, keep nothing else waiting.
DRAWING: Final = ThreadPoolExecutor(max_workers=16, thread_name_prefix="explorer-page")
WAITING: Final = ThreadPoolExecutor(max_workers=64, thread_name_prefix="explorer-wait")
CHECKING: Final = ThreadPoolExecutor(max_workers=4, thread_name_prefix="explorer-check")
WORKING: Final = ThreadPoolExecutor(max_workers=16, thread_name_prefix="explorer-work")
ResultT = TypeVar("ResultT")


class Tasks:
    """Carries results of threads to the loop of a window.

    Args:
        host: Has the loop.
        tell: Takes, on the loop, what was raised, and the number of the request for which it was.
        orphaned: Called when work has ended whose window was closed meanwhile.
    """

    def __init__(self, host: Host, tell: Callable[[Exception, int], None], orphaned: Callable[[], None]) -> None:
        self._host, self._tell, self._orphaned = host, tell, orphaned

    def compute(
        self, threads: Executor, number: int, work: Callable[[], ResultT], then: Callable[[ResultT], object]
    ) -> None:
        """Compute something on a thread, and continue with it on the loop.

        Args:
            threads: Where.
            number: The request that it answers.
            work: Computes it.
            then: Takes the result.
        """
        self.watch(threads, number, work, lambda done: then(done.result()))

    def watch(
        self, threads: Executor, number: int, work: Callable[[], ResultT], then: Callable[[Future[ResultT]], object]
    ) -> None:
        """Do the same, and continue even if the work fails; ``then`` decides what an error means."""

        def ended(done: Future[ResultT]) -> None:
            if not self._host.is_open:
                self._orphaned()
            self.later(partial(then, done), number)

        threads.submit(work).add_done_callback(ended)

    def begin(self, work: Callable[[], object], number: int) -> None:
        """Do long work that reports its own result; only what it raises comes back."""

        def ended(done: Future[object]) -> None:
            if done.exception() is not None:
                self.later(done.result, number)

        WORKING.submit(work).add_done_callback(ended)

    def later(self, then: Callable[[], object], number: int) -> None:
        """Do something on the loop, if the window is still there; from any thread."""
        self._host.later(partial(self.guarded, then, number))

    def guarded(self, then: Callable[[], object], number: int) -> None:
        """Do something at once, and say what it raises: a request must never end in silence."""
        try:
            then()
        except Exception as error:  # noqa: BLE001  # shown and logged
            self._tell(error, number)
