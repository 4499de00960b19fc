"""VACUUM in the demo: data files that no recent version needs are deleted, and two commits say so."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from explorer.core.protocol.times import milliseconds
from explorer.core.transaction.proposal import Proposal
from explorer.demo.provenance import Provenance
from explorer.demo.writer import TableWriter

__all__ = ["vacuum"]

_WEEK: Final = 7 * 24 * 3600 * 1000


def vacuum(table: TableWriter, by: Provenance) -> None:
    """Delete the data files that left the table more than a week ago; commit VACUUM START and VACUUM END."""
    live = {file.path for file in table.live()}
    expired = [
        table.folder / path
        for path, time in table.removed.items()
        if time < milliseconds(by.at) - _WEEK and path not in live
    ]
    size = sum(path.stat().st_size for path in expired)
    start = {"retentionCheckEnabled": True, "defaultRetentionMillis": _WEEK}
    table.commit(by, _step("VACUUM START", start, numFilesToDelete=len(expired), sizeOfDataToDelete=size))
    for path in expired:
        path.unlink()
    after = Provenance(by.at + timedelta(seconds=4), by.user, by.engine)
    status = {"status": "COMPLETED"}
    table.commit(after, _step("VACUUM END", status, numDeletedFiles=len(expired), numVacuumedDirectories=1))


def _step(operation: str, parameters: dict[str, Any], **metrics: int) -> Proposal:
    counts = {name: str(count) for name, count in metrics.items()}
    return Proposal(operation=operation, parameters=parameters, metrics=counts, isolation="SnapshotIsolation")
