"""Deleting rows: emptied files are removed; a vector hides rows of other files, or these files are rewritten.

Protocol sections: Deletion Vectors (Writer Requirements), Add CDC File, Row Tracking. Invariants: a new vector holds
all that the old one hid (DV-022); a file whose rows are all hidden is removed instead; a rewritten file removes the
old one in the same commit; where the change feed is on, a rewrite records what it deleted (CDF-001).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from explorer.core.protocol.actions import Add, Remove
from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.counted import counted
from explorer.core.protocol.deletion_vectors import encode_vectors, read_rows, vector_file_name
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.statistics.collect import loosened
from explorer.core.protocol.table_features import supported_features
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED, DELETION_VECTORS
from explorer.core.transaction.commit_info import ROWS_KEPT_TAG
from explorer.core.transaction.intents.records import Delete
from explorer.core.transaction.new_files.file_actions import adds, num_records, number_rows, remove_of
from explorer.core.transaction.new_files.file_facts import RowIndexes, Touched
from explorer.core.transaction.new_files.layout import count_rows
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal, StagedFile, Written
from explorer.core.versions.reads import Reads
from explorer.core.versions.snapshot import Snapshot

NOTHING_APPEARS: Final = "No row will appear in the change data feed."


def hides_rows(snapshot: Snapshot) -> bool:
    """Return True if rows may be hidden by new deletion vectors (DV-003)."""
    protocol = snapshot.protocol
    supported = "deletionVectors" in (protocol.reader_features or ())
    return supported and DELETION_VECTORS.of(snapshot.metadata.configuration)


def records_changes(snapshot: Snapshot) -> bool:
    """Return True if what a rewrite deletes must be recorded."""
    supported = "changeDataFeed" in supported_features(snapshot.protocol)
    return supported and CHANGE_DATA_FEED.of(snapshot.metadata.configuration)


def touched_files(
    store: LogStore,
    snapshot: Snapshot,
    matched: Mapping[str, RowIndexes],
    unknown: Mapping[tuple[str, str | None], JsonObject],
) -> tuple[Touched, ...]:
    """Gather what is known of the files with rows to delete; the rows of a file without a count are counted.

    Args:
        matched: Row indexes by decoded path.
        unknown: Fields of the live files that this program does not know; see
            `explorer.core.transaction.new_files.file_actions.adds`.
    """
    files = snapshot.logical_files
    places = [place for place, path in enumerate(files.column("path").to_pylist()) if path in matched]
    matching = files.take(int64s(places))
    touched = []
    for path, add in zip(
        matching.column("path").to_pylist(), adds(matching, data_change=True, unknown=unknown), strict=True
    ):
        rows = num_records(add)
        hidden = np.empty(0, np.uint64) if add.deletion_vector is None else read_rows(store, add.deletion_vector)
        touched.append(Touched(add, count_rows(store, path) if rows is None else rows, hidden, matched[path]))
    return tuple(touched)


def delete_rows(
    intent: Delete,
    snapshot: Snapshot,
    touched: Sequence[Touched],
    rewrite: Written | None,
    circumstances: Circumstances,
    *,
    reads: Reads,
    guards: Sequence[GuardResult] = (),
) -> Proposal:
    """Delete rows.

    Args:
        rewrite: What replaces the files that keep some rows; None gives each of them a vector. If it records what was
            deleted, it does so for files that keep no row too: the feed of a commit is read from its change files
            alone (CDF-005).
    """
    emptied = [file for file in touched if file.is_emptied]
    partial = [file for file in touched if not file.is_emptied]
    masked = partial if rewrite is None else []
    written = Written(()) if rewrite is None else rewrite
    hidden, staged = hide_rows(masked, circumstances)
    fresh, mark, faults = number_rows(written.adds, snapshot.row_tracking, snapshot.version + 1)
    now = circumstances.now
    removes = tuple(remove_of(file.add, now=now, data_change=True) for file in touched)
    deleted = sum(len(file.matched) for file in touched)
    return Proposal(
        operation="DELETE",
        parameters={"predicate": msgspec.json.encode([intent.where]).decode()},
        adds=(*hidden, *fresh),
        removes=removes,
        change_files=written.changes,
        domains=mark,
        metrics=_metrics(touched, emptied, masked, written, deleted),
        tags=row_id_tags(snapshot),
        is_blind_append=False,
        reads_files=True,
        reads=reads,
        staged=staged,
        guards=(*guards, *faults, _matches_guard(deleted, removes)),
        change_feed=appearing(deleted, "deleted") if records_changes(snapshot) else None,
        undo=f"Restore version {snapshot.version}, as long as its files are not vacuumed.",
    )


def row_id_tags(snapshot: Snapshot) -> dict[str, str]:
    """Return the tags about row ids (ROWTRACK-009): without enabled tracking a rewrite gives rows new ones."""
    tracking = snapshot.row_tracking
    return {ROWS_KEPT_TAG: str(tracking.enabled).lower()} if tracking.supported else {}


def hide_rows(files: Sequence[Touched], circumstances: Circumstances) -> tuple[tuple[Add, ...], tuple[StagedFile, ...]]:
    """Return the files again, each with a vector that hides what was hidden before and what is deleted now."""
    if not files:
        return (), ()
    identity = uuid.UUID(circumstances.new_id())
    data, descriptors = encode_vectors(identity, [np.union1d(file.hidden, file.matched) for file in files])
    hidden = tuple(
        msgspec.structs.replace(
            file.add, deletion_vector=descriptor, stats=loosened(file.add.stats, file.num_records), data_change=True
        )
        for file, descriptor in zip(files, descriptors, strict=True)
    )
    return hidden, (StagedFile(vector_file_name(identity), data),)


def _metrics(
    touched: Sequence[Touched], emptied: Sequence[Touched], masked: Sequence[Touched], written: Written, deleted: int
) -> dict[str, str]:
    rewritten = [file for file in touched if file not in emptied and file not in masked]
    had_vector = [file for file in touched if file.add.deletion_vector is not None]
    numbers: dict[str, int] = {
        "numDeletedRows": deleted,
        "numRemovedFiles": len(emptied) + len(rewritten),
        "numRemovedBytes": sum(file.add.size for file in (*emptied, *rewritten)),
        "numAddedFiles": len(written.adds),
        "numAddedBytes": sum(add.size for add in written.adds),
        "numCopiedRows": written.rows,
        "numAddedChangeFiles": len(written.changes),
        "numDeletionVectorsAdded": len(masked),
        "numDeletionVectorsRemoved": len(had_vector),
        "numDeletionVectorsUpdated": sum(file.add.deletion_vector is not None for file in masked),
    }
    return {name: str(number) for name, number in numbers.items()}


def appearing(rows: int, what: str) -> str:
    """Return how many rows a commit shows in the change data feed, as inserted or deleted."""
    return f"{counted(rows, 'row')} will appear as {what}." if rows else NOTHING_APPEARS


def _matches_guard(deleted: int, removes: Sequence[Remove]) -> GuardResult:
    evidence: dict[str, object] = {"rows": deleted, "files": len(removes)}
    if deleted:
        detail = f"{counted(deleted, 'row')} in {counted(len(removes), 'file')}."
        return GuardResult("rows-found", "pass", evidence | {"detail": detail})
    detail = "No rows match. Nothing to commit."
    return GuardResult("rows-found", "fail", evidence | {"detail": detail}, "Check the predicate.")
