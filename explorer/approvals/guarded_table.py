"""A table whose changes need a second person where the rules say so: the one way to its commits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from explorer.approvals.decisions import Decisions, Target
from explorer.core.transaction.changeable_table import ApprovableTable, TableAround
from explorer.core.transaction.commit_plan import Plan, PlanResult
from explorer.core.transaction.row_engine import CheckReport, RowJob


class GuardedTable(TableAround[ApprovableTable]):
    """A table that commits a change only under an approval, where it needs one: a `ChangeableTable` of desks.

    Args:
        table: The table.
        target: Its name and its place.
        decisions: The requests, as the person who commits may use them.
    """

    def __init__(self, table: ApprovableTable, target: Target, decisions: Decisions) -> None:
        super().__init__(table)
        self._target, self._decisions = target, decisions

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
