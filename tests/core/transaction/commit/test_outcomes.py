"""What did not end in a commit, as errors: each has the facts of its result."""

from __future__ import annotations

from typing import Any, Final

import msgspec

import explorer
from explorer.core.errors import CommitConflict, CommitUnknown, GuardFailed
from explorer.core.transaction.commit.conflicts import error_of, guard_failed
from explorer.core.transaction.commit_plan import CommitResult, Conflict
from explorer.core.transaction.proposal import GuardResult
from tests.support.logs.small_logs import METADATA, PROTOCOL, table

PROPERTY: Final[dict[str, Any]] = {"kind": "set-properties", "properties": {"a": "b"}}


def planned(intent: dict[str, Any]) -> Any:
    changed: explorer.Table = table({0: (PROTOCOL, METADATA)})
    return changed.plan(intent)


def test_a_conflict_names_the_winner_and_the_version_that_was_tried() -> None:
    plan = planned(PROPERTY)
    error = error_of(CommitResult(outcome="conflicted", plan=plan, conflict=Conflict(7, "txn", "It came first.")))
    assert isinstance(error, CommitConflict)
    assert (error.winner, error.version) == (7, plan.commit_version)
    assert error.message == "It came first. Nothing was committed; make a new plan."


def test_a_lost_answer_names_the_version_and_the_transaction_to_look_for() -> None:
    plan = planned(PROPERTY)
    error = error_of(CommitResult(outcome="unknown", plan=plan, version=5))
    assert isinstance(error, CommitUnknown)
    assert (error.version, error.found) == (5, plan.txn_id)
    assert error.message == (
        "The store's answer was lost, and whether version 5 is this commit is not known yet. "
        f"Look for the transaction {plan.txn_id} in the history."
    )


def test_a_plan_that_guards_block_tells_each_of_them_with_its_remedy() -> None:
    plan = planned({"kind": "drop-columns", "columns": ["id"]})
    results = [
        {
            "name": "column-mapping",
            "status": "fail",
            "evidence": plan.blocking[0].evidence,
            "remedy": "Switch column mapping to name first (set-column-mapping); clients must then be able to read it.",
        },
        {
            "name": "columns-left",
            "status": "fail",
            "evidence": plan.blocking[1].evidence,
            "remedy": "Keep at least one more column.",
        },
    ]
    for error in (guard_failed(plan), error_of(CommitResult(outcome="rejected", plan=plan))):
        assert isinstance(error, GuardFailed)
        assert error.message == (
            "This change must not be committed: "
            "column-mapping (fail): Without column mapping, data files use these names for the columns; "
            "columns-left (fail): Only the partition columns would be left. "
            "Switch column mapping to name first (set-column-mapping); clients must then be able to read it. "
            "Keep at least one more column."
        )
        assert error.results == results


def test_a_guard_without_a_detail_is_told_by_its_name_alone() -> None:
    guards = (GuardResult("first", "fail", {}), GuardResult("second", "unknown", {"detail": "Not known."}))
    error = guard_failed(msgspec.structs.replace(planned(PROPERTY), guards=guards))
    assert error.message == "This change must not be committed: first (fail); second (unknown): Not known."
