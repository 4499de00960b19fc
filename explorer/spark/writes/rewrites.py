"""Rewrite files without some of their rows: Spark's workers read the rows that stay and write them into new files.

Invariants: rows stay in their partition; ids that row tracking gave them go with them (ROWTRACK-003) in the
materialised columns; no row passes through the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from explorer.core.errors import ExplorerError
from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.sql.vetting import normalized_expression
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.new_files.touched import Touched
from explorer.core.transaction.proposal import Written
from explorer.spark.scan.results import Scan
from explorer.spark.scan.scan import scan
from explorer.spark.writes.new_rows import NewRows, write_files

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["rewritten"]


@dataclass(frozen=True, slots=True)
class _Changed:
    """Rows of a scan, marked with what happened to them."""

    scan: Scan
    change: str

    @property
    def frame(self) -> DataFrame:
        """The rows with ``_change_type``."""
        return self.scan.frame.select("*", sf.lit(self.change).alias("_change_type"))

    def failure(self, error: Exception) -> ExplorerError:
        """The typed error for what running it raised."""
        return self.scan.failure(error)


def rewritten(
    log: DeltaLog, snapshot: Snapshot, touched: Sequence[Touched], where: str, layout: FileLayout, *, recorded: bool
) -> Written:
    """Write the rows that stay of some files.

    Args:
        log: The table's log.
        snapshot: The version.
        touched: The files; of one that keeps no row only the deleted rows are written.
        where: What is deleted.
        layout: The layout of the table's files.
        recorded: Record the deleted rows as change data.
    """
    kept = [file for file in touched if not file.is_emptied]
    changes = _change_rows(log, snapshot, touched, where) if recorded else None
    gone = () if changes is None else write_files(log.store, layout, changes).files
    if not kept:
        return Written((), tuple(map(layout.change_of, gone)))
    made = write_files(log.store, layout, _kept_rows(log, snapshot, kept, where))
    return Written(tuple(map(layout.add_of, made.files)), tuple(map(layout.change_of, gone)), made.rows)


def _change_rows(log: DeltaLog, snapshot: Snapshot, touched: Sequence[Touched], where: str) -> NewRows:
    gone = scan(log, snapshot, _files(snapshot, touched), where, unpadded=True, needed=True)
    return NewRows(_Changed(gone, "delete"), rows=sum(len(file.matched) for file in touched), changes=True)


def _kept_rows(log: DeltaLog, snapshot: Snapshot, kept: Sequence[Touched], where: str) -> NewRows:
    tracking = snapshot.row_tracking
    names = (tracking.row_id_column, tracking.row_commit_version_column) if tracking.enabled else ()
    sources = zip(names, ("_row_id", "_row_commit_version"), strict=False)
    extra = {name: source for name, source in sources if name is not None}
    stay = f"NOT coalesce(({normalized_expression(where).text}), false)"
    rows = scan(log, snapshot, _files(snapshot, kept), stay, row_identity=tracking.enabled, unpadded=True)
    return NewRows(rows, extra, rows=sum(file.rows_left for file in kept))


def _files(snapshot: Snapshot, chosen: Sequence[Touched]) -> pa.Table:
    wanted = {file.add.path for file in chosen}
    files = snapshot.logical_files
    paths = files.column("raw_path").to_pylist()
    return files.take(int64s([place for place, path in enumerate(paths) if path in wanted]))
