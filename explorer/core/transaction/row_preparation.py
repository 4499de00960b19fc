"""What an intent over rows needs: the rows that it finds, and the files that the engine writes for it.

Protocol section: Requirements for Writers. Invariants: a plan reads and counts and writes nothing; the engine writes
once the plan is committed, and once for all tries of a commit; no row passes through this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from explorer.core.errors import EngineUnavailable, InvalidIntent
from explorer.core.log.writing.writer_state import CarriedActions, FileKey, carry_actions
from explorer.core.protocol.actions import Add
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import StructType, parse_column
from explorer.core.transaction.batches import once
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.new_files.file_actions import adds
from explorer.core.transaction.new_files.identity_values import Numbering
from explorer.core.transaction.new_files.rewrite import Rewrite, Touched
from explorer.core.transaction.new_files.row_constraints import RowRule
from explorer.core.transaction.proposal import Circumstances, Estimate, Proposal, Writing, Written
from explorer.core.transaction.proposals.add_columns import add_columns
from explorer.core.transaction.proposals.create_table import create_table
from explorer.core.transaction.proposals.rewriting.optimize_files import Compaction, compaction, optimize_files
from explorer.core.transaction.proposals.rewriting.purge_rows import files_to_purge, purge_rows
from explorer.core.transaction.proposals.rewriting.recompute_statistics import (
    described_leaves,
    files_to_describe,
    recompute_statistics,
)
from explorer.core.transaction.proposals.rows.append_rows import Addition, append_rows, layout_of, moved, numberings
from explorer.core.transaction.proposals.rows.change_rows import change_rows
from explorer.core.transaction.proposals.rows.delete_rows import delete_rows, hides_rows, records_changes, touched_files
from explorer.core.transaction.proposals.rows.first_rows import empty_version, with_first_rows
from explorer.core.transaction.proposals.rows.new_columns import with_columns
from explorer.core.transaction.proposals.rows.overwrite_rows import Replaced, overwrite_rows, replaced_files
from explorer.core.transaction.row_engine import FoundChanges, Incoming, RowEngine
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads, exactly, lasting, rows_matched, rows_meeting
from explorer.core.versions.snapshot import Snapshot

__all__ = ["RowIntent", "carried", "engine_of", "filled_table", "row_proposer", "unknown_fields"]

RowIntent: TypeAlias = (
    intents.Append
    | intents.Delete
    | intents.Purge
    | intents.Update
    | intents.Overwrite
    | intents.Merge
    | intents.Optimize
    | intents.RecomputeStatistics
)
"""Intents whose rows the engine finds and writes."""

_OnVersion: TypeAlias = Callable[[Snapshot], Proposal]


def row_proposer(log: DeltaLog, intent: RowIntent, context: Context, rows: object | None) -> _OnVersion:
    """Gather what an intent over rows needs.

    Args:
        log: The table's log.
        intent: What is asked for.
        context: Clock, identifiers and the engine of rows.
        rows: Rows of the engine instead of the intent's source.

    Raises:
        NotAllowed: The source is outside the places that may be read.
        EngineUnavailable: There is no engine of rows.
    """
    propose = _proposer(log, intent, context, rows, context.circumstances())
    return once(log, intent, propose, context.clock()) if isinstance(intent, intents.BatchIntent) else propose


def _proposer(
    log: DeltaLog, intent: RowIntent, context: Context, rows: object | None, circumstances: Circumstances
) -> _OnVersion:
    match intent:
        case intents.Delete():
            return _deletion(log, intent, context, circumstances)
        case intents.Purge():
            return _purge(log, intent, context, circumstances)
        case intents.Optimize():
            return _optimization(log, intent, context, circumstances)
        case intents.RecomputeStatistics():
            return _description(log, intent, context, circumstances)
        case intents.Update():
            return _changes(log, intent, None, context, circumstances)
        case intents.Merge():
            source = _source(intent.source, rows, context)
            changing = _changes(log, intent, source, context, circumstances)
            return _evolving(changing, intent, source, context) if _takes_all(intent) else changing
        case intents.Overwrite():
            source = _source(intent.source, rows, context)
            return _evolving(_overwriting(log, intent, source, context, circumstances), intent, source, context)
        case intents.Append():
            source = _source(intent.source, rows, context)
            return _evolving(_addition(log.store, source, context, circumstances), intent, source, context)


def filled_table(
    store: LogStore, intent: intents.CreateTable, context: Context, rows: object | None, circumstances: Circumstances
) -> Proposal:
    """Make a table of rows: its schema is theirs unless the intent has one.

    Args:
        store: The place of the table.
        intent: The table.
        context: Clock, identifiers and the engine of rows.
        rows: Rows of the engine instead of the intent's source.
        circumstances: The present and fresh identifiers.

    Raises:
        InvalidIntent: The intent makes no sense, or the rows do not fit its schema.
        NotAllowed: The source is outside the places that may be read.
        EngineUnavailable: There is no engine of rows.
    """
    engine, source = engine_of(context, "create-table"), _source(intent.source or "", rows, context)
    if intent.schema is None:
        found = engine.new_fields(StructType(()), source)
        fields = [{**field, "name": parse_column(str(field["name"]))[0]} for field in found]
        intent = msgspec.structs.replace(intent, schema={"type": "struct", "fields": fields})
    creation = create_table(intent, circumstances)
    return with_first_rows(creation, _addition(store, source, context, circumstances)(empty_version(store, creation)))


def _source(named: str, rows: object | None, context: Context) -> object:
    """Where rows come from; a place that an intent names must be one that may be read."""
    if rows is not None:
        return rows
    if context.check_source is not None:
        context.check_source(named)
    return named


def _evolving(
    propose: _OnVersion, intent: intents.Append | intents.Overwrite | intents.Merge, source: object, context: Context
) -> _OnVersion:
    """The same on top of the columns that the source has and the table lacks, where the intent asks for that."""
    if not intent.merge_schema:
        return propose
    engine, circumstances = engine_of(context, intent_kind(intent)), context.circumstances()

    def evolve(snapshot: Snapshot) -> Proposal:
        fields = engine.new_fields(snapshot.schema, source)
        if not fields:
            return propose(snapshot)
        columns = add_columns(intents.AddColumns(fields=fields), snapshot, circumstances)
        assert columns.metadata is not None, "new columns change the metadata"
        return with_columns(propose(snapshot.changed(columns.protocol or snapshot.protocol, columns.metadata)), columns)

    return evolve


def _takes_all(intent: intents.Merge) -> bool:
    return any(clause.values is None for clause in intents.merge_clauses(intent))


def _deletion(log: DeltaLog, intent: intents.Delete, context: Context, circumstances: Circumstances) -> _OnVersion:
    engine = engine_of(context, "delete")

    def find(snapshot: Snapshot) -> _Found:
        matched = engine.matching_rows(log, snapshot, intent.where)
        touched = touched_files(log.store, snapshot, matched, unknown_fields(log, snapshot))
        layout, recorded = layout_of(snapshot, circumstances), records_changes(snapshot)
        chosen = touched if recorded else _kept(touched)

        def write() -> Written:
            return engine.rewrite(log, snapshot, chosen, intent.where, layout, recorded=recorded)

        return _Found(touched, rows_meeting(snapshot, intent.where, alike=engine.reads_alike(snapshot)), write)

    found_at = lasting(find, _Found.changed)

    def delete(snapshot: Snapshot) -> Proposal:
        found = found_at(snapshot)

        def complete(rewrite: Rewrite | None) -> Proposal:
            return delete_rows(intent, snapshot, found.touched, rewrite, circumstances, reads=found.reads)

        kept = _kept(found.touched)
        return complete(None) if not kept or hides_rows(snapshot) else _rewriting(kept, found.write, complete)

    return delete


class _Found(msgspec.Struct, frozen=True):
    """What a change of rows found at a version: the files that it changes, what it looked into, and how it writes."""

    touched: tuple[Touched, ...]
    reads: Reads
    write: Callable[[], Written]

    def changed(self) -> tuple[Add, ...]:
        """The files that change."""
        return tuple(file.add for file in self.touched)


def _kept(touched: Sequence[Touched]) -> tuple[Touched, ...]:
    """The files that keep a row."""
    return tuple(file for file in touched if not file.is_emptied)


def _rewriting(
    kept: Sequence[Touched], write: Callable[[], Written], complete: Callable[[Rewrite], Proposal]
) -> Proposal:
    """A proposal that replaces files: as far as it is known before the rows that stay are written."""
    stay = sum(file.rows_left for file in kept)
    return msgspec.structs.replace(
        complete(Rewrite((), (), stay)),
        writing=Writing(write, lambda written: complete(Rewrite(written.adds, written.changes, written.rows))),
        estimate=Estimate(rows=stay),
    )


def _changes(
    log: DeltaLog,
    intent: intents.Update | intents.Merge,
    source: object,
    context: Context,
    circumstances: Circumstances,
) -> _OnVersion:
    engine = engine_of(context, intent_kind(intent))

    def find(snapshot: Snapshot) -> _FoundChanges:
        found = engine.find_changes(log, snapshot, intent, source)
        touched = touched_files(log.store, snapshot, found.matched, unknown_fields(log, snapshot))
        masked, alike = hides_rows(snapshot), engine.reads_alike(snapshot)
        inserted = found.counts.inserted
        numbered = numberings(snapshot.schema, found.given, inserted) if inserted else ()
        layout, recorded = layout_of(snapshot, circumstances), records_changes(snapshot)

        def write() -> Written:
            return engine.write_changes(
                log, snapshot, found, touched, layout, numbered=numbered, masked=masked, recorded=recorded
            )

        reads = Reads()  # for a merge that changes rows which match nothing, too
        if isinstance(intent, intents.Update):
            reads = rows_meeting(snapshot, intent.where, alike=alike)
        elif not intent.not_matched_by_source:
            reads = rows_matched(snapshot, intent.on, alike=alike)
        return _FoundChanges(touched, reads, write, found, numbered)

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
                guards=at.found.guards,
                reads=at.reads,
            )

        stay = 0 if masked else sum(file.rows_left for file in at.touched)
        return msgspec.structs.replace(
            complete(Written((), marks={one.column: one.last(counts.inserted) for one in at.numbered})),
            writing=Writing(at.write, complete),
            estimate=Estimate(rows=counts.new + stay),
        )

    return change


class _FoundChanges(_Found, frozen=True):
    """What an update or a merge found, and the identity columns that it fills."""

    found: FoundChanges
    numbered: tuple[Numbering, ...]


def _overwriting(
    log: DeltaLog, intent: intents.Overwrite, source: object, context: Context, circumstances: Circumstances
) -> _OnVersion:
    engine, store = engine_of(context, "overwrite"), log.store

    def find(snapshot: Snapshot) -> _FoundRows:
        if intent.partitions and not snapshot.partition_columns:
            raise InvalidIntent("The table has no partitions: leave the field partitions out.", field="partitions")
        rules = () if intent.where is None else (RowRule("condition", "where", intent.where),)
        replaced = _replaced(log, engine, snapshot, intent.where)
        incoming = engine.incoming_rows(snapshot, source, rules=rules, partitions=intent.partitions)
        if intent.where is None:
            replaced, reads = replaced_files(snapshot, incoming.partitions), Reads(partitions=incoming.partitions)
            if intent.partitions:
                reads = msgspec.structs.replace(reads, files=exactly(replaced.whole).files)
        else:
            reads = rows_meeting(snapshot, intent.where, alike=engine.reads_alike(snapshot))
        numbered = numberings(snapshot.schema, incoming.given, incoming.rows) if incoming.rows else ()
        layout, masked = layout_of(snapshot, circumstances), hides_rows(snapshot)
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

        return _FoundRows(replaced, reads, write, incoming, numbered)

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
                guards=at.incoming.guards,
                reads=at.reads,
            )

        stay = 0 if masked else sum(file.rows_left for file in at.replaced.partial)
        return msgspec.structs.replace(
            complete(Written((), marks={one.column: one.last(new_rows) for one in at.numbered})),
            writing=Writing(at.write, complete),
            estimate=Estimate(rows=new_rows + stay),
        )

    return overwrite


class _FoundRows(msgspec.Struct, frozen=True):
    """What an overwrite found: what goes, what it looked into, how it writes, its rows and how they are numbered."""

    replaced: Replaced
    reads: Reads
    write: Callable[[], Written]
    incoming: Incoming
    numbered: tuple[Numbering, ...]

    def changed(self) -> tuple[Add, ...]:
        """The files that change."""
        return (*self.replaced.whole, *(file.add for file in self.replaced.partial))


def _replaced(log: DeltaLog, engine: RowEngine, snapshot: Snapshot, where: str | None) -> Replaced:
    """The files with rows that meet a condition; nothing without one."""
    if where is None:
        return Replaced(())
    matched = engine.matching_rows(log, snapshot, where)
    touched = touched_files(log.store, snapshot, matched, unknown_fields(log, snapshot))
    return Replaced(
        tuple(file.add for file in touched if file.is_emptied),
        tuple(file for file in touched if not file.is_emptied),
        sum(len(file.matched) for file in touched),
        touched,
    )


def _purge(log: DeltaLog, intent: intents.Purge, context: Context, circumstances: Circumstances) -> _OnVersion:
    engine = engine_of(context, "purge")

    def find(snapshot: Snapshot) -> _Purge:
        # Only a table that maps its columns can drop one and keep its files.
        mapped = snapshot.column_mapping_mode != "none"
        dropped = frozenset(engine.files_with_dropped_columns(log, snapshot)) if mapped else frozenset()
        masking = None
        if intent.where is not None:
            masking = frozenset(engine.files_masking(log, snapshot, intent.where))
            dropped &= masking | (engine.matching_rows(log, snapshot, intent.where).keys() if dropped else frozenset())
        matched = files_to_purge(snapshot, masking, dropped)
        touched = touched_files(log.store, snapshot, matched, unknown_fields(log, snapshot))
        layout = layout_of(snapshot, circumstances)

        def write() -> Written:
            return engine.rewrite(log, snapshot, _kept(touched), "false", layout, recorded=False)

        return _Purge(touched, Reads(), write, len(dropped))

    found_at = lasting(find, _Purge.changed)

    def purge(snapshot: Snapshot) -> Proposal:
        found = found_at(snapshot)

        def complete(rewrite: Rewrite) -> Proposal:
            return purge_rows(snapshot, found.touched, rewrite, circumstances, with_dropped=found.with_dropped)

        kept = _kept(found.touched)
        return _rewriting(kept, found.write, complete) if kept else complete(Rewrite((), (), 0))

    return purge


class _Purge(_Found, frozen=True):
    """What a purge found, and how many of its files hold a dropped column."""

    with_dropped: int


def _optimization(
    log: DeltaLog, intent: intents.Optimize, context: Context, circumstances: Circumstances
) -> _OnVersion:
    engine = engine_of(context, "optimize")

    def find(snapshot: Snapshot) -> tuple[Compaction, Callable[[], Written]]:
        _vet_partitions(engine, snapshot, intent.where)
        found = compaction(intent, snapshot, unknown_fields(log, snapshot))
        layout = layout_of(snapshot, circumstances)
        return found, lambda: engine.compact(log, snapshot, found.arrangement, layout)

    found_at = lasting(find, lambda found: found[0].gone)

    def optimize(snapshot: Snapshot) -> Proposal:
        found, write = found_at(snapshot)

        def complete(written: Written) -> Proposal:
            return optimize_files(intent, snapshot, found, written, circumstances)

        planned = complete(Written(()))
        if not found.gone:
            return planned
        estimate = Estimate(rows=found.rows, files=found.arrangement.files, bytes=sum(add.size for add in found.gone))
        return msgspec.structs.replace(planned, writing=Writing(write, complete), estimate=estimate)

    return optimize


def _description(
    log: DeltaLog, intent: intents.RecomputeStatistics, context: Context, circumstances: Circumstances
) -> _OnVersion:
    engine = engine_of(context, "recompute-statistics")

    def describe(snapshot: Snapshot) -> Proposal:
        _vet_partitions(engine, snapshot, intent.where)
        leaves = described_leaves(intent, snapshot, layout_of(snapshot, circumstances).described)
        files = files_to_describe(intent, snapshot)
        facts = engine.live_facts(log, snapshot, files, [(leaf.path, leaf.field) for leaf in leaves])
        named = adds(files, data_change=False, unknown=unknown_fields(log, snapshot))
        chosen = dict(zip(files.column("path").to_pylist(), named, strict=True))
        return recompute_statistics(intent, snapshot, chosen, leaves, facts)

    return describe


def _vet_partitions(engine: RowEngine, snapshot: Snapshot, where: str | None) -> None:
    """Check that a condition, if there is one, is over partition columns."""
    if where is not None:
        folders = [field for field in snapshot.schema.fields if field.name in snapshot.partition_columns]
        engine.vet(StructType(tuple(folders)), where)


def _addition(store: LogStore, source: object, context: Context, circumstances: Circumstances) -> _OnVersion:
    engine = engine_of(context, "append")
    made: list[tuple[Snapshot, Incoming, StructType, Callable[[], Written]]] = []

    def append(snapshot: Snapshot) -> Proposal:
        if not made or _rules_moved(made[0][0], snapshot):
            incoming = engine.incoming_rows(snapshot, source)
            numbered = numberings(snapshot.schema, incoming.given, incoming.rows) if incoming.rows else ()
            layout = layout_of(snapshot, circumstances)

            def write() -> Written:
                return engine.write_rows(store, incoming, layout, numbered)

            expected = moved(snapshot.schema, {one.column: one.last(incoming.rows) for one in numbered})
            made[:] = [(snapshot, incoming, expected, write)]
        _, incoming, expected, write = made[0]
        return msgspec.structs.replace(
            append_rows(snapshot, Addition(expected, incoming.rows, incoming.guards)),
            writing=Writing(write, lambda written: append_rows(snapshot, _added(snapshot, incoming, written))),
            estimate=Estimate(rows=incoming.rows),
        )

    return append


def _added(snapshot: Snapshot, incoming: Incoming, written: Written) -> Addition:
    return Addition(moved(snapshot.schema, written.marks), written.rows, incoming.guards, written.adds)


def _rules_moved(before: Snapshot, after: Snapshot) -> bool:
    return before.metadata != after.metadata or before.protocol != after.protocol


def unknown_fields(log: DeltaLog, snapshot: Snapshot) -> dict[FileKey, JsonObject]:
    return carried(log, snapshot).unknown_adds()


def carried(log: DeltaLog, snapshot: Snapshot) -> CarriedActions:
    return carry_actions(log.store, log.segment(snapshot.version))


def engine_of(context: Context, kind: str) -> RowEngine:
    if context.rows is None:
        raise EngineUnavailable(f"{kind} needs an engine of rows, and this table was opened without one.")
    return context.rows
