"""All commits of a table, oldest first: as columns over the versions, and one by one.

Protocol section: Commit Provenance Information. Invariants: everything shown or checked about a commit is read here;
its rows are those of `amounts`; columns are as long as there are commits in the log.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import (
    Float64s,
    Int64s,
    Mask,
    flags,
    floats,
    int64s,
    numbers,
    one_array,
    only_array,
    validity,
)
from explorer.core.protocol.arrow.records import moments
from explorer.core.versions.commits.amounts import CommitAmounts
from explorer.core.versions.commits.summary import CommitSummary, summaries

_DAY = 86_400_000
_KEPT = 64  # records of commits: a page asks for the same few again and again


class Commits:
    """All commits of a table, oldest first.

    Args:
        history: The table of `DeltaLog.history`, in any order; None where it cannot be read.

    Attributes:
        history: The same, oldest first.
        versions: The versions with a commit in the log.
    """

    def __init__(self, history: pa.Table | None) -> None:
        self.history = pa.table({"version": int64s([])}) if history is None else history.sort_by("version")
        self.versions = self.integers("version")
        self._records: dict[int, CommitSummary] = {}

    def __len__(self) -> int:
        return len(self.versions)

    @property
    def first(self) -> int:
        """The oldest version with a commit in the log."""
        return int(self.versions[0])

    @property
    def last(self) -> int:
        """The newest version."""
        return int(self.versions[-1])

    def has(self, version: int) -> bool:
        """Return whether the commit of a version is in the log."""
        return version in self._row_of

    def record(self, version: int) -> CommitSummary | None:
        """Return the commit of a version, or ``None`` if it is no longer in the log."""
        record = self._records.get(version)
        if record is None and (row := self._row_of.get(version)) is not None:
            record = summaries(self.history.slice(row, 1), self.redated[row : row + 1])[0]
            if len(self._records) >= _KEPT:
                self._records.clear()
            self._records[version] = record
        return record

    def records(self, from_version: int, to_version: int, limit: int = 50) -> list[CommitSummary]:
        """Return up to ``limit`` newest commits of (from, to], newest first."""
        wanted = [version for version in self.versions if from_version < version <= to_version][-limit:]
        return [record for version in reversed(wanted) if (record := self.record(int(version))) is not None]

    def newest_first(self) -> list[CommitSummary]:
        """Return all commits, newest first."""
        return summaries(self.history, self.redated)[::-1]

    def records_where(self, chosen: Mask) -> list[CommitSummary]:
        """Return the commits of a mask over all of them, oldest first."""
        return summaries(self.history.filter(pa.array(chosen)), self.redated[chosen])

    @cached_property
    def amounts(self) -> CommitAmounts:
        """The amounts of each commit, in rows, or in files where no commit counts its rows."""
        return CommitAmounts.of(self.history)

    @property
    def form(self) -> Mask:
        """The commits in which schema, protocol or properties changed."""
        return self.flags("metadata_changed", "protocol_changed", "schema_changed")

    @cached_property
    def times(self) -> Int64s:
        """Times to draw commits at, ms since the epoch, never falling; that of the commit before where one is unknown.

        Where the time of a commit's file is more than a day from its writer's clock, it is the writer's: a copy of the
        table gives all files the time of the copy. Versions are still looked up by the times of the files.
        """
        if not len(self):
            return np.zeros(0, np.int64)
        return np.maximum.accumulate(np.where(self.redated, self._written, self._recorded_times))

    @cached_property
    def redated(self) -> Mask:
        """The commits drawn at the writer's time in place of the file's.

        A clock that ran ahead would move all later commits: its time is drawn only if no later commit is before it.
        """
        if not len(self):
            return np.zeros(0, bool)
        by_file = np.array(self.texts("timestamp_basis")) == "file"
        known = validity(only_array(self.history, "commit_info_timestamp"))
        apart = by_file & known & (np.abs(self._recorded_times - self._written) > _DAY)
        drawn = np.where(apart, self._written, self._recorded_times)
        later = np.append(np.minimum.accumulate(drawn[::-1])[::-1][1:], np.iinfo(np.int64).max)
        redated: Mask = apart & ((self._written < self._recorded_times) | (self._written <= later))
        return redated

    def numbers(self, column: str) -> Float64s:
        """Return a column of numbers, or of times in ms since the epoch; NaN where the log records none."""
        return floats(self.history.column(column))

    def integers(self, column: str, unknown: int = 0) -> Int64s:
        """Return an integer column as int64, ``unknown`` for null."""
        return _int64s(only_array(self.history, column), unknown)

    def flags(self, *columns: str) -> Mask:
        """Return a mask: true where any of the Boolean columns is true."""
        result = np.zeros(len(self), dtype=bool)
        for column in columns:
            result |= flags(only_array(self.history, column))
        return result

    def values(self, column: str) -> list[Any]:
        """Return a column as it is."""
        values = self.history.column(column)
        plain: list[Any] = moments(values) if pa.types.is_timestamp(values.type) else values.to_pylist()
        return plain

    def texts(self, column: str) -> list[str]:
        """Return a string column, empty for null."""
        return [value or "" for value in self.history.column(column).to_pylist()]

    def text(self, version: int, column: str) -> str:
        """Return a string of one commit; empty where the log records none, or has no such commit."""
        row = self._row_of.get(version)
        return "" if row is None else str(self.history.column(column)[row].as_py() or "")

    def map(self, version: int, column: str) -> dict[str, str | None]:
        """Return parameters or metrics of one commit; empty where the log records none, or has no such commit."""
        row = self._row_of.get(version)
        return {} if row is None else dict(self.history.column(column)[row].as_py() or ())

    def unique(self, column: str) -> list[str]:
        """Return the distinct strings of a column."""
        return [str(text) for text in self.history.column(column).unique().to_pylist() if text]

    def where(self, column: str, text: str) -> Int64s:
        """Return the positions of the commits with a string in a column."""
        places: Int64s = np.flatnonzero(np.array(self.history.column(column).to_pylist(), object) == text)
        return places

    @cached_property
    def _row_of(self) -> dict[int, int]:
        return {version: row for row, version in enumerate(self.versions.tolist())}

    @cached_property
    def _recorded_times(self) -> Int64s:
        return self._moments("timestamp")

    @cached_property
    def _written(self) -> Int64s:
        return self._moments("commit_info_timestamp")

    def _moments(self, column: str) -> Int64s:
        counted = one_array(self.history.column(column).cast(pa.int64()).chunks, pa.int64())
        return _int64s(counted)


def _int64s(column: pa.Array, unknown: int = 0) -> Int64s:
    values, known = numbers(column)
    return np.where(known, values, unknown).astype(np.int64)
