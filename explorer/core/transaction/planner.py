"""Plans: an intent and a table -> a commit that can be looked at before it is made. Nothing is written here.

This is the shell round `explorer.core.transaction.proposals` and `explorer.core.transaction.guards.judge`: it brings
the clock, fresh identifiers, what the store says about files and what Spark says about rows.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from explorer.core.compatibility.access import Requirements, losses, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.maintenance.maintenance import plan_maintenance
from explorer.core.protocol.table_features import supported_features
from explorer.core.transaction.commit_info import ENGINE, check_provenance, commit_info, commit_lines
from explorer.core.transaction.commit_plan import CommitPlan, Consequences
from explorer.core.transaction.consequences import change_feed_effect, time_travel_effect
from explorer.core.transaction.guards.files import file_guards
from explorer.core.transaction.guards.judge import Situation, judge
from explorer.core.transaction.guards.rows import row_guards
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.intents.records import Intent, MaintenanceIntent
from explorer.core.transaction.preparation import prepared
from explorer.core.transaction.proposal import Circumstances, Proposal
from explorer.core.versions.snapshot import Snapshot
from explorer.version import VERSION

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.spark.checks.constraint_check import CheckReport
    from explorer.spark.engine.job import Job

__all__ = ["access_change", "circumstances", "engine_info", "make_plan", "remake_plan"]


def make_plan(
    log: DeltaLog,
    intent: Intent | Mapping[str, Any] | str,
    *,
    accept: Sequence[str] = (),
    check_rows: bool = True,
    user: str | None = None,
    rows: Any = None,
    check_source: Callable[[str], None] | None = None,
    watch: Callable[[Job[CheckReport]], None] | None = None,
) -> CommitPlan:
    """Plan a change of the newest version.

    Args:
        log: The table's log.
        intent: A record of `explorer.core.transaction.intents.records`, or its JSON.
        accept: Names of guards that may stay unknown.
        check_rows: Let Spark look at the rows where a guard needs it; without, such a guard is unknown.
        user: Who would commit.
        rows: An Arrow table or a Spark DataFrame that an append takes instead of its source.
        check_source: Refuses a source of rows that may not be read.
        watch: Called with the job that looks at the rows, once it has begun: to show how far it is, and to cancel it.

    Raises:
        InvalidIntent: The intent makes no sense, in itself or on this table.
        RequestError: The user cannot be written down.
        Cancelled: The look at the rows was cancelled.
    """
    wanted = parse_intent(intent)
    check_provenance(user=user)
    log.refresh()
    made = circumstances()
    writes_commit = not isinstance(wanted, MaintenanceIntent)
    plan = CommitPlan(
        table=log.location,
        read_version=-1,
        intent=wanted,
        guards=(),
        actions=(),
        consequences=Consequences(),
        accepted=tuple(accept),
        txn_id=made.new_id(),
        propose=prepared(log, wanted, made, rows, check_source) if writes_commit else None,
        checked_rows=check_rows,
        user=user,
    )
    return remake_plan(log, plan, user=user, watch=watch) if writes_commit else plan_maintenance(log, plan)


def remake_plan(
    log: DeltaLog,
    plan: CommitPlan,
    *,
    user: str | None = None,
    watch: Callable[[Job[CheckReport]], None] | None = None,
) -> CommitPlan:
    """Make a plan anew on the newest version: proposal, guards and consequences; its identifier stays."""
    assert plan.propose is not None
    snapshot = log.snapshot()
    proposal = plan.propose(snapshot)
    readers, writers = _losses(snapshot, proposal)
    situation = Situation(snapshot, proposal, user, (*readers, *writers))
    guards = (
        *judge(situation),
        *file_guards(log, proposal.required_paths),
        *row_guards(log, snapshot, proposal.row_checks, look=plan.checked_rows, watch=watch),
    )
    now = circumstances().now
    info = commit_info(
        proposal, read_version=snapshot.version, now=now, txn_id=plan.txn_id, engine=engine_info(), user=user
    )
    consequences = Consequences(
        readers=readers,
        writers=writers,
        time_travel=time_travel_effect(snapshot, proposal),
        change_feed=change_feed_effect(snapshot, proposal),
        undo=proposal.undo,
    )
    return msgspec.structs.replace(
        plan,
        read_version=snapshot.version,
        guards=guards,
        actions=commit_lines(proposal, info),
        consequences=consequences,
        proposal=proposal,
        table_id=snapshot.metadata.id,
    )


def access_change(snapshot: Snapshot, proposal: Proposal, *, look: bool = False) -> tuple[Requirements, Requirements]:
    """What the table asks of its clients before a change and after it.

    Args:
        snapshot: The version that the proposal rests on.
        proposal: The change.
        look: Find out whether live files have deletion vectors, which may take a replay of the files. Without, a
            listed feature counts as used, before and after; a change that brings vectors always looks.
    """
    listed = "deletionVectors" in supported_features(snapshot.protocol)
    brings = any(add.deletion_vector is not None for add in proposal.adds)
    has_vectors = snapshot.num_deleted_records > 0 if listed and (look or brings) else None
    before = requirements(snapshot.protocol, snapshot.metadata, has_vectors=has_vectors)
    protocol, metadata = proposal.protocol or snapshot.protocol, proposal.metadata or snapshot.metadata
    return before, requirements(protocol, metadata, has_vectors=True if brings else has_vectors)


def circumstances() -> Circumstances:
    """The present and fresh identifiers."""
    return Circumstances(now=time.time_ns() // 1_000_000, new_id=lambda: str(uuid.uuid4()))


def engine_info() -> str:
    """What commits say of the program that wrote them."""
    return f"{ENGINE}/{VERSION}"


def _losses(snapshot: Snapshot, proposal: Proposal) -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
    """The clients that lose reading, and those that lose writing, or turn silently wrong."""
    found = losses(*access_change(snapshot, proposal), client_facts())
    readers = tuple(each.document() for each in found if each.operation == "read")
    return readers, tuple(each.document() for each in found if each.operation == "write")
