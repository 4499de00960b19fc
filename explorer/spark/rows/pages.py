"""The rows of a version page by page, in the order of files in the log and of places in them; masked ones on request.

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

from explorer.first_rows.row_page import RowPage, RowPosition, files_holding, page_of, reading_phase
from explorer.job import Job
from explorer.spark.engine.job import submit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

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
        begin: Where to begin; None begins with the first row.
        limit: Rows at most.
        where: A boolean SQL expression; with it, files are read until enough rows match, all of them at worst.
        masked: Give masked rows too, marked.
        reason: Why Spark reads them, for the page.

    Returns:
        A job; its errors are those of `explorer.spark.scan.scan.rows`, and Cancelled.
    """
    request = _PageRequest(log, snapshot, begin or RowPosition(), limit, where, masked, reason)
    return submit(f"Rows of {log.name} at version {snapshot.version}", lambda job: _page(job, request), where)


@dataclass(frozen=True, slots=True)
class _PageRequest:
    """The arguments of a page."""

    log: DeltaLog
    snapshot: Snapshot
    begin: RowPosition
    limit: int
    where: str | None
    masked: bool
    reason: str


def _page(job: Job[RowPage], request: _PageRequest) -> RowPage:
    snapshot, begin, limit = request.snapshot, request.begin, request.limit
    files, numbers = _candidates(request)
    total = files.num_rows
    first, count = (
        0,
        1 if request.where is not None else max(1, files_holding(files, begin.row + limit + 1, masked=request.masked)),
    )
    parts: list[pa.Table] = []
    num_rows = 0
    while True:
        end = min(first + count, total)
        job.report(reading_phase(first, end, total))
        # One row more than wanted shows where the next page begins.
        parts.append(_read(request, files.slice(first, end - first), numbers[first:end], limit + 1 - num_rows))
        num_rows += parts[-1].num_rows
        job.check_cancelled()
        if num_rows > limit or end >= total:
            break
        first, count = end, count * _GROWTH
    rows = pa.concat_tables(parts, promote_options="default")
    where = request.where is not None
    return page_of(snapshot, rows, begin, limit, files_read=end, where=where, by_spark=True, reason=request.reason)


def _candidates(request: _PageRequest) -> tuple[pa.Table, Numbers]:
    """Return the files that may hold a row of the page, and their numbers among all."""
    from explorer.spark.scan.compared import needed_files
    from explorer.spark.scan.layout import layout_of
    from explorer.spark.scan.plan import session_of

    files = request.snapshot.logical_files
    numbers = np.arange(files.num_rows)
    chosen = numbers >= request.begin.file
    if request.where is not None and not request.masked:
        session = session_of(layout_of(request.snapshot))
        needed = needed_files(session, request.snapshot, files, request.where).column("raw_path").combine_chunks()
        chosen &= pc.is_in(files.column("raw_path"), needed).to_numpy(zero_copy_only=False).astype(bool)
    return files.filter(pa.array(chosen)), numbers[chosen]


def _read(request: _PageRequest, files: pa.Table, numbers: Numbers, limit: int) -> pa.Table:
    """Return rows of some files, in order; after the table's columns the number of the file and the place in it."""
    from pyspark.sql import functions as sf

    from explorer.spark.scan.compared import matching
    from explorer.spark.scan.layout import layout_of
    from explorer.spark.scan.plan import plan
    from explorer.spark.scan.results import Reading, to_arrow
    from explorer.spark.scan.row_marks import place_marks

    snapshot, begin = request.snapshot, request.begin
    marks = place_marks(snapshot.schema)
    files = _without_vectors(files) if request.masked else files
    # The condition comes after the plan, which otherwise would leave out files and number the others again.
    planned = replace(plan(request.log, snapshot, files, None, marks=marks), where=request.where)
    frame: DataFrame = planned.frame
    if request.where is not None:
        # The marks are not columns of the table: a condition cannot use them.
        frame = matching(frame, layout_of(snapshot), request.where, marks=2)
    file, row = marks.given
    number, place = sf.col(file), sf.col(row)
    if begin.row and numbers[:1].tolist() == [begin.file]:
        frame = frame.where((number > 0) | (place >= begin.row))
    rows = to_arrow(Reading(frame.orderBy(number, place), planned.failure), limit, readable=True)
    *_, number_column, place_column = rows.columns
    file_numbers = numbers[number_column.to_numpy(zero_copy_only=False).astype(np.int64)]
    # A read without files gives columns that may be null; all parts must be of one schema.
    columns = {file: pa.chunked_array([pa.array(file_numbers, pa.int64())]), row: place_column}
    return pa.table({**{name: rows.column(name) for name in rows.column_names[:-2]}, **columns})


def _without_vectors(files: pa.Table) -> pa.Table:
    for index, field in enumerate(files.schema):
        if field.name.startswith("dv_"):
            files = files.set_column(index, field, pa.nulls(files.num_rows, field.type))
    return files
