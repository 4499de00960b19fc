"""Batches of an application: recorded in the commit that writes their rows, so that each is written once.

Protocol section: Transaction Identifiers. Invariants: a batch is recorded in the same commit as its rows; one that is
not above the application's newest batch is there already and is not written again (TXN-003); two writers of one
application never both go on (TXN-007).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from explorer.core.log.commit import Commit
from explorer.core.protocol.actions import SetTransaction
from explorer.core.transaction.intents.records import BatchIntent
from explorer.core.transaction.proposal import GuardResult, Proposal, RecordedBatch, Writing
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

__all__ = ["once", "recorded_by", "recorded_proposal"]

_OnVersion: TypeAlias = Callable[[Snapshot], Proposal]
_READ_AT_ONCE = 100


def once(log: DeltaLog, intent: BatchIntent, propose: _OnVersion, now: int) -> _OnVersion:
    """Propose a batch only if the table does not hold it, and record it.

    Args:
        log: The table's log.
        intent: The intent; one that names no batch is proposed as it is.
        propose: Makes its proposal for a version.
        now: The present in ms since the epoch.
    """
    if intent.txn_app_id is None or intent.txn_version is None:
        return propose
    batch = SetTransaction(app_id=intent.txn_app_id, version=intent.txn_version, last_updated=now)

    def propose_once(snapshot: Snapshot) -> Proposal:
        newest = snapshot.transactions.get(batch.app_id)
        if newest is None or newest < batch.version:
            return _recording(propose(snapshot), batch, newest)
        return recorded_proposal(RecordedBatch(batch.app_id, batch.version, newest, _written_at(log, snapshot, batch)))

    return propose_once


def recorded_by(commit: Commit, proposal: Proposal) -> RecordedBatch | None:
    """The batch that a proposal would write, if a commit that came first recorded it, or a later one."""
    mine = {
        batch.app_id: batch.version for batch in proposal.transactions if batch.app_id not in proposal.read_applications
    }
    for found in commit.transactions():
        wanted = mine.get(found.app_id)
        if wanted is not None and found.version >= wanted:
            version = commit.version if found.version == wanted else None
            return RecordedBatch(found.app_id, wanted, found.version, version)
    return None


def recorded_proposal(batch: RecordedBatch) -> Proposal:
    """A proposal to write nothing, as the table holds the batch."""
    evidence = {"appId": batch.app_id, "version": batch.batch, "newest": batch.newest, "writtenAt": batch.version}
    guard = GuardResult("batch-is-new", "warn", evidence | {"detail": batch.detail}, "There is nothing left to do.")
    return Proposal(operation="WRITE", parameters={}, recorded=batch, guards=(guard,), undo="Nothing is written.")


def _recording(proposal: Proposal, batch: SetTransaction, newest: int | None) -> Proposal:
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


def _written_at(log: DeltaLog, snapshot: Snapshot, batch: SetTransaction) -> int | None:
    """The version that recorded a batch, as far as the log still tells it."""
    last = snapshot.version
    while last >= 0:
        first = max(0, last - _READ_AT_ONCE + 1)
        found = [
            commit.version
            for commit in log.commits(first, last)
            for each in commit.transactions()
            if (each.app_id, each.version) == (batch.app_id, batch.version)
        ]
        if found:
            return found[-1]
        last = first - 1
    return None
