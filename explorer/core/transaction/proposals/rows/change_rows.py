"""Updating and merging rows: new files hold the new rows; the old ones are masked, or their files rewritten.

Protocol sections: Add File and Remove File, Deletion Vectors, Add CDC File, Row Tracking. Invariants: a file that loses
rows is removed in the commit that adds what is left of it; a new vector holds all that the old one hid (DV-022);
where the change feed is on, the changes are recorded, as adds and removes alone do not show an update (CDF-001); the
ids of rows that stay the same rows go with them (ROWTRACK-003).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.transaction.commit_info import IDENTITY_TAG
from explorer.core.transaction.intents.records import Merge, Update, merge_clauses
from explorer.core.transaction.new_files.file_actions import number_rows, remove_of
from explorer.core.transaction.new_files.file_facts import Touched
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal, RowCounts, Written
from explorer.core.transaction.proposals.rows.append_rows import moved
from explorer.core.transaction.proposals.rows.delete_rows import (
    NOTHING_APPEARS,
    hide_rows,
    records_changes,
    row_id_tags,
)
from explorer.core.versions.reads import Reads
from explorer.core.versions.snapshot import Snapshot


def change_rows(
    intent: Update | Merge,
    snapshot: Snapshot,
    touched: Sequence[Touched],
    counts: RowCounts,
    written: Written,
    *,
    circumstances: Circumstances,
    masked: bool,
    guards: Sequence[GuardResult],
    reads: Reads,
) -> Proposal:
    """Update or merge rows.

    Args:
        written: The files of the new rows and of the changes; where files are rewritten, of the rows that stay too.
        masked: Old rows are masked; otherwise their files are rewritten.
    """
    emptied = [file for file in touched if file.is_emptied]
    partial = [file for file in touched if not file.is_emptied]
    hidden, staged = hide_rows(partial, circumstances) if masked else ((), ())
    fresh, mark, faults = number_rows(written.adds, snapshot.row_tracking, snapshot.version + 1)
    schema = moved(snapshot.schema, written.marks)
    numbered = schema != snapshot.schema
    rewritten = [] if masked else partial
    metrics = _Metrics(touched, emptied, partial if masked else [], rewritten, counts, written)
    return Proposal(
        operation="UPDATE" if isinstance(intent, Update) else "MERGE",
        parameters=_parameters(intent),
        metadata=msgspec.structs.replace(snapshot.metadata, schema_string=schema.to_json()) if numbered else None,
        adds=(*hidden, *fresh),
        removes=tuple(remove_of(file.add, now=circumstances.now, data_change=True) for file in touched),
        change_files=written.changes,
        domains=mark,
        metrics={name: str(number) for name, number in metrics.of(intent).items()},
        tags={**row_id_tags(snapshot), **({IDENTITY_TAG: "true"} if numbered else {})},
        is_blind_append=False,
        reads_files=True,
        reads=reads,
        staged=staged,
        guards=(*guards, *faults, _matches_guard(counts, touched)),
        change_feed=_feed(counts) if records_changes(snapshot) else None,
        undo=f"Restore version {snapshot.version}, as long as its files are not vacuumed.",
    )


class _Metrics(msgspec.Struct, frozen=True):
    """The numbers of a commit, as the reference writer names them."""

    touched: Sequence[Touched]
    emptied: Sequence[Touched]
    masked: Sequence[Touched]
    rewritten: Sequence[Touched]
    counts: RowCounts
    written: Written

    def of(self, intent: Update | Merge) -> Mapping[str, int]:
        had = [file for file in self.touched if file.add.deletion_vector is not None]
        again = [file for file in self.masked if file.add.deletion_vector is not None]
        removed = [*self.emptied, *self.rewritten]
        copied = sum(file.rows_left for file in self.rewritten)
        counts, added = self.counts, self.written.adds
        if isinstance(intent, Update):
            return {
                "numUpdatedRows": counts.updated,
                "numCopiedRows": copied,
                "numRemovedFiles": len(self.touched),
                "numRemovedBytes": sum(file.add.size for file in removed),
                "numAddedFiles": len(added),
                "numAddedBytes": sum(add.size for add in added),
                "numAddedChangeFiles": len(self.written.changes),
                "numDeletionVectorsAdded": len(self.masked),
                "numDeletionVectorsRemoved": len(had),
                "numDeletionVectorsUpdated": len(again),
            }
        return {
            "numSourceRows": counts.source or 0,
            "numOutputRows": counts.new + copied,
            "numTargetRowsInserted": counts.inserted,
            "numTargetRowsUpdated": counts.updated + counts.updated_alone,
            "numTargetRowsDeleted": counts.deleted + counts.deleted_alone,
            "numTargetRowsCopied": copied,
            "numTargetRowsMatchedUpdated": counts.updated,
            "numTargetRowsMatchedDeleted": counts.deleted,
            "numTargetRowsNotMatchedBySourceUpdated": counts.updated_alone,
            "numTargetRowsNotMatchedBySourceDeleted": counts.deleted_alone,
            "numTargetFilesAdded": len(added),
            "numTargetBytesAdded": sum(add.size for add in added),
            "numTargetFilesRemoved": len(removed),
            "numTargetBytesRemoved": sum(file.add.size for file in removed),
            "numTargetChangeFilesAdded": len(self.written.changes),
            "numTargetDeletionVectorsAdded": len(self.masked),
            "numTargetDeletionVectorsRemoved": len(had),
            "numTargetDeletionVectorsUpdated": len(again),
        }


def _parameters(intent: Update | Merge) -> JsonObject:
    if isinstance(intent, Update):
        return {"predicate": _text([] if intent.where is None else [intent.where])}
    predicates: dict[str, list[dict[str, str]]] = {"matched": [], "notMatched": [], "notMatchedBySource": []}
    for clause in merge_clauses(intent):
        document = {"actionType": clause.action}
        predicates[clause.group].append(document if clause.when is None else {"predicate": clause.when, **document})
    return {
        "predicate": _text([intent.on]),
        **{f"{group}Predicates": _text(document) for group, document in predicates.items()},
    }


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _matches_guard(counts: RowCounts, touched: Sequence[Touched]) -> GuardResult:
    evidence: dict[str, object] = {"rows": counts.all, "files": len(touched)}
    if counts.all:
        parts = {
            "updated": counts.updated + counts.updated_alone,
            "deleted": counts.deleted + counts.deleted_alone,
            "inserted": counts.inserted,
        }
        changed = [f"{number:,} {what}" for what, number in parts.items() if number and what != "inserted"]
        place = f" in {counted(len(touched), 'file')}" if touched else ""
        parts_in_words = [f"{' and '.join(changed)}{place}"] if changed else []
        parts_in_words += [f"{counts.inserted:,} inserted"] if counts.inserted else []
        detail = f"Rows: {', '.join(parts_in_words)}."
        return GuardResult("rows-found", "pass", evidence | {"detail": detail})
    detail = "No rows match. Nothing to commit."
    return GuardResult("rows-found", "fail", evidence | {"detail": detail}, "Check the conditions.")


def _feed(counts: RowCounts) -> str:
    parts = {
        "updated, with their values before and after": counts.updated + counts.updated_alone,
        "deleted": counts.deleted + counts.deleted_alone,
        "inserted": counts.inserted,
    }
    changes = [f"{what}: {number:,}" for what, number in parts.items() if number]
    return f"Rows will appear as {'; '.join(changes)}." if changes else NOTHING_APPEARS
