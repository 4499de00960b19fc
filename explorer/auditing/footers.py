"""The statistics of the log against the footers of the Parquet files that they describe.

Protocol section: Per-file Statistics. Invariants: a difference is reported only where a reader that trusts the log
could leave out a row, or counts wrongly: another number of rows, fewer nulls, or bounds inside those of the file
(STATS-005, STATS-007). Bounds and nulls of a file with masked rows are not compared, as they may be of its visible
rows alone; neither are long texts, which both sides may cut off, nor values whose types do not compare. No row is read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.errors import LimitExceeded, StorageError
from explorer.core.protocol.arrow.open_parquet import read_footer
from explorer.core.protocol.file_places import place_of
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn
from explorer.core.versions.snapshot import Snapshot

__all__ = ["FooterDifference", "FooterReport", "look_at_footers"]

_READERS: Final = 8
# Statistics of times have milliseconds, values microseconds; the greatest one is truncated, not rounded up (STATS-011).
_CUT_OFF: Final = timedelta(milliseconds=1)
_LONG_TEXT: Final = 32
"""Writers of either side may cut texts from this length on."""


class FooterDifference(msgspec.Struct, frozen=True):
    """A statistic that the footer of its file contradicts.

    Attributes:
        path: The file, decoded.
        column: Dotted logical name; empty for the number of rows.
        statistic: ``numRecords``, ``nullCount``, ``minValues`` or ``maxValues``.
        logged, found: What the log says, and what the footer does, as text.
    """

    path: str
    column: str
    statistic: str
    logged: str
    found: str


class FooterReport(msgspec.Struct, frozen=True):
    """What a look at the footers found.

    Attributes:
        version: The version whose live files they are.
        files: How many were read.
        differences: File by file of each column.
        unread: Files whose footer could not be read, and why.
    """

    version: int
    files: int
    differences: tuple[FooterDifference, ...]
    unread: tuple[tuple[str, str], ...]


class _Column(msgspec.Struct, frozen=True):
    """A column of a file by its footer; None where the footer does not say."""

    least: Any
    greatest: Any
    nulls: int | None


class _Footer(msgspec.Struct, frozen=True):
    rows: int
    columns: Mapping[str, _Column]


def look_at_footers(snapshot: Snapshot, store: LogStore) -> FooterReport:
    """Read the footer of every live file, and hold the statistics of the log against it.

    Args:
        snapshot: The version.
        store: The table's store.

    Raises:
        CorruptTable: The statistics cannot be read at all.
    """
    paths: list[str] = snapshot.files(["path"]).column(0).to_pylist()
    with ThreadPoolExecutor(_READERS) as readers:
        answers = list(readers.map(partial(_footer, store), paths))
    footers = [answer if isinstance(answer, _Footer) else None for answer in answers]
    unread = [(path, answer) for path, answer in zip(paths, answers, strict=True) if isinstance(answer, str)]
    differences = [*_counts(snapshot, paths, footers)]
    for column in snapshot.statistics_columns:
        if not column.partition:
            differences += _bounds(snapshot, column, footers)
    return FooterReport(snapshot.version, len(paths) - len(unread), tuple(differences), tuple(unread))


def _footer(store: LogStore, path: str) -> _Footer | str:
    """The footer of a file, or why it cannot be read."""
    try:
        holder, key = place_of(store, path)
        with holder.open_input(key) as source:
            return _read(read_footer(source, path))
    except FileNotFoundError:
        return "it is not there"
    except (StorageError, LimitExceeded, OSError, pa.ArrowException) as error:
        return str(error).split("\n", 1)[0]


def _read(metadata: pq.FileMetaData) -> _Footer:
    columns: dict[str, _Column] = {}
    paths = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    counts = Counter(paths)
    for place, path in enumerate(paths):
        if counts[path] > 1:
            continue  # A column `a.b` beside a struct `a` with a field `b`: neither is told from the other.
        chunks = [metadata.row_group(group).column(place) for group in range(metadata.num_row_groups)]
        found = [chunk.statistics for chunk in chunks]
        known = [each for each in found if each is not None]
        if not chunks or len(known) != len(found):
            continue
        try:
            bounds = [(each.min, each.max) for each in known if each.has_min_max]
        except (ValueError, NotImplementedError):
            continue  # values of a type that Python has no exact form of, such as nanoseconds
        # A group of nulls alone has no bounds; any other without them leaves those of the file unknown.
        whole = all(each.has_min_max or _only_nulls(each, chunk) for each, chunk in zip(known, chunks, strict=True))
        columns[path] = _Column(
            min((least for least, _ in bounds), default=None) if whole else None,
            max((greatest for _, greatest in bounds), default=None) if whole else None,
            sum(each.null_count for each in known) if all(each.has_null_count for each in known) else None,
        )
    return _Footer(metadata.num_rows, columns)


def _only_nulls(statistics: pq.Statistics, chunk: pq.ColumnChunkMetaData) -> bool:
    return bool(statistics.has_null_count and statistics.null_count == chunk.num_values)


def _counts(snapshot: Snapshot, paths: list[str], footers: list[_Footer | None]) -> Iterator[FooterDifference]:
    logged = snapshot.files(["num_records"]).column(0).to_pylist()
    for path, rows, footer in zip(paths, logged, footers, strict=True):
        if footer is not None and rows is not None and rows != footer.rows:
            yield FooterDifference(path, "", "numRecords", str(rows), str(footer.rows))


def _bounds(snapshot: Snapshot, column: StatisticsColumn, footers: list[_Footer | None]) -> Iterator[FooterDifference]:
    name = ".".join(column.physical)
    ranges = snapshot.column_ranges(column.name).select(["path", "min", "max", "null_count"]).to_pylist()
    masked = snapshot.files(["dv_cardinality"]).column(0).to_pylist()
    for row, footer, hidden in zip(ranges, footers, masked, strict=True):
        found = None if footer is None or hidden is not None else footer.columns.get(name)
        if found is None:
            continue
        if _misses_nulls(row["null_count"], found.nulls, footer.rows if footer is not None else 0):
            yield FooterDifference(row["path"], column.name, "nullCount", str(row["null_count"]), str(found.nulls))
        if _is_above(row["min"], found.least, timedelta(0)):
            yield FooterDifference(row["path"], column.name, "minValues", str(row["min"]), str(found.least))
        if _is_above(found.greatest, row["max"], _CUT_OFF):
            yield FooterDifference(row["path"], column.name, "maxValues", str(row["max"]), str(found.greatest))


def _misses_nulls(logged: int | None, found: int | None, rows: int) -> bool:
    """Whether a reader that trusts a count of nulls could leave out a null, or a value."""
    if logged is None or found is None:
        return False
    return logged < found or (logged == rows and found < rows)


def _is_above(one: Any, other: Any, apart: timedelta) -> bool:
    """Whether a value is certainly greater than another; times by at least ``apart``."""
    match one, other:
        case None, _:
            return False
        case bool(), bool():
            return one and not other
        case str(), str():
            return max(len(one), len(other)) < _LONG_TEXT and one.encode() > other.encode()
        case datetime(), datetime():
            return (one.tzinfo is None) == (other.tzinfo is None) and one > other and one - other >= apart
        case (datetime(), _) | (_, datetime()) | (bool(), _) | (_, bool()):
            return False
        case date(), date():
            return one > other
        case Decimal(), Decimal():
            return one > other
        case (int() | float(), int() | float()):
            return not (math.isnan(one) or math.isnan(other)) and one > other
        case _:
            return False
