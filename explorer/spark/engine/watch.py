"""Follow and stop what one thread runs on Spark, classic or Connect.

Classic Spark knows a thread's work as a job group, Connect as a tag. Where Spark shares its cores fairly, as that which
this program starts does, they are shared by people. Invariants: nothing here raises for a JVM that is dead, as the work
itself raises; a cancel may be sent again and again, as one that arrives before Spark knows the job is lost.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from typing import Any, Final, Protocol

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from explorer.spark.engine.session import is_connect
from explorer.turns import own_person

_MARKS: Final = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel", "spark.scheduler.pool")
# The JVM may be dead, and the context with it.
_OF_DEAD_JVM: Final = (Py4JError, AttributeError, OSError)
_ENDED: Final = frozenset({"SUCCEEDED", "FAILED"})


class WorkWatch(Protocol):
    """Progress and cancellation of the work of one thread."""

    def begin(self) -> None:
        """Mark the calling thread's work from here on."""

    def end(self) -> None:
        """Remove the mark from the calling thread."""

    def tasks(self) -> tuple[int, int]:
        """Return the tasks done, and the tasks known of so far."""

    def cancel(self) -> None:
        """Ask Spark to stop the work."""

    def is_busy(self) -> bool:
        """Return whether tasks of the work still run; Connect cannot tell, so there it is False."""


def watch(session: SparkSession, group: str, description: str) -> WorkWatch:
    """Return the watch that fits the session."""
    if is_connect(session):
        return _ConnectWatch(session, group)
    return _ClassicWatch(session, group, description)


class _ClassicWatch:
    def __init__(self, session: SparkSession, group: str, description: str) -> None:
        self._context = session.sparkContext
        self._group = group
        self._description = description
        # Job -> its tasks that were done when it ended: a stage that it did not need again is counted nowhere.
        self._ended: dict[int, int] = {}

    def begin(self) -> None:
        self._context.setJobGroup(self._group, self._description, True)
        if (person := own_person()) is not None:
            # Otherwise the tasks of one person's jobs, of which the first has thousands, come before all of the next.
            pool = hashlib.sha256(person.encode("utf-8", "surrogateescape")).hexdigest()[:16]
            self._context.setLocalProperty("spark.scheduler.pool", pool)

    def end(self) -> None:
        with contextlib.suppress(*_OF_DEAD_JVM):
            for name in _MARKS:
                self._context.setLocalProperty(name, None)  # type: ignore[arg-type]  # None is how it is cleared

    def tasks(self) -> tuple[int, int]:
        done = total = 0
        with contextlib.suppress(*_OF_DEAD_JVM):
            tracker = self._context.statusTracker()
            for job in set(tracker.getJobIdsForGroup(self._group)).difference(self._ended):
                info = tracker.getJobInfo(job)
                stages = [tracker.getStageInfo(stage) for stage in (info.stageIds if info is not None else ())]
                known = [stage for stage in stages if stage is not None]
                completed = sum(stage.numCompletedTasks for stage in known)
                if info is not None and info.status in _ENDED:
                    self._ended[job] = completed
                else:
                    done, total = done + completed, total + sum(stage.numTasks for stage in known)
            ended = sum(self._ended.values())
            done, total = done + ended, total + ended
        return done, total

    def cancel(self) -> None:
        with contextlib.suppress(*_OF_DEAD_JVM):
            self._context.cancelJobGroup(self._group)

    def is_busy(self) -> bool:
        with contextlib.suppress(*_OF_DEAD_JVM):
            tracker = self._context.statusTracker()
            jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(self._group)))
            stages = filter(None, (tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds))
            return any(stage.numActiveTasks for stage in stages)
        return False


class _ConnectWatch:
    def __init__(self, session: SparkSession, group: str) -> None:
        self._session: Any = session
        self._tag = group
        self._thread: int | None = None
        self._tasks = (0, 0)
        self._runs = False

    def begin(self) -> None:
        self._thread = threading.get_ident()
        self._session.addTag(self._tag)
        self._session.registerProgressHandler(self._progress)

    def end(self) -> None:
        self._session.removeProgressHandler(self._progress)
        self._session.removeTag(self._tag)

    def tasks(self) -> tuple[int, int]:
        return self._tasks

    def cancel(self) -> None:
        # Not before tasks run: the server forgets an operation that is interrupted while it is planned, but continues
        # to run it, and then nothing can stop it. The cancel is sent again and again, so it comes in time.
        if self._runs:
            self._session.interruptTag(self._tag)

    def is_busy(self) -> bool:
        return False

    def _progress(self, stages: Any = (), done: bool = False, **_: Any) -> None:
        # Handlers receive all work of the session; each is called in the thread whose work it is.
        if threading.get_ident() == self._thread:
            self._runs = bool(stages) and not done
            self._tasks = (
                sum(stage.num_completed_tasks for stage in stages or ()),
                sum(stage.num_tasks for stage in stages or ()),
            )
