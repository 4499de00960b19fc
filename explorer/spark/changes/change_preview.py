"""Jobs that show what changed: previews of changes and of row differences, and the history of a key.

Invariants: what is shown is a sample and says so; what is counted is counted exactly, by Spark; nothing without a bound
is brought to the driver.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.versions.change_feed.sources import ReadEstimate
from explorer.spark.rows.preview import Job, submit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from explorer.core.versions.change_feed.feed import ChangeSources, ChangeVersion, FeedHole
    from explorer.core.versions.column_matching import LeftOutColumn
    from explorer.spark.changes.row_diff import RowDiff, RowDiffCounts
    from explorer.spark.rows.key_history import RowHistory
    from explorer.table import Table

__all__ = ["ChangePreview", "RowDiffPreview", "change_preview", "key_history", "row_diff_preview"]

_GROWTH: Final = 4
_KINDS: Final = ("update", "delete", "insert")
_ORDER: Final = ("delete", "insert", "update_preimage", "update_postimage")


@dataclass(frozen=True, slots=True)
class ChangePreview:
    """Some changes of a range of versions, and how many there are of each kind.

    Attributes:
        table: The first changes, ascending by version: the table's columns, then ``_change_type``,
            ``_commit_version`` and ``_commit_timestamp``; variants as JSON text.
        counts: All changes: version, change_type, rows; ascending. None if they were not to be counted.
        total: Sum of ``counts``, or None.
        note: What ``table`` is of the whole, for people.
        complete: True if there are no other changes.
        versions: Each version that is told, and where its changes come from.
        inferred_versions: Versions told by the files that came and went, as no feed recorded them; in these a row that
            was copied from one file to another is there as deleted and as inserted.
        skipped: Holes of the feed that were skipped; their versions are not told.
        estimate: Files and bytes that hold all the changes.
    """

    table: pa.Table
    counts: pa.Table | None
    total: int | None
    note: str
    complete: bool
    versions: tuple[ChangeVersion, ...]
    inferred_versions: tuple[int, ...]
    skipped: tuple[FeedHole, ...]
    estimate: ReadEstimate


@dataclass(frozen=True, slots=True)
class RowDiffPreview:
    """Some rows in which two versions differ, and how many there are.

    Attributes:
        table: Up to the limit of each kind, updates first: change (``update``, ``delete``, ``insert``), count,
            repeated_key, changed_columns, before, after, as in `explorer.spark.changes.row_diff.RowDiff.frame`;
            variants as JSON text.
        counts: All of them, exactly.
        note: What ``table`` is of the whole, for people.
        complete: True if ``table`` holds every row that differs.
        from_version, to_version: The versions.
        keys: The key columns; empty if rows were compared whole.
        left_out: Columns that could not be compared, and why.
        estimate: Files and bytes that were read.
    """

    table: pa.Table
    counts: RowDiffCounts
    note: str
    complete: bool
    from_version: int
    to_version: int
    keys: tuple[str, ...]
    left_out: tuple[LeftOutColumn, ...]
    estimate: ReadEstimate


def change_preview(
    table: Table,
    from_version: int,
    to_version: int,
    limit: int = 100,
    *,
    inferred: bool = False,
    skip: bool = False,
    count: bool = True,
) -> Job[ChangePreview]:
    """Fetch the first changes of a range of versions, and count all of them.

    Args:
        table: The table.
        from_version, to_version: The range, both inclusive.
        limit: Rows at most.
        inferred, skip: As in `explorer.spark.changes.changes.changes`.
        count: False saves the reading of files beyond those that are shown.

    Returns:
        A job; its errors are those of `explorer.spark.changes.changes.changes`, and Cancelled.
    """

    def work(job: Job[ChangePreview]) -> ChangePreview:
        job.report("Looking for the changes")
        sources = table.change_sources(from_version, to_version, inferred, skip=skip)
        return _change_preview(job, table, sources, limit, count=count)

    return submit(f"Changes of {table.name}, versions {from_version} to {to_version}", work)


def row_diff_preview(
    table: Table, from_version: int, to_version: int, keys: Sequence[str] | None = None, limit: int = 100
) -> Job[RowDiffPreview]:
    """Compare the rows of two versions: counts, and some rows of each kind.

    Args:
        table: The table.
        from_version, to_version: The versions.
        keys: As in `explorer.spark.changes.row_diff.row_diff`.
        limit: Rows at most of each kind.

    Returns:
        A job; its errors are those of `explorer.spark.changes.row_diff.row_diff`, and Cancelled.
    """
    name = f"Rows of {table.name} in version {from_version} against {to_version}"
    return submit(name, lambda job: _row_diff_preview(job, table, (from_version, to_version), keys, limit))


def key_history(
    table: Table, key: Mapping[str, Any], from_version: int | None = None, to_version: int | None = None
) -> Job[RowHistory]:
    """Follow the rows of a key over a range of versions; arguments and errors as `explorer.spark.rows.key_history`."""

    def work(job: Job[RowHistory]) -> RowHistory:
        from explorer.spark.rows.key_history import row_history

        job.report("Reading the files that may hold the key")
        return row_history(table, key, from_version, to_version)

    return submit(f"History of a row of {table.name}", work)


def _change_preview(
    job: Job[ChangePreview], table: Table, sources: ChangeSources, limit: int, *, count: bool
) -> ChangePreview:
    from explorer.spark.changes.changes import changes_of

    rows, read = _first_changes(job, table, sources, limit)
    planned = changes_of(table, sources)
    complete = read == sources.files.num_rows and rows.num_rows <= limit
    counts = None
    if count:
        job.report(f"Counting the changes of {planned.estimate.files:,} files")
        counts = planned.counts()
    total = rows.num_rows if complete else None if counts is None else sum(counts.column("rows").to_pylist())
    shown = _in_order(rows.slice(0, limit))
    return ChangePreview(
        shown,
        counts,
        total,
        _change_note(sources, shown.num_rows, total),
        complete,
        sources.versions,
        planned.inferred_versions,
        sources.skipped,
        planned.estimate,
    )


def _first_changes(job: Job[ChangePreview], table: Table, sources: ChangeSources, limit: int) -> tuple[pa.Table, int]:
    """Changes of the first sources that give more than the limit, or of all; and the number of sources read."""
    from explorer.spark.changes.changes import changes_of

    files, parts, found = sources.files, list[pa.Table](), 0
    begin, end = 0, _enough(files, limit)
    while True:
        end = min(end, files.num_rows)
        job.report(f"Reading the changes of {end - begin:,} of {files.num_rows:,} files")
        piece = msgspec.structs.replace(sources, files=files.slice(begin, end - begin))
        # One row more than wanted tells a full answer from a cut one.
        parts.append(changes_of(table, piece).to_arrow(limit + 1 - found, readable=True))
        found += parts[-1].num_rows
        if found > limit or end == files.num_rows:
            return pa.concat_tables(parts), end
        begin, end = end, end * _GROWTH


def _enough(files: pa.Table, limit: int) -> int:
    """Number of sources from the first on that hold more than the limit by the log; what is unknown counts as full."""
    names = ("kind", "num_records", "dv_cardinality", "before_dv_cardinality")
    found = 0
    values = zip(*(files.column(name).to_pylist() for name in names), strict=True)
    for index, (kind, records, masked, before) in enumerate(values, 1):
        if kind == "difference":
            found += abs((masked or 0) - (before or 0))
        elif records is None:
            return index
        else:
            found += records - (masked or 0)
        if found > limit:
            return index
    return int(files.num_rows)


def _in_order(rows: pa.Table) -> pa.Table:
    """Changes by version; within one what went before what came, and the old row of an update before the new one."""
    kinds = pc.index_in(rows.column("_change_type"), value_set=pa.array(_ORDER))
    order = pa.table({"version": rows.column("_commit_version"), "kind": kinds})
    return rows.take(pc.sort_indices(order, sort_keys=[("version", "ascending"), ("kind", "ascending")]))


def _change_note(sources: ChangeSources, shown: int, total: int | None) -> str:
    first, last = sources.from_version, sources.to_version
    where = f"version {first}" if first == last else f"versions {first} to {last}"
    if sources.skipped:
        where += ", as far as they can be told"
    if total == 0:
        return f"No row changed in {where}."
    if total == shown:
        return f"All {shown:,} changes of {where}."
    of = "" if total is None else f" of {total:,}"
    return f"The first {shown:,}{of} changes of {where}."


def _row_diff_preview(
    job: Job[RowDiffPreview],
    table: Table,
    versions: tuple[int, int],
    keys: Sequence[str] | None,
    limit: int,
) -> RowDiffPreview:
    from explorer.spark.changes.row_diff import count_differences, row_diff

    job.report("Looking for the files that differ")
    diff = row_diff(table, *versions, keys)
    job.report(f"Comparing the rows of {diff.estimate.files:,} files")
    with _kept(diff.frame) as frame:
        counts = count_differences(diff, frame)
        job.report("Fetching some of the rows")
        rows = _some_of_each(diff, frame, limit)
    total = counts.inserted + counts.deleted + counts.updated
    shown = sum(rows.column("count").to_pylist())
    return RowDiffPreview(
        rows,
        counts,
        _diff_note(versions, shown, total),
        shown == total,
        *versions,
        diff.keys,
        diff.left_out,
        diff.estimate,
    )


@contextlib.contextmanager
def _kept(frame: DataFrame) -> Any:
    """Keep what was computed, in memory and on disk of Spark's workers, for as long as it is needed."""
    from explorer.spark.scan.results import SPARK_ERRORS

    kept = frame.persist()
    try:
        yield kept
    finally:
        with contextlib.suppress(*SPARK_ERRORS):
            kept.unpersist()


def _some_of_each(diff: RowDiff, frame: DataFrame, limit: int) -> pa.Table:
    from pyspark.sql import DataFrame as Frame
    from pyspark.sql import functions as sf

    from explorer.spark.scan.results import Reading, to_arrow

    pieces = [frame.where(sf.col("change") == kind).limit(limit) for kind in _KINDS]
    found = to_arrow(Reading(reduce(Frame.union, pieces), diff.failure), readable=True)
    order = {kind: place for place, kind in enumerate(_KINDS)}
    places = sorted(range(found.num_rows), key=[order[kind] for kind in found.column("change").to_pylist()].__getitem__)
    return found.take(pa.array(places, pa.int64()))


def _diff_note(versions: tuple[int, int], shown: int, total: int) -> str:
    where = f"between version {versions[0]} and version {versions[1]}"
    if total == 0:
        return f"No row differs {where}."
    if shown == total:
        return f"All {total:,} rows that differ {where}."
    return f"{shown:,} of {total:,} rows that differ {where}."
