"""The receipt: how a commit, or maintenance without a commit, ended, as a person reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.core.transaction.commit_plan import MaintenancePlan, MaintenanceResult, Plan, PlanResult
from explorer.core.transaction.intents.documents import intent_kind
from explorer.views.act.commit_facts import commit_facts
from explorer.views.act.maintenance_plan import done_facts, done_title

__all__ = ["Receipt", "receipt"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a commit ended.

    Attributes:
        outcome: ``committed``, ``conflicted``, ``rejected`` or ``unknown``.
        title, text, tone: What that means, and how serious it is.
        version: The version written, or in doubt.
        winner: The version that conflicts with it.
        rebased_from: The version that the approved plan was based on, if the plan was made again on a later one.
        facts: Names and values worth keeping.
        notes: What went wrong after the commit; the commit itself is valid.
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
    facts = commit_facts(result.plan.actions) or [("operation", result.plan.proposal.operation)]
    facts += [("reason", reason), ("by", user or "no name given")]
    if result.outcome == "unknown" and result.version is not None:
        facts.insert(0, ("outcome unknown", f"v{result.version}"))
    facts += [("based on", f"v{result.plan.read_version}"), ("digest", result.plan.digest)]
    if result.plan.digest != approved.digest:
        facts.append(("digest of the approved plan", approved.digest))
        text = f"{text} {_TWO_DIGESTS}" if result.outcome == "committed" else text
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
    """Return the receipt of maintenance, which writes no commit."""
    facts = [("operation", intent_kind(result.plan.intent)), ("at", f"v{result.plan.read_version}")]
    if result.outcome == "committed":
        title, text = done_title(result), f"The table is at v{result.plan.read_version}, as before."
        facts += done_facts(result, approved)
        facts.append(("time travel", result.plan.consequences.time_travel))
        # No log holds what was accepted, as no commit is written.
        facts += [("accepted by name", ", ".join(approved.accepted))] if approved.accepted else []
    facts.append(("digest", approved.digest))
    return Receipt(result.outcome, title, text, tone, None, None, None, tuple(facts), ())


_TWO_DIGESTS: Final = (
    "Its digest differs from the approved plan's because rows were written after the approval, or because the "
    "plan was rebased on a newer version."
)
_OUTCOMES: Final = {
    "committed": ("Committed", "The new version is in the log.", "ok"),
    "conflicted": ("Conflict with another commit", "", "danger"),
    "rejected": (
        "Rejected by a guard",
        "The table had a newer version, and a guard failed on it. Nothing was written.",
        "danger",
    ),
    "unknown": (
        "Outcome unknown",
        (
            "The store's response was lost, and the log does not show this commit yet. You can "
            "safely try again: the commit has a unique identifier and is never written twice."
        ),
        "warning",
    ),
}
