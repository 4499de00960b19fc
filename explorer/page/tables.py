"""The tables that pages show, each opened once, and its facts replaced when its log has another newest commit.

A first reading reports progress, shows the newest part meanwhile, and can be ended. Pages come before reading in the
background, as both share the processor: see `RightOfWay`.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from explorer.auditing.erasure import Neighbour
from explorer.core.errors import Cancelled, ExplorerError, VersionGap
from explorer.core.versions.delta_log import DeltaLog
from explorer.page.approvals import Approvals
from explorer.page.kept_results import KeptResults
from explorer.page.palette_names import PaletteNames
from explorer.report.signature import SigningKey
from explorer.views import TableFacts
from explorer.views.act.desk.desk import DeskTables


class Tables(DeskTables, Protocol):
    """Tables by the names that addresses have.

    Every method raises `NotAllowed` for a name that leads outside of what the host shows.

    Attributes:
        key: Signs the reports and statements that are downloaded; None signs nothing.
        picks_files: Files can be selected, for code that works with them.
        palette_names: All tables that a page can go to, and their names.
        kept: Results that people share; None where nobody else can open an address.
    """

    key: SigningKey | None
    picks_files: bool
    palette_names: PaletteNames
    kept: KeptResults | None

    @property
    def approvals(self) -> Approvals | None:
        """The requests for approval; None where no change needs a second person."""

    def facts(self, name: str) -> TableFacts:
        """Return the facts of a table as it is now; the same object until the log has another newest commit.

        Raises:
            Cancelled: A person ended its reading, or that which this call waited for.
            ExplorerError: The table cannot be read.
        """

    def facts_before(self, name: str, gap: VersionGap) -> TableFacts:
        """Return the facts of the versions before a gap in a table's log.

        Raises:
            ExplorerError: The table cannot be read.
        """

    def other(self, name: str) -> TableFacts:
        """Return the facts of a table to compare with.

        Raises:
            RequestError: The host has no such table.
            ExplorerError: The table cannot be read.
        """

    def other_names(self) -> tuple[str, ...] | None:
        """Return names of tables to compare with, as far as they are known; None where there is but one table."""

    def location(self, name: str) -> str:
        """Return where a table is."""

    def reading(self, name: str) -> TableReading | None:
        """Return the first reading of a table's log that goes on, or that a person ended; None without one."""

    def is_being_read(self, name: str) -> bool:
        """Return whether a call for the facts of a table would wait for another one."""

    def stop_reading(self, name: str) -> None:
        """End the first reading of a table's log, for all who wait for it."""

    def beside(self) -> tuple[Iterable[Neighbour], tuple[str, ...]]:
        """Return all tables, for a search of their files, and the folders under which these are all."""


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
        store: As of `explorer.views.TableFacts`.

    Attributes:
        done, total: How many commits are read, and how many there are; 0 before that is known.
        stopped: Whether a person ended it.
        early: Pages of the newest part come before the reading of the rest.
    """

    def __init__(self, log: DeltaLog, title: str, store: str = "") -> None:
        self.done = self.total = 0
        self.stopped = False
        self.early = RightOfWay()
        self._title, self._store = title, store
        self._part = _newest_part(log)
        self._facts: TableFacts | None = None
        self._lock = threading.Lock()
        log.watch(self._tell)

    def stop(self) -> None:
        """End it: what reads gets the error `Cancelled` soon."""
        self.stopped = True

    def newest(self) -> TableFacts | None:
        """Return the facts of the newest versions without the older ones; None if they are unknown.

        The first call reads the commits since the newest checkpoint.
        """
        with self._lock:
            if self._facts is None and self._part is not None:
                part, self._part = self._part, None
                try:
                    self._facts = TableFacts(part, self._title, partial=True, store=self._store)
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


_FRESH: Final = 2.0


@dataclass(frozen=True, slots=True)
class _Kept:
    """The facts of a table, another object of it that follows its log, and when its last check began."""

    facts: TableFacts
    tail: DeltaLog
    checked: float


class FollowedTable:
    """One table; its methods may be called from any thread.

    Args:
        open_log: Opens the table, as a new object at each call.
        title: Its name for people.
        store: As of `explorer.views.TableFacts`.

    Attributes:
        reading: The first reading of its log that goes on, or that a person ended; None without one.
    """

    def __init__(self, open_log: Callable[[], DeltaLog], title: str, store: str = "") -> None:
        self.reading: TableReading | None = None
        self._open, self._title, self._store = open_log, title, store
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
                if cached.checked > max(began - _FRESH, self._changed):
                    return cached.facts
                cached.tail.refresh()
                if cached.tail.newest_commit() == cached.facts.log.newest_commit():
                    self._kept = replace(cached, checked=began)
                    return cached.facts
            tail = self._open() if cached is None else cached.tail
            self._kept = _Kept(self._read(self._log(cached)), tail, began)
            return self._kept.facts

    def facts_before(self, gap: VersionGap) -> TableFacts:
        """Return the facts of the versions before a gap in the log.

        Raises:
            ExplorerError: The table cannot be read.
        """
        return TableFacts(self._open(), self._title, before=gap, store=self._store)

    @property
    def is_being_read(self) -> bool:
        """Whether a call for the facts would wait for another one."""
        return self._lock.locked()

    @property
    def is_read(self) -> bool:
        """Whether its facts are kept."""
        return self._kept is not None

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
        reading = self.reading = TableReading(log, self._title, self._store)
        try:
            return TableFacts(log, self._title, store=self._store)
        finally:
            if not reading.stopped:
                self.reading = None

    def _still_kept(self) -> _Kept | None:
        """Return what was read, unless files of its versions may have been deleted since that began."""
        cached = self._kept
        return cached if cached is not None and cached.checked > self._emptied else None


class FollowedTables(ABC):
    """The part of `explorer.page.tables.Tables` that follows tables; see `FollowedTable` for each method."""

    @abstractmethod
    def _followed_table(self, name: str) -> FollowedTable:
        """Return the table of a name."""

    def facts(self, name: str = "") -> TableFacts:
        """Return the facts of a table as it is now."""
        return self._followed_table(name).facts()

    def facts_before(self, name: str, gap: VersionGap) -> TableFacts:
        """Return the facts of the versions before a gap in a table's log."""
        return self._followed_table(name).facts_before(gap)

    def reading(self, name: str) -> TableReading | None:
        """Return the first reading of a table's log that goes on, or that a person ended; None without one."""
        return self._followed_table(name).reading

    def is_being_read(self, name: str) -> bool:
        """Return whether a call for the facts of a table would wait for another one."""
        return self._followed_table(name).is_being_read

    def stop_reading(self, name: str) -> None:
        """End the first reading of a table's log, for all who wait for it."""
        self._followed_table(name).stop_reading()

    def check_again(self, name: str = "", *, reopen: bool = False) -> None:
        """Check the log at the next question, even if that was done recently."""
        self._followed_table(name).check_again(reopen=reopen)
