"""Long work on Spark as jobs: phase, progress, elapsed time, cancel, result or typed error.

One object serves the web app, Jupyter and the command line. Invariants: a job ends in exactly one of ``done``,
``failed``, ``cancelled``, and its first outcome stays; a cancelled job says so within a second, whatever Spark does;
subscribers never see the state go back, and see the end once.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

from explorer.core.errors import Cancelled, ExplorerError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Job", "JobState", "submit"]

JobState = Literal["running", "done", "failed", "cancelled"]
Result = TypeVar("Result")

_POLL_SECONDS: Final = 0.1
_GRACE_SECONDS: Final = 0.7
_numbers: Final = itertools.count(1)


class Job(Generic[Result]):
    """Work on a thread of its own.

    Attributes:
        id: Unique in this process.
        name: What is being done, for people.
    """

    def __init__(self, name: str) -> None:
        self.id = f"explorer-job-{next(_numbers)}"
        self.name = name
        self._started = time.monotonic()
        self._ended: float | None = None
        self._phase = ""
        self._count = (0, 0)
        self._cancel_asked = False
        self._work_ended = threading.Event()
        self._subscribers: list[Callable[[Job[Result]], None]] = []
        self._future: Future[Result] = Future()
        self._future.add_done_callback(self._stop_clock)

    @property
    def phase(self) -> str:
        """What it does now, for people: while Spark starts, how far that is."""
        return self._phase or _start_phase()

    @property
    def done(self) -> int:
        """Tasks done."""
        return self._count[0]

    @property
    def total(self) -> int:
        """Tasks known of so far; may grow."""
        return self._count[1]

    @property
    def elapsed(self) -> float:
        """Seconds since the start, or from start to end."""
        return (time.monotonic() if self._ended is None else self._ended) - self._started

    @property
    def state(self) -> JobState:
        """``running``, ``done``, ``failed`` or ``cancelled``."""
        if not self._future.done():
            return "running"
        match self._future.exception():
            case None:
                return "done"
            case Cancelled():
                return "cancelled"
            case _:
                return "failed"

    @property
    def error(self) -> ExplorerError | None:
        """Why it failed or that it was cancelled; None while it runs and when it is done."""
        error = self._future.exception() if self._future.done() else None
        assert error is None or isinstance(error, ExplorerError)
        return error

    def cancel(self) -> None:
        """Ask it to stop; it is ``cancelled`` within a second. One that has ended keeps its result."""
        if not self._cancel_asked:
            self._cancel_asked = True
            if not self._future.done():
                self._phase = "Cancelling"
        self._report_change()

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the end and return the result.

        Args:
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TimeoutError: It still runs after ``timeout``.
            Cancelled: It was cancelled.
            ExplorerError: It failed; the typed error.
        """
        try:
            return self._future.result(timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{self.name} still runs after {timeout} s ({self._phase}).") from error

    def subscribe(self, callback: Callable[[Job[Result]], None]) -> Callable[[], None]:
        """Call ``callback`` with the job at each change, from the job's own threads, and once at the end.

        Returns:
            A function that ends the subscription.
        """
        self._subscribers.append(callback)
        self._future.add_done_callback(lambda _: callback(self) if callback in self._subscribers else None)
        return lambda: self._unsubscribe(callback)

    def report(self, phase: str) -> None:
        """Say what the work does now; called by the work itself.

        Raises:
            Cancelled: Someone asked it to stop.
        """
        self.check_cancelled()
        self._phase = phase
        self._report_change()

    def check_cancelled(self) -> None:
        """Called by the work itself between its steps, and by what continues with its result.

        Raises:
            Cancelled: Someone asked it to stop, even if it had ended by then.
        """
        if self._cancel_asked:
            raise self._cancellation()

    def begin(self, work: Callable[[Job[Result]], Result], evaluates: str | None = None) -> None:
        """Start the threads; once, by the code that made the job.

        Args:
            work: The work.
            evaluates: As for `submit`.
        """
        threading.Thread(target=self._run, args=(work, evaluates), name=self.id, daemon=True).start()
        threading.Thread(target=self._guard, name=f"{self.id}-guard", daemon=True).start()

    def run(self, work: Callable[[Job[Result]], Result]) -> Result:
        """Do the work on this thread, to its own end, for work whose outcome must be known.

        A cancel stops what Spark does; the outcome is what the work makes of that, and not that of the wish.

        Raises:
            Cancelled: It was cancelled, and the work gave up.
            ExplorerError: It failed; the typed error.
        """
        self._run(work)
        return self.result()

    def _unsubscribe(self, callback: Callable[[Job[Result]], None]) -> None:
        with suppress(ValueError):
            self._subscribers.remove(callback)

    def _report_change(self) -> None:
        for callback in list(self._subscribers):
            callback(self)

    def _stop_clock(self, _: Future[Result]) -> None:
        self._ended = time.monotonic()

    def _run(self, work: Callable[[Job[Result]], Result], evaluates: str | None = None) -> None:
        """The worker thread: mark its work for Spark, do it, settle."""
        # PySpark may be missing, which is a result like any other: a typed error.
        try:
            from explorer.spark.engine.session import engine

            session = engine().session()
            self._phase = self._phase or "Planning"
            from explorer.spark.engine.watch import watch

            follower = watch(session, self.id, self.name)
            follower.begin()
            threading.Thread(target=self._follow, args=(follower.tasks, follower.cancel), daemon=True).start()
            try:
                self.check_cancelled()
                value = work(self) if evaluates is None else self._limited(session, work, evaluates)
            finally:
                self._work_ended.set()
                follower.end()
        except Exception as error:  # noqa: BLE001 - typed, kept, and raised to the caller that asks for the result
            self._fail(error)
        else:
            with suppress(InvalidStateError):  # cancelled meanwhile: the first outcome stays
                self._future.set_result(value)

    def _limited(self, session: SparkSession, work: Callable[[Job[Result]], Result], text: str) -> Result:
        from explorer.spark.engine.deadline import work_deadline

        with work_deadline(session, text):
            return work(self)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, ExplorerError):
            typed = error
        else:
            from explorer.spark.engine.failures import failure_of

            typed = failure_of(error)
            typed.__cause__ = error
        self._end_with(self._cancellation() if self._cancel_asked or isinstance(typed, Cancelled) else typed)

    def _end_with(self, error: ExplorerError) -> None:
        with suppress(InvalidStateError):  # it has ended: the first outcome stays
            self._future.set_exception(error)

    def _cancellation(self) -> Cancelled:
        return Cancelled(f"This was cancelled before its end: {self.name}.", operation=self.name)

    def _follow(self, tasks: Callable[[], tuple[int, int]], cancel: Callable[[], None]) -> None:
        """The watching thread: counts while the work runs, and sends the cancel until the work has ended.

        If Spark is still planning, a cancelled job ends before its work does: the cancel must still be sent then, or
        what was planned would start and occupy the cores, although nobody needs it.
        """
        while not self._work_ended.wait(_POLL_SECONDS):
            if self._cancel_asked:
                cancel()
            count = tasks()
            if count != self._count and not self._future.done():
                self._count = count
                self._report_change()

    def _guard(self) -> None:
        """The guarding thread: a cancelled job ends even if Spark does not react (planning, starting)."""
        while not self._cancel_asked and not self._future.done():
            wait([self._future], _POLL_SECONDS)
        wait([self._future], _GRACE_SECONDS)
        self._end_with(self._cancellation())


def submit(name: str, work: Callable[[Job[Result]], Result], evaluates: str | None = None) -> Job[Result]:
    """Run ``work`` as a job on a thread of its own, with the engine started first.

    Args:
        name: What is being done, for people: ``Preview of orders``.
        work: Called with the job, so that it can report its phase and notice a cancel.
        evaluates: The expression of a person or a table that it evaluates: then its time is limited.
    """
    job: Job[Result] = Job(name)
    job.begin(work, evaluates)
    return job


def _start_phase() -> str:
    from explorer.spark.engine.session import engine

    started = engine()
    return started.detail.rstrip(".") if started.state == "starting" else "Starting Spark"
