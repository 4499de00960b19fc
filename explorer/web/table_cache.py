"""The tables that a server keeps in memory: those that windows use, and for a while those that they used.

Invariants: each request drops what exceeds the stated number, and what nobody has requested for the stated time,
whatever names a browser sends; only tables that are being read are kept beyond that. A table is opened once for all
windows, and once more for each other root that it must stay under: what a log may name depends on nobody else. What is
known of deleted files outlives the table that it was learned from, as nothing else could say it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from explorer.core.versions.retention.missing_files import KnownMissing
from explorer.page.tables import FollowedTable

MOST_TABLES: Final = 500
"""How many tables are kept in memory: as many as a list reads at once."""
MOST_UNREAD: Final = 50
"""How many of them at most were never read, such as names of nothing."""
IDLE: Final = 900.0
"""Seconds for which a table is kept that nobody asks for; a window that is on show asks every few seconds."""
_MOST_KNOWN: Final = 10_000
"""Of how many tables it is kept which of their files are missing."""
TableKey = tuple[str, str]


class TableCache:
    """The tables; its methods may be called from any thread.

    Args:
        most, most_unread, idle: As `MOST_TABLES`, `MOST_UNREAD`, and `IDLE`.
        clock: Returns seconds that only grow.
    """

    def __init__(
        self,
        *,
        most: int = MOST_TABLES,
        most_unread: int = MOST_UNREAD,
        idle: float = IDLE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._most_unread, self._idle, self._clock = most, most_unread, idle, clock
        self._lock = threading.Lock()
        # Each with the time when it was asked for last, the longest ago first.
        self._tables: OrderedDict[tuple[TableKey, str], tuple[FollowedTable, float]] = OrderedDict()
        self._missing: OrderedDict[TableKey, KnownMissing] = OrderedDict()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._tables)

    def followed(self, key: TableKey, root: str, make: Callable[[], FollowedTable]) -> FollowedTable:
        """Return the table of a key under a root, made at first need; what is not needed any more is forgotten."""
        with self._lock:
            now = self._clock()
            known = self._tables.pop((key, root), None)
            table = make() if known is None else known[0]
            self._tables[key, root] = table, now
            self._forget(now)
            return table

    def kept(self, key: TableKey) -> list[FollowedTable]:
        """Return the tables of a key that are kept, under whatever root."""
        with self._lock:
            return [table for (each, _), (table, _) in self._tables.items() if each == key]

    def missing(self, key: TableKey, missing_files: KnownMissing) -> KnownMissing:
        """Return what is known of the missing files of a table, for all who open it.

        Args:
            key: Which table.
            missing_files: Of a table that was just opened; it is what others get from now on, if there is no other.
        """
        with self._lock:
            known = self._missing.setdefault(key, missing_files)
            self._missing.move_to_end(key)
            while len(self._missing) > _MOST_KNOWN:
                self._missing.popitem(last=False)
            return known

    def _forget(self, now: float) -> None:
        for key, (table, asked) in list(self._tables.items()):
            if now - asked < self._idle:
                break
            self._drop(key, table)
        unread = [(key, table) for key, (table, _) in self._tables.items() if not table.is_read]
        for key, table in unread[: max(0, len(unread) - self._most_unread)]:
            self._drop(key, table)
        for key, (table, _) in list(self._tables.items())[: max(0, len(self._tables) - self._most)]:
            self._drop(key, table)

    def _drop(self, key: tuple[TableKey, str], table: FollowedTable) -> None:
        if not table.is_being_read:
            del self._tables[key]
