"""Rows that replace others: of the whole table, of the partitions they are in, or those that meet a condition.

Protocol sections: Add File and Remove File, Deletion Vectors, Add CDC File.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Add
from explorer.core.transaction.carried_fields import unknown_fields
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.new_files.identity_values import Numbering
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.new_files.row_constraints import RowRule
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal, Written
from explorer.core.transaction.proposals.rows.append_rows import numberings
from explorer.core.transaction.proposals.rows.delete_rows import hides_rows, records_changes, touched_files
from explorer.core.transaction.proposals.rows.overwrite_rows import Replaced, overwrite_rows, replaced_files
from explorer.core.transaction.row_engine import Incoming, RowEngine
from explorer.core.transaction.row_preparation.found_files import OnVersion, skipped, statistics_guard, to_be_written
from explorer.core.transaction.row_preparation.skipped_files import SkippedFiles
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads, exactly, lasting, rows_meeting
from explorer.core.versions.snapshot import Snapshot

__all__ = ["overwriting"]


def overwriting(
    log: DeltaLog, intent: intents.Overwrite, source: object, context: Context, circumstances: Circumstances
) -> OnVersion:
    """What proposes a commit that replaces rows by those of a source."""
    engine, store = context.row_engine("overwrite"), log.store

    def find(snapshot: Snapshot) -> _FoundRows:
        if intent.partitions and not snapshot.partition_columns:
            raise InvalidIntent("The table has no partitions: leave the field partitions out.", field="partitions")
        rules = () if intent.where is None else (RowRule("condition", "where", intent.where),)
        unread = skipped(engine, log, snapshot, intent.where)
        replaced = _replaced(log, engine, snapshot, intent.where, unread)
        incoming = engine.incoming_rows(snapshot, source, rules=rules, partitions=intent.partitions)
        if intent.where is None:
            replaced, reads = replaced_files(snapshot, incoming.partitions), Reads(partitions=incoming.partitions)
            if intent.partitions:
                reads = msgspec.structs.replace(reads, files=exactly(replaced.whole).files)
        else:
            reads = rows_meeting(snapshot, intent.where, alike=engine.reads_alike(snapshot))
        numbered = numberings(snapshot.schema, incoming.given, incoming.rows) if incoming.rows else ()
        layout, masked = FileLayout.of(snapshot), hides_rows(snapshot)
        rewriting = bool(replaced.partial) and not masked
        recorded = rewriting and records_changes(snapshot)

        def write() -> Written:
            made = engine.write_rows(store, incoming, layout, numbered)
            if not rewriting:
                return made
            inserts = engine.record_inserts(log, snapshot, made, layout) if recorded else ()
            assert intent.where is not None, "only a condition goes through files"
            kept = engine.rewrite(
                log, snapshot, replaced.looked_into(recorded), intent.where, layout, recorded=recorded
            )
            return msgspec.structs.replace(
                made, adds=(*made.adds, *kept.adds), changes=(*inserts, *kept.changes), rows=made.rows + kept.rows
            )

        guards = statistics_guard(snapshot, intent.where, replaced.touched, unread)
        return _FoundRows(replaced, reads, write, (*incoming.guards, *guards), incoming, numbered)

    found_at = lasting(find, _FoundRows.changed)

    def overwrite(snapshot: Snapshot) -> Proposal:
        at, masked = found_at(snapshot), hides_rows(snapshot)
        new_rows = at.incoming.rows

        def complete(written: Written) -> Proposal:
            return overwrite_rows(
                intent,
                snapshot,
                at.replaced,
                written,
                new_rows=new_rows,
                circumstances=circumstances,
                masked=masked,
                guards=at.guards,
                reads=at.reads,
            )

        stay = 0 if masked else sum(file.rows_left for file in at.replaced.partial)
        marks = {one.column: one.last(new_rows) for one in at.numbered}
        return to_be_written(Written((), marks=marks), at.write, complete, new_rows + stay)

    return overwrite


class _FoundRows(msgspec.Struct, frozen=True):
    """What an overwrite found: what goes, what it looked into, how it writes, its guards, its rows and numbers."""

    replaced: Replaced
    reads: Reads
    write: Callable[[], Written]
    guards: tuple[GuardResult, ...]
    incoming: Incoming
    numbered: tuple[Numbering, ...]

    def changed(self) -> tuple[Add, ...]:
        """The files that change."""
        return (*self.replaced.whole, *(file.add for file in self.replaced.partial))


def _replaced(
    log: DeltaLog, engine: RowEngine, snapshot: Snapshot, where: str | None, unread: SkippedFiles
) -> Replaced:
    """The files with rows that meet a condition; nothing without one."""
    if where is None:
        return Replaced(())
    matched = engine.matching_rows(log, snapshot, where, unread.doubted)
    touched = touched_files(log.store, snapshot, matched, unknown_fields(log, snapshot))
    return Replaced(
        tuple(file.add for file in touched if file.is_emptied),
        tuple(file for file in touched if not file.is_emptied),
        sum(len(file.matched) for file in touched),
        touched,
    )
