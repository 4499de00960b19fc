"""Rows to delete: found by the engine, masked or rewritten without.

Protocol sections: Deletion Vectors, Add CDC File.
"""

from __future__ import annotations

from explorer.core.transaction.carried_fields import unknown_fields
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Circumstances, Proposal, Written
from explorer.core.transaction.proposals.rows.delete_rows import delete_rows, hides_rows, records_changes, touched_files
from explorer.core.transaction.row_preparation.found_files import (
    Found,
    OnVersion,
    kept_files,
    rewriting,
    skipped,
    statistics_guard,
)
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import reuse_unchanged, rows_meeting
from explorer.core.versions.snapshot import Snapshot

__all__ = ["deleting"]


def deleting(log: DeltaLog, intent: intents.Delete, context: Context, circumstances: Circumstances) -> OnVersion:
    """What proposes a commit that deletes the rows that meet a condition."""
    engine = context.row_engine("delete")

    def find(snapshot: Snapshot) -> Found:
        unread = skipped(engine, log, snapshot, intent.where)
        matched = engine.matching_rows(log, snapshot, intent.where, unread.doubted)
        touched = touched_files(log.store, snapshot, matched, unknown_fields(log, snapshot))
        layout, recorded = FileLayout.of(snapshot), records_changes(snapshot)
        chosen = touched if recorded else kept_files(touched)

        def write() -> Written:
            return engine.rewrite(log, snapshot, chosen, intent.where, layout, recorded=recorded)

        reads = rows_meeting(snapshot, intent.where, as_core=engine.reads_alike(snapshot))
        return Found(touched, reads, write, statistics_guard(snapshot, intent.where, touched, unread))

    found_at = reuse_unchanged(find, Found.changed)

    def delete(snapshot: Snapshot) -> Proposal:
        found = found_at(snapshot)

        def complete(rewrite: Written | None) -> Proposal:
            return delete_rows(
                intent, snapshot, found.touched, rewrite, circumstances, reads=found.reads, guards=found.guards
            )

        kept = kept_files(found.touched)
        return complete(None) if not kept or hides_rows(snapshot) else rewriting(kept, found.write, complete)

    return delete
