"""Jobs whose tasks run on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from explorer.core.errors import ExplorerError
from explorer.job import Job, RunningTasks

Result = TypeVar("Result")


def submit(name: str, work: Callable[[Job[Result]], Result], evaluates: str | None = None) -> Job[Result]:
    """Run ``work`` as a job on a thread of its own, with Spark started first.

    Args:
        name: What is being done, for people: ``Preview of orders``.
        work: Called with the job, so that it can report its phase and notice a cancel.
        evaluates: The expression of a user or a table that it evaluates: then its time is limited.
    """
    job: Job[Result] = spark_job(name, evaluates)
    job.begin(work)
    return job


def spark_job(name: str, evaluates: str | None = None) -> Job[Result]:
    """Return a job that has not begun; arguments as of `submit`."""
    return Job(name, _SparkEngine(evaluates))


class _SparkEngine:
    """Spark as the engine of a job; PySpark is imported when it runs, so a missing package is the job's error."""

    is_shared = True
    first_phase = "Planning"

    def __init__(self, evaluates: str | None) -> None:
        self._evaluates = evaluates

    def start_phase(self) -> str:
        from explorer.spark.engine.session import engine

        started = engine()
        return started.detail.rstrip(".") if started.state == "starting" else "Starting Spark"

    @contextmanager
    def running(self, name: str, group: str) -> Iterator[RunningTasks]:
        from explorer.spark.engine.session import engine

        session = engine().session()
        from explorer.spark.engine.deadline import work_deadline
        from explorer.spark.engine.watch import watch

        tasks = watch(session, group, name)
        tasks.begin()
        try:
            with nullcontext() if self._evaluates is None else work_deadline(session, self._evaluates):
                yield tasks
        finally:
            tasks.end()

    def failure_of(self, error: Exception, phase: str) -> ExplorerError:
        del phase  # Spark names what failed
        from explorer.spark.engine.failures import failure_of

        return failure_of(error)
