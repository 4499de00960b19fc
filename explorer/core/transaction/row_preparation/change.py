"""Rows to update or to merge: found and judged by the engine, their new values written into new files.

Protocol sections: Deletion Vectors, Add CDC File, Identity Columns.
"""

from __future__ import annotations

from explorer.core.transaction.carried_fields import unknown_fields
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.new_files.identity_values import Numbering
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Circumstances, Proposal, Written
from explorer.core.transaction.proposals.rows.append_rows import numberings
from explorer.core.transaction.proposals.rows.change_rows import change_rows
from explorer.core.transaction.proposals.rows.delete_rows import hides_rows, records_changes, touched_files
from explorer.core.transaction.row_engine import FoundChanges
from explorer.core.transaction.row_preparation.found_files import (
    Found,
    OnVersion,
    skipped,
    statistics_guard,
    to_be_written,
)
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads, lasting, rows_matched, rows_meeting
from explorer.core.versions.snapshot import Snapshot

__all__ = ["changing"]


def changing(
    log: DeltaLog,
    intent: intents.Update | intents.Merge,
    source: object,
    context: Context,
    circumstances: Circumstances,
) -> OnVersion:
    """What proposes a commit that changes rows: by a condition, or matched with those of a source."""
    engine = context.row_engine(intent_kind(intent))

    def find(snapshot: Snapshot) -> _FoundChanges:
        where = intent.where if isinstance(intent, intents.Update) else None
        unread = skipped(engine, log, snapshot, where)
        found = engine.find_changes(log, snapshot, intent, source, unread.doubted)
        touched = touched_files(log.store, snapshot, found.matched, unknown_fields(log, snapshot))
        masked, alike = hides_rows(snapshot), engine.reads_alike(snapshot)
        inserted = found.counts.inserted
        numbered = numberings(snapshot.schema, found.given, inserted) if inserted else ()
        layout, recorded = FileLayout.of(snapshot), records_changes(snapshot)

        def write() -> Written:
            return engine.write_changes(
                log, snapshot, found, touched, layout, numbered=numbered, masked=masked, recorded=recorded
            )

        reads = Reads()  # for a merge that changes rows which match nothing, too
        guards = statistics_guard(snapshot, where, touched, unread)
        if isinstance(intent, intents.Update):
            reads = rows_meeting(snapshot, intent.where, alike=alike)
        elif not intent.not_matched_by_source:
            reads = rows_matched(snapshot, intent.on, alike=alike)
        return _FoundChanges(touched, reads, write, guards, found=found, numbered=numbered)

    found_at = lasting(find, _FoundChanges.changed)

    def change(snapshot: Snapshot) -> Proposal:
        at, masked = found_at(snapshot), hides_rows(snapshot)
        counts = at.found.counts

        def complete(written: Written) -> Proposal:
            return change_rows(
                intent,
                snapshot,
                at.touched,
                counts,
                written,
                circumstances=circumstances,
                masked=masked,
                guards=(*at.guards, *at.found.guards),
                reads=at.reads,
            )

        stay = 0 if masked else sum(file.rows_left for file in at.touched)
        marks = {one.column: one.last(counts.inserted) for one in at.numbered}
        return to_be_written(Written((), marks=marks), at.write, complete, counts.new + stay)

    return change


class _FoundChanges(Found, frozen=True, kw_only=True):
    """What an update or a merge found, and the identity columns that it fills."""

    found: FoundChanges
    numbered: tuple[Numbering, ...]
