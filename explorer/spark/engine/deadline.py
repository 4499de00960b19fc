"""A limit of time for work on Spark that evaluates an expression of a user or a table.

Invariants: work that is past its limit ends in an ExpressionRefused with the limit and how to raise it. First its
jobs are cancelled. Where that does not help, since Spark still plans or a task computes one value forever, a JVM that
this program started is ended; the engine notices and starts another at the next request. A JVM of the user is never
ended.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from pyspark.sql import SparkSession

from explorer.core.errors import ExpressionRefused, RequestError
from explorer.core.protocol.sql.vetting import quoted_text
from explorer.spark.engine import gateway
from explorer.spark.engine.session import engine, is_connect
from explorer.spark.engine.watch import watch
from explorer.variables import ANALYSIS_VARIABLE, WORK_VARIABLE

P = ParamSpec("P")
R = TypeVar("R")

_ANALYSIS_SECONDS: Final = 60.0
_WORK_SECONDS: Final = 3600.0
_GRACE_SECONDS: Final = 10.0
_REPEAT_SECONDS: Final = 0.5
_numbers: Final = itertools.count(1)


@contextmanager
def analysis_deadline(session: SparkSession, text: str) -> Iterator[None]:
    """Limit the time in which Spark analyses expressions.

    Raises:
        ExpressionRefused: It took longer.
    """
    with _deadline(_Guard(session, _limit(ANALYSIS_VARIABLE, _ANALYSIS_SECONDS)), text, ANALYSIS_VARIABLE):
        yield


@contextmanager
def work_deadline(session: SparkSession, text: str) -> Iterator[None]:
    """Limit the time of work that evaluates expressions.

    Raises:
        ExpressionRefused: It took longer.
    """
    with _deadline(_JobGuard(session, _limit(WORK_VARIABLE, _WORK_SECONDS)), text, WORK_VARIABLE):
        yield


def limited(text: Callable[..., str] = lambda *_, **__: "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that evaluates expressions in the session of this process, so that its time is limited.

    Args:
        text: Returns the expressions, from the arguments of the function.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def within(*args: P.args, **kwargs: P.kwargs) -> R:
            with work_deadline(engine().session(), text(*args, **kwargs)):
                return function(*args, **kwargs)

        return within

    return decorate


@contextmanager
def _deadline(guard: _Guard, text: str, variable: str) -> Iterator[None]:
    guard.begin()
    try:
        yield
    except Exception as error:
        if guard.end():
            raise _too_slow(text, variable, guard.limit) from error
        raise
    finally:
        late = guard.end()
    if late:
        raise _too_slow(text, variable, guard.limit)


class _Guard:
    """A thread that waits for the end of the work of the thread that begins it, which starts no jobs.

    Args:
        session: The session that works.
        limit: Seconds that the work may take.
    """

    def __init__(self, session: SparkSession, limit: float) -> None:
        self.limit = limit
        self._session = session
        self._ended = threading.Event()
        self._ending_jvm = threading.Lock()
        self._late = False

    def begin(self) -> None:
        """Begin to wait for the end of the work."""
        threading.Thread(target=self._run, name="explorer-deadline", daemon=True).start()

    def end(self) -> bool:
        """End the wait, and return whether the work was late; a JVM that is being ended has ended then."""
        self._ended.set()
        with self._ending_jvm:
            return self._late

    def cancel(self) -> None:
        """Ask Spark to stop the work."""

    def is_busy(self) -> bool:
        """Return whether tasks of the work still run, although it ended for its thread."""
        return False

    def _run(self) -> None:
        if self._ended.wait(self.limit):
            return
        self._late = True
        until = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < until:
            self.cancel()
            time.sleep(_REPEAT_SECONDS)
            if self._ended.is_set() and not self.is_busy():
                return
        with self._ending_jvm:
            gateway.end_own_jvm(self._session)


class _JobGuard(_Guard):
    """The same for work that runs jobs: they are cancelled first."""

    def __init__(self, session: SparkSession, limit: float) -> None:
        super().__init__(session, limit)
        group = _group_of(session)
        self._marks = group is None
        self._watch = watch(session, group or f"explorer-deadline-{next(_numbers)}", "expressions")

    def begin(self) -> None:
        if self._marks:
            self._watch.begin()
        super().begin()

    def end(self) -> bool:
        if self._marks and not self._ended.is_set():
            self._watch.end()
        return super().end()

    def cancel(self) -> None:
        self._watch.cancel()

    def is_busy(self) -> bool:
        return self._watch.is_busy()


def _group_of(session: SparkSession) -> str | None:
    """Return the job group that the calling thread has already, of a job of this program."""
    if is_connect(session):
        return None
    return session.sparkContext.getLocalProperty("spark.jobGroup.id")


def _limit(variable: str, seconds: float) -> float:
    given = os.environ.get(variable)
    if given is None:
        return seconds
    try:
        limit = float(given)
    except ValueError:
        limit = 0.0
    if not 0 < limit < threading.TIMEOUT_MAX:
        raise RequestError(
            f"The variable {variable} is {given!r}, and it must be a number of seconds greater than zero. Correct it "
            "or remove it.",
            found=given,
        )
    return limit


def _too_slow(text: str, variable: str, limit: float) -> ExpressionRefused:
    what = f"The work with the expression {quoted_text(text)}" if text else "The work on rows"
    return ExpressionRefused(
        f"{what} was stopped after {limit:g} seconds, the limit for expressions. Write a simpler "
        f"expression, read fewer rows, or set the variable {variable} to a higher number of seconds.",
        expression=text or None,
        reason="deadline",
    )
