"""Rows that were just written, recorded as inserted.

Protocol section: Change Data Files. Invariants: the feed has the values that the rows got as they were
written, those of identity columns among them; the source of the rows is not asked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from explorer.core.protocol.logical_files import files_to_come
from explorer.core.transaction.new_files.file_facts import NewFileFacts
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Written
from explorer.spark.scan.results import Reading
from explorer.spark.scan.scan import scan
from explorer.spark.writes.new_rows import NewRows, write_files

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["recorded_inserts"]


def recorded_inserts(
    log: DeltaLog, snapshot: Snapshot, written: Written, layout: FileLayout
) -> tuple[NewFileFacts, ...]:
    """Write the change files; see `RowEngine.record_inserts`."""
    if not written.adds:
        return ()
    found = scan(log, snapshot, files_to_come(written.adds), unpadded=True)
    rows = Reading(found.frame.withColumn("_change_type", sf.lit("insert")), found.failure)
    return write_files(log.store, layout, NewRows(rows, rows=written.rows, changes=True)).files
