"""A table whose changes need a second person where the rules say so: the one way to its commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from explorer.approvals.decisions import Decisions, Target
from explorer.core.transaction.approval import Approval
from explorer.core.transaction.commit_plan import Plan, PlanResult
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.core.versions.snapshot import Snapshot


class CommittingTable(Protocol):
    """A table as `explorer.Table` is: it takes an approval with a commit."""

    @property
    def name(self) -> str:
        """Its name for people."""

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Return the table at a version."""

    def check_source(self, source: str) -> None:
        """Refuse a source of rows that may not be read."""

    def plan(
        self,
        intent: Intent,
        *,
        accept: Sequence[str] = (),
        check_rows: bool = True,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
    ) -> Plan:
        """Plan a change; nothing is written."""

    def commit(
        self,
        plan: Plan,
        *,
        reason: str | None = None,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
        approval: Approval | None = None,
    ) -> PlanResult:
        """Carry out a plan."""


class GuardedTable:
    """A table that commits a change only under an approval, where it needs one: a `ChangeableTable` of desks.

    Args:
        table: The table.
        target: Its name and its place.
        decisions: The requests, as the person who commits may use them.
    """

    def __init__(self, table: CommittingTable, target: Target, decisions: Decisions) -> None:
        self._table, self._target, self._decisions = table, target, decisions

    @property
    def name(self) -> str:
        """Its name for people, which a person types to commit."""
        return self._table.name

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Return the table at a version."""
        return self._table.snapshot(version)

    def check_source(self, source: str) -> None:
        """Refuse a source of rows that may not be read."""
        self._table.check_source(source)

    def plan(
        self,
        intent: Intent,
        *,
        accept: Sequence[str] = (),
        check_rows: bool = True,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
    ) -> Plan:
        """Plan a change; nothing is written."""
        return self._table.plan(intent, accept=accept, check_rows=check_rows, user=user, watch=watch)

    def commit(
        self,
        plan: Plan,
        *,
        reason: str | None = None,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
    ) -> PlanResult:
        """Carry out a plan; one that needs an approval has the reason and the person of its request.

        Raises:
            NotAllowed: It needs an approval that it does not have.
        """
        return commit_guarded(self._table, self._target, self._decisions, plan, reason=reason, user=user, watch=watch)


def commit_guarded(
    table: Any,
    target: Target,
    decisions: Decisions,
    plan: Plan,
    *,
    reason: str | None,
    user: str | None,
    **options: Any,
) -> PlanResult:
    """Carry out a plan, under an approval where it needs one.

    Args:
        table: The table, or the place of a new one.
        target: Its name and its place.
        decisions: The requests, as the person who commits may use them.
        plan: The plan.
        reason, user: Of a plan that needs no approval; another one has those of its request.
        options: More of the table's ``commit``.

    Raises:
        NotAllowed: It needs an approval that it does not have.
    """
    permit = decisions.permit(target, plan)
    if permit is None:
        result: PlanResult = table.commit(plan, reason=reason, user=user, **options)
        return result
    request = permit.request
    try:
        result = table.commit(
            plan, reason=request.reason, user=request.asked_by.name, approval=permit.approval, **options
        )
        note = decisions.ended(permit, result)
    except BaseException as error:
        decisions.broke_off(permit, plan, error)
        raise
    finally:
        permit.claim.close()
    return msgspec.structs.replace(result, notes=(*result.notes, note)) if note else result
