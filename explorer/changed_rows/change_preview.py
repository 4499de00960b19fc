"""Some changes of a range of versions, and how many there are, whoever read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.versions.change_feed.feed import ChangeSources, ChangeVersion, FeedGap
from explorer.core.versions.change_feed.sources import ReadEstimate, read_estimate

CHANGE_COLUMNS: Final = ("_change_type", "_commit_version", "_commit_timestamp")
"""Columns after the table's own."""
_ORDER: Final = {"delete": 0, "insert": 1, "update_preimage": 2, "update_postimage": 2}
_LAST: Final = 3


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
        by_spark: Spark read them; otherwise this process did.
        reason: Why they were left to Spark; empty where nothing else was tried.
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
    by_spark: bool
    reason: str = ""


def preview_of(
    sources: ChangeSources,
    rows: pa.Table,
    limit: int | None,
    *,
    counts: pa.Table | None,
    rewritten: pa.Table | None,
    complete: bool,
    by_spark: bool,
    reason: str = "",
) -> ChangePreview:
    """Return the preview of changes that were read.

    Args:
        sources: Where they come from.
        rows: All changes, or more than the limit.
        limit: Rows at most; None gives all.
        counts, rewritten, by_spark, reason: As in `ChangePreview`.
        complete: ``rows`` are all changes.
    """
    total = rows.num_rows if complete else None if counts is None else sum(counts.column("rows").to_pylist())
    shown = _in_order(rows).slice(0, limit)
    return ChangePreview(
        shown,
        counts,
        rewritten,
        total,
        _change_note(sources, shown.num_rows, total) + _rewritten_note(rewritten),
        complete and shown.num_rows == rows.num_rows,
        sources.versions,
        sources.inferred_versions,
        sources.skipped,
        read_estimate(sources.files),
        by_spark,
        reason,
    )


def _in_order(rows: pa.Table) -> pa.Table:
    """Changes by version; within a version deletes, inserts, and updates with the two images of each as they came."""
    kinds = int64s([_ORDER.get(kind, _LAST) for kind in rows.column("_change_type").to_pylist()])
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
        return f"The only change of {where}." if total == 1 else f"All {shown:,} changes of {where}."
    of = "" if total is None else f" of {total:,}"
    return f"The first {shown:,}{of} changes of {where}."


def _rewritten_note(rewritten: pa.Table | None) -> str:
    rows = 0 if rewritten is None else sum(rewritten.column("rows").to_pylist())
    if not rows:
        return ""
    were = "1 row was" if rows == 1 else f"{rows:,} rows were"
    return f" {were} only rewritten: in another file now, with the same values."
