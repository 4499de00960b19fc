"""Plans with chosen guards, for views that need no table."""

from explorer.core.transaction.commit_plan import CommitPlan, Consequences
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.proposal import GuardResult, Proposal


def plan_with(*guards: GuardResult, accepted: tuple[str, ...] = ()) -> CommitPlan:
    proposal = Proposal(operation="SET TBLPROPERTIES", parameters={})
    intent = parse_intent({"kind": "set-description", "description": "x"})
    return CommitPlan(
        table="file:///t", read_version=3, intent=intent, guards=guards, actions=(), consequences=Consequences(),
        accepted=accepted, txn_id="7", proposal=proposal, propose=lambda _: proposal,
    )  # fmt: skip
