"""How much of a server one person may have at once: pages, jobs of Spark, and exports; counted by name.

People whose names are not known (a server without a login, or one that is opened by a token) count as one person.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from explorer import formatting as fmt
from explorer.configuration.records import Limits
from explorer.core.errors import LimitReached
from explorer.page.host import Identity
from explorer.turns import FairQueue, Line

Result = TypeVar("Result")
_MOST_PAGES: Final = 100
_MOST_JOBS: Final = 10
_MOST_EXPORTS: Final = 4
_SPARK_JOBS: Final = 4


@dataclass(frozen=True, slots=True)
class PersonLimits:
    """The limits of a server.

    Attributes:
        pages: Pages that a person may have open.
        jobs: Jobs of a person that run on Spark or wait for it.
        exports: Exports that are made for a person at once.
        spark_jobs: Jobs of all people that run on Spark at once; others wait for their turn.
    """

    pages: int = _MOST_PAGES
    jobs: int = _MOST_JOBS
    exports: int = _MOST_EXPORTS
    spark_jobs: int = _SPARK_JOBS

    @classmethod
    def of(cls, values: Limits) -> PersonLimits:
        """Return the limits of a configuration; what it leaves open has a default."""
        given = {
            "pages": values.pages_per_person,
            "jobs": values.jobs_per_person,
            "exports": values.exports_per_person,
            "spark_jobs": values.spark_jobs,
        }
        return cls(**{name: value for name, value in given.items() if value is not None})


class ServerLimits:
    """What the people of a server have at the moment; its methods may be called from any thread.

    Args:
        limits: How much each may have.

    Attributes:
        limits: As given.
        queue: The turns at Spark.
        open_pages: Returns whose the open pages are; set by the application that has them.
    """

    def __init__(self, limits: PersonLimits) -> None:
        self.limits = limits
        self.open_pages: Callable[[], Iterable[Identity]] = tuple
        self.queue = FairQueue(limits.spark_jobs, limits.jobs)
        self._lock = threading.Lock()
        self._opening: Counter[str] = Counter()
        self._exports: Counter[str] = Counter()

    @contextmanager
    def opening(self, identity: Identity) -> Iterator[None]:
        """Open a page, which counts as one that is open meanwhile.

        Raises:
            LimitReached: The person has as many open already as one person may have.
        """
        person = identity.name
        with self._lock:
            opened = sum(each.name == person for each in self.open_pages())
            if opened + self._opening[person] >= self.limits.pages:
                raise LimitReached(
                    f"You have {fmt.plural(self.limits.pages, 'page')} open on this server, the most for one person. "
                    "Close some that you do not need; they stop counting half a minute later.",
                    field="pages_per_person",
                    limit=self.limits.pages,
                )
            self._opening[person] += 1
        try:
            yield
        finally:
            with self._lock:
                self._opening[person] -= 1
                if not self._opening[person]:
                    del self._opening[person]

    def statement(self) -> str:
        """Return what the server holds at the moment, in words; it names nobody."""
        people = [each.name for each in self.open_pages()]
        named = len({person for person in people if person})
        queue, memory = self.queue.length(), resident_bytes()
        by = f" by {fmt.plural(named, 'person', 'people')}" if named else ""
        parts = [
            f"{fmt.plural(len(people), 'page')} open{by}",
            f"{fmt.plural(queue.running, 'job')} on Spark and {queue.waiting:,} in its queue",
            f"{fmt.plural(self._exports.total(), 'export')} under way",
            *([] if memory is None else [f"{fmt.size(memory)} in memory"]),
        ]
        return f"This server has {', '.join(parts)}."

    def line_of(self, identity: Identity) -> Line:
        """Return the line in which the jobs of a person wait."""
        return Line(self.queue, identity.name)

    def export(self, identity: Identity, work: Callable[[], Result]) -> Callable[[], Result]:
        """Return the making of an export, which counts from now on until it has ended.

        Raises:
            LimitReached: As many are being made for the person as one person may have.
        """
        person = identity.name
        with self._lock:
            if self._exports[person] >= self.limits.exports:
                raise LimitReached(
                    f"{_are(self.limits.exports, 'export')} being made for you, the most for one person on this "
                    "server. This one was not started. Wait until one of them has arrived, then try again.",
                    field="exports_per_person",
                    limit=self.limits.exports,
                )
            self._exports[person] += 1

        def counted() -> Result:
            try:
                return work()
            finally:
                with self._lock:
                    self._exports[person] -= 1
                    if not self._exports[person]:
                        del self._exports[person]

        return counted


def _are(number: int, noun: str) -> str:
    return f"{fmt.plural(number, noun)} {'is' if number == 1 else 'are'}"


def resident_bytes() -> int | None:
    """Return the memory that this process has; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
