"""The receipt: how a commit, or maintenance without a commit, ended, as a person reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.core.transaction.commit_plan import CommitPlan, MaintenancePlan, MaintenanceResult, Plan, PlanResult
from explorer.core.transaction.intents.documents import intent_kind
from explorer.views.act.maintenance_plan import done_facts, done_title

__all__ = ["Receipt", "receipt"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a commit ended.

    Attributes:
        outcome: ``committed``, ``conflicted``, ``rejected`` or ``unknown``.
        title, text, tone: What that means, and how grave it is.
        version: The version written, or in doubt.
        winner: The version that stands against it.
        rebased_from: The version that the plan rested on when it was approved, if it was made anew on a later one.
        facts: Names and values worth keeping.
        notes: What went wrong after the commit, which holds.
    """

    outcome: str
    title: str
    text: str
    tone: str
    version: int | None
    winner: int | None
    rebased_from: int | None
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def receipt(result: PlanResult, approved: Plan, reason: str, user: str | None) -> Receipt:
    """Describe the outcome of a commit.

    Args:
        result: The outcome.
        approved: The plan that the person saw.
        reason, user: As they were given.
    """
    title, text, tone = _OUTCOMES[result.outcome]
    if isinstance(result, MaintenanceResult):
        assert isinstance(approved, MaintenancePlan)
        return _done(result, approved, title, text, tone)
    facts = [("operation", _operation(result.plan)), ("reason", reason), ("by", user or "nobody named")]
    if result.outcome == "unknown" and result.version is not None:
        facts.insert(0, ("in doubt", f"v{result.version}"))
    facts += [("rests on", f"v{result.plan.read_version}"), ("digest", result.plan.digest)]
    facts.append(("transaction", result.plan.txn_id))
    if result.conflict is not None:
        text = f"{result.conflict.why} Nothing was written."
        facts.insert(0, ("decided by", f"{result.conflict.action} of v{result.conflict.version}"))
    moved = result.plan.read_version != approved.read_version
    return Receipt(
        outcome=result.outcome,
        title=title,
        text=text,
        tone=tone,
        version=result.version,
        winner=None if result.conflict is None else result.conflict.version,
        rebased_from=approved.read_version if moved else None,
        facts=tuple(facts),
        notes=result.notes,
    )


def _done(result: MaintenanceResult, approved: MaintenancePlan, title: str, text: str, tone: str) -> Receipt:
    """The receipt of what writes no commit: files alone."""
    facts = [("operation", _operation(result.plan)), ("at", f"v{result.plan.read_version}")]
    if result.outcome == "committed":
        title, text = done_title(result), f"The table is at v{result.plan.read_version}, as before."
        facts += done_facts(result, approved)
    facts.append(("digest", approved.digest))
    return Receipt(result.outcome, title, text, tone, None, None, None, tuple(facts), ())


_OUTCOMES: Final = {
    "committed": ("Committed", "The new version is in the log.", "ok"),
    "conflicted": ("Another commit stands against it", "", "danger"),
    "rejected": (
        "A guard refused it",
        "The table had moved on, and on its new version a guard does not hold. Nothing was written.",
        "danger",
    ),
    "unknown": (
        "The outcome is not known",
        (
            "The store's answer was lost, and the log does not tell yet whether this commit is there. Trying again is "
            "safe: the commit carries an identifier of its own, so it is found if it is there and written once if not."
        ),
        "warning",
    ),
}


def _operation(plan: Plan) -> str:
    return plan.proposal.operation if isinstance(plan, CommitPlan) else intent_kind(plan.intent)
