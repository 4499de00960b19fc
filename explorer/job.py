"""Long work as a job: phase, progress, elapsed time, cancel, and a result or a typed error.

One object serves the web app, Jupyter and the command line. Invariants: a job ends in exactly one of ``done``,
``failed``, ``cancelled``, and its first outcome stays; a cancelled job says so within a second, whatever its engine
does; subscribers never see the state go back, and see the end once.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final, Generic, Literal, Protocol, TypeVar

from explorer.core.errors import Cancelled, ExplorerError, StorageError
from explorer.turns import Turn, in_turn_of, own_line, own_person

JobState = Literal["running", "done", "failed", "cancelled"]
Result = TypeVar("Result")

_POLL_SECONDS: Final = 0.1
_GRACE_SECONDS: Final = 0.7
_numbers: Final = itertools.count(1)


class RunningTasks(Protocol):
    """The tasks that an engine runs for one thread."""

    def tasks(self) -> tuple[int, int]:
        """Return the tasks done, and the tasks known of so far."""

    def cancel(self) -> None:
        """Ask the engine to stop them; may be called again and again."""


class JobEngine(Protocol):
    """The engine that runs the tasks of jobs.

    Attributes:
        is_shared: Jobs that were begun in a person's line wait there for their turn.
        first_phase: What a job does once the engine runs, until the work says what.
    """

    is_shared: bool
    first_phase: str

    def start_phase(self) -> str:
        """Describe the start of the engine, for a job that has no phase of its own yet."""

    def running(self, name: str, group: str) -> AbstractContextManager[RunningTasks]:
        """Start the engine, and mark what this thread runs on it with the name and the ID of a job."""

    def failure_of(self, error: Exception, phase: str) -> ExplorerError:
        """Return the typed error for what the engine raised in a phase."""


class Job(Generic[Result]):
    """Work on a thread of its own.

    Args:
        name: What is being done, for people: ``Preview of orders``.
        engine: What runs its tasks.

    Attributes:
        id: Unique in this process.
    """

    def __init__(self, name: str, engine: JobEngine) -> None:
        self.id = f"explorer-job-{next(_numbers)}"
        self.name = name
        self._engine = engine
        self._started = time.monotonic()
        self._ended: float | None = None
        self._phase = ""
        self._count = (0, 0)
        self._cancel_requested = False
        self._work_ended = threading.Event()
        # Whose it is, as long as it is not part of a turn of another job.
        self._line = own_line() if engine.is_shared else None
        self._person = own_person()
        self._turn: Turn | None = None
        self._subscribers: list[Callable[[Job[Result]], None]] = []
        self._future: Future[Result] = Future()
        self._future.add_done_callback(self._stop_clock)

    @property
    def phase(self) -> str:
        """What it does now, for people: its place while it waits for its turn, then how far its engine is."""
        turn = self._turn
        if not self._phase and turn is not None and (place := turn.place):
            return f"Waiting for Spark: place {place:,} in the queue"
        return self._phase or self._engine.start_phase()

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
        if not self._cancel_requested:
            self._cancel_requested = True
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
        """Describe what the work does now; called by the work itself.

        Raises:
            Cancelled: It was cancelled.
        """
        self.check_cancelled()
        self._phase = phase
        self._report_change()

    def check_cancelled(self) -> None:
        """Check, between the steps of the work and in what continues with its result, that it was not cancelled.

        Raises:
            Cancelled: It was cancelled, even if it had ended by then.
        """
        if self._cancel_requested:
            raise self._cancellation()

    def begin(self, work: Callable[[Job[Result]], Result]) -> None:
        """Start the threads; once, by the code that made the job."""
        threading.Thread(target=self._run, args=(work,), name=self.id, daemon=True).start()
        threading.Thread(target=self._guard, name=f"{self.id}-guard", daemon=True).start()

    def run(self, work: Callable[[Job[Result]], Result]) -> Result:
        """Do the work on this thread, to its own end, for work whose outcome must be known.

        A cancel stops the engine's tasks; the outcome is what the work makes of that, and not that of the request.

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

    def _run(self, work: Callable[[Job[Result]], Result]) -> None:
        """Do the work with its tasks marked, and settle; on the worker thread."""
        try:
            with self._in_turn(), self._engine.running(self.name, self.id) as tasks:
                self._phase = self._phase or self._engine.first_phase
                threading.Thread(target=self._follow, args=(tasks,), daemon=True).start()
                try:
                    self.check_cancelled()
                    value = work(self)
                finally:
                    self._work_ended.set()
        except Exception as error:  # noqa: BLE001 - typed, and raised to the caller that waits for the result
            self._fail(error)
        else:
            with suppress(InvalidStateError):  # cancelled meanwhile: the first outcome stays
                self._future.set_result(value)

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Wait for the turn, on the worker thread; what the work begins itself is part of it."""
        if self._line is None:
            with in_turn_of(self._person):
                yield
            return
        with self._line.turn() as self._turn:
            while not self._turn.wait(_POLL_SECONDS):
                self.check_cancelled()
            with in_turn_of(self._person):
                yield

    def _fail(self, error: Exception) -> None:
        typed = error if isinstance(error, ExplorerError) else self._engine.failure_of(error, self._phase)
        if typed is not error:
            typed.__cause__ = error
        self._end_with(self._cancellation() if self._cancel_requested or isinstance(typed, Cancelled) else typed)

    def _end_with(self, error: ExplorerError) -> None:
        with suppress(InvalidStateError):  # it has ended: the first outcome stays
            self._future.set_exception(error)

    def _cancellation(self) -> Cancelled:
        return Cancelled(f"{self.name} was cancelled before it finished.", operation=self.name)

    def _follow(self, tasks: RunningTasks) -> None:
        """Count tasks while the work runs, and send the cancel until it has ended; on a thread of its own.

        If the engine is still planning, a cancelled job ends before its work does: the cancel must still be sent then,
        or what was planned would start and occupy the cores for nothing.
        """
        while not self._work_ended.wait(_POLL_SECONDS):
            if self._cancel_requested:
                tasks.cancel()
            count = tasks.tasks()
            if count != self._count and not self._future.done():
                self._count = count
                self._report_change()

    def _guard(self) -> None:
        """End a cancelled job even if the engine does not react (planning, starting); on a thread of its own."""
        while not self._cancel_requested and not self._future.done():
            wait([self._future], _POLL_SECONDS)
        wait([self._future], _GRACE_SECONDS)
        self._end_with(self._cancellation())


class ThisProcess:
    """The engine of work that this process does by itself.

    Args:
        doing: What is done, in words, until the work has a phase of its own: ``Reading the footer``.
    """

    is_shared = False

    def __init__(self, doing: str) -> None:
        self.first_phase = doing

    def start_phase(self) -> str:
        """Describe a start, which takes no time."""
        return self.first_phase

    @contextmanager
    def running(self, name: str, group: str) -> Iterator[RunningTasks]:  # noqa: ARG002  # nothing is marked here
        """Run the work."""
        yield _NoTasks()

    def failure_of(self, error: Exception, phase: str) -> ExplorerError:
        """Return the typed error for what was not foreseen."""
        return StorageError(f"{phase or self.first_phase} failed: {str(error).rstrip('.')}. Try again.")


class _NoTasks:
    """Work that counts no tasks."""

    def tasks(self) -> tuple[int, int]:
        """Return that there is nothing to count."""
        return 0, 0

    def cancel(self) -> None:
        """Leave it to the work, which looks for a cancel between its steps."""
