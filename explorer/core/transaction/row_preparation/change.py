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
    MatchedFiles,
    OnVersion,
    files_with_rows,
    rewriting,
    skipped,
    statistics_guard,
    to_be_written,
)
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads, reuse_unchanged, rows_matched, rows_meeting
from explorer.core.versions.snapshot import Snapshot


def deleting(log: DeltaLog, intent: intents.Delete, context: Context, circumstances: Circumstances) -> OnVersion:
    """Return what proposes a commit that deletes the rows that meet a condition."""
    engine = context.row_engine("delete")

    def find(snapshot: Snapshot) -> MatchedFiles:
        unread = skipped(engine, log, snapshot, intent.where)
        matched = engine.matching_rows(log, snapshot, intent.where, unread.doubted)
        touched = touched_files(log.store, snapshot, matched, unknown_fields(log, snapshot))
        layout, recorded = FileLayout.of(snapshot), records_changes(snapshot)
        chosen = touched if recorded else files_with_rows(touched)

        def write() -> Written:
            return engine.rewrite(log, snapshot, chosen, intent.where, layout, recorded=recorded)

        reads = rows_meeting(snapshot, intent.where, as_core=engine.reads_like_core(snapshot))
        return MatchedFiles(touched, reads, write, statistics_guard(snapshot, intent.where, touched, unread))

    matches_at = reuse_unchanged(find, MatchedFiles.changed)

    def delete(snapshot: Snapshot) -> Proposal:
        matched_files = matches_at(snapshot)

        def complete(rewrite: Written | None) -> Proposal:
            return delete_rows(
                intent,
                snapshot,
                matched_files.touched,
                rewrite,
                circumstances,
                reads=matched_files.reads,
                guards=matched_files.guards,
            )

        with_rows_left = files_with_rows(matched_files.touched)
        return (
            complete(None)
            if not with_rows_left or hides_rows(snapshot)
            else rewriting(with_rows_left, matched_files.write, complete)
        )

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
    matches_at = reuse_unchanged(change.find, _ChangeMatches.changed)
    return lambda snapshot: change.propose(snapshot, matches_at(snapshot))


class _ChangeMatches(MatchedFiles, frozen=True, kw_only=True):
    """The rows that an update or a merge changes, and the identity columns that it fills."""

    changes: MatchedChanges
    numbered: tuple[Numbering, ...]


@dataclass(frozen=True, slots=True)
class _Change:
    """An update or a merge of a table: finds what it changes, writes, and makes the proposal."""

    log: DeltaLog
    intent: intents.Update | intents.Merge
    source: object
    engine: RowEngine
    circumstances: Circumstances

    def find(self, snapshot: Snapshot) -> _ChangeMatches:
        """Find the rows that change at a version, and judge the new ones."""
        where = self.intent.where if isinstance(self.intent, intents.Update) else None
        unread = skipped(self.engine, self.log, snapshot, where)
        matched = self.engine.find_changes(self.log, snapshot, self.intent, self.source, unread.doubted)
        touched = touched_files(self.log.store, snapshot, matched.matched, unknown_fields(self.log, snapshot))
        inserted = matched.counts.inserted
        numbered = numberings(snapshot.schema, matched.given, inserted) if inserted else ()
        write = partial(self.write, snapshot, matched, touched, numbered)
        guards = statistics_guard(snapshot, where, touched, unread)
        return _ChangeMatches(touched, self._reads(snapshot), write, guards, changes=matched, numbered=numbered)

    def propose(self, snapshot: Snapshot, at: _ChangeMatches) -> Proposal:
        """Make the proposal for a version, as far as it is known before its rows are written."""
        counts = at.changes.counts
        stay = 0 if hides_rows(snapshot) else sum(file.rows_left for file in at.touched)
        marks = {one.column: one.last(counts.inserted) for one in at.numbered}
        complete = partial(self.complete, snapshot, at)
        return to_be_written(Written((), marks=marks), at.write, complete, counts.new + stay, at.changes.content)

    def write(
        self, snapshot: Snapshot, matched: MatchedChanges, touched: Sequence[Touched], numbered: Sequence[Numbering]
    ) -> Written:
        """Write the new rows, and where files are rewritten those that stay."""
        return self.engine.write_changes(
            self.log,
            snapshot,
            matched,
            touched,
            FileLayout.of(snapshot),
            numbered=numbered,
            masked=hides_rows(snapshot),
            recorded=records_changes(snapshot),
        )

    def complete(self, snapshot: Snapshot, at: _ChangeMatches, written: Written) -> Proposal:
        """Make the proposal of what was written."""
        return change_rows(
            self.intent,
            snapshot,
            at.touched,
            at.changes.counts,
            written,
            circumstances=self.circumstances,
            masked=hides_rows(snapshot),
            guards=(*at.guards, *at.changes.guards),
            reads=at.reads,
        )

    def _reads(self, snapshot: Snapshot) -> Reads:
        """Return what the change read: everything for a merge that also changes rows without a match."""
        as_core = self.engine.reads_like_core(snapshot)
        if isinstance(self.intent, intents.Update):
            return rows_meeting(snapshot, self.intent.where, as_core=as_core)
        if self.intent.not_matched_by_source:
            return Reads()
        return rows_matched(snapshot, self.intent.on, as_core=as_core)
