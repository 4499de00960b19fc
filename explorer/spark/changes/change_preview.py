"""A preview of the changes of a range of versions: the first ones, and how many there are.

Invariants: the rows shown are a sample and are labeled as one; Spark counts exactly; the driver never receives rows
without a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.versions.change_feed.sources import ReadEstimate
from explorer.job import Job
from explorer.spark.engine.job import submit

if TYPE_CHECKING:
    from explorer.core.versions.change_feed.feed import ChangeSources, ChangeVersion, FeedGap
    from explorer.core.versions.delta_log import DeltaLog

__all__ = ["ChangePreview", "change_preview"]

_GROWTH: Final = 4
_ORDER: Final = {"delete": 0, "insert": 1, "update_preimage": 2, "update_postimage": 2}


@dataclass(frozen=True, slots=True)
class ChangePreview:
    """Some changes of a range of versions, and how many there are of each kind.

    Attributes:
        table: The first changes, ascending by version: the table's columns, then ``_change_type``,
            ``_commit_version`` and ``_commit_timestamp``; variants as JSON text.
        counts: All changes: version, change_type, rows; ascending. None if they were not to be counted.
        rewritten: Rows that inferred versions only wrote to other files: version, rows; None if not counted.
        total: Sum of ``counts``, or None.
        note: The share of the changes that ``table`` has, in words.
        complete: True if there are no other changes.
        versions: Each version whose changes are given, and where they come from.
        inferred_versions: Versions whose changes no feed recorded: inferred from the files added and removed.
        skipped: Gaps of the feed that were skipped; the changes of their versions are not given.
        estimate: Files and bytes that hold all the changes.
    """

    table: pa.Table
    counts: pa.Table | None
    rewritten: pa.Table | None
    total: int | None
    note: str
    complete: bool
    versions: tuple[ChangeVersion, ...]
    inferred_versions: tuple[int, ...]
    skipped: tuple[FeedGap, ...]
    estimate: ReadEstimate


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
) -> Job[ChangePreview]:
    """Fetch the first changes of a range of versions, and count all of them.

    Args:
        from_version, to_version: The range, both inclusive.
        limit: Rows at most.
        inferred, skip, schema_version: As in `explorer.spark.changes.changes.changes`.
        count: False reads no files beyond those that are shown.
        keys: As in `explorer.spark.changes.changes.changes`.

    Returns:
        A job; its errors are those of `explorer.spark.changes.changes.changes`, and Cancelled.
    """

    def work(job: Job[ChangePreview]) -> ChangePreview:
        job.report("Looking for the changes")
        sources = log.change_sources(from_version, to_version, inferred, schema_version=schema_version, skip=skip)
        return _change_preview(job, log, sources, limit, keys, count=count)

    return submit(f"Changes of {log.name}, versions {from_version} to {to_version}", work)


def _change_preview(
    job: Job[ChangePreview], log: DeltaLog, sources: ChangeSources, limit: int, keys: Sequence[str], *, count: bool
) -> ChangePreview:
    from explorer.spark.changes.changes import changes_of

    rows, read = _first_changes(job, log, sources, limit, keys)
    planned = changes_of(log, sources, keys)
    complete = read == sources.files.num_rows and rows.num_rows <= limit
    counts = rewritten = None
    if count:
        job.report(f"Counting the changes of {planned.estimate.files:,} files")
        tally = planned.tally()
        counts, rewritten = tally.changes, tally.rewritten
    total = rows.num_rows if complete else None if counts is None else sum(counts.column("rows").to_pylist())
    shown = _in_order(rows.slice(0, limit))
    return ChangePreview(
        shown,
        counts,
        rewritten,
        total,
        _change_note(sources, shown.num_rows, total) + _rewritten_note(rewritten),
        complete,
        sources.versions,
        planned.inferred_versions,
        sources.skipped,
        planned.estimate,
    )


def _first_changes(
    job: Job[ChangePreview], log: DeltaLog, sources: ChangeSources, limit: int, keys: Sequence[str]
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
        parts.append(changes_of(log, piece, keys).to_arrow(limit + 1 - num_changes, readable=True))
        num_changes += parts[-1].num_rows
        if num_changes > limit or end == files.num_rows:
            return pa.concat_tables(parts), end
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


def _in_order(rows: pa.Table) -> pa.Table:
    """Changes by version; within a version deletes, inserts, and updates with the two images of each as they came."""
    kinds = pa.array([_ORDER.get(kind) for kind in rows.column("_change_type").to_pylist()], pa.int8())
    order = pa.table({"version": rows.column("_commit_version"), "kind": kinds})
    return rows.take(pc.sort_indices(order, sort_keys=[("version", "ascending"), ("kind", "ascending")]))


def _change_note(sources: ChangeSources, shown: int, total: int | None) -> str:
    first, last = sources.from_version, sources.to_version
    where = f"version {first}" if first == last else f"versions {first} to {last}"
    if sources.skipped:
        where += ", as far as they are known"
    if total == 0:
        return f"No row changed in {where}."
    if total == shown:
        return f"All {shown:,} changes of {where}."
    of = "" if total is None else f" of {total:,}"
    return f"The first {shown:,}{of} changes of {where}."


def _rewritten_note(rewritten: pa.Table | None) -> str:
    rows = 0 if rewritten is None else sum(rewritten.column("rows").to_pylist())
    if not rows:
        return ""
    were = "1 row was" if rows == 1 else f"{rows:,} rows were"
    return f" {were} only rewritten: in another file now, with the same values."
