"""The rows in which two tables differ, as a lazy Spark DataFrame, and a preview of them with exact counts.

All live rows of both versions are read. Rows that both tables have cancel out one against one; key columns match the
rest. The rules of sameness are those of `explorer.spark.changes.comparable`. Invariants: columns are matched as
`explorer.core.versions.table_comparison` matches them; a column that cannot be compared is named and left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from explorer.changed_rows.difference_preview import RowDiffPreview
from explorer.changed_rows.key_columns import check_keys
from explorer.core.errors import ExplorerError, RequestError, UnsupportedFeature
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column, type_name
from explorer.core.protocol.schema.type_widening import widens
from explorer.core.versions.change_feed.sources import ReadEstimate, read_estimate
from explorer.core.versions.column_matching import UncomparedColumn
from explorer.core.versions.snapshot import Snapshot
from explorer.core.versions.table_comparison import column_pairs
from explorer.data_files.column_sources import case_collides
from explorer.job import Job
from explorer.spark.changes.comparable import are_few
from explorer.spark.changes.row_diff import count_differences, matched_by_keys, surplus_of, unmatched
from explorer.spark.changes.row_diff_preview import persisted, some_of_each
from explorer.spark.engine.job import submit
from explorer.spark.scan.physical import quoted, spark_type
from explorer.spark.scan.results import PlannedRows, Scan
from explorer.spark.scan.scan import scan

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

_LISTED: Final = ("path", "size", "num_records")


@dataclass(frozen=True, slots=True)
class TableRowDiff(PlannedRows):
    """The rows in which two tables differ, planned and not run.

    Attributes:
        frame: As of `explorer.spark.changes.row_diff.RowDiff`: ``delete`` are rows that the first table alone has,
            ``insert`` those of the second alone, ``update`` rows of one key with other values.
        from_version, to_version: The versions of the first and of the second table.
        keys: The key columns; empty if entire rows were compared.
        schema: The compared columns, names of the first table.
        left_out: Columns that could not be compared, and why.
        estimate: Files and bytes to be read, by the logs.
        parts: The reads of both.
    """

    frame: DataFrame
    from_version: int
    to_version: int
    keys: tuple[str, ...]
    schema: StructType
    left_out: tuple[UncomparedColumn, ...]
    estimate: ReadEstimate
    parts: tuple[Scan, Scan]

    def failure(self, error: Exception) -> ExplorerError:
        """Return the typed error for an exception out of Spark, which names the file of the table that failed."""
        first, second = self.parts
        both = replace(first, addresses=(*first.addresses, *second.addresses))
        return both.failure(error)


def table_row_diff(
    first: tuple[DeltaLog, Snapshot], second: tuple[DeltaLog, Snapshot], keys: Sequence[str] | None = None
) -> TableRowDiff:
    """Plan the comparison of the rows of two tables.

    Args:
        first, second: The tables and their versions.
        keys: Names of top-level columns of the first table that identify a row; None compares entire rows.

    Raises:
        RequestError: The tables share no column that can be compared, or a key is not one of them.
        UnsupportedFeature: Only one of them has columns whose names differ in case alone.
        StorageError, CorruptTable: As of `explorer.spark.scan.scan.rows`.
    """
    snapshots = first[1], second[1]
    shared, left_out = _shared(*snapshots)
    schema = StructType(tuple(kind for _, _, kind in shared))
    reasons = {column.column: column.reason for column in left_out}
    chosen = check_keys(keys or (), schema, snapshots[0].version, "that both tables have, to match rows by", reasons)
    if not shared:
        raise RequestError(
            "The two tables have no column in common, so no rows can be compared. Compare their columns.",
            field="other",
        )
    if len({case_collides(snapshot.schema) for snapshot in snapshots}) > 1:
        raise UnsupportedFeature(
            "One of the tables has columns whose names differ only in case, and the other does not, so Spark cannot "
            "read both in one session. Rename the columns.",
            features=["names that differ in case alone"],
            operation="compare the rows",
        )
    scans = _scanned(*first), _scanned(*second)
    one = scans[0].frame.select(*(_typed(ours.name, ours, kind) for ours, _, kind in shared))
    other = scans[1].frame.select(*(_typed(theirs.name, theirs, kind) for _, theirs, kind in shared))
    files = [snapshot.logical_files.select(_LISTED) for snapshot in snapshots]
    estimates = [read_estimate(each) for each in files]
    left = surplus_of(one, other, schema, few=all(map(are_few, files)))
    return TableRowDiff(
        matched_by_keys(left, schema, chosen) if chosen else unmatched(left, schema),
        snapshots[0].version,
        snapshots[1].version,
        chosen,
        schema,
        left_out,
        _both(estimates),
        scans,
    )


def table_row_preview(
    first: tuple[DeltaLog, Snapshot],
    second: tuple[DeltaLog, Snapshot],
    keys: Sequence[str] | None = None,
    limit: int = 100,
) -> Job[RowDiffPreview]:
    """Compare the rows of two tables: exact counts, and some rows of each kind.

    Args:
        first, second, keys: As in `table_row_diff`.
        limit: Rows at most of each kind.

    Returns:
        A job; its errors are those of `table_row_diff`, and Cancelled.
    """
    name = f"Rows of {first[0].name} against {second[0].name}"
    return submit(name, lambda job: _preview(job, first, second, keys, limit))


def _preview(
    job: Job[RowDiffPreview],
    first: tuple[DeltaLog, Snapshot],
    second: tuple[DeltaLog, Snapshot],
    keys: Sequence[str] | None,
    limit: int,
) -> RowDiffPreview:
    job.report("Comparing the columns")
    diff = table_row_diff(first, second, keys)
    job.report(f"Comparing the rows of {diff.estimate.files:,} files")
    with persisted(diff.frame) as frame:
        counts = count_differences(diff, frame)
        job.report("Fetching some of the rows")
        rows = some_of_each(diff, frame, limit)
    total = counts.inserted + counts.deleted + counts.updated
    shown = sum(rows.column("count").to_pylist())
    return RowDiffPreview(
        rows,
        counts,
        _note(shown, total),
        shown == total,
        diff.from_version,
        diff.to_version,
        diff.keys,
        diff.left_out,
        diff.estimate,
        by_spark=True,
    )


def _note(shown: int, total: int) -> str:
    if total == 0:
        return "No row differs between the two tables."
    if shown == total:
        return f"All {total:,} rows that differ between the two tables."
    return f"{shown:,} of {total:,} rows that differ between the two tables."


def _shared(
    first: Snapshot, second: Snapshot
) -> tuple[list[tuple[StructField, StructField, StructField]], tuple[UncomparedColumn, ...]]:
    """Return the columns of both with the form in which they are compared, and those that cannot be."""
    shared, left_out = [], []
    for pair in column_pairs(first.schema, second.schema):
        if len(pair.path) > 1:
            continue
        if pair.first is None or pair.second is None:
            version, which = (first.version, "second") if pair.second is None else (second.version, "first")
            left_out.append(
                UncomparedColumn(format_column(pair.path), version, f"the {which} table has no such column")
            )
            continue
        ours, theirs = pair.first[1], pair.second[1]
        if type_name(ours.type) == type_name(theirs.type) or widens(theirs.type, ours.type):
            kind = ours.type
        elif widens(ours.type, theirs.type):
            kind = theirs.type
        else:
            reason = f"it is {type_name(ours.type)} in the first table and {type_name(theirs.type)} in the second"
            left_out.append(UncomparedColumn(format_column(pair.path), first.version, reason))
            continue
        shared.append((ours, theirs, StructField(ours.name, kind)))
    return shared, tuple(left_out)


def _scanned(log: DeltaLog, snapshot: Snapshot) -> Scan:
    """Plan the reading of one of the tables; an error names it."""
    try:
        return scan(log, snapshot)
    except ExplorerError as error:
        error.table = error.table or log.location
        raise


def _typed(name: str, field: StructField, meant: StructField) -> Column:
    column = sf.col(quoted(name))
    return column if field.type == meant.type else column.cast(spark_type(meant.type))


def _both(estimates: Sequence[ReadEstimate]) -> ReadEstimate:
    sizes = [estimate.bytes for estimate in estimates]
    known = [size for size in sizes if size is not None]
    return ReadEstimate(sum(estimate.files for estimate in estimates), sum(known) if len(known) == len(sizes) else None)
