"""One piece of Spark's work at a time, for one window and one purpose: begun on request, shown, stopped.

Spark starts with the first job, or in the background before it; nothing here waits for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from explorer.core.errors import Cancelled, ExplorerError, RequestError
from explorer.core.transaction.row_engine import RowJob
from explorer.debug import log_failure
from explorer.turns import Line, in_line, own_line
from explorer.views.problems import Problem, problem_of

if TYPE_CHECKING:
    from explorer.job import Job

_PACE = 0.25
_SECOND = 1.0
_CLOSING = 5.0
_log = logging.getLogger(__name__)
Result = TypeVar("Result")
_AnyJob = TypeVar("_AnyJob", bound=RowJob[object])


@dataclass(frozen=True, slots=True)
class WorkState:
    """How far the work is: ``idle``, ``running``, ``done``, ``failed`` or ``cancelled``; why it failed, if it did."""

    state: str = "idle"
    phase: str = ""
    done: int = 0
    total: int = 0
    elapsed: float = 0.0
    problem: Problem | None = None


@dataclass(slots=True)
class _Beginning:
    """A job that is being made, and since when; set once there is one, or a result, and that was told."""

    since: float
    told: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class ReadyResult(Generic[Result]):
    """A result that was there without a job."""

    value: Result


@dataclass(frozen=True, slots=True)
class Shareable:
    """A result as others can open it.

    Attributes:
        kind: What it is, in one word.
        about: What it is about, in any window.
        value: The result; None where there is none yet.
        adopt: Takes over the result of another window as that of this one.
        pins: Fields of the address that say what it is about where the address does not.
    """

    kind: str
    about: Hashable
    value: object | None
    adopt: Callable[[Any], None]
    pins: tuple[tuple[str, str], ...] = ()


class SparkWork(Generic[Result]):
    """At most one job.

    Args:
        changed: Called, on any thread, when something else is to be shown.

    Attributes:
        key: What the job, or its result, is about; None before the first.
        result: The result of the last job, until another begins.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._job: Job[Result] | None = None
        self._beginning: _Beginning | None = None
        self._reported = 0.0
        self._problem: Problem | None = None
        self.key: Hashable = None
        self.result: Result | None = None

    def begin(
        self, key: Hashable, make: Callable[[], Job[Result] | ReadyResult[Result]], *, quietly: bool = False
    ) -> threading.Event:
        """Begin a job; one that runs is stopped. This does not wait for what the job is made from.

        Args:
            key: What it is about.
            make: Makes the job, or has the result without one; called on a thread, as it may have to wait for what
                others read.
            quietly: Show nothing of it in its first moments, as its result may be there before they are over.

        Returns:
            An event that is set once the job or the result is there and ``changed`` was called for it; never if another
            job begins before.
        """
        beginning = _Beginning(time.monotonic())
        with self._lock:
            before, self._job, self._beginning = self._job, None, beginning
            self.key, self.result, self._problem = key, None, None
        _stop(before)
        # The job is the work of whoever begins it.
        made_in = partial(self._make_in, own_line(), beginning, make)
        threading.Thread(target=made_in, name="job-begin", daemon=True).start()
        if quietly:
            threading.Thread(target=self._show_soon, args=(beginning,), name="job-shown", daemon=True).start()
        else:
            self._changed()
        return beginning.told

    def cancel(self) -> None:
        """Stop a job that runs; one that is being made is not waited for, and stopped as soon as it is there."""
        with self._lock:
            job, being_made, self._beginning = self._job, self._beginning is not None, None
            if being_made:
                self._problem = problem_of(Cancelled("The work was cancelled.", operation="read rows"))
        _stop(job)
        if being_made:
            self._changed()

    def adopt(self, key: Hashable, result: Result) -> None:
        """Take over what another window has read, unless this one has asked the same; a job that runs is stopped."""
        with self._lock:
            if self.key == key:
                return
            before, self._job, self._beginning = self._job, None, None
            self.key, self.result, self._problem = key, result, None
        _stop(before)

    def about(self, key: Hashable) -> Result | None:
        """Return the result, if it is about this."""
        answered, result = self.answer
        return result if answered == key else None

    @property
    def answer(self) -> tuple[Hashable, Result | None]:
        """What the job, or its result, is about, and that result: both of one moment."""
        with self._lock:
            return self.key, self.result

    @property
    def state(self) -> WorkState:
        """How far the job is."""
        return self._state()[1]

    def state_of(self, key: Hashable) -> WorkState:
        """Return how far the job is, if it is about this; idle otherwise."""
        about, state = self._state()
        return state if about == key else WorkState()

    def _state(self) -> tuple[Hashable, WorkState]:
        with self._lock:
            key, job, beginning = self.key, self._job, self._beginning
            result, problem = self.result, self._problem
        if beginning is not None:
            return key, WorkState("running", "Reading the log", elapsed=time.monotonic() - beginning.since)
        if job is None:
            return key, WorkState("done" if result is not None else _ended(problem), problem=problem)
        # It runs until its answer, or why there is none, is here to be shown.
        state = "running" if result is None and problem is None else job.state
        return key, WorkState(state, job.phase, job.done, job.total, job.elapsed, problem)

    def _show_soon(self, beginning: _Beginning) -> None:
        time.sleep(_PACE)
        if beginning is self._beginning:
            self._changed()

    def _make_in(
        self, line: Line | None, beginning: _Beginning, make: Callable[[], Job[Result] | ReadyResult[Result]]
    ) -> None:
        with in_line(line):
            self._make(beginning, make)

    def _make(self, beginning: _Beginning, make: Callable[[], Job[Result] | ReadyResult[Result]]) -> None:
        job: Job[Result] | None = None
        result: Result | None = None
        problem: Problem | None = None
        try:
            made = make()
            if isinstance(made, ReadyResult):
                result = made.value
            else:
                job = made
        except ImportError as error:
            problem = _missing(error)
        except Exception as error:  # noqa: BLE001  # shown and logged, as nothing waits for this thread
            if not isinstance(error, ExplorerError):
                log_failure(_log, "a job could not start", error)
            elif not isinstance(error, Cancelled | RequestError):
                log_failure(_log, f"{self.key} failed", error, logging.WARNING)
            problem = problem_of(error)
        with self._lock:
            wanted = beginning is self._beginning
            if wanted:
                self._job, self._problem, self._beginning = job, problem, None
                self.result = result
        if wanted:
            if job is not None:
                job.subscribe(self._report)
                each_second(job, self._report)
            self._changed()
            beginning.told.set()
        else:
            _stop(job)

    def _report(self, job: Job[Result]) -> None:
        with self._lock:
            now = time.monotonic()
            if job is not self._job or (job.state == "running" and now - self._reported < _PACE):
                return
            self._reported = now
            if job.state == "done":
                self.result = job.result()
            elif job.error is not None:
                self._problem = problem_of(job.error)
                # What a person asked for wrongly is told to that person alone.
                if not isinstance(job.error, Cancelled | RequestError):
                    log_failure(_log, f"{job.name} failed", job.error, logging.WARNING)
        self._changed()


