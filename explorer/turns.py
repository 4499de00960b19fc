"""Turns at an engine that people share: a fair queue, in which whoever has least of the engine is next.

A person's work waits in the person's own line. A place that becomes free goes to the person with the fewest turns under
way, and among those to the one who has waited longest since the last turn. Invariants: of several places one person
never has all, so somebody else's first turn waits for no one who came with many; a turn that is left, waiting or under
way, frees its place at once; work that is part of a turn never waits for another one.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from explorer.core.errors import LimitReached

_line: Final[ContextVar[Line | None]] = ContextVar("line", default=None)
_person: Final[ContextVar[str | None]] = ContextVar("person", default=None)


@dataclass(frozen=True, slots=True)
class QueueLength:
    """How much of a queue is under way, and how much waits: of one person, or of all."""

    running: int = 0
    waiting: int = 0


class Turn:
    """One turn, which waits or is under way.

    Args:
        queue: Where.
        person: Whose.
    """

    def __init__(self, queue: FairQueue, person: str) -> None:
        self.person = person
        self._queue = queue
        self._begun = threading.Event()

    @property
    def has_begun(self) -> bool:
        """Whether it is under way."""
        return self._begun.is_set()

    @property
    def place(self) -> int:
        """Its place in the queue, from 1; 0 if it does not wait."""
        return self._queue.place_of(self)

    def wait(self, seconds: float) -> bool:
        """Wait for its begin, so long at most; return whether it has begun."""
        return self._begun.wait(seconds)

    def begin(self) -> None:
        """Begin; called by the queue."""
        self._begun.set()


class FairQueue:
    """The queue; its methods may be called from any thread.

    Args:
        places: How many turns are under way at once.
        most: How many turns a person may have at once, waiting ones too.
    """

    def __init__(self, places: int, most: int) -> None:
        self.places, self.most = places, most
        # Of several places, somebody else finds one even if this person came with many turns.
        self._most_running = max(1, places - 1)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[Turn]] = {}
        # Since when each person waits: the last turn, or since there was something to wait for.
        self._since: dict[str, int] = {}

    def enter(self, person: str) -> Turn:
        """Take a turn, which begins now or waits.

        Raises:
            LimitReached: The person has as many already as one person may have.
        """
        with self._lock:
            turn = Turn(self, person)
            line = self._waiting.get(person, deque())
            if self._running[person] + len(line) >= self.most:
                raise LimitReached(
                    f"You have {self.most:,} jobs that run or wait for Spark, the most for one person on this server. "
                    "This one was not started. Cancel one of them, or wait until one has ended, then try again.",
                    field="jobs_per_person",
                    limit=self.most,
                )
            if not line:
                self._since[person] = next(self._numbers)
            line.append(turn)
            self._waiting[person] = line
            self._serve()
            return turn

    def leave(self, turn: Turn) -> None:
        """End a turn, whether it waits or is under way."""
        with self._lock:
            line = self._waiting.get(turn.person)
            if not turn.has_begun and line is not None and turn in line:
                line.remove(turn)
            elif turn.has_begun:
                self._running[turn.person] -= 1
            self._forget(turn.person)
            self._serve()

    def place_of(self, turn: Turn) -> int:
        """Return the place of a turn in the queue, from 1; 0 if it does not wait."""
        with self._lock:
            running, since = Counter(self._running), dict(self._since)
            left = {person: deque(line) for person, line in self._waiting.items()}
            numbers = itertools.count(max(since.values(), default=0) + 1)
            place = 0
            # Who is next as places become free, each of them first in the lines of those who have least.
            while left and not turn.has_begun:
                place += 1
                person = min(left, key=lambda each: (running[each], since[each]))
                if left[person].popleft() is turn:
                    return place
                running[person] += 1
                since[person] = next(numbers)
                if not left[person]:
                    del left[person]
            return 0

    def length(self, person: str | None = None) -> QueueLength:
        """Return how much is under way and waits; of one person, or of all."""
        with self._lock:
            if person is not None:
                return QueueLength(self._running[person], len(self._waiting.get(person, ())))
            return QueueLength(self._running.total(), sum(map(len, self._waiting.values())))

    def _serve(self) -> None:
        """Begin turns as long as there are places."""
        while self._running.total() < self.places:
            able = [person for person in self._waiting if self._running[person] < self._most_running]
            if not able:
                return
            person = min(able, key=lambda each: (self._running[each], self._since[each]))
            turn = self._waiting[person].popleft()
            self._running[person] += 1
            self._since[person] = next(self._numbers)
            if not self._waiting[person]:
                del self._waiting[person]
            turn.begin()

    def _forget(self, person: str) -> None:
        if not self._waiting.get(person):
            self._waiting.pop(person, None)
            if self._running[person] <= 0:
                self._running.pop(person, None)
                self._since.pop(person, None)


@dataclass(frozen=True, slots=True)
class Line:
    """A person's line in a queue: what is begun in it is that person's work.

    Attributes:
        queue: The queue.
        person: The person; empty for all whose name is not known.
    """

    queue: FairQueue
    person: str

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Take a turn for the time of some work, which waits for its begin.

        Raises:
            LimitReached: The person has as many already as one person may have.
        """
        turn = self.queue.enter(self.person)
        try:
            yield turn
        finally:
            self.queue.leave(turn)


def own_line() -> Line | None:
    """Return the line in which this thread works; None where nothing waits in a queue."""
    return _line.get()


@contextmanager
def in_line(line: Line | None) -> Iterator[None]:
    """Let what is begun here, on this thread, be the work of a person."""
    before = _line.set(line)
    try:
        yield
    finally:
        _line.reset(before)


def own_person() -> str | None:
    """Return whose work this thread does, in a line or as part of a turn; None where nothing waits in a queue."""
    line = _line.get()
    return _person.get() if line is None else line.person


@contextmanager
def in_turn_of(person: str | None) -> Iterator[None]:
    """Let what is begun here, on this thread, be part of a person's turn: it waits for no other one."""
    line, before = _line.set(None), _person.set(person)
    try:
        yield
    finally:
        _person.reset(before)
        _line.reset(line)
