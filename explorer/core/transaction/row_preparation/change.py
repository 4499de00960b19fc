"""Rows to delete, update or merge: matched and judged by the engine, masked or rewritten without, and written anew.

Protocol sections: Deletion Vectors, Add CDC File, Identity Columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.new_files.file_actions import unknown_fields
from explorer.core.transaction.new_files.file_facts import Numbering, Touched
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Circumstances, Proposal, Written
from explorer.core.transaction.proposals.rows.append_rows import numberings
from explorer.core.transaction.proposals.rows.change_rows import change_rows
from explorer.core.transaction.proposals.rows.delete_rows import delete_rows, hides_rows, records_changes, touched_files
from explorer.core.transaction.row_engine import MatchedChanges, RowEngine
from explorer.core.transaction.row_preparation.matched_files import (
    Found,
    OnVersion,
    kept_files,
    rewriting,
    skipped,
    statistics_guard,
    to_be_written,
)
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads, reuse_unchanged, rows_matched, rows_meeting
from explorer.core.versions.snapshot import Snapshot

__all__ = ["changing", "deleting"]


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


def changing(
    log: DeltaLog,
    intent: intents.Update | intents.Merge,
    source: object,
    context: Context,
    circumstances: Circumstances,
) -> OnVersion:
    """Return what proposes a commit that changes rows: by a condition, or matched with those of a source."""
    change = _Change(log, intent, source, context.row_engine(intent_kind(intent)), circumstances)
    found_at = reuse_unchanged(change.find, _FoundChanges.changed)
    return lambda snapshot: change.propose(snapshot, found_at(snapshot))


class _FoundChanges(Found, frozen=True, kw_only=True):
    """What an update or a merge found, and the identity columns that it fills."""

    found: MatchedChanges
    numbered: tuple[Numbering, ...]


@dataclass(frozen=True, slots=True)
class _Change:
    """An update or a merge of a table: finds what it changes, writes, and makes the proposal."""

    log: DeltaLog
    intent: intents.Update | intents.Merge
    source: object
    engine: RowEngine
    circumstances: Circumstances

    def find(self, snapshot: Snapshot) -> _FoundChanges:
        """Find the rows that change at a version, and judge the new ones."""
        where = self.intent.where if isinstance(self.intent, intents.Update) else None
        unread = skipped(self.engine, self.log, snapshot, where)
        found = self.engine.find_changes(self.log, snapshot, self.intent, self.source, unread.doubted)
        touched = touched_files(self.log.store, snapshot, found.matched, unknown_fields(self.log, snapshot))
        inserted = found.counts.inserted
        numbered = numberings(snapshot.schema, found.given, inserted) if inserted else ()
        write = partial(self.write, snapshot, found, touched, numbered)
        guards = statistics_guard(snapshot, where, touched, unread)
        return _FoundChanges(touched, self._reads(snapshot), write, guards, found=found, numbered=numbered)

    def propose(self, snapshot: Snapshot, at: _FoundChanges) -> Proposal:
        """Make the proposal for a version, as far as it is known before its rows are written."""
        counts = at.found.counts
        stay = 0 if hides_rows(snapshot) else sum(file.rows_left for file in at.touched)
        marks = {one.column: one.last(counts.inserted) for one in at.numbered}
        complete = partial(self.complete, snapshot, at)
        return to_be_written(Written((), marks=marks), at.write, complete, counts.new + stay)

    def write(
        self,
        snapshot: Snapshot,
        found: MatchedChanges,
        touched: Sequence[Touched],
        numbered: Sequence[Numbering],
    ) -> Written:
        """Write the new rows, and where files are rewritten those that stay."""
        return self.engine.write_changes(
            self.log,
            snapshot,
            found,
            touched,
            FileLayout.of(snapshot),
            numbered=numbered,
            masked=hides_rows(snapshot),
            recorded=records_changes(snapshot),
        )

    def complete(self, snapshot: Snapshot, at: _FoundChanges, written: Written) -> Proposal:
        """Make the proposal of what was written."""
        return change_rows(
            self.intent,
            snapshot,
            at.touched,
            at.found.counts,
            written,
            circumstances=self.circumstances,
            masked=hides_rows(snapshot),
            guards=(*at.guards, *at.found.guards),
            reads=at.reads,
        )

    def _reads(self, snapshot: Snapshot) -> Reads:
        """What the change looked into; all of it for a merge that changes rows which match nothing, too."""
        as_core = self.engine.reads_alike(snapshot)
        if isinstance(self.intent, intents.Update):
            return rows_meeting(snapshot, self.intent.where, as_core=as_core)
        if self.intent.not_matched_by_source:
            return Reads()
        return rows_matched(snapshot, self.intent.on, as_core=as_core)
