"""What follows a commit so that the log stays quick to read: the checkpoint that is due, and the hint to it.

Protocol sections: Checkpoints, Last Checkpoint File, Metadata Cleanup. Invariants: the commit stands, whatever happens
here; nothing that is there is overwritten but the hint; the cost is bound to the interval that the table asks for.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from explorer.core.checkpoint_layout import checkpoint_due
from explorer.core.checkpoint_writer import WrittenCheckpoint, write_checkpoint
from explorer.core.log_segment import list_log
from explorer.core.ports import LogStore

__all__ = ["follow_up", "new_checkpoint"]


def follow_up(store: LogStore, version: int, configuration: dict[str, str]) -> tuple[str, ...]:
    """Do what is due after a commit.

    Args:
        store: The table's store.
        version: The version that was committed.
        configuration: The table properties in force at that version.

    Returns:
        What went wrong, in words.
    """
    try:
        if checkpoint_due(configuration, version):
            new_checkpoint(store, version)
    except Exception as error:  # noqa: BLE001 - the commit is made, and no failure after it may hide that
        return (f"The checkpoint of version {version} could not be written: {error}",)
    return ()


def new_checkpoint(store: LogStore, version: int | None = None) -> WrittenCheckpoint:
    """Write the checkpoint of a version, by default the newest, and the hint to it.

    Raises:
        UnsupportedFeature: The table has a feature that could make a checkpoint lack something.
        TableError: The log is broken.
        StorageError: The store failed.
    """
    return write_checkpoint(store, list_log(store, use_hint=True), version, now=datetime.now(UTC), new_uuid=uuid.uuid4)
