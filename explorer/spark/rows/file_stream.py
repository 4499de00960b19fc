"""The live files of a version as Arrow batches, replayed by Spark, so that no process holds the list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.core.protocol.logical_files import LogicalFiles
from explorer.spark.rows.batches import Part, RowStream

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["file_stream"]

# Of a checkpoint, for each piece of the result.
_PIECE_BYTES: Final = 4 << 20


def file_stream(
    log: DeltaLog, snapshot: Snapshot, make: Callable[[LogicalFiles], pa.Table], limit: int | None = None
) -> RowStream:
    """What is made of the live files of a version; see `explorer.spark.log.live_files`.

    Args:
        log: The log of the table.
        snapshot: The version.
        make: Makes the rows of some files; it is sent to Spark's tasks.
        limit: As in `RowStream`.
    """

    def parts() -> Iterator[Part]:
        from explorer.spark.log.replay import replayed

        files = replayed(log, snapshot.version, make)
        yield Part.of_pieces(files, files.size // _PIECE_BYTES)

    return RowStream(
        f"Files of {log.name} at version {snapshot.version}",
        "Replaying the checkpoint",
        make(LogicalFiles([])).schema,
        parts,
        limit=limit,
    )
