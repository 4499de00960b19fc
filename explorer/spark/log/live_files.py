"""The live files of a version as a DataFrame: actions, typed partition values and statistics, totals, data skipping.

This module loads PySpark only inside its calls, so that a missing package is a typed error like a missing Java.

Invariants: columns carry logical names; a value that the log does not record is null; a column of a type that has no
statistics (variant, void) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.core.protocol.logical_files import PUBLIC_COLUMNS, LogicalFiles
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.statistics.data_skipping import SkippingCounts, counts_of_rules, skip_files
from explorer.core.protocol.statistics.file_statistics import FileStatistics, StatisticsColumn
from explorer.spark.engine.session import require_pyspark

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.job import Job
    from explorer.spark.log.replay import ReplayedFiles

_TOTALS: Final = ("size", "num_records", "dv_cardinality")
_WITHOUT_STATISTICS: Final = frozenset({"variant", "void"})


def plain_files(names: Sequence[str], files: LogicalFiles) -> pa.Table:
    """Return some columns of the files, as `explorer.core.versions.snapshot.Snapshot.files` has them."""
    return files.select(names)


@dataclass(frozen=True)
class AllFiles:
    """Every file, with typed partition values and statistics.

    Attributes:
        columns: The leaf columns whose values and bounds are given.
        zone: The zone of partition values without a zone.
    """

    columns: tuple[StatisticsColumn, ...]
    zone: tzinfo

    @classmethod
    def of(cls, snapshot: Snapshot, statistics: Sequence[str] | None) -> AllFiles:
        """Return the files of a snapshot.

        Args:
            statistics: Names of the columns whose bounds are given; None for all.

        Raises:
            RequestError: A column is not in the schema or has no statistics by its type.
        """
        known = snapshot.statistics_columns
        chosen = known if statistics is None else [snapshot.statistics_column(name) for name in statistics]
        columns = [c for c in known if (c.partition or c in chosen) and c.type.name not in _WITHOUT_STATISTICS]
        return cls(tuple(columns), snapshot.time_zone)

    def __call__(self, files: LogicalFiles) -> pa.Table:
        """Make the rows of some files."""
        table = files.select(PUBLIC_COLUMNS)
        statistics = FileStatistics(files, self.columns, self.zone)
        statistics.load(self.columns)
        values = [column for column in self.columns if column.partition]
        if values:
            partition_values = {column.path: statistics.bounds(column).low for column in values}
            table = table.append_column("partition", _nested(partition_values))
        bounds = {column.path: statistics.bounds(column) for column in self.columns if not column.partition}
        parts: dict[tuple[str, ...], pa.Array] = {("tight",): statistics.tight()}
        for path, bound in bounds.items():
            parts |= {("min", *path): bound.low, ("max", *path): bound.high, ("null_count", *path): bound.nulls}
        return table.append_column("statistics", _nested(parts))


@dataclass(frozen=True)
class FileDecisions:
    """Every file, and whether a condition needs it: ``kept`` and ``rule`` of `SkippingResult.files`.

    Attributes:
        where: The condition.
        schema, columns: The table's, and its columns that may have statistics.
        zone: The zone of partition values without a zone.
    """

    where: str
    schema: StructType
    columns: tuple[StatisticsColumn, ...]
    zone: tzinfo

    @classmethod
    def of(cls, snapshot: Snapshot, where: str) -> FileDecisions:
        """Decide for the files of a snapshot whether a condition needs them.

        Raises:
            RequestError: The text is not a condition, or names a column that the table does not have.
        """
        made = cls(where, snapshot.schema, snapshot.statistics_columns, snapshot.time_zone)
        made(LogicalFiles([]))
        return made

    def __call__(self, files: LogicalFiles) -> pa.Table:
        """Make the rows of some files."""
        statistics = FileStatistics(files, self.columns, self.zone)
        decisions = skip_files(self.where, self.schema, self.columns, statistics).files
        table = files.select(PUBLIC_COLUMNS)
        for name in ("kept", "rule"):
            table = table.append_column(name, decisions.column(name))
        return table


@dataclass(frozen=True)
class FilesToRead:
    """The files that a condition needs, and no others.

    Attributes:
        needed: Tells which they are.
    """

    needed: FileDecisions

    def __call__(self, files: LogicalFiles) -> pa.Table:
        """Make the rows of some files."""
        table = self.needed(files)
        return table.filter(table.column("kept")).select(PUBLIC_COLUMNS)


def _nested(leaves: Mapping[tuple[str, ...], pa.Array]) -> pa.StructArray:
    """Return a struct column of leaf columns by their paths."""
    heads = list(dict.fromkeys(path[0] for path in leaves))
    parts = []
    for head in heads:
        inner = {path[1:]: array for path, array in leaves.items() if path[0] == head}
        parts.append(inner[()] if () in inner else _nested(inner))
    return pa.StructArray.from_arrays(parts, heads)


@dataclass(frozen=True, slots=True)
class FileTotals:
    """Totals of a version's live files: bytes, physical rows (null if a file lacks the count), rows masked."""

    num_files: int
    size_in_bytes: int | None
    num_records: int | None
    num_deleted_records: int


