"""The histories of one listing of a log: all of it, without its files, or as a table, each read at the first need.

Protocol sections: Delta Log Entries, Commit Provenance Information. Invariants: each is read once, by one thread; the
full history serves for the other two once it was read; the reader of the beginning of a log continues only in a listing
that begins with the same files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import pyarrow as pa

from explorer.core.log.checkpoint.column_cache import ColumnCache
from explorer.core.log.index_cache import IndexCache
from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.log_store import LogStore
from explorer.core.versions.provenance import PROVENANCE, Provenance

if TYPE_CHECKING:
    from explorer.core.versions.history import History
    from explorer.core.versions.history_reader import HistoryReader

_T = TypeVar("_T")


class Once(Generic[_T]):
    """A value that is made at the first need; threads that need it meanwhile wait for it.

    Args:
        value: The value, if it is known already.
    """

    __slots__ = ("_lock", "_value")

    def __init__(self, value: _T | None = None) -> None:
        self._lock = threading.Lock()
        self._value = value

    @property
    def value(self) -> _T | None:
        """The value; None as long as it was not made."""
        return self._value

    def get(self, make: Callable[[], _T]) -> _T:
        """Return the value; an exception of ``make`` is raised here, and the next call makes it again."""
        value = self._value
        if value is not None:
            return value
        with self._lock:
            if self._value is None:
                self._value = make()
            return self._value

    def get_anew(self, is_outdated: Callable[[_T], bool], make: Callable[[], _T]) -> _T:
        """Return the value, made again if it is missing or outdated."""
        with self._lock:
            if self._value is None or is_outdated(self._value):
                self._value = make()
            return self._value

    def copy(self) -> Once[_T]:
        """Return a copy with the value as far as it was made."""
        return Once(self._value)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a log is read.

    Attributes:
        indexes: Opens the cache of tables; None caches nothing between processes.
        columns: The cache of checkpoints' columns; None caches none.
        follows: Whether the reader stays, so that later only new commits are read.
        watch: Called with how many commits are read, and how many there are; an exception from it ends the reading.
    """

    indexes: Callable[[], IndexCache | None] | None = None
    columns: ColumnCache | None = None
    follows: bool = False
    watch: Callable[[int, int], None] | None = None

    def opened_indexes(self) -> IndexCache | None:
        """Open the cache of tables."""
        return None if self.indexes is None else self.indexes()


class ReaderSlot:
    """The slot of the reader of a log: one reading takes it out, continues with it and puts it back.

    Args:
        reader: The reader of the beginning; None if there is none.
    """

    def __init__(self, reader: HistoryReader | None = None) -> None:
        self._lock = threading.Lock()
        self._reader = reader

    def take(self, listing: LogListing) -> HistoryReader | None:
        """Take it out; None if it is being used, or if the listing is that of another log."""
        with self._lock:
            reader, self._reader = self._reader, None
        return reader if reader is not None and reader.reads_on(listing) else None

    def put(self, reader: HistoryReader | None) -> None:
        """Put it back."""
        with self._lock:
            self._reader = reader

    def copy(self) -> ReaderSlot:
        """Return a slot with the same commits read so far, to continue independently; an empty one while it is used."""
        with self._lock:
            return ReaderSlot(None if self._reader is None else self._reader.copy())


@dataclass(frozen=True, slots=True)
class Histories:
    """The histories of one listing.

    Args:
        _listing: The listing; it is complete once a history is read.
    """

    _listing: LogListing
    _slot: ReaderSlot = field(default_factory=ReaderSlot)
    _history: Once[History] = field(default_factory=Once)
    _provenance: Once[Provenance] = field(default_factory=Once)
    _table: Once[pa.Table] = field(default_factory=Once)

    def of(self, listing: LogListing) -> Histories:
        """Return the histories of another listing of the same log, which are read from where the last reading ended."""
        return Histories(listing, self._slot)

    def confirmed_by(self, listing: LogListing) -> Histories:
        """Return the same histories where a new listing confirms them; those not read yet are read by the new one."""
        return replace(self, _listing=listing)

    def copy(self) -> Histories:
        """Return the same histories, for another log to continue independently."""
        read = self._history.copy(), self._provenance.copy(), self._table.copy()
        return Histories(self._listing, self._slot.copy(), *read)

    def history(self, store: LogStore, options: ReadOptions) -> History:
        """Return the commits and the lifetimes of their files.

        Raises:
            VersionGap: Not even the latest version can be rebuilt.
            MalformedAction: A commit is damaged.
        """
        return self._history.get(lambda: self._read(store, options))

    def history_of_log(self, store: LogStore, options: ReadOptions) -> History:
        """Return the same, read from the log and not from the cache; it replaces a history that was cached.

        Raises:
            VersionGap: Not even the latest version can be rebuilt.
            MalformedAction: A commit is damaged.
        """
        return self._history.get_anew(lambda history: history.cached, lambda: self._read_anew(store, options))

    def provenance(self, store: LogStore, options: ReadOptions) -> Provenance:
        """Return the commits without their files; the history if it was read already.

        Raises:
            VersionGap: Not even the latest version can be rebuilt.
            MalformedAction: A commit is damaged.
        """
        from explorer.core.versions.cached_history import read_provenance

        return self._history.value or self._provenance.get(
            lambda: read_provenance(store, self._listing, options.opened_indexes())
        )

    def provenance_table(
        self, store: LogStore, options: ReadOptions, most: int | None, check: Callable[[Provenance], None]
    ) -> pa.Table:
        """Return the provenance that commits record of themselves, newest first, a row each.

        Args:
            most: How many rows; None for all.
            check: Called with the commits where their protocols are known; it may refuse them.

        Raises:
            VersionGap: Not even the latest version can be rebuilt.
            MalformedAction: A commit that does not begin with its provenance is damaged.
        """
        from explorer.core.versions.cached_history import read_provenance_table

        history = self._history.value
        if history is not None:
            check(history)
            return history.table(most).select(PROVENANCE)
        table = self._table.get(lambda: read_provenance_table(store, self._listing, options.opened_indexes(), check))
        return table.slice(0, most)

    def _read(self, store: LogStore, options: ReadOptions) -> History:
        from explorer.core.versions.cached_history import read_history

        reader = self._slot.take(self._listing)
        history, reader = read_history(
            store, self._listing, options.opened_indexes(), reader, follow=options.follows, watch=options.watch
        )
        self._slot.put(reader)
        return history

    def _read_anew(self, store: LogStore, options: ReadOptions) -> History:
        from explorer.core.versions.cached_history import read_history

        history, reader = read_history(store, self._listing, None, follow=options.follows, watch=options.watch)
        self._slot.put(reader)
        return history
