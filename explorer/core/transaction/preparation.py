"""What an intent needs besides the version it changes: an earlier version, values from rows, marks of the log.

Invariants: slow work is done once; the function returned makes a proposal for any later version, so a
rebase neither reads nor writes again what did not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.my_clients import MyClient, with_writers
from explorer.core.compatibility.releases import writers_seen
from explorer.core.errors import EngineUnavailable, ExplorerError, InvalidIntent, RequestError
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.transaction.commit_plan import Proposer
from explorer.core.transaction.context import Context
from explorer.core.transaction.guards.column_traces import LoggedOperation
from explorer.core.transaction.guards.undone_commits import UndoneCommit, erasure_guard, undone_commits
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.records import CreateTable, Intent
from explorer.core.transaction.new_files.file_actions import carried, unknown_fields, vector_tombstones
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals import propose
from explorer.core.transaction.proposals.create_table import create_table, generation_expressions
from explorer.core.transaction.proposals.features import LogMarks, drop_feature
from explorer.core.transaction.proposals.identity_columns import counts_up, recorded_extreme, sync_identity
from explorer.core.transaction.proposals.rename_drop_columns import column_traces_guard, readers_guard
from explorer.core.transaction.proposals.restore import restore
from explorer.core.transaction.row_engine import RowEngine
from explorer.core.transaction.row_preparation.proposer import RowIntent, filled_table, row_proposer
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

_MOST_UNDONE: Final = 20
_OnVersion: TypeAlias = Callable[[Snapshot], Proposal]


def prepared(log: DeltaLog, intent: Intent, context: Context, rows: object | None = None) -> Proposer:
    """Gather what an intent needs.

    Args:
        intent: The requested change; it writes a commit.
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


def prepared_creation(
    store: LogStore, intent: CreateTable, context: Context, rows: object | None = None, *, check_types: bool
) -> Proposer:
    """Gather what a new table needs.

    Args:
        context: Clock, identifiers and the engine of rows.
        rows: Rows of the engine to begin with, instead of the intent's source.
        check_types: Let the engine check the types of generated columns, if there are any.

    Raises:
        InvalidIntent: The intent makes no sense.
    """
    circumstances = context.circumstances()
    if intent.source is None and rows is None:
        proposal = create_table(intent, circumstances)
    else:
        proposal = filled_table(store, intent, context, rows, circumstances)
    if check_types and context.rows is not None:
        proposal = _with_types(proposal, context.rows)
    return lambda _: proposal


def _prepared(log: DeltaLog, intent: Intent, context: Context, rows: object | None) -> _OnVersion:
    circumstances = context.circumstances()
    with_unknown = msgspec.structs.replace(circumstances, unknown=lambda snapshot: unknown_fields(log, snapshot))
    if isinstance(intent, RowIntent):
        return row_proposer(log, intent, context, rows)
    match intent:
        case intents.Restore():
            target = _target(log, intent)
            unknown = unknown_fields(log, target)
            return lambda snapshot: _with_erasures(
                log,
                target,
                restore(intent, snapshot, target, unknown, with_unknown, undone=_undone(log, target, snapshot)),
                snapshot,
            )
        case intents.CreateTable():
            raise InvalidIntent(f"There is already a table at {log.location}.", field="kind", table=log.location)
        case intents.SyncIdentity():
            return _identity(log, intent, context)
        case intents.DropFeature():
            return lambda snapshot: drop_feature(intent, snapshot, _log_marks(log, intent, snapshot, circumstances))
        case intents.RenameColumn() | intents.DropColumns():
            return lambda snapshot: _with_traces(
                log, intent, propose(intent, snapshot, with_unknown), snapshot, context.clients
            )
        case _:
            return lambda snapshot: propose(intent, snapshot, with_unknown)


