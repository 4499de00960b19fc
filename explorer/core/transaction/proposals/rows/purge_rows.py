"""Purging: live files with masked rows or dropped columns are rewritten without, as REORG TABLE ... APPLY (PURGE) does.

Protocol sections: Deletion Vectors, Column Mapping, Row Tracking. Invariants: no row that a reader sees changes, so
nothing is data change; a file whose rows are all masked is removed without another one; the predicate of an intent,
which may name what is to be erased, does not go into the log.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
import numpy as np

from explorer.core.protocol.actions import Add, Remove
from explorer.core.protocol.counted import counted
from explorer.core.transaction.commit_info import ROWS_KEPT_TAG
from explorer.core.transaction.new_files.file_actions import number_rows, remove_of
from explorer.core.transaction.new_files.file_facts import RowIndexes, Touched
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal, Written
from explorer.core.transaction.proposals.rows.optimize_files import size_metrics
from explorer.core.versions.snapshot import Snapshot


def files_to_purge(
    snapshot: Snapshot, masking: Collection[str] | None, dropped: Collection[str]
) -> dict[str, RowIndexes]:
    """Return the live files to rewrite, by decoded path, with no row more to hide.

    Args:
        masking: Files with a deletion vector, only if they are among these paths; None for all of them.
    """
    files = snapshot.logical_files
    pairs = zip(files.column("path").to_pylist(), files.column("dv_unique_id").to_pylist(), strict=True)
    nothing = np.empty(0, np.uint64)
    return {
        path: nothing
        for path, vector in pairs
        if path in dropped or (vector is not None and (masking is None or path in masking))
    }


def purge_rows(
    snapshot: Snapshot,
    touched: Sequence[Touched],
    rewrite: Written,
    circumstances: Circumstances,
    *,
    with_dropped: int = 0,
    guards: tuple[GuardResult, ...] = (),
) -> Proposal:
    """Rewrite files without the rows that they mask, and without columns that the table has dropped."""
    made = (msgspec.structs.replace(add, data_change=False) for add in rewrite.adds)
    fresh, mark, faults = number_rows(made, snapshot.row_tracking, snapshot.version + 1)
    removes = tuple(_remove(file.add, circumstances.now) for file in touched)
    hidden = sum(len(file.hidden) for file in touched)
    tracking = snapshot.row_tracking
    return Proposal(
        operation="REORG",
        parameters={"predicate": "[]", "applyPurge": True},
        adds=fresh,
        removes=removes,
        domains=mark,
        metrics=_metrics(touched, fresh),
        tags={ROWS_KEPT_TAG: str(tracking.enabled).lower()} if tracking.supported else {},
        is_blind_append=False,
        isolation="SnapshotIsolation",
        guards=(*faults, *guards, _matches_guard(hidden, removes, with_dropped)),
        change_feed="Nothing appears in it: the rows that readers see stay the same.",
        undo=f"Restore version {snapshot.version}, as long as its files are not vacuumed.",
    )


def _remove(add: Add, now: int) -> Remove:
    return msgspec.structs.replace(remove_of(add, now=now, data_change=False), stats=add.stats)


def _metrics(touched: Sequence[Touched], adds: Sequence[Add]) -> dict[str, str]:
    """Return the metrics of the reference; the sizes are of the new files."""
    numbers: dict[str, int] = {
        "numRemovedFiles": len(touched),
        "numRemovedBytes": sum(file.add.size for file in touched),
        "numAddedFiles": len(adds),
        "numAddedBytes": sum(add.size for add in adds),
        "numDeletionVectorsRemoved": sum(file.add.deletion_vector is not None for file in touched),
        **size_metrics(adds),
    }
    return {name: str(number) for name, number in numbers.items()}


def _matches_guard(hidden: int, removes: Sequence[Remove], with_dropped: int) -> GuardResult:
    evidence: dict[str, object] = {"rows": hidden, "files": len(removes), "filesWithDroppedColumns": with_dropped}
    if removes:
        hold = counted(with_dropped, "file holds", "files hold")
        columns = f" {hold} columns that the table has dropped." if with_dropped else ""
        masked = counted(hidden, "masked row leaves", "masked rows leave")
        detail = f"{masked} {counted(len(removes), 'file')}.{columns}"
        return GuardResult("masked-rows-found", "pass", evidence | {"detail": detail})
    detail = "No live file holds such a masked row or a dropped column, so there is nothing to commit."
    return GuardResult(
        "masked-rows-found", "fail", evidence | {"detail": detail}, "Check the predicate, if there is one."
    )
