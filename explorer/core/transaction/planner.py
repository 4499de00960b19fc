"""Plans: an intent and a table -> a commit that can be checked before it is made. Nothing is written here.

Protocol sections: Requirements for Writers, Protocol Evolution, Checkpoint Protection. Invariants: existing tables and
new ones are planned the same way; a plan that is made again keeps its identifier, so that its commit is recognized even
if the answer was lost; versions never fall and features stay unless they are dropped by name, so the undo of a commit
names a raised protocol whatever raised it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from explorer.core.compatibility.access import AccessLoss, Requirements, losses, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.matrix import my_losses, used_clients
from explorer.core.compatibility.my_clients import MyClient, with_writers
from explorer.core.compatibility.releases import writers_seen
from explorer.core.errors import CorruptTable, TableError
from explorer.core.log.ratifying_catalog import RatifyingCatalog
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.protocol_evolution import with_closure
from explorer.core.protocol.table_features import FEATURES, supported_features
from explorer.core.protocol.table_properties.registry import APPEND_ONLY
from explorer.core.transaction.commit_info import (
    commit_info,
    commit_lines,
    has_timestamp,
    isolation_level,
    with_timestamp,
)
from explorer.core.transaction.commit_plan import CommitPlan, Consequences, Proposer
from explorer.core.transaction.consequences import change_feed_effect, time_travel_effect
from explorer.core.transaction.context import CommitTarget, Context, NewPlace
from explorer.core.transaction.guards.files import file_guards, place_guards
from explorer.core.transaction.guards.judge import Situation, judge
from explorer.core.transaction.guards.rows import row_guards
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.features import DROPPABLE
from explorer.core.transaction.row_engine import CheckReport, RowEngine, RowJob
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Request:
    """A requested change, before any version is read.

    Attributes:
        intent: The intent.
        propose: Makes its proposal for a version.
        accept: Names of guards that may stay unknown.
        check_rows: Let the engine check the rows where a guard needs it; else such a guard is unknown.
        user: Who would commit.
    """

    intent: Intent
    propose: Proposer
    accept: tuple[str, ...] = ()
    check_rows: bool = True
    user: str | None = None


def make_plan(
    target: CommitTarget, request: Request, context: Context, watch: Callable[[RowJob[CheckReport]], None] | None = None
) -> CommitPlan:
    """Plan a change of the newest version, or the first version of a table.

    Args:
        context: Clock, identifiers and the engine of rows.
        watch: Called with the job that checks the rows, once it has begun: to show its progress, and to cancel it.

    Raises:
        InvalidIntent: The intent makes no sense on this table.
        Cancelled: The check of the rows was cancelled.
    """
    return _plan(target, request, context, context.new_id(), user=request.user, watch=watch)


def remake_plan(
    target: CommitTarget,
    plan: CommitPlan,
    context: Context,
    *,
    user: str | None = None,
    watch: Callable[[RowJob[CheckReport]], None] | None = None,
) -> CommitPlan:
    """Make a plan again on the newest version: proposal, guards and consequences; its identifier stays."""
    request = Request(plan.intent, plan.propose, plan.accepted, plan.checked_rows, plan.user)
    return _plan(target, request, context, plan.txn_id, user=user, watch=watch)


def access_change(snapshot: Snapshot, proposal: Proposal, *, always: bool = False) -> tuple[Requirements, Requirements]:
    """Return what the table requires of its clients before a change and after it.

    Whether live files have deletion vectors may need a replay of the files. That is done only if the change can
    alter what clients can do: if it changes the protocol or the metadata, or adds vectors.
    """
    protocol, metadata = proposal.protocol or snapshot.protocol, proposal.metadata or snapshot.metadata
    brings = any(add.deletion_vector is not None for add in proposal.adds)
    alters = brings or protocol is not snapshot.protocol or metadata is not snapshot.metadata
    listed = any("deletionVectors" in supported_features(each) for each in (snapshot.protocol, protocol))
    has_vectors = snapshot.num_deleted_records > 0 if listed and (always or alters) else None
    before = requirements(snapshot.protocol, snapshot.metadata, has_vectors=has_vectors)
    left = has_vectors and (brings or _some_masked(snapshot, proposal))
    return before, requirements(protocol, metadata, has_vectors=True if brings else left)


def _some_masked(snapshot: Snapshot, proposal: Proposal) -> bool:
    """Return whether some of the live files with vectors keep them."""
    paths = [*(remove.path for remove in proposal.removes), *(add.path for add in proposal.adds)]
    changed = set(map(canonical_key, paths))
    return not changed or not changed.issuperset(snapshot.deletion_vectors().column("path").to_pylist())


def _plan(
    target: CommitTarget,
    request: Request,
    context: Context,
    txn_id: str,
    *,
    user: str | None,
    watch: Callable[[RowJob[CheckReport]], None] | None,
) -> CommitPlan:
    snapshot = target.snapshot() if isinstance(target, DeltaLog) else None
    if snapshot is not None:
        snapshot.require_schema()
    proposal, now = request.propose(snapshot), context.clock()
    if has_timestamp(proposal, snapshot):
        proposal = with_timestamp(proposal, snapshot, now)  # for showing: the commit fills in its own time
    lost = () if snapshot is None else losses(*access_change(snapshot, proposal), client_facts())
    by_operation = sorted(lost, key=lambda each: each.operation)
    situation = Situation(
        snapshot,
        proposal,
        user,
        tuple(each.document() for each in by_operation),
        kind=intent_kind(request.intent),
        ratified=isinstance(target.catalog, RatifyingCatalog) or (isinstance(target, NewPlace) and target.by_catalog),
    )
    consequences = _consequences(snapshot, proposal, lost, context.clients)
    if used := _used(target, snapshot, proposal, context.clients):
        consequences = msgspec.structs.replace(consequences, in_use=used)
    guards = _guards(target, situation, context.rows if request.check_rows else None, watch)
    read_version = -1 if snapshot is None else snapshot.version
    info = commit_info(
        proposal,
        read_version=read_version,
        now=now,
        txn_id=txn_id,
        engine=context.engine_info,
        user=user,
        isolation=isolation_level(proposal, snapshot),
    )
    return CommitPlan(
        table=target.location,
        read_version=read_version,
        intent=request.intent,
        guards=guards,
        actions=commit_lines(proposal, info) if proposal.recorded is None else (),
        consequences=consequences,
        accepted=request.accept,
        txn_id=txn_id,
        proposal=proposal,
        propose=request.propose,
        checked_rows=request.check_rows,
        user=request.user,
        table_id=None if snapshot is None else snapshot.metadata.id,
    )


def _guards(
    target: CommitTarget,
    situation: Situation,
    engine: RowEngine | None,
    watch: Callable[[RowJob[CheckReport]], None] | None,
) -> tuple[GuardResult, ...]:
    """Judge a change by what is known of it, by its files, and by the rows, or by the place of a new table."""
    snapshot, proposal = situation.snapshot, situation.proposal
    further = (
        row_guards(target, snapshot, proposal.row_checks, engine, watch=watch)
        if isinstance(target, DeltaLog) and snapshot is not None
        else place_guards(target.store)
    )
    return (*judge(situation), *file_guards(target.store, proposal.required_paths), *further)


def _consequences(
    snapshot: Snapshot | None, proposal: Proposal, lost: Sequence[AccessLoss], mine: Sequence[MyClient]
) -> Consequences:
    own = () if snapshot is None or not mine else my_losses(*access_change(snapshot, proposal), client_facts(), mine)
    documents = [*((each.loss, each.document()) for each in own), *((each, each.document()) for each in lost)]
    return Consequences(
        readers=tuple(document for loss, document in documents if loss.operation == "read"),
        writers=tuple(document for loss, document in documents if loss.operation == "write"),
        time_travel=time_travel_effect(snapshot, proposal),
        change_feed=change_feed_effect(snapshot, proposal),
        undo=undo_effect(snapshot, proposal),
    )


_MOST_READ: Final = 1_000
"""Commits of a log that is read for who wrote it; the log of more is not, as plans must not take long."""


def _used(
    target: CommitTarget, snapshot: Snapshot | None, proposal: Proposal, mine: Sequence[MyClient]
) -> tuple[JsonObject, ...]:
    """Return the clients in use and what they can do before and after a change."""
    if snapshot is None or not isinstance(target, DeltaLog) or proposal.only_provenance:
        return ()
    facts = client_facts()
    named = tuple(mine)
    if len(target.listing.commits) <= _MOST_READ:
        with suppress(TableError):  # of a damaged log it is not known who wrote it; the named clients are
            named = with_writers(mine, writers_seen(target.provenance_record().commits, facts))
    return used_clients(*access_change(snapshot, proposal), facts, named) if named else ()


_PROTECTION: Final = "checkpointProtection"


def undo_effect(snapshot: Snapshot | None, proposal: Proposal) -> str:
    """Say how a commit can be undone."""
    if snapshot is None:
        return proposal.undo
    stays = () if proposal.protocol is None else _what_stays(snapshot.protocol, proposal.protocol)
    return " ".join(filter(None, [proposal.undo, *_what_is_first(snapshot, proposal), *stays])) or "Nothing changes."


def _what_is_first(snapshot: Snapshot, proposal: Proposal) -> Iterator[str]:
    """Yield what has to be done before rows can be removed again."""
    protocol, metadata = proposal.protocol or snapshot.protocol, proposal.metadata or snapshot.metadata
    adds_rows = proposal.writing is not None or any(add.data_change for add in proposal.adds)
    if not adds_rows or not proposal.undo.startswith("Restore") or "appendOnly" not in supported_features(protocol):
        return
    try:
        refuses = APPEND_ONLY.of(metadata.configuration)
    except CorruptTable:
        return  # judged where rows are removed
    if refuses:
        yield f"Set {APPEND_ONLY} to 'false' first, as a restore takes the new rows away."


def _what_stays(before: Protocol, after: Protocol) -> Iterator[str]:
    """Yield what an undo leaves of a protocol that was raised."""
    have = supported_features(before)
    added = [name for name in supported_features(after) if name not in have]
    # A dropped feature that binds readers is traded for the protection of the versions that use it.
    dropped = [name for name in have if name not in supported_features(after)]
    if _PROTECTION in added and dropped:
        yield f"{_PROTECTION} stays until {_leaving([_PROTECTION])}."
        return
    stuck = [name for name in added if name not in DROPPABLE]
    going = [name for name in added if name in DROPPABLE]
    if not added:
        versions = before.min_reader_version, before.min_writer_version
        if versions < (after.min_reader_version, after.min_writer_version):
            yield "The protocol stays raised for good."
        return
    if stuck:
        verb = "is a feature" if len(stuck) == 1 else "are features"
        yield f"The protocol stays raised for good: {_joined(stuck)} {verb} that this program cannot drop."
    if going:
        yield f"{'' if stuck else 'The protocol stays raised until '}{_leaving(going, sentence=bool(stuck))}."
    readers = [name for name in going if FEATURES[name].reader]
    if readers and _PROTECTION not in have:
        yield (f"Dropping {_joined(readers)} adds {_PROTECTION}, which stays until {_leaving([_PROTECTION])}.")


def _leaving(names: list[str], *, sentence: bool = False) -> str:
    """Describe how features are dropped, those that others need last."""
    if names == [_PROTECTION]:
        return "the protected versions are cleaned up (clean-log) and it is dropped too"
    order = sorted(names, key=lambda name: (-len(with_closure([name])), name))
    verb = "is" if len(order) == 1 else "are"
    return f"{_joined(order)} can be dropped" if sentence else f"{_joined(order)} {verb} dropped"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
