"""The guard on clients that a commit shuts out: how many, and what becomes of each."""

from __future__ import annotations

import pytest

from explorer.core.transaction.guards.judge import Situation, judge
from tests.support.small_proposals import proposal, snapshot


@pytest.mark.parametrize(
    ("losses", "status", "detail"),
    [
        ([], "pass", "No known client loses access or gives wrong answers."),
        ([("a", "wrong")], "warn", "1 client version answers wrongly."),
        ([("a", "no")], "warn", "1 client version loses access."),
        ([("a", "unknown"), ("b", "unknown")], "warn", "2 client versions are unknown."),
        # What becomes of a client's reading and writing is told once, the worse of the two.
        ([("a", "no"), ("a", "wrong")], "warn", "1 client version answers wrongly."),
        (
            [("a", "no"), ("b", "unknown"), ("c", "wrong"), ("d", "no")],
            "warn",
            "4 client versions are affected: 1 answers wrongly, 2 lose access, 1 is unknown.",
        ),
    ],
)
def test_what_becomes_of_each_client_is_told(losses: list[tuple[str, str]], status: str, detail: str) -> None:
    before = snapshot()
    made = proposal(before, "set-description", description="x")
    found = [{"client": client, "versionFrom": "1", "before": "yes", "after": after} for client, after in losses]
    (access,) = (guard for guard in judge(Situation(before, made, "me", found)) if guard.name == "access")
    assert (access.status, access.evidence["detail"]) == (status, detail)
    assert access.evidence.get("clients", []) == sorted({f"{client} 1" for client, _ in losses})
