"""A preview of the changes of a range of versions: the first ones, and how many there are.

Invariants: the rows shown are a sample and are labeled as one; Spark counts exactly; the driver never receives rows
without a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from explorer.changed_rows.change_preview import ChangePreview, preview_of
from explorer.job import Job
from explorer.spark.engine.job import submit

if TYPE_CHECKING:
    from explorer.core.versions.change_feed.feed import ChangeSources
    from explorer.core.versions.delta_log import DeltaLog

_GROWTH: Final = 4


def change_preview(
    log: DeltaLog,
    from_version: int,
    to_version: int,
    limit: int = 100,
    *,
    inferred: bool = False,
    skip: bool = False,
    schema_version: int | None = None,
    count: bool = True,
    keys: Sequence[str] = (),
    where: str | None = None,
    by_id: bool = False,
    reason: str = "",
) -> Job[ChangePreview]:
    """Fetch the first changes of a range of versions, and count all of them.

    Args:
        from_version, to_version: The range, both inclusive.
        limit: Rows at most.
        inferred, skip, schema_version: As in `explorer.spark.changes.changes.changes`.
        count: False reads no files beyond those that are shown.
        keys, where, by_id: As in `explorer.spark.changes.changes.changes`.
        reason: Why Spark must read them.

    Returns:
        A job; its errors are those of `explorer.spark.changes.changes.changes`, and Cancelled.
    """

    def work(job: Job[ChangePreview]) -> ChangePreview:
        job.report("Looking for the changes")
        sources = log.change_sources(
            from_version, to_version, inferred, schema_version=schema_version, skip=skip, by_id=by_id
        )
        return _change_preview(job, log, sources, limit, keys, where=where, count=count, reason=reason)

    return submit(f"Changes of {log.name}, versions {from_version} to {to_version}", work)


def preview_of_sources(
    log: DeltaLog, sources: ChangeSources, limit: int, keys: Sequence[str] = (), where: str | None = None
) -> Job[ChangePreview]:
    """Fetch the first changes of some sources, and count all of them; arguments as of `change_preview`."""
    name = f"Changes of {log.name}, versions {sources.from_version} to {sources.to_version}"
    return submit(name, lambda job: _change_preview(job, log, sources, limit, keys, where=where, count=True, reason=""))


def _change_preview(
    job: Job[ChangePreview],
    log: DeltaLog,
    sources: ChangeSources,
    limit: int,
    keys: Sequence[str],
    *,
    where: str | None,
    count: bool,
    reason: str,
) -> ChangePreview:
    from explorer.spark.changes.changes import changes_of

    rows, read = _first_changes(job, log, sources, limit, keys, where=where)
    planned = changes_of(log, sources, keys, where)
    complete = read == sources.files.num_rows and rows.num_rows <= limit
    counts = rewritten = None
    if count:
        job.report(f"Counting the changes of {planned.estimate.files:,} files")
        tally = planned.tally()
        counts, rewritten = tally.changes, tally.rewritten
    return preview_of(
        sources, rows, limit, counts=counts, rewritten=rewritten, complete=complete, by_spark=True, reason=reason
    )


def _first_changes(
    job: Job[ChangePreview],
    log: DeltaLog,
    sources: ChangeSources,
    limit: int,
    keys: Sequence[str],
    *,
    where: str | None,
) -> tuple[pa.Table, int]:
    """Changes of the first sources that give more than the limit, or of all; and the number of sources read."""
    from explorer.spark.changes.changes import changes_of

    files, parts, num_changes = sources.files, list[pa.Table](), 0
    begin, end = 0, _enough(files, limit)
    while True:
        end = sources.next_cut(min(end, files.num_rows))
        job.report(f"Reading the changes of {end - begin:,} of {files.num_rows:,} files")
        piece = msgspec.structs.replace(sources, files=files.slice(begin, end - begin))
        # One row more than wanted shows whether there are others.
        parts.append(changes_of(log, piece, keys, where).to_arrow(limit + 1 - num_changes, readable=True))
        num_changes += parts[-1].num_rows
        if num_changes > limit or end == files.num_rows:
            # Where Spark knows that a piece has no null in a column, another one may still have.
            return pa.concat_tables(parts, promote_options="default"), end
        begin, end = end, end * _GROWTH


def _enough(files: pa.Table, limit: int) -> int:
    """Return how many first sources hold more than the limit by the log; a file of unknown count counts as full."""
    names = ("kind", "num_records", "dv_cardinality", "before_dv_cardinality")
    num_changes = 0
    values = zip(*(files.column(name).to_pylist() for name in names), strict=True)
    for index, (kind, records, masked, before) in enumerate(values, 1):
        if kind == "difference":
            num_changes += abs((masked or 0) - (before or 0))
        elif records is None:
            return index
        else:
            num_changes += records - (masked or 0)
        if num_changes > limit:
            return index
    return int(files.num_rows)
