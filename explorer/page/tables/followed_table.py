"""A table that pages show: opened once, and its facts replaced when its log has another newest commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from explorer.core.errors import Cancelled, VersionGap
from explorer.core.versions.delta_log import DeltaLog
from explorer.page.tables.table_reading import TableReading
from explorer.views import TableFacts

__all__ = ["FollowedTable"]

_FRESH: Final = 2.0


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was read.

    Attributes:
        facts: What is known of the table; their log stays as it was read, as a window may still show it.
        tail: Another object of the same table, which follows the end of its log.
        looked: When that began last.
    """

    facts: TableFacts
    tail: DeltaLog
    looked: float


class FollowedTable:
    """One table; its methods may be called from any thread.

    Args:
        open_log: Opens the table, as a new object at each call.
        title: Its name for people.

    Attributes:
        reading: The first reading of its log that goes on, or that a person ended; None without one.
    """

    def __init__(self, open_log: Callable[[], DeltaLog], title: str) -> None:
        self.reading: TableReading | None = None
        self._open, self._title = open_log, title
        self._lock = threading.Lock()
        self._kept: _Kept | None = None
        self._stopped = self._changed = self._emptied = 0.0

    def facts(self) -> TableFacts:
        """Return the facts of the table as it is now (the log is checked at most every two seconds).

        A check lists what came after the newest commit, and reads nothing; the facts are the same object until the log
        has another newest commit.

        Raises:
            Cancelled: A person ended its reading, or that which this call waited for.
            ExplorerError: The table cannot be read.
        """
        called = time.monotonic()
        with self._lock:
            if self._stopped > called:
                raise Cancelled("The reading of the log was ended.", operation="read the log")
            # What is learned of a change meanwhile is newer than what is read from here on.
            began, cached = time.monotonic(), self._still_kept()
            if cached is not None:
                if cached.looked > max(began - _FRESH, self._changed):
                    return cached.facts
                cached.tail.refresh()
                if cached.tail.newest_commit() == cached.facts.log.newest_commit():
                    self._kept = replace(cached, looked=began)
                    return cached.facts
            tail = self._open() if cached is None else cached.tail
            self._kept = _Kept(self._read(self._log(cached)), tail, began)
            return self._kept.facts

    def facts_before(self, gap: VersionGap) -> TableFacts:
        """Return the facts of the versions before a gap in the log.

        Raises:
            ExplorerError: The table cannot be read.
        """
        return TableFacts(self._open(), self._title, before=gap)

    @property
    def is_being_read(self) -> bool:
        """Whether a call for the facts would wait for another one."""
        return self._lock.locked()

    def stop_reading(self) -> None:
        """End the first reading of the log, for all who wait for it."""
        if (reading := self.reading) is not None:
            self._stopped = time.monotonic()
            reading.stop()

    def check_again(self, *, reopen: bool = False) -> None:
        """Check the log at the next question, even if that was done recently.

        Args:
            reopen: Open it again even if its version is the same: files of earlier versions may be gone.
        """
        if reopen:
            self._emptied = time.monotonic()
        else:
            self._changed = time.monotonic()

    def _log(self, cached: _Kept | None) -> DeltaLog:
        """Return the log as it is now; of one that was read already, the history reads new commits alone."""
        if cached is not None:
            return cached.facts.log.successor()
        opened = self._open()
        opened.follow()
        return opened

    def _read(self, log: DeltaLog) -> TableFacts:
        reading = self.reading = TableReading(log, self._title)
        try:
            return TableFacts(log, self._title)
        finally:
            if not reading.stopped:
                self.reading = None

    def _still_kept(self) -> _Kept | None:
        """Return what was read, unless files of its versions may have been deleted since that began."""
        cached = self._kept
        return cached if cached is not None and cached.looked > self._emptied else None
