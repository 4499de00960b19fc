"""Rows to write from a source: appended, or in place of other rows, with the columns that they bring along.

Protocol sections: Add File and Remove File, Deletion Vectors, Add CDC File, Identity Columns. Invariants: rows are
counted and judged for a plan and written when it is committed; a location that an intent names is one that may be read;
new columns are added only if the intent allows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from explorer.core.errors import InvalidIntent, RequestError
from explorer.core.protocol.actions import Add
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.new_files.file_actions import unknown_fields
from explorer.core.transaction.new_files.file_facts import Numbering
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.new_files.row_constraints import RowRule
from explorer.core.transaction.proposal import (
    Circumstances,
    Estimate,
    GuardResult,
    Proposal,
    SourceContent,
    Writing,
    Written,
)
from explorer.core.transaction.proposals.add_columns import add_columns
from explorer.core.transaction.proposals.rows.append_rows import Addition, append_rows, moved, numberings, with_columns
from explorer.core.transaction.proposals.rows.delete_rows import hides_rows, records_changes, touched_files
from explorer.core.transaction.proposals.rows.overwrite_rows import ReplacedRows, overwrite_rows, replaced_files
from explorer.core.transaction.row_engine import Incoming, RowEngine
from explorer.core.transaction.row_preparation.matched_files import (
    OnVersion,
    SkippedFiles,
    skipped,
    statistics_guard,
    to_be_written,
)
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads, reads_of_files, reuse_unchanged, rows_meeting
from explorer.core.versions.snapshot import Snapshot


def source_of(named: str, rows: object | None, context: Context) -> object:
    """Return where rows come from; a place that an intent names must be one that may be read."""
    if rows is not None:
        return rows
    if context.check_source is not None:
        context.check_source(named)
    return named


def evolving(
    propose: OnVersion, intent: intents.Append | intents.Overwrite | intents.Merge, source: object, context: Context
) -> OnVersion:
    """Add the columns that the source has and the table lacks before a proposal, if the intent allows that."""
    if not intent.merge_schema:
        return propose
    engine, circumstances = context.row_engine(intent_kind(intent)), context.circumstances()

    def evolve(snapshot: Snapshot) -> Proposal:
        fields = engine.new_fields(snapshot.schema, source)
        if not fields:
            return propose(snapshot)
        columns = add_columns(intents.AddColumns(fields=fields), snapshot, circumstances)
        assert columns.metadata is not None, "new columns change the metadata"
        changed = snapshot.changed(columns.protocol or snapshot.protocol, columns.metadata)
        return with_fields(with_columns(propose(changed), columns), engine, snapshot.schema, source, fields)

    return evolve


def with_fields(
    proposal: Proposal, engine: RowEngine, schema: StructType, source: object, fields: tuple[JsonObject, ...]
) -> Proposal:
    """Return a proposal whose columns are those of its source, also as far as the content of that is read.

    Its columns were read before its rows: the source may have been another one in between.
    """
    content = proposal.source
    if content is None:
        return proposal

    def read() -> SourceContent:
        content_read = content()
        if engine.new_fields(schema, source) != fields:
            raise RequestError(
                "The columns of the source have changed since the change was planned. Make a new plan once nothing "
                "writes to it.",
                field="source",
            )
        return content_read

    return msgspec.structs.replace(proposal, source=read)


def appending(store: LogStore, source: object, context: Context) -> OnVersion:
    """Return what proposes to append the rows of a source, counted again only if the table's rules changed."""
    engine = context.row_engine("append")
    made: list[tuple[Snapshot, Incoming, StructType, Callable[[], Written]]] = []

    def append(snapshot: Snapshot) -> Proposal:
        if not made or _rules_moved(made[0][0], snapshot):
            incoming = engine.incoming_rows(snapshot, source)
            numbered = numberings(snapshot.schema, incoming.given, incoming.rows) if incoming.rows else ()
            layout = FileLayout.of(snapshot)

            def write() -> Written:
                return engine.write_rows(store, incoming, layout, numbered)

            expected = moved(snapshot.schema, {one.column: one.last(incoming.rows) for one in numbered})
            made[:] = [(snapshot, incoming, expected, write)]
        _, incoming, expected, write = made[0]
        return msgspec.structs.replace(
            append_rows(snapshot, Addition(expected, incoming.rows, incoming.guards)),
            writing=Writing(write, lambda written: append_rows(snapshot, _added(snapshot, incoming, written))),
            source=incoming.content,
            estimate=Estimate(rows=incoming.rows),
        )

    return append


def _added(snapshot: Snapshot, incoming: Incoming, written: Written) -> Addition:
    return Addition(moved(snapshot.schema, written.marks), written.rows, incoming.guards, written.adds)


def _rules_moved(before: Snapshot, after: Snapshot) -> bool:
    return before.metadata != after.metadata or before.protocol != after.protocol


