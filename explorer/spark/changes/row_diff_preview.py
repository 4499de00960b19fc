"""A preview of the rows that differ between two versions: some of each kind, and exact counts.

Invariants: the rows shown are a sample and are labeled as one; Spark counts exactly; the driver never receives rows
without a bound.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from explorer.changed_rows.difference_preview import KINDS, RowDiffPreview, difference_preview
from explorer.job import Job
from explorer.spark.engine.job import submit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from explorer.core.versions.delta_log import DeltaLog
    from explorer.spark.scan.results import Planned


def row_diff_preview(
    log: DeltaLog,
    from_version: int,
    to_version: int,
    keys: Sequence[str] | None = None,
    limit: int = 100,
    *,
    reason: str = "",
) -> Job[RowDiffPreview]:
    """Compare the rows of two versions: counts, and some rows of each kind.

    Args:
        from_version, to_version: The versions.
        keys: As in `explorer.spark.changes.row_diff.row_diff`.
        limit: Rows at most of each kind.
        reason: Why Spark must compare them.

    Returns:
        A job; its errors are those of `explorer.spark.changes.row_diff.row_diff`, and Cancelled.
    """
    name = f"Rows of {log.name} in version {from_version} against {to_version}"
    return submit(name, lambda job: _row_diff_preview(job, log, (from_version, to_version), keys, limit, reason=reason))


def _row_diff_preview(
    job: Job[RowDiffPreview],
    log: DeltaLog,
    versions: tuple[int, int],
    keys: Sequence[str] | None,
    limit: int,
    *,
    reason: str,
) -> RowDiffPreview:
    from explorer.spark.changes.row_diff import count_differences, row_diff

    job.report("Comparing the lists of files")
    diff = row_diff(log, *versions, keys)
    job.report(f"Comparing the rows of {diff.estimate.files:,} files")
    with persisted(diff.frame) as frame:
        counts = count_differences(diff, frame)
        job.report("Fetching some of the rows")
        rows = some_of_each(diff, frame, limit)
    return difference_preview(rows, counts, diff, by_spark=True, reason=reason)


@contextlib.contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Keep what was computed in memory and on disk of Spark's workers, for as long as it is needed."""
    from explorer.spark.engine.failures import SPARK_ERRORS

    persisted = frame.persist()
    try:
        yield persisted
    finally:
        with contextlib.suppress(*SPARK_ERRORS):
            persisted.unpersist()


def some_of_each(diff: Planned, frame: DataFrame, limit: int) -> pa.Table:
    """Fetch rows of a diff's frame: so many at most of each kind, inserts first."""
    from pyspark.sql import DataFrame as Frame
    from pyspark.sql import functions as sf

    from explorer.spark.scan.results import Reading, to_arrow

    pieces = [frame.where(sf.col("change") == kind).limit(limit) for kind in KINDS]
    rows = to_arrow(Reading(reduce(Frame.union, pieces), diff.failure), readable=True)
    order = {kind: place for place, kind in enumerate(KINDS)}
    places = sorted(range(rows.num_rows), key=[order[kind] for kind in rows.column("change").to_pylist()].__getitem__)
    return rows.take(pa.array(places, pa.int64()))
