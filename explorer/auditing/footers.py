"""The statistics of the log against the footers of the Parquet files that they describe.

Protocol section: Per-file Statistics. Invariants: a difference is reported only where a reader that trusts the log
could leave out a row, or counts wrongly: another number of rows, fewer nulls, or bounds inside those of the file
(STATS-005, STATS-007). Bounds and nulls of a file with masked rows are not compared, as they may be of its visible
rows alone; neither are values whose types do not compare. A long string of a footer may be cut off, so only what it
shows for certain counts. No row is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.core.protocol.data_footers import DataFooter, UnreadFooter, footers_of, is_exact_bound
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn
from explorer.core.versions.snapshot import Snapshot

# Statistics of times have milliseconds, values microseconds; the greatest one is truncated, not rounded up (STATS-011).
_CUT_OFF: Final = timedelta(milliseconds=1)
# So many bytes the last two letters of a string take at most: what a writer that cuts it off may raise.
_RAISED: Final = 8


class FooterDifference(msgspec.Struct, frozen=True):
    """A statistic that the footer of its file contradicts.

    Attributes:
        path: The file, decoded.
        column: Dotted logical name; empty for the number of rows.
        statistic: ``numRecords``, ``nullCount``, ``minValues`` or ``maxValues``.
        logged, actual: The value in the log, and that of the footer, as text.
    """

    path: str
    column: str
    statistic: str
    logged: str
    actual: str


class FooterReport(msgspec.Struct, frozen=True):
    """The result of reading the footers.

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


def compared_footers(
    snapshot: Snapshot, store: LogStore, check_cancelled: Callable[[], None] = lambda: None
) -> FooterReport:
    """Read the footer of every live file, and hold the statistics of the log against it.

    Args:
        check_cancelled: Called before each file, on several threads; what it raises ends the reading.

    Raises:
        CorruptTable: The statistics cannot be read at all.
    """
    paths: list[str] = snapshot.files(["path"]).column(0).to_pylist()
    answers = footers_of(store, paths, check_cancelled=check_cancelled)
    footers = [answer if isinstance(answer, DataFooter) else None for answer in answers]
    unread = [(path, each.reason) for path, each in zip(paths, answers, strict=True) if isinstance(each, UnreadFooter)]
    differences = [*_counts(snapshot, paths, footers)]
    masked = snapshot.files(["dv_cardinality"]).column(0).to_pylist()
    written = [column.name for column in snapshot.statistics_columns if not column.partition]
    for column, ranges in snapshot.column_ranges_of(written):
        differences += _bounds(column, ranges, masked, footers)
    return FooterReport(snapshot.version, len(paths) - len(unread), tuple(differences), tuple(unread))


def _counts(snapshot: Snapshot, paths: list[str], footers: list[DataFooter | None]) -> Iterator[FooterDifference]:
    logged = snapshot.files(["num_records"]).column(0).to_pylist()
    for path, rows, footer in zip(paths, logged, footers, strict=True):
        if footer is not None and rows is not None and rows != footer.rows:
            yield FooterDifference(path, "", "numRecords", str(rows), str(footer.rows))


def _bounds(
    column: StatisticsColumn, bounds: pa.Table, masked: list[int | None], footers: list[DataFooter | None]
) -> Iterator[FooterDifference]:
    name = ".".join(column.physical)
    ranges = bounds.select(["path", "min", "max", "null_count"]).to_pylist()
    for row, footer, hidden in zip(ranges, footers, masked, strict=True):
        footer_column = None if footer is None or hidden is not None else footer.columns.get(name)
        if footer_column is None:
            continue
        if _misses_nulls(row["null_count"], footer_column.nulls, footer.rows if footer is not None else 0):
            yield FooterDifference(
                row["path"], column.name, "nullCount", str(row["null_count"]), str(footer_column.nulls)
            )
        if _is_above_least(row["min"], footer_column.least):
            yield FooterDifference(row["path"], column.name, "minValues", str(row["min"]), str(footer_column.least))
        if _is_above(_certain_greatest(footer_column.greatest), row["max"], _CUT_OFF):
            yield FooterDifference(row["path"], column.name, "maxValues", str(row["max"]), str(footer_column.greatest))


def _is_above_least(logged: Any, least: Any) -> bool:
    """Return whether a logged minimum is certainly above the file's, which may be a truncated string."""
    is_beginning = not is_exact_bound(least) and isinstance(logged, str) and logged.startswith(least)
    return not is_beginning and _is_above(logged, least, timedelta(0))


def _certain_greatest(greatest: Any) -> Any:
    """Return a value that the file's maximum certainly reaches: a long string may be truncated and raised."""
    return greatest if is_exact_bound(greatest) else greatest.encode()[:-_RAISED].decode(errors="ignore")


def _misses_nulls(logged: int | None, nulls: int | None, rows: int) -> bool:
    """Return whether a reader that relies on a null count could miss a null, or a value."""
    if logged is None or nulls is None:
        return False
    return logged < nulls or (logged == rows and nulls < rows)


def _is_above(one: Any, other: Any, apart: timedelta) -> bool:
    """Return whether a value is certainly greater than another; times by at least ``apart``."""
    match one, other:
        case None, _:
            return False
        case bool(), bool():
            return one and not other
        case str(), str():
            return one.encode() > other.encode()
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
