"""The first reading of a table's log: how far it is, what can be shown meanwhile, and a way to end it.

Pages come before what is read in the background, as both share the processor: see `RightOfWay`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from explorer.core.errors import Cancelled, ExplorerError
from explorer.core.versions.delta_log import DeltaLog
from explorer.views import TableFacts

__all__ = ["RightOfWay", "TableReading"]

_MOST_COMMITS: Final = 5_000
_FROM_COMMITS: Final = 100
_LONGEST: Final = 3.0


class RightOfWay:
    """The order of pages and of what is read in the background; its methods may be called from any thread.

    What waits goes on when no page is being made, and after some seconds in any case.
    """

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._pages = 0

    @contextmanager
    def page(self) -> Iterator[None]:
        """Make a page: others wait meanwhile."""
        with self._free:
            self._pages += 1
        try:
            yield
        finally:
            with self._free:
                self._pages -= 1
                self._free.notify_all()

    def give_way(self, longest: float = _LONGEST) -> bool:
        """Wait while pages are made.

        Args:
            longest: Seconds to wait at most.

        Returns:
            Whether none is being made now.
        """
        with self._free:
            return self._free.wait_for(lambda: not self._pages, timeout=longest)


class TableReading:
    """One reading; its methods may be called from any thread.

    Args:
        log: The log, before its history is read; its reading is watched from here on.
        title: The table's name for people.

    Attributes:
        done, total: How many commits are read, and how many there are; 0 before that is known.
        stopped: Whether a person ended it.
        early: Pages of the newest part come before the reading of the rest.
    """

    def __init__(self, log: DeltaLog, title: str) -> None:
        self.done = self.total = 0
        self.stopped = False
        self.early = RightOfWay()
        self._title = title
        self._part = _newest_part(log)
        self._facts: TableFacts | None = None
        self._lock = threading.Lock()
        log.watch(self._tell)

    def stop(self) -> None:
        """End it: what reads gets the error `Cancelled` soon."""
        self.stopped = True

    def newest(self) -> TableFacts | None:
        """What is known of the newest versions without the older ones; None where that cannot be said.

        The first call reads the commits since the newest checkpoint.
        """
        with self._lock:
            if self._facts is None and self._part is not None:
                part, self._part = self._part, None
                try:
                    self._facts = TableFacts(part, self._title, partial=True)
                except ExplorerError:
                    return None  # the whole reading says what is wrong
            return self._facts

    def _tell(self, done: int, total: int) -> None:
        if not self.total and total >= _FROM_COMMITS:
            # Before anything else: it is soon done while nothing else is read, and is what a page shows first.
            self.newest()
        self.early.give_way()
        self.done, self.total = done, total
        if self.stopped:
            raise Cancelled("The reading of the log was ended.", operation="read the log")


def _newest_part(log: DeltaLog) -> DeltaLog | None:
    try:
        part = log.newest_part()
    except ExplorerError:
        return None  # the whole reading says what is wrong
    return part if part is not None and len(part.listing.commits) <= _MOST_COMMITS else None
