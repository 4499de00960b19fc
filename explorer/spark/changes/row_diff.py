"""The rows in which two versions of a table differ, as a lazy Spark DataFrame.

Only files that are in one version and not in the other, or that got another deletion vector, are read; of the latter
only the rows whose masking changed. First, rows that both sides have cancel each other one by one, so a rewrite that
copies rows shows nothing. Key columns then match the rows that remain.

Rules. Columns are matched as `explorer.core.versions.column_matching` says; values are the same as
`explorer.spark.changes.comparable` says, also in keys, so null keys match each other. A key that remains more than once
on one side cannot be matched: its rows are shown as deleted and inserted and counted in
`RowDiffCounts.rows_of_repeated_keys`. Invariant: the rows of the first version, without the deletes and old values, and
with the inserts and new values, are the rows of the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from explorer.changed_rows.difference_preview import RowDiffCounts
from explorer.changed_rows.key_columns import check_difference_keys
from explorer.core.errors import ExplorerError
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.versions.change_feed.sources import ReadEstimate, difference_table, read_estimate
from explorer.core.versions.column_matching import ComparedSide, UncomparedColumn, compare_columns
from explorer.data_files.column_sources import case_collides
from explorer.spark.changes.comparable import SIGN, are_few, by_place, comparable, same, surplus
from explorer.spark.changes.source_rows import FilePart, SourceRows, failure_of_reads, file_parts, source_rows
from explorer.spark.engine.failures import SPARK_ERRORS
from explorer.spark.scan.layout import layout_of_schema
from explorer.spark.scan.physical import quoted
from explorer.spark.scan.results import Planned, PlannedRows

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

_OLD: Final = "__explorer_deleted"
_NEW: Final = "__explorer_inserted"
_OTHER: Final = "__explorer_other"


@dataclass(frozen=True, slots=True)
class RowDiff(PlannedRows):
    """The rows in which two versions differ, planned and not run.

    Attributes:
        frame: ``change`` (``insert``, ``delete``, ``update``), ``count`` (how many such rows; 1 for an update),
            ``repeated_key`` (True if its key remains more than once on a side, so that it could not be matched),
            ``changed_columns`` (names, of updates alone), ``before`` and ``after``: structs of the compared columns,
            null where there is no such row. In no order.
        from_version, to_version: The versions.
        keys: The key columns; empty if entire rows were compared.
        schema: The compared columns, names of the later version.
        left_out: Columns that could not be compared, and why.
        estimate: Files and bytes to be read, by the log.
        parts: The reads that make up the frame.
    """

    frame: DataFrame
    from_version: int
    to_version: int
    keys: tuple[str, ...]
    schema: StructType
    left_out: tuple[UncomparedColumn, ...]
    estimate: ReadEstimate
    parts: tuple[SourceRows, ...]

    def __repr__(self) -> str:
        return f"RowDiff(versions {self.from_version} to {self.to_version}, keys={list(self.keys)})"

    def counts(self) -> RowDiffCounts:
        """Run it and count; errors as of `to_arrow`."""
        return count_differences(self, self.frame)

    def failure(self, error: Exception) -> ExplorerError:
        """Return the typed error for an exception out of Spark."""
        return failure_of_reads(self.parts, error)


def row_diff(log: DeltaLog, from_version: int, to_version: int, keys: Sequence[str] | None = None) -> RowDiff:
    """Plan the comparison of the rows of two versions.

    Args:
        from_version, to_version: The versions, in either order.
        keys: Names of top-level columns, as the later version has them, that identify a row; None compares entire rows.

    Raises:
        VersionNotFound: A version cannot be read.
        RequestError: A key is not a compared column, is named twice, or cannot be a key.
        StorageError, CorruptTable, UnsupportedFeature: As of `explorer.spark.scan.scan.rows`.
        EngineUnavailable: Spark or Java is missing.
    """
    history = log.history_record()
    compared = compare_columns(history, log.snapshot(from_version), log.snapshot(to_version))
    chosen = check_difference_keys(keys or (), compared)
    files = difference_table(history.lifetimes, from_version, to_version)
    parts = file_parts(log, files)
    # Both sides must be of one session.
    collides = case_collides(compared.before.schema) or case_collides(compared.after.schema)
    deleted, inserted = ([part for part in parts if part.change == change] for change in ("delete", "insert"))
    before = _side(log, compared.before, files, deleted, case_sensitive=collides)
    after = _side(log, compared.after, files, inserted, case_sensitive=collides)
    surplus = surplus_of(before.frame, after.frame, compared.schema, few=are_few(files))
    frame = matched_by_keys(surplus, compared.schema, chosen) if chosen else unmatched(surplus, compared.schema)
    return RowDiff(
        frame,
        from_version,
        to_version,
        chosen,
        compared.schema,
        compared.left_out,
        read_estimate(files),
        (before, after),
    )


def count_differences(diff: Planned, frame: DataFrame) -> RowDiffCounts:
    """Count the rows of a diff's frame, or of a copy of it that Spark has in memory."""
    repeated = sf.when(sf.col("repeated_key"), sf.col("count")).otherwise(sf.lit(0))
    counted = frame.groupBy("change").agg(sf.sum("count").alias("rows"), sf.sum(repeated).alias("repeated"))
    try:
        counts = {row["change"]: row for row in counted.collect()}
    except SPARK_ERRORS as error:
        raise diff.failure(error) from error
    rows = {change: int(counts[change]["rows"]) if change in counts else 0 for change in ("insert", "delete", "update")}
    return RowDiffCounts(
        rows["insert"], rows["delete"], rows["update"], sum(int(row["repeated"]) for row in counts.values())
    )


