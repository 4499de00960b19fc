"""Intents over rows -> what makes their proposals, and the batches of applications that they write.

Protocol section: Transaction Identifiers. Invariants: a batch is recorded in the same commit as its rows; one that is
not above the application's newest batch is there already, is proposed as such and is not written again (TXN-003); two
writers of one application never both go on (TXN-007).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from explorer.core.log.commit import Commit
from explorer.core.protocol.actions import TransactionAction
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import StructType, parse_column
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.records import BatchIntent
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal, RecordedBatch, Writing
from explorer.core.transaction.proposals.create_table import create_table
from explorer.core.transaction.proposals.rows.append_rows import empty_version, with_first_rows
from explorer.core.transaction.row_preparation.change import changing, deleting
from explorer.core.transaction.row_preparation.matched_files import OnVersion
from explorer.core.transaction.row_preparation.rewrite import describing, optimizing, purging
from explorer.core.transaction.row_preparation.write import (
    appending,
    evolving,
    overwriting,
    source_of,
    with_fields,
)
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

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


def row_proposer(log: DeltaLog, intent: RowIntent, context: Context, rows: object | None) -> OnVersion:
    """Gather what an intent over rows needs.

    Args:
        context: Clock, identifiers and the engine of rows.

    Raises:
        NotAllowed: The source is outside the places that may be read.
        EngineUnavailable: There is no engine of rows.
    """
    propose = _proposer(log, intent, context, rows, context.circumstances())
    return once(log, intent, propose, context.clock()) if isinstance(intent, intents.BatchIntent) else propose


def _proposer(
    log: DeltaLog, intent: RowIntent, context: Context, rows: object | None, circumstances: Circumstances
) -> OnVersion:
    match intent:
        case intents.Delete():
            return deleting(log, intent, context, circumstances)
        case intents.Purge():
            return purging(log, intent, context, circumstances)
        case intents.Optimize():
            return optimizing(log, intent, context, circumstances)
        case intents.RecomputeStatistics():
            return describing(log, intent, context)
        case intents.Update():
            return changing(log, intent, None, context, circumstances)
        case intents.Merge():
            source = source_of(intent.source, rows, context)
            changes = changing(log, intent, source, context, circumstances)
            return evolving(changes, intent, source, context) if _takes_all(intent) else changes
        case intents.Overwrite():
            source = source_of(intent.source, rows, context)
            return evolving(overwriting(log, intent, source, context, circumstances), intent, source, context)
        case intents.Append():
            source = source_of(intent.source, rows, context)
            return evolving(appending(log.store, source, context), intent, source, context)


def filled_table(
    store: LogStore, intent: intents.CreateTable, context: Context, rows: object | None, circumstances: Circumstances
) -> Proposal:
    """Make a table of rows: its schema is theirs unless the intent has one.

    Args:
        context: Clock, identifiers and the engine of rows.

    Raises:
        InvalidIntent: The intent makes no sense, or the rows do not fit its schema.
        NotAllowed: The source is outside the places that may be read.
        EngineUnavailable: There is no engine of rows.
    """
    engine, source = context.row_engine("create-table"), source_of(intent.source or "", rows, context)
    new_fields: tuple[JsonObject, ...] | None = None
    if intent.schema is None:
        new_fields = engine.new_fields(StructType(()), source)
        fields = [{**field, "name": parse_column(str(field["name"]))[0]} for field in new_fields]
        intent = msgspec.structs.replace(intent, schema={"type": "struct", "fields": fields})
    creation = create_table(intent, circumstances)
    filled = with_first_rows(creation, appending(store, source, context)(empty_version(store, creation)))
    return filled if new_fields is None else with_fields(filled, engine, StructType(()), source, new_fields)


def _takes_all(intent: intents.Merge) -> bool:
    return any(clause.values is None for clause in intents.merge_clauses(intent))


_OnVersion: TypeAlias = Callable[[Snapshot], Proposal]
_READ_AT_ONCE = 100


def once(log: DeltaLog, intent: BatchIntent, propose: _OnVersion, now: int) -> _OnVersion:
    """Propose a batch only if the table does not hold it, and record it.

    Args:
        intent: The intent; one that names no batch is proposed as it is.
        now: The present in ms since the epoch.
    """
    if intent.txn_app_id is None or intent.txn_version is None:
        return propose
    batch = TransactionAction(app_id=intent.txn_app_id, version=intent.txn_version, last_updated=now)

    def propose_once(snapshot: Snapshot) -> Proposal:
        newest = snapshot.transactions.get(batch.app_id)
        if newest is None or newest < batch.version:
            return _recording(propose(snapshot), batch, newest)
        return recorded_proposal(RecordedBatch(batch.app_id, batch.version, newest, _written_at(log, snapshot, batch)))

    return propose_once


def recorded_by(commit: Commit, proposal: Proposal) -> RecordedBatch | None:
    """Return the batch of a proposal if a commit that came first recorded it, or a later one."""
    mine = {
        batch.app_id: batch.version for batch in proposal.transactions if batch.app_id not in proposal.read_applications
    }
    for recorded in commit.transactions():
        wanted = mine.get(recorded.app_id)
        if wanted is not None and recorded.version >= wanted:
            version = commit.version if recorded.version == wanted else None
            return RecordedBatch(recorded.app_id, wanted, recorded.version, version)
    return None


def recorded_proposal(batch: RecordedBatch) -> Proposal:
    """Return a proposal to write nothing, as the table holds the batch."""
    evidence = {"appId": batch.app_id, "version": batch.batch, "newest": batch.newest, "writtenAt": batch.version}
    guard = GuardResult("batch-is-new", "warn", evidence | {"detail": batch.detail}, "There is nothing left to do.")
    return Proposal(operation="WRITE", parameters={}, recorded=batch, guards=(guard,), undo="Nothing is written.")


def _recording(proposal: Proposal, batch: TransactionAction, newest: int | None) -> Proposal:
    writing = proposal.writing
    if writing is not None:
        complete = writing.complete
        writing = Writing(writing.write, lambda written: _recording(complete(written), batch, newest))
    detail = (
        f"The table does not hold batch {batch.version} of the application {batch.app_id!r}; its newest is {newest}."
    )
    evidence = {"appId": batch.app_id, "version": batch.version, "newest": newest, "detail": detail}
    return msgspec.structs.replace(
        proposal,
        transactions=(*proposal.transactions, batch),
        writing=writing,
        guards=(GuardResult("batch-is-new", "pass", evidence), *proposal.guards),
    )


def _written_at(log: DeltaLog, snapshot: Snapshot, batch: TransactionAction) -> int | None:
    """Return the version that recorded a batch, if the log still shows it."""
    last = snapshot.version
    while last >= 0:
        first = max(0, last - _READ_AT_ONCE + 1)
        versions = [
            commit.version
            for commit in log.commits(first, last)
            for each in commit.transactions()
            if (each.app_id, each.version) == (batch.app_id, batch.version)
        ]
        if versions:
            return versions[-1]
        last = first - 1
    return None
