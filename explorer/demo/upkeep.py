"""VACUUM in the demo: data files that no recent version needs are deleted, and two commits say so."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from explorer.core.uris import decode_path
from explorer.demo.provenance import Provenance, milliseconds
from explorer.demo.writer import TableWriter

__all__ = ["vacuum"]

_WEEK: Final = 7 * 24 * 3600 * 1000


def vacuum(table: TableWriter, by: Provenance) -> None:
    """Delete the data files that left the table more than a week ago; commit VACUUM START and VACUUM END."""
    expired = [
        table.folder / decode_path(remove.path)
        for remove in table.log.tombstones()
        if (remove.deletion_timestamp or 0) < milliseconds(by.at) - _WEEK and remove.path not in table.live
    ]
    size = sum(path.stat().st_size for path in expired)
    start = {"retentionCheckEnabled": True, "defaultRetentionMillis": _WEEK}
    found = {"numFilesToDelete": len(expired), "sizeOfDataToDelete": size}
    table.commit(by, "VACUUM START", start, metrics=found, blind=True, isolation="SnapshotIsolation")
    for path in expired:
        path.unlink()
    after = Provenance(by.at + timedelta(seconds=4), by.user, by.engine)
    deleted = {"numDeletedFiles": len(expired), "numVacuumedDirectories": 1}
    status = {"status": "COMPLETED"}
    table.commit(after, "VACUUM END", status, metrics=deleted, blind=True, isolation="SnapshotIsolation")
