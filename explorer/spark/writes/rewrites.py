"""Files written anew from the rows of others: without deleted rows, brought together, or as change data.

Protocol sections: Add File and Remove File, Change Data Files, Row Tracking. Invariants: Spark's workers read and
write, and no row passes through the driver; masked rows are left out, and rows stay in their partition; ids and commit
versions that row tracking gave rows go with them in the materialised columns (ROWTRACK-003).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from explorer.core.protocol.actions import AddCDCFile
from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.logical_files import files_to_come
from explorer.core.protocol.schema.data_types import parse_column
from explorer.core.protocol.sql.vetting import normalized_expression
from explorer.core.transaction.new_files.file_facts import Arrangement, NewFileFacts, Touched
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Written
from explorer.spark.engine.deadline import limited
from explorer.spark.scan.physical import quoted
from explorer.spark.scan.results import Reading, Scan
from explorer.spark.scan.scan import scan
from explorer.spark.writes.new_rows import NewRows, id_columns, write_files
from explorer.spark.writes.z_order import z_ordered

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

_GROUP: Final = "__explorer_group"
_CURVE: Final = "__explorer_curve"
_NO_LIMIT: Final = 1 << 62


@limited(lambda _log, _snapshot, _touched, where, *_, **__: where)
def rewrite(
    log: DeltaLog, snapshot: Snapshot, touched: Sequence[Touched], where: str, layout: FileLayout, *, recorded: bool
) -> Written:
    """Write the rows of some files that a deletion leaves; see `RowEngine.rewrite`."""
    staying = [file for file in touched if not file.is_emptied]
    deleted: tuple[NewFileFacts, ...] = ()
    if recorded:
        files = chosen_files(snapshot, {file.add.path for file in touched})
        rows = scan(log, snapshot, files, where, unpadded=True, needed=True)
        deleted = _recorded(log, rows, "delete", sum(len(file.matched) for file in touched), layout)
    changes = tuple(map(layout.change_of, deleted))
    if not staying:
        return Written((), changes)
    stay = f"NOT coalesce(({normalized_expression(where).text}), false)"
    files = chosen_files(snapshot, {file.add.path for file in staying})
    rows = scan(log, snapshot, files, stay, row_identity=snapshot.row_tracking.enabled, unpadded=True)
    new = NewRows(rows, id_columns(snapshot), rows=sum(file.rows_left for file in staying))
    made = write_files(log.store, layout, new)
    return Written(tuple(map(layout.add_of, made.files)), changes, made.rows)


def record_inserts(log: DeltaLog, snapshot: Snapshot, written: Written, layout: FileLayout) -> tuple[AddCDCFile, ...]:
    """Record the rows of files that were just written as inserted; see `RowEngine.record_inserts`."""
    return tuple(map(layout.change_of, recorded_inserts(log, snapshot, written, layout)))


def recorded_inserts(
    log: DeltaLog, snapshot: Snapshot, written: Written, layout: FileLayout
) -> tuple[NewFileFacts, ...]:
    """Write the change files of `record_inserts`, with the values that the rows got as they were written."""
    if not written.adds:
        return ()
    rows = scan(log, snapshot, files_to_come(written.adds), unpadded=True)
    return _recorded(log, rows, "insert", written.rows, layout)


def compact(log: DeltaLog, snapshot: Snapshot, arrangement: Arrangement, layout: FileLayout) -> Written:
    """Write the rows of some files into others; see `RowEngine.compact`."""
    chosen = chosen_files(snapshot, arrangement.groups)
    live_rows = scan(log, snapshot, chosen, row_identity=True, unpadded=True)
    session = live_rows.frame.sparkSession
    groups = [arrangement.groups[path] for path in chosen.column("raw_path").to_pylist()]
    file_groups = pa.table({"_file": chosen.column("path"), _GROUP: pa.array(groups, pa.int32())})
    frame = live_rows.frame.join(sf.broadcast(session.createDataFrame(file_groups)), "_file")
    frame = _ordered(frame, arrangement) if arrangement.order else _grouped(frame, arrangement)
    new = NewRows(Reading(frame, live_rows.failure), id_columns(snapshot), groups=_GROUP, arranged=True)
    made = write_files(log.store, layout, new, _NO_LIMIT)
    return Written(tuple(map(layout.add_of, made.files)), rows=made.rows)


def chosen_files(snapshot: Snapshot, raw_paths: Collection[str]) -> pa.Table:
    """Return the rows of ``snapshot.logical_files`` for some paths, as the log has them."""
    files = snapshot.logical_files
    paths = files.column("raw_path").to_pylist()
    return files.take(int64s([place for place, path in enumerate(paths) if path in raw_paths]))


def _recorded(log: DeltaLog, rows: Scan, change: str, count: int, layout: FileLayout) -> tuple[NewFileFacts, ...]:
    marked = Reading(rows.frame.withColumn("_change_type", sf.lit(change)), rows.failure)
    return write_files(log.store, layout, NewRows(marked, rows=count, changes=True)).files


def _grouped(frame: DataFrame, arrangement: Arrangement) -> DataFrame:
    """Bring the rows of a group together, in the order of their files."""
    # By the number itself: to find ranges of it Spark would read every file twice.
    brought = frame.repartitionById(arrangement.files, _GROUP)
    return brought.sortWithinPartitions(_GROUP, "_file", "_row_index")


def _ordered(frame: DataFrame, arrangement: Arrangement) -> DataFrame:
    """Bring the rows into ranges of their order, each range a file."""
    columns: list[Column] = [sf.col(".".join(map(quoted, parse_column(name)))) for name in arrangement.order]
    if arrangement.curve and len(columns) > 1:
        frame = z_ordered(frame, columns, _CURVE)
        columns = [sf.col(_CURVE)]
    brought = (
        frame.repartitionById(arrangement.files, _GROUP)
        if arrangement.is_exact
        else frame.repartitionByRange(arrangement.files, _GROUP, *columns)
    )
    return brought.sortWithinPartitions(_GROUP, *columns)
