"""Files with masked rows or dropped columns, to be rewritten without.

Protocol sections: Deletion Vectors, Column Mapping.
"""

from __future__ import annotations

from explorer.core.transaction.carried_fields import unknown_fields
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Circumstances, Proposal, Written
from explorer.core.transaction.proposals.rewriting.purge_rows import files_to_purge, purge_rows
from explorer.core.transaction.proposals.rows.delete_rows import touched_files
from explorer.core.transaction.row_preparation.found_files import (
    Found,
    OnVersion,
    kept_files,
    rewriting,
    skipped,
    statistics_guard,
)
from explorer.core.transaction.row_preparation.skipped_files import NONE_SKIPPED
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads, reuse_unchanged
from explorer.core.versions.snapshot import Snapshot

__all__ = ["purging"]


def purging(log: DeltaLog, intent: intents.Purge, context: Context, circumstances: Circumstances) -> OnVersion:
    """What proposes a commit that rewrites files without what readers no longer see."""
    engine = context.row_engine("purge")

    def find(snapshot: Snapshot) -> _Purge:
        # Only a table that maps its columns can drop one and keep its files.
        mapped = snapshot.column_mapping_mode != "none"
        dropped = frozenset(engine.files_with_dropped_columns(log, snapshot)) if mapped else frozenset()
        masking, unread = None, NONE_SKIPPED
        if intent.where is not None:
            masking = frozenset(engine.files_masking(log, snapshot, intent.where))
            if dropped:
                unread = skipped(engine, log, snapshot, intent.where)
                dropped &= masking | engine.matching_rows(log, snapshot, intent.where, unread.doubted).keys()
        matched = files_to_purge(snapshot, masking, dropped)
        touched = touched_files(log.store, snapshot, matched, unknown_fields(log, snapshot))
        layout = FileLayout.of(snapshot)

        def write() -> Written:
            return engine.rewrite(log, snapshot, kept_files(touched), "false", layout, recorded=False)

        guards = statistics_guard(snapshot, None, (), unread)
        return _Purge(touched, Reads(), write, guards, with_dropped=len(dropped))

    found_at = reuse_unchanged(find, _Purge.changed)

    def purge(snapshot: Snapshot) -> Proposal:
        found = found_at(snapshot)

        def complete(rewrite: Written) -> Proposal:
            return purge_rows(
                snapshot, found.touched, rewrite, circumstances, with_dropped=found.with_dropped, guards=found.guards
            )

        kept = kept_files(found.touched)
        return rewriting(kept, found.write, complete) if kept else complete(Written(()))

    return purge


class _Purge(Found, frozen=True, kw_only=True):
    """What a purge found, and how many of its files hold a dropped column."""

    with_dropped: int
