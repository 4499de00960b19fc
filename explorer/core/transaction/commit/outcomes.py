"""What did not end in a commit, as errors: for callers that raise or exit on it.

Invariants: the facts of an error are those of the result; nothing is decided here.
"""

from __future__ import annotations

from explorer.core.errors import CommitConflict, CommitError, CommitUnknown, GuardFailed
from explorer.core.transaction.commit_plan import CommitResult, JudgedPlan
from explorer.core.transaction.proposal import GuardResult

__all__ = ["error_of", "guard_failed"]


def error_of(result: CommitResult) -> CommitError:
    """The error for a result that is no commit."""
    match result.outcome:
        case "rejected":
            return guard_failed(result.plan)
        case "conflicted":
            assert result.conflict is not None
            return CommitConflict(
                f"{result.conflict.why} Nothing was committed; make a new plan.",
                winner=result.conflict.version,
                version=result.plan.commit_version,
            )
        case _:
            return CommitUnknown(
                f"The store's answer was lost, and whether version {result.version} is this commit is not known yet. "
                f"Look for the transaction {result.plan.txn_id} in the history.",
                version=result.version,
                found=result.plan.txn_id,
            )


def guard_failed(plan: JudgedPlan) -> GuardFailed:
    """The error for a plan that guards block."""
    blocking = [
        {"name": guard.name, "status": guard.status, "evidence": guard.evidence, "remedy": guard.remedy}
        for guard in plan.blocking
    ]
    reasons = "; ".join(_reason(guard).removesuffix(".") for guard in plan.blocking)
    steps = " ".join(dict.fromkeys(guard.remedy for guard in plan.blocking if guard.remedy))
    return GuardFailed(f"This change must not be committed: {reasons}. {steps}".rstrip(), results=blocking)


def _reason(guard: GuardResult) -> str:
    name, detail = f"{guard.name} ({guard.status})", guard.evidence.get("detail")
    return f"{name}: {detail}" if detail else name
