"""Long work on Spark as jobs: phase, count, elapsed time, cancel, result or typed error.

One object serves the web app, Jupyter and the command line. Invariants: a job ends in exactly one of ``done``,
``failed``, ``cancelled``; a cancelled job says so within a second, whatever Spark is at; subscribers never see state go
back.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable
from typing import Final, Generic, Literal, TypeVar

from explorer.core.errors import Cancelled, ExplorerError

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
        self._phase = "Starting Spark"
        self._count = (0, 0)
        self._state: JobState = "running"
        self._value: Result | None = None
        self._error: ExplorerError | None = None
        self._cancel_asked: float | None = None
        self._work_ended = threading.Event()
        self._changed = threading.Condition(threading.RLock())
        self._subscribers: list[Callable[[Job[Result]], None]] = []

    @property
    def phase(self) -> str:
        """What it is at, for people."""
        return self._phase

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
        return self._state

    @property
    def error(self) -> ExplorerError | None:
        """Why it failed or that it was cancelled; None while it runs and when it is done."""
        return self._error

    def cancel(self) -> None:
        """Ask it to stop; it is ``cancelled`` within a second. One that has ended keeps its result."""
        with self._changed:
            if self._cancel_asked is None:
                self._cancel_asked = time.monotonic()
                if self._state == "running":
                    self._phase = "Cancelling"
        self._tell()

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the end and return the result.

        Args:
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TimeoutError: It still runs after ``timeout``.
            Cancelled: It was cancelled.
            ExplorerError: It failed; the typed error.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._state != "running", timeout):
                raise TimeoutError(f"{self.name} still runs after {timeout} s ({self._phase}).")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set wherever there is no error

    def subscribe(self, callback: Callable[[Job[Result]], None]) -> Callable[[], None]:
        """Call ``callback`` with the job at each change, from the job's own threads, and once at the end.

        Returns:
            A function that ends the subscription.
        """
        with self._changed:
            self._subscribers.append(callback)
            ended = self._state != "running"
        if ended:
            callback(self)
        return lambda: self._unsubscribe(callback)

    def report(self, phase: str) -> None:
        """Say what the work is at; for the work itself.

        Raises:
            Cancelled: Someone asked it to stop.
        """
        self.check_cancelled()
        self._phase = phase
        self._tell()

    def check_cancelled(self) -> None:
        """For the work itself, between its steps, and for what goes on with its result.

        Raises:
            Cancelled: Someone asked it to stop, even if it had ended by then.
        """
        if self._cancel_asked is not None:
            raise self._cancellation()

    def begin(self, work: Callable[[Job[Result]], Result]) -> None:
        """Start the threads; once, by whoever made the job."""
        threading.Thread(target=self._run, args=(work,), name=self.id, daemon=True).start()
        threading.Thread(target=self._guard, name=f"{self.id}-guard", daemon=True).start()

    def _unsubscribe(self, callback: Callable[[Job[Result]], None]) -> None:
        with self._changed, contextlib.suppress(ValueError):
            self._subscribers.remove(callback)

    def _tell(self) -> None:
        with self._changed:
            subscribers = list(self._subscribers)
        for callback in subscribers:
            callback(self)

    def _settle(self, state: JobState, value: Result | None, error: ExplorerError | None) -> None:
        with self._changed:
            if self._state != "running":
                return
            self._value, self._error, self._ended = value, error, time.monotonic()
            self._state = state
            self._changed.notify_all()
        self._tell()

    def _run(self, work: Callable[[Job[Result]], Result]) -> None:
        """The worker thread: mark its work for Spark, do it, settle."""
        # PySpark may be missing, which is a result like any other: a typed error.
        try:
            from explorer.spark.engine.session import engine

            session = engine().session()
            from explorer.spark.engine.watch import watch

            follower = watch(session, self.id, self.name)
            follower.begin()
            threading.Thread(target=self._follow, args=(follower.tasks, follower.cancel), daemon=True).start()
            try:
                self.check_cancelled()
                value = work(self)
            finally:
                self._work_ended.set()
                follower.end()
        except Exception as error:  # noqa: BLE001 - it is typed, kept, and raised to whoever asks for the result
            self._fail(error)
        else:
            self._settle("done", value, None)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, ExplorerError):
            typed = error
        else:
            from explorer.spark.engine.failures import failure_of

            typed = failure_of(error)
            typed.__cause__ = error
        if self._cancel_asked is not None or isinstance(typed, Cancelled):
            self._settle_cancelled()
        else:
            self._settle("failed", None, typed)

    def _cancellation(self) -> Cancelled:
        return Cancelled(f"This was cancelled before its end: {self.name}.", operation=self.name)

    def _settle_cancelled(self) -> None:
        self._settle("cancelled", None, self._cancellation())

    def _follow(self, tasks: Callable[[], tuple[int, int]], cancel: Callable[[], None]) -> None:
        """The watching thread: counts while the work runs, and sends the cancel until the work has ended.

        A cancelled job is settled before its work has ended, if Spark was still planning: the cancel must be sent then
        too, or what was planned would start and hold the cores with nobody to ask for it.
        """
        while not self._work_ended.wait(_POLL_SECONDS):
            if self._cancel_asked is not None:
                cancel()
            count = tasks()
            if count != self._count and self._state == "running":
                self._count = count
                self._tell()

    def _guard(self) -> None:
        """The guarding thread: a job that was cancelled is settled even if Spark is deaf (planning, starting)."""
        with self._changed:
            while self._state == "running":
                asked = self._cancel_asked
                if asked is None or time.monotonic() - asked < _GRACE_SECONDS:
                    self._changed.wait(_POLL_SECONDS)
                else:
                    break
        if self._state == "running":
            self._settle_cancelled()


def submit(name: str, work: Callable[[Job[Result]], Result]) -> Job[Result]:
    """Run ``work`` as a job on a thread of its own, with the engine started first.

    Args:
        name: What is being done, for people: ``Preview of orders``.
        work: Called with the job, so that it can report its phase and notice a cancel.
    """
    job: Job[Result] = Job(name)
    job.begin(work)
    return job