def overwriting(
    log: DeltaLog, intent: intents.Overwrite, source: object, context: Context, circumstances: Circumstances
) -> OnVersion:
    """Return what proposes a commit that replaces rows by those of a source."""
    overwrite = _Overwrite(log, intent, source, context.row_engine("overwrite"), circumstances)
    matches_at = reuse_unchanged(overwrite.find, _OverwriteMatches.changed)
    return lambda snapshot: overwrite.propose(snapshot, matches_at(snapshot))


class _OverwriteMatches(msgspec.Struct, frozen=True):
    """The matches of an overwrite at a version.

    Attributes:
        snapshot: The version.
        replaced: What goes.
        reads: What the overwrite read.
        incoming: The rows that come.
        numbered: The identity columns to fill in them.
        guards: Warnings about the matches.
    """

    snapshot: Snapshot
    replaced: ReplacedRows
    reads: Reads
    incoming: Incoming
    numbered: tuple[Numbering, ...]
    guards: tuple[GuardResult, ...]

    def changed(self) -> tuple[Add, ...]:
        """Return the files that change."""
        return (*self.replaced.files, *(file.add for file in self.replaced.partial))


@dataclass(frozen=True, slots=True)
class _Overwrite:
    """An overwrite of a table: finds what it replaces, writes, and makes the proposal."""

    log: DeltaLog
    intent: intents.Overwrite
    source: object
    engine: RowEngine
    circumstances: Circumstances

    def find(self, snapshot: Snapshot) -> _OverwriteMatches:
        """Find what is replaced at a version, and judge the rows that come.

        Raises:
            InvalidIntent: The table has no partitions to overwrite, or the source does not fit.
        """
        where, partitions = self.intent.where, self.intent.partitions
        if partitions and not snapshot.partition_columns:
            raise InvalidIntent("The table has no partitions: leave the field partitions out.", field="partitions")
        rules = () if where is None else (RowRule("condition", "where", where),)
        unread = skipped(self.engine, self.log, snapshot, where)
        replaced = _replaced(self.log, self.engine, snapshot, where, unread)
        incoming = self.engine.incoming_rows(snapshot, self.source, rules=rules, partitions=partitions)
        if where is None:
            replaced, reads = replaced_files(snapshot, incoming.partitions), Reads(partitions=incoming.partitions)
            if partitions:
                reads = msgspec.structs.replace(reads, files=reads_of_files(replaced.files).files)
        else:
            reads = rows_meeting(snapshot, where, as_core=self.engine.reads_like_core(snapshot))
        numbered = numberings(snapshot.schema, incoming.given, incoming.rows) if incoming.rows else ()
        guards = (*incoming.guards, *statistics_guard(snapshot, where, replaced.touched, unread))
        return _OverwriteMatches(snapshot, replaced, reads, incoming, numbered, guards)

    def propose(self, snapshot: Snapshot, at: _OverwriteMatches) -> Proposal:
        """Make the proposal for a version, as far as it is known before its rows are written."""
        stay = 0 if hides_rows(snapshot) else sum(file.rows_left for file in at.replaced.partial)
        marks = {one.column: one.last(at.incoming.rows) for one in at.numbered}
        return to_be_written(
            Written((), marks=marks),
            partial(self.write, at),
            partial(self.complete, snapshot, at),
            at.incoming.rows + stay,
            at.incoming.content,
        )

    def write(self, at: _OverwriteMatches) -> Written:
        """Write the rows that come, and where files are rewritten those that stay."""
        snapshot, replaced, layout = at.snapshot, at.replaced, FileLayout.of(at.snapshot)
        made = self.engine.write_rows(self.log.store, at.incoming, layout, at.numbered)
        if not replaced.partial or hides_rows(snapshot):
            return made
        assert self.intent.where is not None, "only a condition goes through files"
        recorded = records_changes(snapshot)
        inserts = self.engine.record_inserts(self.log, snapshot, made, layout) if recorded else ()
        remaining = self.engine.rewrite(
            self.log, snapshot, replaced.files_to_read(recorded), self.intent.where, layout, recorded=recorded
        )
        return msgspec.structs.replace(
            made,
            adds=(*made.adds, *remaining.adds),
            changes=(*inserts, *remaining.changes),
            rows=made.rows + remaining.rows,
        )

    def complete(self, snapshot: Snapshot, at: _OverwriteMatches, written: Written) -> Proposal:
        """Make the proposal of what was written."""
        return overwrite_rows(
            self.intent,
            snapshot,
            at.replaced,
            written,
            new_rows=at.incoming.rows,
            circumstances=self.circumstances,
            masked=hides_rows(snapshot),
            guards=at.guards,
            reads=at.reads,
        )


def _replaced(
    log: DeltaLog, engine: RowEngine, snapshot: Snapshot, where: str | None, unread: SkippedFiles
) -> ReplacedRows:
    """Return the files with rows that meet a condition; nothing without one."""
    if where is None:
        return ReplacedRows(())
    matched = engine.matching_rows(log, snapshot, where, unread.doubted)
    touched = touched_files(log.store, snapshot, matched, unknown_fields(log, snapshot))
    return ReplacedRows(
        tuple(file.add for file in touched if file.is_emptied),
        tuple(file for file in touched if not file.is_emptied),
        sum(len(file.matched) for file in touched),
        touched,
    )
