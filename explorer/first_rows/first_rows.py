"""A page of a version's rows, read in this process where that costs little and gives what Spark gives.

Protocol sections: Deletion Vectors, Column Mapping, Partition Value Serialization. Invariants: every live row is on
exactly one page, whatever the size of a page and whoever reads it; no file before the one that a page begins in is
read; what is not read here is said with its reason, never left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.core.errors import CorruptTable, RequestError, UnsupportedFeature
from explorer.core.protocol.logical_files import repeated_text
from explorer.data_files.column_sources import column_sources
from explorer.first_rows.file_rows import NotReadHere
from explorer.first_rows.matching_rows import matching_page
from explorer.first_rows.row_conditions import judged
from explorer.first_rows.row_page import RowPage, RowPosition, files_holding, page_of
from explorer.first_rows.shapes import unread_table
from explorer.first_rows.version_rows import MOST_FILES, VersionRows

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["MOST_FILES", "MOST_ROWS", "SparkOnly", "first_rows", "head"]

MOST_ROWS: Final = 10_000
"""Rows of a page."""
_GROWTH: Final = 4


@dataclass(frozen=True, slots=True)
class SparkOnly:
    """Spark must read a page, and why, for people."""

    reason: str


def head(log: DeltaLog, snapshot: Snapshot, limit: int, where: str | None = None) -> RowPage:
    """Return the first live rows of a version.

    Args:
        log: The table's log.
        snapshot: The version.
        limit: Rows at most.
        where: SQL of one boolean expression; only rows for which it is TRUE.

    Raises:
        RequestError: ``limit`` is negative.
        UnsupportedFeature: Only Spark reads them; the message says why.
        StorageError, CorruptTable: As for `first_rows`.
    """
    if limit < 0:
        raise RequestError(f"The number of rows is {limit}; give 0 or more.", field="limit")
    page = first_rows(log, snapshot, None, limit, where=where)
    if isinstance(page, SparkOnly):
        raise UnsupportedFeature(
            f"The first rows of version {snapshot.version} are not read without Spark, as {page.reason}. Read them "
            "with Spark: Table.rows in Python, delta-explorer rows on the command line.",
            features=[],
            operation="read rows without Spark",
            version=snapshot.version,
        )
    return page


def first_rows(
    log: DeltaLog,
    snapshot: Snapshot,
    begin: RowPosition | None = None,
    limit: int = 100,
    *,
    where: str | None = None,
    masked: bool = False,
) -> RowPage | SparkOnly:
    """Return a page of rows, or why Spark must read it.

    Args:
        log: The table's log.
        snapshot: The version.
        begin: Where to begin; None begins with the first row.
        limit: Rows at most.
        where: SQL of one boolean expression; only rows for which it is TRUE.
        masked: Give masked rows too, marked.

    Raises:
        StorageError: A data file is missing, or the store does not answer.
        CorruptTable: A data file's size, a partition value or a deletion vector contradicts the log.
        UnsupportedFeature, NotAllowed: The location of a file cannot be read.
        LimitExceeded: The footer of a file is too large.
    """
    columns = column_sources(snapshot)
    reason = f"more than {MOST_ROWS:,} rows are asked for" if limit > MOST_ROWS else unread_table(columns)
    if reason is not None:
        return SparkOnly(reason)
    condition = None if where is None else judged(snapshot, where)
    if isinstance(condition, str):
        return SparkOnly(condition)
    begin, rows = begin or RowPosition(), VersionRows(log, snapshot, columns, masked=masked)
    try:
        check_listed_once(snapshot)
        return matching_page(rows, begin, limit, condition) if condition is not None else _page(rows, begin, limit)
    except NotReadHere as error:
        return SparkOnly(error.reason)


def _page(reading: VersionRows, begin: RowPosition, limit: int) -> RowPage:
    # No more files are opened than these, so that the log is not read for the others.
    snapshot = reading.snapshot
    files, total = snapshot.file_part(begin.file, begin.file + MOST_FILES + 1), snapshot.num_files - begin.file
    first, count = 0, max(1, files_holding(files, begin.row + limit + 1, masked=reading.masked))
    parts, rows = [reading.no_rows()], 0
    while first < total and rows <= limit:
        end = min(first + count, total)
        numbers = range(begin.file + first, begin.file + end)
        # One row more than wanted shows where the next page begins.
        parts += reading.read(files.slice(first, end - first), numbers, begin, limit + 1 - rows)
        rows = sum(part.num_rows for part in parts)
        first, count = end, count * _GROWTH
    table = pa.concat_tables(parts)
    vectors = reading.vectors_of(table.slice(0, limit))
    return page_of(snapshot, table, begin, limit, files_read=first, vectors=vectors, by_spark=False)


def check_listed_once(snapshot: Snapshot, files: pa.Table | None = None) -> None:
    """Check that no file is listed twice: readers would give its rows once or several times.

    Args:
        snapshot: The version, whose files are compared once.
        files: Some rows of ``snapshot.logical_files``; None for all.

    Raises:
        CorruptTable: One is.
    """
    if files is None or files.num_rows >= snapshot.num_files:
        path = snapshot.repeated_path
    else:
        path = repeated_text(files.column("path"))
    if path is None:
        return
    version = snapshot.version
    raise CorruptTable(
        f"The file {path} is listed more than once at version {version}, so readers return its rows once or several "
        "times. A checkpoint is damaged: run verify to find it, and restore it or the commits before it.",
        path=path,
        version=version,
    )
