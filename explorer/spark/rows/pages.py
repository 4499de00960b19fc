"""The rows of a version page by page, in the order of the log's files and of places in them; masked ones on request.

Protocol section: Deletion Vectors. Invariants: every live row is on exactly one page, whatever the size of a page; a
page reads no file before the one it begins in, and no more files than it needs by the log; a masked row is never given
without being marked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.first_rows.row_page import RowPage, RowPosition, files_for_rows, page_of, reading_phase
from explorer.spark.engine.job import submit
from explorer.spark.rows.preview import Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["row_page"]

_GROWTH: Final = 4
Numbers = npt.NDArray[np.int64]


def row_page(
    log: DeltaLog,
    snapshot: Snapshot,
    begin: RowPosition | None = None,
    limit: int = 100,
    *,
    where: str | None = None,
    masked: bool = False,
    reason: str = "",
) -> Job[RowPage]:
    """Fetch a page of rows.

    Args:
        log: The table's log.
        snapshot: The version.
        begin: Where to begin; None begins with the first row.
        limit: Rows at most.
        where: A boolean SQL expression; with it, files are read until enough rows match, all of them at worst.
        masked: Give masked rows too, marked.
        reason: Why Spark reads them, for the page.

    Returns:
        A job; its errors are those of `explorer.spark.scan.scan.rows`, and Cancelled.
    """
    asked = _Asked(log, snapshot, begin or RowPosition(), limit, where, masked, reason)
    return submit(f"Rows of {log.name} at version {snapshot.version}", lambda job: _page(job, asked), where)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of a page."""

    log: DeltaLog
    snapshot: Snapshot
    begin: RowPosition
    limit: int
    where: str | None
    masked: bool
    reason: str


def _page(job: Job[RowPage], asked: _Asked) -> RowPage:
    snapshot, begin, limit = asked.snapshot, asked.begin, asked.limit
    files, numbers = _candidates(asked)
    total = files.num_rows
    first, count = 0, 1 if asked.where is not None else files_for_rows(files, begin, limit, masked=asked.masked)
    parts: list[pa.Table] = []
    found = 0
    while True:
        end = min(first + count, total)
        job.report(reading_phase(first, end, total))
        # One row more than wanted shows where the next page begins.
        parts.append(_read(asked, files.slice(first, end - first), numbers[first:end], limit + 1 - found))
        found += parts[-1].num_rows
        job.check_cancelled()
        if found > limit or end >= total:
            break
        first, count = end, count * _GROWTH
    rows = pa.concat_tables(parts)
    where = asked.where is not None
    return page_of(snapshot, rows, begin, limit, files_read=end, where=where, by_spark=True, reason=asked.reason)


def _candidates(asked: _Asked) -> tuple[pa.Table, Numbers]:
    """The files that may hold a row of the page, and their numbers among all."""
    from explorer.spark.scan.layout import layout_of
    from explorer.spark.scan.plan import session_of
    from explorer.spark.scan.pruning import needed_files

    files = asked.snapshot.logical_files
    numbers = np.arange(files.num_rows)
    kept = numbers >= asked.begin.file
    if asked.where is not None and not asked.masked:
        session = session_of(layout_of(asked.snapshot))
        needed = needed_files(session, asked.snapshot, files, asked.where).column("raw_path").combine_chunks()
        kept &= pc.is_in(files.column("raw_path"), needed).to_numpy(zero_copy_only=False).astype(bool)
    return files.filter(pa.array(kept)), numbers[kept]


def _read(asked: _Asked, files: pa.Table, numbers: Numbers, limit: int) -> pa.Table:
    """Rows of some files, in order; after the table's columns the number of the file and the place in it."""
    from pyspark.sql import functions as sf

    from explorer.spark.scan.compared import kept_where
    from explorer.spark.scan.layout import layout_of
    from explorer.spark.scan.plan import plan
    from explorer.spark.scan.results import Reading, to_arrow
    from explorer.spark.scan.row_place import RowPlace

    snapshot, begin = asked.snapshot, asked.begin
    marks = RowPlace.beside(snapshot.schema)
    files = _without_vectors(files) if asked.masked else files
    # The condition comes after the plan, which otherwise would leave out files and number the others again.
    planned = replace(plan(asked.log, snapshot, files, None, marks=marks), where=asked.where)
    frame: DataFrame = planned.frame
    if asked.where is not None:
        # The marks are not columns of the table: a condition cannot use them.
        frame = kept_where(frame, layout_of(snapshot), asked.where, marks=2)
    number, place = sf.col(marks.file), sf.col(marks.row)
    if begin.row and numbers[:1].tolist() == [begin.file]:
        frame = frame.where((number > 0) | (place >= begin.row))
    rows = to_arrow(Reading(frame.orderBy(number, place), planned.failure), limit, readable=True)
    *_, number_column, place_column = rows.columns
    found = numbers[number_column.to_numpy(zero_copy_only=False).astype(np.int64)]
    # A read without files gives columns that may be null; all parts must be of one schema.
    columns = {marks.file: pa.chunked_array([pa.array(found, pa.int64())]), marks.row: place_column}
    return pa.table({**{name: rows.column(name) for name in rows.column_names[:-2]}, **columns})


def _without_vectors(files: pa.Table) -> pa.Table:
    for index, field in enumerate(files.schema):
        if field.name.startswith("dv_"):
            files = files.set_column(index, field, pa.nulls(files.num_rows, field.type))
    return files
