"""The receipt of a commit: every outcome has its words, and its facts are kept."""

import pytest

from explorer.core.transaction.commit_plan import CommitResult, Conflict
from explorer.views.act.receipt import receipt
from tests.support.logs.small_plans import plan_with


@pytest.mark.parametrize("outcome", ["committed", "conflicted", "rejected", "unknown"])
def test_every_outcome_has_its_words(outcome: str) -> None:
    plan = plan_with()
    conflict = Conflict(4, "metaData", "Version 4 changed the metadata.") if outcome == "conflicted" else None
    version = 4 if outcome in {"committed", "unknown"} else None
    shown = receipt(CommitResult(outcome=outcome, plan=plan, version=version, conflict=conflict), plan, "why", None)
    assert shown.title
    assert shown.text
    facts = dict(shown.facts)
    assert (facts["reason"], facts["by"], facts["transaction"]) == ("why", "no name given", "7")
    assert ("decided by" in facts) == (outcome == "conflicted")
    assert shown.winner == (4 if outcome == "conflicted" else None)
