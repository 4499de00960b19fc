"""What an intent needs beside the version it changes: an earlier version, rows to write, rows to find.

Invariants: whatever costs time is done once; the function that comes out makes a proposal of any later version, so a
rebase neither reads nor writes again what did not move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from explorer.core.errors import InvalidIntent, RequestError
from explorer.core.log.writing.writer_state import CarriedActions, FileKey, carry_actions
from explorer.core.protocol.json_values import JsonObject
from explorer.core.transaction.intents import records as intents
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.transaction.proposals import propose
from explorer.core.transaction.proposals.append_rows import Addition, addition, append_rows, layout_of
from explorer.core.transaction.proposals.delete_rows import delete_rows, hides_rows, records_changes, touched_files
from explorer.core.transaction.proposals.drop_feature import LogMarks, drop_feature
from explorer.core.transaction.proposals.identity_columns import counts_up, recorded_extreme, sync_identity
from explorer.core.transaction.proposals.restore import restore
from explorer.core.transaction.proposals.vector_tombstones import vector_tombstones
from explorer.core.versions.snapshot import Snapshot

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

__all__ = ["Proposer", "prepared"]

Proposer = Callable[[Snapshot], Proposal]
"""Makes the proposal of an intent for a version."""


def prepared(
    log: DeltaLog,
    intent: Intent,
    circumstances: Circumstances,
    rows: Any = None,
    check_source: Callable[[str], None] | None = None,
) -> Proposer:
    """Gather what an intent needs.

    Args:
        log: The table's log.
        intent: What is asked for; it writes a commit.
        circumstances: Time and fresh identifiers.
        rows: An Arrow table or a Spark DataFrame to append, instead of the intent's source.
        check_source: Refuses a source of rows that may not be read.

    Raises:
        InvalidIntent: The intent makes no sense on this table.
        VersionNotFound: The version to restore cannot be read.
        NotAllowed: The rows to append lie outside the places that may be read.
    """
    match intent:
        case intents.Restore():
            target = _target(log, intent)
            unknown = _unknown_fields(log, target)
            return lambda snapshot: restore(intent, snapshot, target, unknown, circumstances)
        case intents.Delete():
            return _deletion(log, intent, circumstances)
        case intents.CreateTable():
            raise InvalidIntent(f"There is a table at {log.location} already.", field="kind", table=log.location)
        case intents.SyncIdentity():
            return _identity(log, intent)
        case intents.DropFeature():
            return lambda snapshot: drop_feature(intent, snapshot, _log_marks(log, intent, snapshot, circumstances))
        case intents.Append():
            if rows is None and check_source is not None:
                check_source(intent.source)
            return _addition(intent.source if rows is None else rows, circumstances)
        case _:
            whole = msgspec.structs.replace(circumstances, unknown=lambda snapshot: _unknown_fields(log, snapshot))
            return lambda snapshot: propose(intent, snapshot, whole)


def _target(log: DeltaLog, intent: intents.Restore) -> Snapshot:
    try:
        return log.snapshot(intent.version, intent.timestamp)
    except RequestError as error:
        error.field = "version" if intent.timestamp is None else "timestamp"
        raise


def _deletion(log: DeltaLog, intent: intents.Delete, circumstances: Circumstances) -> Proposer:
    from explorer.spark.writes.matching_rows import matching_rows
    from explorer.spark.writes.rewrites import rewritten

    def find(snapshot: Snapshot) -> Proposal:
        matched = matching_rows(log, snapshot, intent.where)
        touched = touched_files(log.store, snapshot, matched, _unknown_fields(log, snapshot))
        partial = [file for file in touched if not file.is_emptied]
        rewrites = {}
        if partial and not hides_rows(snapshot):
            layout, recorded = layout_of(snapshot, circumstances), records_changes(snapshot)
            chosen = touched if recorded else partial
            rewrites = rewritten(log, snapshot, chosen, intent.where, layout, recorded=recorded)
        return delete_rows(intent, snapshot, touched, rewrites, circumstances)

    return find


def _identity(log: DeltaLog, intent: intents.SyncIdentity) -> Proposer:
    def sync(snapshot: Snapshot) -> Proposal:
        known, value = recorded_extreme(snapshot, intent.column)
        if not known:
            from explorer.spark.writes.matching_rows import extreme

            value = extreme(log, snapshot, intent.column, greatest=counts_up(snapshot, intent.column))
        return sync_identity(intent, snapshot, value)

    return sync


def _addition(source: Any, circumstances: Circumstances) -> Proposer:
    from explorer.spark.writes.incoming import incoming_rows

    made: list[tuple[Snapshot, Addition]] = []

    def append(snapshot: Snapshot) -> Proposal:
        if not made or _rules_moved(made[0][0], snapshot):
            incoming = incoming_rows(snapshot, source)
            added = addition(snapshot, incoming.rows, incoming.given, incoming.guards, circumstances)
            made[:] = [(snapshot, added)]
        return append_rows(snapshot, made[0][1])

    return append


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
