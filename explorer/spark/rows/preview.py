"""Jobs that preview the rows of a version.

Protocol section: Per-file Statistics (``numRecords``), from which a preview chooses its files. Invariants: a preview
reads no more files than it needs, each at most once, and states its share of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from explorer.first_rows.row_page import files_holding, reading_phase, share_note
from explorer.job import Job
from explorer.spark.engine.job import submit
from explorer.spark.scan.scan import scan

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

# When the first files did not give enough rows, each further step reads this many times as many.
_GROWTH: Final = 4


@dataclass(frozen=True, slots=True)
class Preview:
    """Some rows of a version, for people.

    Attributes:
        table: The rows, logical names; variants as JSON text.
        note: What share of the table they are: ``50 rows of 12,497 from the first of 8 files``.
        files_read: Files that were read.
        complete: True if there are no other rows.
    """

    table: pa.Table
    note: str
    files_read: int
    complete: bool


def preview(log: DeltaLog, snapshot: Snapshot, limit: int = 100, where: str | None = None) -> Job[Preview]:
    """Fetch some rows of a version; the first files that hold enough are chosen by the log, and only they are read.

    Args:
        limit: Rows at most.
        where: A boolean SQL expression; with it, files are read until enough rows match, all of them at worst.

    Returns:
        A job; its errors are those of `explorer.spark.scan.scan.rows`, and Cancelled.
    """
    name = f"Preview of {log.name} at version {snapshot.version}"
    return submit(name, lambda job: _preview(job, log, snapshot, limit, where), where)


def _preview(job: Job[Preview], log: DeltaLog, snapshot: Snapshot, limit: int, where: str | None) -> Preview:
    import pyarrow as pa

    files = snapshot.logical_files
    if where is not None:
        from explorer.spark.engine.session import engine
        from explorer.spark.scan.compared import needed_files

        files = needed_files(engine().session(), snapshot, files, where)
    begin, end = 0, files_holding(files, limit) if where is None else 1
    parts: list[pa.Table] = []
    num_rows = 0
    while True:
        end = min(end, files.num_rows)
        job.report(reading_phase(begin, end, files.num_rows))
        planned = scan(log, snapshot, files.slice(begin, end - begin), where)
        job.check_cancelled()
        # One row more than wanted shows whether there are others.
        parts.append(planned.to_arrow(limit + 1 - num_rows, readable=True))
        num_rows += parts[-1].num_rows
        if num_rows >= limit or end == files.num_rows:
            break
        begin, end = end, end * _GROWTH
    rows = pa.concat_tables(parts, promote_options="default").slice(0, limit)
    complete = end == files.num_rows and num_rows <= limit
    note = share_note(snapshot, rows.num_rows, end, complete=complete, where=where is not None)
    return Preview(rows, note, end, complete)
