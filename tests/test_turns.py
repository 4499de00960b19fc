"""Turns at a shared engine: who is next, what a place in the queue is, and jobs that wait for their turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import Cancelled, ExplorerError, LimitReached, StorageError
from explorer.job import Job
from explorer.turns import FairQueue, Line, QueueLength, Turn, in_line, own_line
from explorer.views.rows.spark_work import SparkWork
from tests.support.at_least_one import at_least_one

_PATIENCE = 30


def begun(turns: list[Turn]) -> list[bool]:
    return [turn.has_begun for turn in turns]


def test_ten_turns_of_one_person_do_not_hold_up_the_first_of_another() -> None:
    queue = FairQueue(4, 10)
    ana = [queue.enter("ana") for _ in range(10)]
    assert begun(ana) == 3 * [True] + 7 * [False], "the last place is for somebody else"
    ben = queue.enter("ben")
    assert ben.has_begun


def test_whoever_has_least_is_next_and_then_whoever_waited_longest() -> None:
    queue = FairQueue(3, 10)
    ana = [queue.enter("ana") for _ in range(4)]
    ben = [queue.enter("ben") for _ in range(2)]
    cleo = queue.enter("cleo")
    assert begun([*ana, *ben, cleo]) == [True, True, False, False, True, False, False]
    assert [turn.place for turn in (cleo, ben[1], ana[2], ana[3])] == [1, 2, 3, 4]
    queue.leave(ana[0])
    assert cleo.has_begun, "cleo has none, though ana and ben came first"
    queue.leave(ben[0])
    assert ben[1].has_begun
    queue.leave(ana[1])
    assert ana[2].has_begun
    assert [turn.place for turn in (ana[2], ana[3])] == [0, 1]


def test_a_turn_that_is_left_while_it_waits_frees_its_place() -> None:
    queue = FairQueue(1, 2)
    first, second = queue.enter("ana"), queue.enter("ana")
    third = queue.enter("ben")
    queue.leave(second)
    assert [third.place, queue.length("ana")] == [1, QueueLength(1, 0)]
    queue.enter("ana")
    queue.leave(first)
    assert third.has_begun, "ben waits since before ana's second one"


def test_more_turns_than_one_person_may_have_are_refused_and_others_are_not() -> None:
    queue = FairQueue(1, 2)
    turns = [queue.enter("ana") for _ in range(2)]
    with pytest.raises(LimitReached, match="You have 2 jobs") as refused:
        queue.enter("ana")
    assert (refused.value.limit, refused.value.field) == (2, "jobs_per_person")
    queue.enter("ben")
    queue.leave(turns[1])
    queue.enter("ana")


@given(
    places=st.integers(1, 4),
    steps=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=60),
)
def test_no_place_stays_free_while_somebody_may_take_it(places: int, steps: list[tuple[str, int]]) -> None:
    queue = FairQueue(places, 5)
    turns: list[Turn] = []
    for person, what in steps:
        if what < 6 and sum(turn.person == person for turn in turns) < 5:
            turns.append(queue.enter(person))
        elif turns:
            queue.leave(turns.pop(what % len(turns)))
        running = [turn.person for turn in turns if turn.has_begun]
        waiting = [turn for turn in turns if not turn.has_begun]
        assert queue.length() == QueueLength(len(running), len(waiting))
        assert len(running) <= places
        own = max(1, places - 1)
        assert all(running.count(each) <= own for each in "abc")
        if len(running) < places:
            assert all(running.count(turn.person) == own for turn in waiting)
        assert sorted(turn.place for turn in waiting) == list(range(1, len(waiting) + 1))
    for turn in turns:
        queue.leave(turn)
    assert queue.length() == QueueLength()


class OwnThread:
    """The engine of a test: what runs, runs on the job's own thread."""

    is_shared = True
    first_phase = "Running"

    def start_phase(self) -> str:
        return "Starting"

    def tasks(self) -> tuple[int, int]:
        return 0, 0

    def cancel(self) -> None:
        pass

    @contextmanager
    def running(self, name: str, group: str) -> Iterator[OwnThread]:
        del name, group
        yield self

    def failure_of(self, error: Exception, phase: str) -> ExplorerError:
        del phase
        return StorageError(str(error))


class Held:
    """Jobs that run until they are let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def begin(self, line: Line | None, name: str = "Rows of orders") -> Job[str]:
        with in_line(line):
            job: Job[str] = Job(name, OwnThread())
        job.begin(self._work)
        return job

    def _work(self, job: Job[str]) -> str:
        while not self.go.wait(0.02):
            job.check_cancelled()
        return f"{job.name}, {own_line()}"


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_job_says_its_place_and_a_cancelled_one_frees_it() -> None:
    queue, held = FairQueue(1, 9), Held()
    ana, ben = Line(queue, "ana"), Line(queue, "ben")
    first = held.begin(ana)
    until(lambda: queue.length().running == 1)
    second = held.begin(ana)
    until(lambda: queue.length().waiting == 1)
    third = held.begin(ben)
    until(lambda: third.phase == "Waiting for Spark: place 1 in the queue")
    assert (second.phase, second.state) == ("Waiting for Spark: place 2 in the queue", "running")
    third.cancel()
    with pytest.raises(Cancelled):
        third.result(_PATIENCE)
    until(lambda: queue.length() == QueueLength(1, 1))
    assert second.phase == "Waiting for Spark: place 1 in the queue"
    held.go.set()
    for job in at_least_one([first, second]):
        assert job.result(_PATIENCE) == "Rows of orders, None", "what the work begins itself is part of its turn"
    until(lambda: queue.length() == QueueLength())


def test_a_job_over_the_limit_fails_with_what_to_do() -> None:
    queue, held = FairQueue(1, 1), Held()
    first = held.begin(Line(queue, "ana"))
    until(lambda: queue.length().running == 1)
    with pytest.raises(LimitReached, match="Cancel one of them"):
        held.begin(Line(queue, "ana")).result(_PATIENCE)
    held.go.set()
    first.result(_PATIENCE)


def test_a_job_of_nobody_waits_for_nobody() -> None:
    queue, held = FairQueue(1, 9), Held()
    held.go.set()
    with Line(queue, "ana").turn():
        assert held.begin(None).result(_PATIENCE).endswith("None")


def test_what_a_window_begins_is_in_the_line_of_its_person() -> None:
    queue = FairQueue(1, 9)
    seen: list[Line | None] = []

    def make() -> Job[str]:
        seen.append(own_line())
        job: Job[str] = Job("Rows", OwnThread())
        job.begin(lambda _job: "rows")
        return job

    work: SparkWork[str] = SparkWork(lambda: None)
    with in_line(Line(queue, "ana")):
        work.begin("key", make)
    until(lambda: work.result == "rows")
    assert seen == [Line(queue, "ana")]