def _ended(problem: Problem | None) -> str:
    """How work without a job stands: nothing was asked, it was cancelled, or it could not begin."""
    if problem is None:
        return "idle"
    return "cancelled" if problem.kind == "Cancelled" else "failed"


def _stop(job: RowJob[Any] | None) -> None:
    if job is not None and job.state == "running":
        job.cancel()


def each_second(job: _AnyJob, then: Callable[[_AnyJob], None]) -> None:
    """Call something with a job each second while it runs: Spark reports nothing while it starts or plans."""

    def tell() -> None:
        while True:
            try:
                job.result(timeout=1)
            except TimeoutError:
                then(job)
            except ExplorerError:
                return
            else:
                return

    threading.Thread(target=tell, name="job-seconds", daemon=True).start()


def engine_state() -> dict[str, str]:
    """Return the state of Spark's engine and a sentence on it; this does not start it."""
    try:
        from explorer.spark.engine.session import engine
    except ImportError:
        return {"state": "off", "detail": "PySpark is not installed."}
    current = engine()
    return {"state": current.state, "detail": current.detail}


def start_notice() -> str:
    """Return the notice of an estimate if Spark is not running yet, with a space in front; else an empty text.

    The time in it was measured at the last start on this machine.
    """
    state = engine_state()["state"]
    if state in ("ready", "starting"):
        return "" if state == "ready" else " Spark is starting."
    try:
        from explorer.spark.engine.session import engine
    except ImportError:
        return ""
    took = engine().expected
    return " Spark starts first." if took is None else f" Spark starts first, which took {took:.1f} s here last time."


def start_early() -> None:
    """Begin to start Spark in the background, unless that was done before; what fails is in `engine_state`."""
    try:
        from explorer.spark.engine.session import engine
    except ImportError:
        return  # a request for rows reports what is missing
    engine().start_early()


def stop_engine() -> None:
    """Stop the Spark that this program started; what does not stop in some seconds ends with the process."""
    if engine_state()["state"] == "off":
        return
    from explorer.spark.engine.session import engine

    stopping = threading.Thread(target=engine().stop, name="spark-stop", daemon=True)
    stopping.start()
    stopping.join(_CLOSING)


class SparkStart:
    """The start of Spark as one window follows it.

    Args:
        changed: Called on a thread with the engine's state: each second of the start, and when it has ended.
    """

    def __init__(self, changed: Callable[[dict[str, str]], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._follows = False

    def begin(self) -> None:
        """Begin to start Spark unless that was done before, and follow a start that is not done."""
        start_early()
        with self._lock:
            if self._follows or engine_state()["state"] != "starting":
                return
            self._follows = True
        threading.Thread(target=self._follow, name="spark-start-seconds", daemon=True).start()

    def close(self) -> None:
        """Follow no longer."""
        self._closed.set()

    def _follow(self) -> None:
        going = True
        while going and not self._closed.wait(_SECOND):
            state = engine_state()
            going = state["state"] == "starting"
            if not going:
                with self._lock:
                    self._follows = False
            self._changed(state)


def _missing(error: ImportError) -> Problem:
    return Problem(
        kind="EngineUnavailable",
        severity="warning",
        title="Spark is not available",
        message=f"Reading rows needs Spark, which is not installed ({error}).",
        next_step='Everything else works. To install it, run pip install "delta-table-explorer[spark]", then restart.',
    )