def _with_traces(
    log: DeltaLog,
    intent: intents.RenameColumn | intents.DropColumns,
    proposal: Proposal,
    snapshot: Snapshot,
    clients: Sequence[MyClient],
) -> Proposal:
    """Return the proposal with what earlier commits name of its columns, and which clients may do so."""
    try:
        commits = log.provenance_record().commits
    except ExplorerError as error:
        detail = f"The earlier commits could not be read, so it is not known which of them name the columns: {error}"
        guard = GuardResult(
            "named-elsewhere", "warn", {"detail": detail}, "Repair the log first, or commit without this check."
        )
    else:
        infos = ((commit.version, commit.info) for commit in commits if commit.version <= snapshot.version)
        operations = (
            LoggedOperation(version, info.operation, info.operation_parameters or {}, info.user_name, info.engine_info)
            for version, info in infos
            if info is not None
        )
        guard = column_traces_guard(intent, snapshot, operations)
        clients = with_writers(clients, writers_seen(commits, client_facts()))
    readers = readers_guard(intent, clients)
    if readers is not None:
        return msgspec.structs.replace(proposal, guards=(*proposal.guards, guard, readers))
    return msgspec.structs.replace(proposal, guards=(*proposal.guards, guard))


def _target(log: DeltaLog, intent: intents.Restore) -> Snapshot:
    try:
        return log.snapshot(intent.version, intent.timestamp)
    except RequestError as error:
        raise error.with_facts(field="version" if intent.timestamp is None else "timestamp") from error


def _undone(log: DeltaLog, target: Snapshot, snapshot: Snapshot) -> tuple[UndoneCommit, ...]:
    """Return the newest commits after a version, the newest first."""
    first = max(target.version + 1, snapshot.version - _MOST_UNDONE + 1)
    infos = [(commit.version, commit.commit_info()) for commit in log.commits(first, snapshot.version)]
    return tuple(UndoneCommit.of(version, info) for version, info in reversed(infos))


def _with_erasures(log: DeltaLog, target: Snapshot, proposal: Proposal, snapshot: Snapshot) -> Proposal:
    """Return the proposal of a restore with what it brings back of erased rows."""
    added = [
        (canonical_key(add.path), None if add.deletion_vector is None else add.deletion_vector.unique_id)
        for add in proposal.adds
        if add.data_change
    ]

    def comes_back(version: int) -> bool:
        """Return whether a file that comes back was live before an erasure and is not live, as it was, after it."""
        files = log.snapshot(version).logical_files
        live = set(zip(files.column("path").to_pylist(), files.column("dv_unique_id").to_pylist(), strict=True))
        return not live.issuperset(added)

    try:
        undone = undone_commits(log.provenance_record(), target.version, snapshot.version)
        guard = erasure_guard(undone, comes_back)
    except ExplorerError as error:
        guard = erasure_guard(error, comes_back)
    return msgspec.structs.replace(proposal, guards=(*proposal.guards, guard))


def _identity(log: DeltaLog, intent: intents.SyncIdentity, context: Context) -> _OnVersion:
    def sync(snapshot: Snapshot) -> Proposal:
        known, value = recorded_extreme(snapshot, intent.column)
        if not known:
            engine = context.row_engine("sync-identity")
            value = engine.extreme(log, snapshot, intent.column, greatest=counts_up(snapshot, intent.column))
        return sync_identity(intent, snapshot, value)

    return sync


def _log_marks(
    log: DeltaLog, intent: intents.DropFeature, snapshot: Snapshot, circumstances: Circumstances
) -> LogMarks:
    listing = log.listing
    newest = listing.checkpoints[-1] if listing.checkpoints else None
    first = min(listing.commits, default=listing.latest)
    marks = LogMarks(first) if newest is None else LogMarks(first, newest.version, newest.kind)
    match intent.feature.lower():
        case "rowtracking":
            return msgspec.structs.replace(marks, unknown=unknown_fields(log, snapshot))
        case "deletionvectors":
            return msgspec.structs.replace(marks, vectors=vector_tombstones(carried(log, snapshot), circumstances.now))
        case _:
            return marks


def _with_types(proposal: Proposal, engine: RowEngine) -> Proposal:
    """Return the proposal with the engine's verdict on the types of generated columns, if there are any."""
    assert proposal.metadata is not None
    assert proposal.metadata.schema_string is not None
    schema = parse_schema(proposal.metadata.schema_string)
    expressions = generation_expressions(schema)
    if not expressions:
        return proposal
    try:
        verdict = engine.column_types(schema, expressions)
    except EngineUnavailable as error:
        evidence = {"expressions": expressions, "detail": str(error)}
        verdict = GuardResult("generated-types", "unknown", evidence, "Install Java, or accept this guard by name.")
    guards = tuple(verdict if guard.name == verdict.name else guard for guard in proposal.guards)
    return msgspec.structs.replace(proposal, guards=guards)
