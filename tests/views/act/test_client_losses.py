"""Clients that a plan shuts out, counted by what happens to them."""

import msgspec
import pytest

from explorer.core.transaction.commit_plan import Consequences
from explorer.views.act.client_losses import client_losses, loss_summary
from tests.support.small_plans import plan_with


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (["wrong"], "1 client answers wrongly"),
        (["no", "no"], "2 clients lose access"),
        (["unknown", "wrong", "no"], "1 client answers wrongly, 1 loses access, 1 is unknown"),
    ],
)
def test_who_loses_what_is_told_apart(after: list[str], words: str) -> None:
    losses = tuple(
        {"client": f"c{n}", "versionFrom": "1", "before": "yes", "after": kind} for n, kind in enumerate(after)
    )
    plan = msgspec.structs.replace(plan_with(), consequences=Consequences(readers=losses))
    found = client_losses(plan)
    assert (loss_summary(found, "reads"), loss_summary(found, "writes")) == (words, "no change")