def files_frame(log: DeltaLog, snapshot: Snapshot, statistics: Sequence[str] | None = None) -> ReplayedFiles:
    """Return a row for each live file, with typed partition values and statistics; lazy, in no order.

    Args:
        statistics: Dotted names of the columns whose bounds are given; None for all, which parses them all.

    Returns:
        The columns of `explorer.core.versions.snapshot.Snapshot.files`; ``partition``, a struct of the partition
        columns, if there are any; ``statistics``, a struct of ``tight``, ``min``, ``max`` and ``null_count``, in which
        the last three are structs of the table's columns.

    Raises:
        EngineUnavailable: Spark or Java is missing.
        RequestError: A column is not in the schema or has no statistics by its type.
        TableError: The log is broken.
    """
    require_pyspark()
    from explorer.spark.log.replay import replayed

    return replayed(log, snapshot.version, AllFiles.of(snapshot, statistics))


def plain_frame(log: DeltaLog, snapshot: Snapshot, names: Sequence[str] = PUBLIC_COLUMNS) -> ReplayedFiles:
    """Return a row for each live file, without statistics; errors as `files_frame`."""
    require_pyspark()
    from explorer.spark.log.replay import replayed

    return replayed(log, snapshot.version, partial(plain_files, tuple(names)))


def needed_files(log: DeltaLog, snapshot: Snapshot, where: str) -> ReplayedFiles:
    """Return a row for each live file with ``kept`` and ``rule``: whether a condition needs it, and why.

    Raises:
        RequestError: The text is not a condition, or names a column that the table does not have.
        EngineUnavailable: Spark or Java is missing.
        TableError: The log is broken.
    """
    require_pyspark()
    from explorer.spark.log.replay import replayed

    return replayed(log, snapshot.version, FileDecisions.of(snapshot, where))


def needed_counts(log: DeltaLog, snapshot: Snapshot, where: str) -> Job[SkippingCounts]:
    """Count which files a condition needs, as a job; errors as `needed_files`."""
    require_pyspark()
    from explorer.spark.engine.job import submit
    from explorer.spark.scan.results import Reading, to_arrow

    def count(job: Job[SkippingCounts]) -> SkippingCounts:
        needed = needed_files(log, snapshot, where)
        job.report("Asking the statistics of every file")
        rules = to_arrow(Reading(needed.frame.groupBy("rule").count(), needed.failure))
        return counts_of_rules(dict(zip(rules.column(0).to_pylist(), rules.column(1).to_pylist(), strict=True)))

    return submit(f"Files of {log.name} at version {snapshot.version} that a condition needs", count)


def file_totals(log: DeltaLog, snapshot: Snapshot) -> Job[FileTotals]:
    """Count the live files, their bytes and rows, as a job; errors as `files_frame`."""
    require_pyspark()
    from explorer.spark.engine.job import submit

    def total(job: Job[FileTotals]) -> FileTotals:
        from pyspark.sql import functions as sf

        from explorer.spark.scan.results import Reading, to_arrow

        planned = plain_frame(log, snapshot, _TOTALS)
        job.report("Replaying the checkpoint")
        wanted = [sf.count("*"), *(part for name in _TOTALS for part in (sf.count(name), sf.sum(name)))]
        named = [column.alias(f"c{place}") for place, column in enumerate(wanted)]
        (row,) = to_arrow(Reading(planned.frame.agg(*named), planned.failure)).to_pylist()
        files, sizes, size, records, rows, _, masked = row.values()
        return FileTotals(
            files,
            _complete_sum(size, sizes == files),
            _complete_sum(rows, records == files),
            0 if masked is None else masked,
        )

    return submit(f"Totals of {log.name} at version {snapshot.version}", total)


def _complete_sum(total: int | None, known: bool) -> int | None:
    """Return a sum over all files; null if one of them lacks the value."""
    return (0 if total is None else total) if known else None
