"""The live files of a version as a DataFrame, and what people ask of it: totals, and which files a condition needs.

This module loads PySpark only inside its calls, so that a missing package is a typed error like a missing Java.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from explorer.core.protocol.logical_files import PUBLIC_COLUMNS
from explorer.core.protocol.statistics.data_skipping import SkippingCounts, counts_of_rules
from explorer.spark.engine.session import require_pyspark
from explorer.spark.log.live_files import TOTALS, AllFiles, NeededFiles, plain_files

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.job import Job
    from explorer.spark.log.replay import ReplayedFiles

__all__ = ["FileTotals", "file_totals", "files_frame", "needed_counts", "needed_files", "plain_frame"]


@dataclass(frozen=True, slots=True)
class FileTotals:
    """Totals of a version's live files: bytes, physical rows (null if a file lacks the count), rows masked."""

    num_files: int
    size_in_bytes: int | None
    num_records: int | None
    num_deleted_records: int


def files_frame(log: DeltaLog, snapshot: Snapshot, statistics: Sequence[str] | None = None) -> ReplayedFiles:
    """A row for each live file, with typed partition values and statistics; lazy, in no order.

    Args:
        log: The log of the table.
        snapshot: The version.
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
    """A row for each live file, without statistics; errors as `files_frame`."""
    require_pyspark()
    from explorer.spark.log.replay import replayed

    return replayed(log, snapshot.version, partial(plain_files, tuple(names)))


def needed_files(log: DeltaLog, snapshot: Snapshot, where: str) -> ReplayedFiles:
    """A row for each live file with ``kept`` and ``rule``: whether a condition needs it, and why.

    Raises:
        RequestError: The text is not a condition, or names a column that the table does not have.
        EngineUnavailable: Spark or Java is missing.
        TableError: The log is broken.
    """
    require_pyspark()
    from explorer.spark.log.replay import replayed

    return replayed(log, snapshot.version, NeededFiles.of(snapshot, where))


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

        planned = plain_frame(log, snapshot, TOTALS)
        job.report("Replaying the checkpoint")
        wanted = [sf.count("*"), *(part for name in TOTALS for part in (sf.count(name), sf.sum(name)))]
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
    """A sum over all files; null if one of them does not say."""
    return (0 if total is None else total) if known else None
