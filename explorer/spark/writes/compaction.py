"""Rows of some files, brought together into others by Spark's workers.

Protocol sections: Add File and Remove File, Row Tracking. Invariants: masked rows are left out, all others stay as they
are, with the ids and commit versions that row tracking gives them (ROWTRACK-003).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.schema.data_types import parse_column
from explorer.core.transaction.new_files.file_facts import Arrangement
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Written
from explorer.spark.scan.physical import quoted
from explorer.spark.scan.results import Reading
from explorer.spark.scan.scan import scan
from explorer.spark.writes.new_rows import NewRows, write_files
from explorer.spark.writes.z_order import z_ordered

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["compacted"]

_GROUP: Final = "__explorer_group"
_CURVE: Final = "__explorer_curve"
_NO_LIMIT: Final = 1 << 62


def compacted(log: DeltaLog, snapshot: Snapshot, arrangement: Arrangement, layout: FileLayout) -> Written:
    """Write the rows of some files into others; see `RowEngine.compact`."""
    files = snapshot.logical_files
    raw_paths = files.column("raw_path").to_pylist()
    chosen = files.take(int64s([place for place, path in enumerate(raw_paths) if path in arrangement.groups]))
    found = scan(log, snapshot, chosen, row_identity=True, unpadded=True)
    session = found.frame.sparkSession
    told = pa.table(
        {
            "_file": chosen.column("path"),
            _GROUP: pa.array([arrangement.groups[path] for path in chosen.column("raw_path").to_pylist()], pa.int32()),
        }
    )
    frame = found.frame.join(sf.broadcast(session.createDataFrame(told)), "_file")
    frame = _ordered(frame, arrangement) if arrangement.order else _grouped(frame, arrangement)
    tracking = snapshot.row_tracking
    names = (tracking.row_id_column, tracking.row_commit_version_column) if tracking.enabled else (None, None)
    extra = {name: source for name, source in zip(names, ("_row_id", "_row_commit_version"), strict=True) if name}
    new = NewRows(Reading(frame, found.failure), extra, groups=_GROUP, arranged=True)
    made = write_files(log.store, layout, new, _NO_LIMIT)
    return Written(tuple(map(layout.add_of, made.files)), rows=made.rows)


def _grouped(frame: DataFrame, arrangement: Arrangement) -> DataFrame:
    """The rows of a group together, in the order of their files."""
    # By the number itself: to find ranges of it Spark would read every file twice.
    brought = frame.repartitionById(arrangement.files, _GROUP)
    return brought.sortWithinPartitions(_GROUP, "_file", "_row_index")


def _ordered(frame: DataFrame, arrangement: Arrangement) -> DataFrame:
    """The rows in ranges of their order, each range a file."""
    columns = [_column(name) for name in arrangement.order]
    if arrangement.curve and len(columns) > 1:
        frame = z_ordered(frame, columns, _CURVE)
        columns = [sf.col(_CURVE)]
    brought = (
        frame.repartitionById(arrangement.files, _GROUP)
        if arrangement.is_exact
        else frame.repartitionByRange(arrangement.files, _GROUP, *columns)
    )
    return brought.sortWithinPartitions(_GROUP, *columns)


def _column(name: str) -> Column:
    return sf.col(".".join(map(quoted, parse_column(name))))
