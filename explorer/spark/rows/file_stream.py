"""The live files of a version as Arrow batches, replayed by Spark, so that no process holds the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.core.protocol.logical_files import LogicalFiles
from explorer.spark.rows.batches import RowStream

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.spark.scan.results import Planned

__all__ = ["file_stream"]

_FEW: Final = 10_000
"""So many rows are fetched as a whole, before all are made."""


def file_stream(
    log: DeltaLog, snapshot: Snapshot, make: Callable[[LogicalFiles], pa.Table], limit: int | None = None
) -> RowStream:
    """What is made of the live files of a version; see `explorer.spark.log.live_files`.

    Args:
        log: The log of the table.
        snapshot: The version.
        make: Makes the rows of some files; it is sent to Spark's tasks.
        limit: How many rows are wanted; None for all. Of many there may be more.
    """

    def planned() -> Planned:
        from explorer.spark.log.replay import replayed
        from explorer.spark.scan.results import Reading

        if limit is None or limit > _FEW:
            return replayed(log, snapshot.version, make, in_pieces=True)
        found = replayed(log, snapshot.version, make)
        return Reading(found.frame.limit(limit), found.failure)

    return RowStream(
        f"Files of {log.name} at version {snapshot.version}",
        "Replaying the checkpoint",
        make(LogicalFiles([])).schema,
        planned,
        None,
    )