def _side(
    log: DeltaLog, side: ComparedSide, files: pa.Table, parts: list[FilePart], *, case_sensitive: bool
) -> SourceRows:
    layout = layout_of_schema(side.schema, side.partition_columns, side.version, by_id=side.by_id)
    layout = replace(layout, case_sensitive=case_sensitive, zone=log.snapshot(side.version).time_zone)
    return source_rows(log, layout, files, parts)


def surplus_of(before: DataFrame, after: DataFrame, schema: StructType, *, few: bool) -> DataFrame:
    """Return each distinct row that one side has more often, and how much more often the first side has it."""
    deleted, inserted = by_place(before, schema), by_place(after, schema)
    return surplus(deleted.withColumn(SIGN, sf.lit(1)).union(inserted.withColumn(SIGN, sf.lit(-1))), schema, few=few)


def unmatched(left: DataFrame, schema: StructType) -> DataFrame:
    """Return entire rows as deletes and inserts; the columns are those of `RowDiff.frame`."""
    row, deleted = _row(schema), sf.col(SIGN) > 0
    return left.select(
        sf.when(deleted, "delete").otherwise("insert").alias("change"),
        sf.abs(SIGN).alias("count"),
        sf.lit(False).alias("repeated_key"),
        sf.lit(None).cast("array<string>").alias("changed_columns"),
        sf.when(deleted, row).alias("before"),
        sf.when(~deleted, row).alias("after"),
    )


def matched_by_keys(left: DataFrame, schema: StructType, keys: tuple[str, ...]) -> DataFrame:
    """Match the remaining rows by key: one row on each side, one on one side, or more (not matched)."""
    places = [place for place, field in enumerate(schema.fields) if field.name in keys]
    by_key = Window.partitionBy(*(comparable(sf.col(f"c{place}"), schema.fields[place].type) for place in places))
    ordered = by_key.orderBy(sf.col(SIGN).desc())
    annotated = left.select(
        _row(schema).alias("before"),
        SIGN,
        sf.sum(sf.greatest(sf.col(SIGN), sf.lit(0))).over(by_key).alias(_OLD),
        sf.sum(sf.greatest(-sf.col(SIGN), sf.lit(0))).over(by_key).alias(_NEW),
        # The old row of a pair comes first, the new one after it.
        sf.lead(_row(schema)).over(ordered).alias(_OTHER),
    )
    single, pair = (
        (sf.col(_OLD) <= 1) & (sf.col(_NEW) <= 1),
        (sf.col(_OLD) == 1) & (sf.col(_NEW) == 1),
    )
    deleted, row = sf.col(SIGN) > 0, sf.col("before")
    return annotated.where(~pair | deleted).select(
        sf.when(pair, "update").when(deleted, "delete").otherwise("insert").alias("change"),
        sf.abs(SIGN).alias("count"),
        (~single).alias("repeated_key"),
        sf.when(pair, _changed(schema)).alias("changed_columns"),
        sf.when(deleted, row).alias("before"),
        sf.when(pair, sf.col(_OTHER)).when(~deleted, row).alias("after"),
    )


def _row(schema: StructType) -> Column:
    return sf.struct(*(sf.col(f"c{n}").alias(field.name) for n, field in enumerate(schema.fields)))


def _changed(schema: StructType) -> Column:
    """Return names of the columns whose values differ between `before` and the other row."""
    names = []
    for field in schema.fields:
        was, now = (f"{side}.{quoted(field.name)}" for side in ("before", _OTHER))
        names.append(sf.when(~same(was, now, field.type), sf.lit(field.name)))
    return sf.array_compact(sf.array(*names))
