"""The guard on clients that a commit shuts out: how many, what becomes of each, and in which releases."""

from __future__ import annotations

import pytest

from explorer.core.transaction.guards.judge import Situation, judge
from tests.support.logs.small_proposals import proposal, snapshot


@pytest.mark.parametrize(
    ("losses", "status", "detail"),
    [
        ([], "pass", "No known client loses access or returns wrong results."),
        ([("a", "wrong", True)], "warn", "1 client gets wrong results in its newest release."),
        ([("a", "no", True)], "warn", "1 client loses access in its newest release."),
        ([("a", "unknown", True), ("b", "unknown", True)], "warn", "2 clients are unknown in their newest releases."),
        # What becomes of a client's reading and writing is told once, the worse of the two.
        ([("a", "no", True), ("a", "wrong", True)], "warn", "1 client gets wrong results in its newest release."),
        (
            [("a", "no", True), ("b", "unknown", True), ("c", "wrong", True), ("d", "no", True)],
            "warn",
            "1 client gets wrong results, 2 lose access, 1 is unknown in their newest releases.",
        ),
        ([("a", "wrong", False)], "warn", "Older releases of 1 client are affected."),
        (
            [("a", "no", True), ("a", "wrong", False), ("b", "no", False), ("b", "wrong", False)],
            "warn",
            "1 client loses access in its newest release; older releases of 1 more client are affected.",
        ),
    ],
)
def test_what_becomes_of_each_client_is_told(losses: list[tuple[str, str, bool]], status: str, detail: str) -> None:
    before = snapshot()
    made = proposal(before, "set-description", description="x")
    found = [
        {"client": client, "versionFrom": "1", "before": "yes", "after": after, "versionTo": "2", "newest": newest}
        for client, after, newest in losses
    ]
    (access,) = (guard for guard in judge(Situation(before, made, "me", found)) if guard.name == "access")
    assert (access.status, access.evidence["detail"]) == (status, detail)
    named = {f"{client} 1 to 2{' (newest known)' if newest else ''}" for client, _, newest in losses}
    assert set(access.evidence.get("clients", [])) == named  # type: ignore[call-overload]  # evidence is any value
