"""What an intent needs besides the version it changes: an earlier version, rows to write, rows to find.

Invariants: slow work is done once; the function returned makes a proposal for any later version, so a
rebase neither reads nor writes again what did not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from explorer.core.errors import EngineUnavailable, InvalidIntent, RequestError
from explorer.core.log.writing.writer_state import CarriedActions, FileKey, carry_actions
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.schema.data_types import StructType, parse_schema
from explorer.core.transaction.commit_plan import Proposer
from explorer.core.transaction.context import Context
from explorer.core.transaction.guards.restore import UndoneCommit
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.intents.records import CreateTable, Intent
from explorer.core.transaction.new_files.rewrite import Rewrite, Touched
from explorer.core.transaction.proposal import Circumstances, Estimate, GuardResult, Proposal, Writing, Written
from explorer.core.transaction.proposals import propose
from explorer.core.transaction.proposals.append_rows import Addition, append_rows, layout_of, moved, numberings
from explorer.core.transaction.proposals.change_rows import change_rows
from explorer.core.transaction.proposals.create_table import create_table, generation_expressions
from explorer.core.transaction.proposals.delete_rows import delete_rows, hides_rows, records_changes, touched_files
from explorer.core.transaction.proposals.drop_feature import LogMarks, drop_feature
from explorer.core.transaction.proposals.identity_columns import counts_up, recorded_extreme, sync_identity
from explorer.core.transaction.proposals.restore import restore
from explorer.core.transaction.proposals.rewriting.purge_rows import files_to_purge, purge_rows
from explorer.core.transaction.proposals.vector_tombstones import vector_tombstones
from explorer.core.transaction.row_engine import Incoming, RowEngine
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

__all__ = ["prepared", "prepared_creation"]

_MOST_UNDONE: Final = 20
_OnVersion: TypeAlias = Callable[[Snapshot], Proposal]


def prepared(
    log: DeltaLog,
    intent: Intent,
    context: Context,
    rows: object | None = None,
) -> Proposer:
    """Gather what an intent needs.

    Args:
        log: The table's log.
        intent: What is asked for; it writes a commit.
        context: Clock, identifiers and the engine of rows.
        rows: An Arrow table or a DataFrame of the engine to append, instead of the intent's source.

    Raises:
        InvalidIntent: The intent makes no sense on this table.
        VersionNotFound: The version to restore cannot be read.
        NotAllowed: The rows to append are outside the places that may be read.
        EngineUnavailable: The intent needs an engine of rows, and there is none.
    """
    on_version = _prepared(log, intent, context, rows)

    def propose(snapshot: Snapshot | None) -> Proposal:
        assert snapshot is not None, "a table that exists has a version"
        return on_version(snapshot)

    return propose


def prepared_creation(intent: CreateTable, context: Context, *, check_types: bool) -> Proposer:
    """Gather what a new table needs.

    Args:
        intent: The table.
        context: Clock, identifiers and the engine of rows.
        check_types: Let the engine check the types of generated columns, if there are any.

    Raises:
        InvalidIntent: The intent makes no sense.
    """
    proposal = create_table(intent, context.circumstances())
    if check_types and context.rows is not None:
        proposal = _with_types(proposal, context.rows)
    return lambda _: proposal


def _prepared(log: DeltaLog, intent: Intent, context: Context, rows: object | None) -> _OnVersion:
    circumstances = context.circumstances()
    match intent:
        case intents.Restore():
            target = _target(log, intent)
            unknown = _unknown_fields(log, target)
            return lambda snapshot: restore(
                intent, snapshot, target, unknown, circumstances, undone=_undone(log, target, snapshot)
            )
        case intents.Delete():
            return _deletion(log, intent, context, circumstances)
        case intents.Purge():
            return _purge(log, intent, context, circumstances)
        case intents.CreateTable():
            raise InvalidIntent(f"There is already a table at {log.location}.", field="kind", table=log.location)
        case intents.SyncIdentity():
            return _identity(log, intent, context)
        case intents.DropFeature():
            return lambda snapshot: drop_feature(intent, snapshot, _log_marks(log, intent, snapshot, circumstances))
        case intents.Update():
            return _changes(log, intent, None, context, circumstances)
        case intents.Merge():
            if rows is None and context.check_source is not None:
                context.check_source(intent.source)
            return _changes(log, intent, intent.source if rows is None else rows, context, circumstances)
        case intents.Append():
            if rows is None and context.check_source is not None:
                context.check_source(intent.source)
            return _addition(log, intent.source if rows is None else rows, context, circumstances)
        case _:
            whole = msgspec.structs.replace(circumstances, unknown=lambda snapshot: _unknown_fields(log, snapshot))
            return lambda snapshot: propose(intent, snapshot, whole)


def _target(log: DeltaLog, intent: intents.Restore) -> Snapshot:
    try:
        return log.snapshot(intent.version, intent.timestamp)
    except RequestError as error:
        error.field = "version" if intent.timestamp is None else "timestamp"
        raise


def _undone(log: DeltaLog, target: Snapshot, snapshot: Snapshot) -> tuple[UndoneCommit, ...]:
    """The newest commits after a version, the newest first."""
    first = max(target.version + 1, snapshot.version - _MOST_UNDONE + 1)
    found = [(commit.version, commit.commit_info()) for commit in log.commits(first, snapshot.version)]
    return tuple(
        UndoneCommit(version, None if info is None else info.operation, None if info is None else info.user_name)
        for version, info in reversed(found)
    )


def _deletion(log: DeltaLog, intent: intents.Delete, context: Context, circumstances: Circumstances) -> _OnVersion:
    engine = _engine(context, "delete")

    def find(snapshot: Snapshot) -> Proposal:
        matched = engine.matching_rows(log, snapshot, intent.where)
        touched = touched_files(log.store, snapshot, matched, _unknown_fields(log, snapshot))
        partial = [file for file in touched if not file.is_emptied]
        if not partial or hides_rows(snapshot):
            return delete_rows(intent, snapshot, touched, None, circumstances)
        layout, recorded = layout_of(snapshot, circumstances), records_changes(snapshot)
        chosen = touched if recorded else partial

        def write() -> Written:
            return engine.rewrite(log, snapshot, chosen, intent.where, layout, recorded=recorded)

        return _rewriting(
            partial, write, lambda rewrite: delete_rows(intent, snapshot, touched, rewrite, circumstances)
        )

    return find


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
    engine = _engine(context, intent_kind(intent))

    def change(snapshot: Snapshot) -> Proposal:
        found = engine.find_changes(log, snapshot, intent, source)
        touched = touched_files(log.store, snapshot, found.matched, _unknown_fields(log, snapshot))
        masked = hides_rows(snapshot)
        given = () if found.counts.inserted else tuple(field.name for field in snapshot.schema.fields)
        numbered = numberings(snapshot.schema, given, found.counts.inserted)
        layout, recorded = layout_of(snapshot, circumstances), records_changes(snapshot)
        stay = 0 if masked else sum(file.rows_left for file in touched)

        def write() -> Written:
            return engine.write_changes(
                log, snapshot, found, touched, layout, numbered=numbered, masked=masked, recorded=recorded
            )

        def complete(written: Written) -> Proposal:
            return change_rows(
                intent,
                snapshot,
                touched,
                found.counts,
                written,
                circumstances=circumstances,
                masked=masked,
                guards=found.guards,
            )

        return msgspec.structs.replace(
            complete(Written((), marks={one.column: one.last(found.counts.inserted) for one in numbered})),
            writing=Writing(write, complete),
            estimate=Estimate(rows=found.counts.new + stay),
        )

    return change


def _purge(log: DeltaLog, intent: intents.Purge, context: Context, circumstances: Circumstances) -> _OnVersion:
    engine = _engine(context, "purge")

    def purge(snapshot: Snapshot) -> Proposal:
        chosen = None if intent.where is None else engine.files_masking(log, snapshot, intent.where)
        matched = files_to_purge(snapshot, chosen)
        touched = touched_files(log.store, snapshot, matched, _unknown_fields(log, snapshot))
        kept = [file for file in touched if not file.is_emptied]
        layout = layout_of(snapshot, circumstances)
        if not kept:
            return purge_rows(snapshot, touched, Rewrite((), (), 0), circumstances)

        def write() -> Written:
            return engine.rewrite(log, snapshot, kept, "false", layout, recorded=False)

        return _rewriting(kept, write, lambda rewrite: purge_rows(snapshot, touched, rewrite, circumstances))

    return purge


def _identity(log: DeltaLog, intent: intents.SyncIdentity, context: Context) -> _OnVersion:
    def sync(snapshot: Snapshot) -> Proposal:
        known, value = recorded_extreme(snapshot, intent.column)
        if not known:
            engine = _engine(context, "sync-identity")
            value = engine.extreme(log, snapshot, intent.column, greatest=counts_up(snapshot, intent.column))
        return sync_identity(intent, snapshot, value)

    return sync


def _addition(log: DeltaLog, source: object, context: Context, circumstances: Circumstances) -> _OnVersion:
    engine = _engine(context, "append")
    made: list[tuple[Snapshot, Incoming, StructType, Callable[[], Written]]] = []

    def append(snapshot: Snapshot) -> Proposal:
        if not made or _rules_moved(made[0][0], snapshot):
            incoming = engine.incoming_rows(snapshot, source)
            numbered = numberings(snapshot.schema, incoming.given, incoming.rows) if incoming.rows else ()
            layout = layout_of(snapshot, circumstances)

            def write() -> Written:
                return engine.write_rows(log, incoming, layout, numbered)

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


def _log_marks(
    log: DeltaLog, intent: intents.DropFeature, snapshot: Snapshot, circumstances: Circumstances
) -> LogMarks:
    listing = log.listing
    newest = listing.checkpoints[-1] if listing.checkpoints else None
    first = min(listing.commits, default=listing.latest)
    marks = LogMarks(first) if newest is None else LogMarks(first, newest.version, newest.kind)
    match intent.feature.lower():
        case "rowtracking":
            return msgspec.structs.replace(marks, unknown=_unknown_fields(log, snapshot))
        case "deletionvectors":
            return msgspec.structs.replace(marks, vectors=vector_tombstones(_carried(log, snapshot), circumstances.now))
        case _:
            return marks


def _unknown_fields(log: DeltaLog, snapshot: Snapshot) -> dict[FileKey, JsonObject]:
    return _carried(log, snapshot).unknown_adds()


def _carried(log: DeltaLog, snapshot: Snapshot) -> CarriedActions:
    return carry_actions(log.store, log.segment(snapshot.version))


def _engine(context: Context, kind: str) -> RowEngine:
    if context.rows is None:
        raise EngineUnavailable(f"{kind} needs an engine of rows, and this table was opened without one.")
    return context.rows


def _with_types(proposal: Proposal, engine: RowEngine) -> Proposal:
    """The proposal with the engine's verdict on the types of generated columns, if there are any."""
    assert proposal.metadata is not None
    assert proposal.metadata.schema_string is not None
    schema = parse_schema(proposal.metadata.schema_string)
    expressions = generation_expressions(schema)
    if not expressions:
        return proposal
    try:
        found = engine.column_types(schema, expressions)
    except EngineUnavailable as error:
        evidence = {"expressions": expressions, "detail": str(error)}
        found = GuardResult("generated-types", "unknown", evidence, "Install Java, or accept this guard by name.")
    guards = tuple(found if guard.name == found.name else guard for guard in proposal.guards)
    return msgspec.structs.replace(proposal, guards=guards)
