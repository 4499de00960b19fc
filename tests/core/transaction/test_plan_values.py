"""Plans and results as values: what blocks them, their digest, their documents whole; contexts, places, proposals."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

import msgspec
import pytest

from explorer.core.compatibility.my_clients import MyClient
from explorer.core.errors import EngineUnavailable, RequestError, TableNotFound
from explorer.core.protocol.actions import Action, AddCDCFile, DomainMetadata, TransactionAction
from explorer.core.transaction.commit_plan import (
    CommitPlan,
    CommitResult,
    Conflict,
    Consequences,
    JudgedPlan,
    MaintenanceFile,
    MaintenancePlan,
    MaintenanceResult,
    check_table,
)
from explorer.core.transaction.context import Context, NewPlace
from explorer.core.transaction.intents.records import Checkpoint, SetDescription
from explorer.core.transaction.proposal import (
    GRAVEST_FIRST,
    Circumstances,
    Estimate,
    GuardResult,
    Proposal,
    RecordedBatch,
    RowCheck,
    RowCounts,
    Writing,
    Written,
)
from tests.support.logs import small_logs
from tests.support.logs.small_plans import plan_with
from tests.support.logs.small_proposals import snapshot

PASSED, WARNED = GuardResult("one", "pass", {}), GuardResult("two", "warn", {"a": 1}, "Look.")
FAILED, UNKNOWN = GuardResult("three", "fail", {"detail": "No."}), GuardResult("four", "unknown", {})
INTENT = {"kind": "set-description", "description": "x"}
NOTHING = {
    "readers": [],
    "writers": [],
    "timeTravel": "No version is lost.",
    "changeFeed": "Nothing changes for readers of the change data feed.",
    "undo": "",
}


@pytest.mark.parametrize(
    ("guards", "accepted", "blocking"),
    [
        ((), (), []),
        ((PASSED, WARNED), (), []),
        ((PASSED, FAILED, UNKNOWN), (), ["three", "four"]),
        ((FAILED, UNKNOWN), ("three", "four"), ["three"]),
        ((UNKNOWN,), ("four",), []),
        ((UNKNOWN,), ("other",), ["four"]),
    ],
)
def test_a_plan_is_blocked_by_what_fails_and_by_what_is_unknown_and_not_accepted(
    guards: tuple[GuardResult, ...], accepted: tuple[str, ...], blocking: list[str]
) -> None:
    plan = plan_with(*guards, accepted=accepted)
    assert [guard.name for guard in plan.blocking] == blocking
    assert plan.committable is (not blocking)
    state = f"blocked by {', '.join(blocking)}" if blocking else "committable"
    assert repr(plan) == f"CommitPlan(SetDescription(description='x'), read_version=3, {state})"


def digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def test_a_digest_is_of_what_is_written_without_times_and_identifiers() -> None:
    kept = {"operation": "X", "readVersion": 3, "isBlindAppend": True}
    volatile = {"timestamp": 5, "inCommitTimestamp": 5, "txnId": "t", "userMetadata": "why"}
    other: dict[str, Any] = {"add": {"timestamp": 5, "path": "a"}}
    plan = msgspec.structs.replace(plan_with(), actions=({"commitInfo": {**kept, **volatile}}, other))
    expected = digest("file:///t", 3, [{"commitInfo": kept}, other])
    assert plan.digest == expected
    assert msgspec.structs.replace(plan, txn_id="8", actions=({"commitInfo": kept}, other)).digest == expected
    odd = msgspec.structs.replace(plan, actions=({"commitInfo": 3}, {"txnId": "t"}))
    assert odd.digest == digest("file:///t", 3, [{"commitInfo": 3}, {"txnId": "t"}])
    writing = Writing(lambda: Written(()), lambda _: plan.proposal)
    waiting = msgspec.structs.replace(plan, proposal=msgspec.structs.replace(plan.proposal, writing=writing))
    assert waiting.digest == digest("file:///t", 3, INTENT, [{"commitInfo": kept}, other], [])


def test_the_document_of_a_plan_holds_all_of_it() -> None:
    plan = plan_with(WARNED, FAILED)
    document = {
        "table": "file:///t",
        "readVersion": 3,
        "commitVersion": 4,
        "intent": INTENT,
        "guards": [
            {"name": "two", "status": "warn", "evidence": {"a": 1}, "remedy": "Look."},
            {"name": "three", "status": "fail", "evidence": {"detail": "No."}, "remedy": None},
        ],
        "actions": [],
        "files": [],
        "consequences": NOTHING,
        "committable": False,
        "planDigest": digest("file:///t", 3, INTENT, [], []),
    }
    assert plain(plan.document()) == document
    assert list(plan.document()) == list(document)
    estimate = Estimate(rows=1, files=None, bytes=3)
    written = msgspec.structs.replace(plan, proposal=msgspec.structs.replace(plan.proposal, estimate=estimate))
    assert plain(written.document()) == {**document, "estimate": {"rows": 1, "files": None, "bytes": 3}}


def plain(value: object) -> Any:
    return json.loads(json.dumps(value))


def test_the_document_of_a_result_adds_how_it_ended() -> None:
    plan = plan_with()
    won = CommitResult(outcome="conflicted", plan=plan, conflict=Conflict(4, "metaData", "First."), notes=("n",))
    assert plain(won.document()) == {
        **plain(plan.document()),
        "outcome": "conflicted",
        "version": None,
        "conflict": {"version": 4, "action": "metaData", "why": "First."},
        "notes": ["n"],
    }
    made = CommitResult(outcome="committed", plan=plan, version=4)
    ended = {"outcome": "committed", "version": 4, "conflict": None, "notes": list[str]()}
    assert plain(made.document()) == {**plain(plan.document()), **ended}
    assert repr(made) == f"CommitResult('committed', version=4, {plan!r})"


def test_maintenance_has_files_and_no_version() -> None:
    file = MaintenanceFile("_delta_log/1.checkpoint.parquet", "write", size=3)
    gone = MaintenanceFile("a", "delete", reason="old")
    plan = MaintenancePlan(
        table="file:///t", read_version=1, intent=Checkpoint(), guards=(), consequences=Consequences(),
        files=(file, gone),
    )  # fmt: skip
    shown = [
        {"path": "_delta_log/1.checkpoint.parquet", "change": "write", "size": 3, "reason": None},
        {"path": "a", "change": "delete", "size": None, "reason": "old"},
    ]
    document = plain(plan.document())
    assert (plan.commit_version, plan.actions) == (None, ())
    assert {name: document[name] for name in ("commitVersion", "actions", "files", "committable")} == {
        "commitVersion": None, "actions": [], "files": shown, "committable": True
    }  # fmt: skip
    assert document["planDigest"] == plan.digest == digest("file:///t", 1, {"kind": "checkpoint"}, [], shown)
    result = MaintenanceResult(outcome="committed", plan=plan)
    ended = {"outcome": "committed", "version": None, "conflict": None, "notes": list[str]()}
    assert plain(result.document()) == {**document, **ended}
    assert (result.version, result.conflict, result.notes) == (None, None, ())
    assert repr(result) == (
        "MaintenanceResult('committed', MaintenancePlan(Checkpoint(), read_version=1, committable))"
    )


def test_a_plan_that_makes_nothing_has_neither_actions_nor_files() -> None:
    plan = JudgedPlan(
        table="t", read_version=-1, intent=SetDescription(description=None), guards=(), consequences=Consequences()
    )
    assert (plan.commit_version, plan.actions, plan.files, plan.accepted) == (None, (), (), ())


def test_a_plan_rests_on_rows_where_they_are_checked() -> None:
    plan = plan_with()
    assert not plan.rests_on_rows
    check = RowCheck("rows", "c", "a > 0", "Mend them.")
    checked = msgspec.structs.replace(plan, proposal=msgspec.structs.replace(plan.proposal, row_checks=(check,)))
    assert checked.rests_on_rows is True
    assert (plan.checked_rows, plan.user, plan.table_id) == (False, None, None)


def test_a_plan_is_for_its_table_alone() -> None:
    plan: CommitPlan = plan_with()
    check_table(plan, "file:///t")
    with pytest.raises(RequestError) as caught:
        check_table(plan, "file:///other")
    assert str(caught.value) == ("The plan was made for file:///t, not for file:///other. Make a plan for this table.")
    assert caught.value.facts() == {
        **caught.value.facts(), "expected": "file:///t", "found": "file:///other"
    }  # fmt: skip


class _Numbers:
    def __init__(self) -> None:
        self.given = 0

    def uuid(self) -> UUID:
        self.given += 1
        return UUID(int=self.given)


def context(**more: Any) -> Context:
    chosen: dict[str, Any] = {"clock": lambda: 7, "new_uuid": _Numbers().uuid, "sleep": lambda _: None}
    return Context(**{**chosen, "chance": lambda: 0.5, "engine_info": "house/1", **more})


def test_a_context_gives_the_present_and_fresh_identifiers() -> None:
    here = context()
    assert here.new_id() == "00000000-0000-0000-0000-000000000001"
    found = here.circumstances()
    assert found.now == 7
    assert [found.new_id(), found.new_id()] == [
        "00000000-0000-0000-0000-000000000002", "00000000-0000-0000-0000-000000000003"
    ]  # fmt: skip
    assert found.unknown(snapshot()) == {}
    assert (here.rows, here.check_source, here.clients) == (None, None, ())
    assert context(clients=(MyClient("a", "1", None),)).clients == (MyClient("a", "1", None),)


def test_a_context_without_an_engine_says_what_needs_one() -> None:
    with pytest.raises(EngineUnavailable) as caught:
        context().row_engine("sync-identity")
    assert str(caught.value) == "sync-identity needs a row engine, but this table was opened without one."
    engine: Any = object()
    assert context(rows=engine).row_engine("append") is engine


def test_a_place_without_a_table_has_no_version_until_somebody_makes_one() -> None:
    store = small_logs.new_store()
    place = NewPlace(store)
    assert (place.store, place.location, place.latest_version()) == (store, store.root, -1)
    assert place.newest_commit() is None
    for version in (None, 0):
        with pytest.raises(TableNotFound) as caught:
            place.snapshot(version)
        assert str(caught.value) == f"There is no table at {store.root}."
        assert caught.value.location == store.root
    first: list[Action] = [small_logs.PROTOCOL, small_logs.METADATA]
    small_logs.write(store, {0: first, 1: [small_logs.add("a")]})
    place.refresh()
    place.outdate()
    assert place.latest_version() == 1


def test_the_actions_of_a_proposal_are_in_the_order_of_the_log() -> None:
    txn, cdc = TransactionAction(app_id="a", version=1), AddCDCFile(path="c", size=1)
    domain, add, gone = DomainMetadata(domain="d"), small_logs.add("b"), small_logs.remove("a")
    made = Proposal(
        operation="X", parameters={}, metadata=small_logs.METADATA, protocol=small_logs.PROTOCOL,
        transactions=(txn,), domains=(domain,), adds=(add,), removes=(gone,), change_files=(cdc,),
    )  # fmt: skip
    assert made.actions() == (small_logs.PROTOCOL, small_logs.METADATA, txn, add, gone, cdc, domain)
    assert Proposal(operation="X", parameters={}, metadata=small_logs.METADATA).actions() == (small_logs.METADATA,)
    assert Proposal(operation="X", parameters={}, protocol=small_logs.PROTOCOL).actions() == (small_logs.PROTOCOL,)
    assert Proposal(operation="X", parameters={}).actions() == ()


def test_a_proposal_relies_on_nothing_unless_it_says_so() -> None:
    bare = Proposal(operation="X", parameters={})
    assert (bare.is_blind_append, bare.isolation, bare.reads_files, bare.undo) == (True, "Serializable", False, "")
    assert (bare.reads.files, bare.reads.condition, bare.reads.partitions) == (None, None, None)
    assert (bare.estimate, bare.recorded, bare.writing, bare.change_feed, bare.time_travel) == (None,) * 5
    assert (bare.metrics, bare.tags, bare.staged, bare.guards, bare.row_checks) == ({}, {}, (), (), ())
    assert Written(()) == Written((), (), 0, {}, ())
    assert Circumstances(1, lambda: "x").unknown(snapshot()) == {}
    assert GRAVEST_FIRST == ("fail", "unknown", "warn", "pass")


@pytest.mark.parametrize(
    ("counts", "new", "every"),
    [
        (RowCounts(), 0, 0),
        (RowCounts(updated=1, deleted=2, updated_alone=4, deleted_alone=8, inserted=16, source=32), 21, 31),
        (RowCounts(deleted=3), 0, 3),
        (RowCounts(inserted=3, source=9), 3, 3),
    ],
)
def test_rows_that_change_are_counted_by_what_becomes_of_them(counts: RowCounts, new: int, every: int) -> None:
    assert (counts.new, counts.all) == (new, every)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (4, "Version 4 wrote batch 2 of the application 'a'; it was not written again."),
        (0, "Version 0 wrote batch 2 of the application 'a'; it was not written again."),
        (
            None,
            "The application is at 9, so the table holds batch 2 of the application 'a'; it was not written again.",
        ),
    ],
)
def test_a_batch_that_the_table_holds_is_told_with_its_version(version: int | None, said: str) -> None:
    assert RecordedBatch("a", 2, 9, version).detail == said
