"""Plans made by hand, whole: who would commit what on which version, judged how, and which clients it shuts out."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.compatibility.access import losses, requirements
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.matrix import releases_in_words
from explorer.core.compatibility.my_clients import MyClient
from explorer.core.protocol.actions import Protocol
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.context import Context, NewPlace
from explorer.core.transaction.intents.records import CreateTable, SetDescription
from explorer.core.transaction.planner import Request, access_change, make_plan, remake_plan
from explorer.core.transaction.proposal import GuardResult, Proposal, RecordedBatch, RowCheck
from explorer.core.transaction.row_engine import CheckReport, CheckResult
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import protocol, snapshot

FIRST = (small_logs.PROTOCOL, small_logs.METADATA)
LISTED = protocol(3, 7, r="deletionVectors", w="deletionVectors")
INTENT = SetDescription(description="x")
COMMENTED = msgspec.structs.replace(small_logs.METADATA, description="x")
CHANGED = Proposal(operation="CHANGE", parameters={"a": 1}, metadata=COMMENTED, undo="Change it back.")
CHECK = RowCheck("rows-fit", "fits", "id > 0", "Mend them.")
CHECKED = msgspec.structs.replace(CHANGED, row_checks=(CHECK,))


class Job:
    """A check that is done."""

    def __init__(self, report: CheckReport) -> None:
        self.report = report

    def result(self) -> CheckReport:
        return self.report

    def check_cancelled(self) -> None:
        return None


class Rows:
    """An engine that finds three rows, which all fit."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, explorer.Snapshot, dict[str, str]]] = []

    def vet(self, _schema: object, _expression: str) -> None:
        return None

    def check(self, log: object, version: explorer.Snapshot, predicates: Mapping[str, str]) -> Job:
        self.asked.append((log, version, dict(predicates)))
        nothing = pa.table({"path": pa.array([], pa.string())})
        found = [CheckResult(name, text, 0, 3, nothing, nothing) for name, text in predicates.items()]
        return Job(CheckReport(version.version, tuple(found)))


def context(rows: Any = None, clients: tuple[MyClient, ...] = (), first: int = 1) -> Context:
    numbers = itertools.count(first)
    return Context(
        clock=lambda: 77, new_uuid=lambda: UUID(int=next(numbers)), sleep=lambda _: None, chance=lambda: 0.0,
        engine_info="house/1", rows=rows, clients=clients,
    )  # fmt: skip


def request(made: Proposal, **more: Any) -> Request:
    return Request(INTENT, lambda _: made, **more)


def identifier(number: int) -> str:
    return str(UUID(int=number))


def test_a_plan_of_a_table_is_of_its_newest_version() -> None:
    table = small_logs.table({0: FIRST, 1: [small_logs.add("a")]})
    wish = request(CHANGED, accept=("one",), check_rows=False, user="ana")
    plan = make_plan(table, wish, context())
    info = {
        "timestamp": 77,
        "operation": "CHANGE",
        "operationParameters": {"a": 1},
        "operationMetrics": {},
        "userName": "ana",
        "engineInfo": "house/1",
        "readVersion": 1,
        "isBlindAppend": True,
        "isolationLevel": "Serializable",
        "txnId": identifier(1),
    }
    assert plan.actions[0] == {"commitInfo": info}
    assert [list(line) for line in plan.actions] == [["commitInfo"], ["metaData"]]
    facts = (plan.table, plan.read_version, plan.commit_version, plan.txn_id, plan.table_id)
    assert facts == (table.location, 1, 2, identifier(1), small_logs.METADATA.id)
    assert (plan.intent, plan.proposal, plan.propose) == (INTENT, CHANGED, wish.propose)
    assert (plan.accepted, plan.checked_rows, plan.user) == (("one",), False, "ana")
    assert [guard.name for guard in plan.guards] == [
        "protocol-allows-writer", "protocol-evolution", "features-present", "changes-something", "committer", "access"
    ]  # fmt: skip
    by_name = {guard.name: guard for guard in plan.guards}
    assert by_name["committer"].evidence["user"] == "ana"
    assert msgspec.to_builtins(plan.consequences) == {
        "readers": (),
        "writers": (),
        "timeTravel": "No version is lost.",
        "changeFeed": "The table records no change data feed.",
        "undo": "Change it back.",
    }


def test_what_a_person_leaves_out_has_its_usual_value() -> None:
    wish = Request(INTENT, lambda _: CHANGED)
    assert (wish.accept, wish.check_rows, wish.user) == ((), True, None)
    plan = make_plan(small_logs.table({0: FIRST}), wish, context())
    assert (plan.accepted, plan.checked_rows, plan.user, plan.read_version) == ((), True, None, 0)
    info: Any = plan.actions[0]["commitInfo"]
    assert "userName" not in info


def test_a_plan_made_again_keeps_what_was_asked_and_who_it_is() -> None:
    table = small_logs.table({0: FIRST})
    plan = make_plan(table, request(CHANGED, accept=("one",), check_rows=False, user="ana"), context())
    small_logs.write(table.store, {1: [small_logs.add("a")]})
    later = explorer.Table(table.store)
    again = remake_plan(later, plan, context(first=50), user="bob")
    kept = (again.intent, again.propose, again.accepted, again.checked_rows, again.user, again.txn_id)
    assert kept == (INTENT, plan.propose, ("one",), False, "ana", identifier(1))
    assert (again.read_version, again.commit_version) == (1, 2)
    info: Any = again.actions[0]["commitInfo"]
    assert (info["userName"], info["txnId"], info["readVersion"]) == ("bob", identifier(1), 1)
    assert {guard.name: guard for guard in again.guards}["committer"].evidence["user"] == "bob"
    unnamed: Any = remake_plan(later, plan, context()).actions[0]["commitInfo"]
    assert "userName" not in unnamed


def test_a_plan_of_a_new_table_builds_on_no_version_and_looks_at_the_place() -> None:
    place = NewPlace(small_logs.new_store())
    made = Proposal(
        operation="CREATE TABLE", parameters={}, metadata=small_logs.METADATA, protocol=small_logs.PROTOCOL,
        row_checks=(CHECK,), required_paths=("gone",),
    )  # fmt: skip
    plan = make_plan(place, Request(CreateTable(), lambda version: made if version is None else CHANGED), context())
    assert (plan.read_version, plan.commit_version, plan.table_id, plan.table) == (-1, 0, None, place.location)
    assert [guard.name for guard in plan.guards] == [
        "protocol-allows-writer", "protocol-evolution", "features-present", "committer", "access",
        "files-exist", "location-free", "outside-other-tables",
    ]  # fmt: skip
    info: Any = plan.actions[0]["commitInfo"]
    assert "readVersion" not in info
    assert plan.consequences.time_travel == "The table begins with this version."
    assert (plan.consequences.readers, plan.consequences.writers) == ((), ())


def test_a_batch_that_the_table_holds_has_no_actions() -> None:
    held = msgspec.structs.replace(CHANGED, recorded=RecordedBatch("a", 1, 1, None))
    plan = make_plan(small_logs.table({0: FIRST}), request(held), context())
    assert (plan.actions, plan.proposal.recorded) == ((), held.recorded)


def rows_guard(plan: CommitPlan) -> tuple[str, object]:
    (found,) = (guard for guard in plan.guards if guard.name == "rows-fit")
    return found.status, found.evidence["detail"]


def test_rows_are_checked_where_an_engine_is_and_a_person_wants_it() -> None:
    table = small_logs.table({0: [*FIRST, small_logs.add("a")]})
    engine, seen = Rows(), list[Any]()
    plan = make_plan(table, request(CHECKED), context(engine), seen.append)
    assert rows_guard(plan) == ("pass", "All 3 rows satisfy it.")
    assert [(asked[0], asked[1].version, asked[2]) for asked in engine.asked] == [(table, 0, {"0 fits": "id > 0"})]
    assert [type(job) for job in seen] == [Job]
    again = remake_plan(table, plan, context(engine), watch=seen.append)
    assert rows_guard(again) == ("pass", "All 3 rows satisfy it.")
    assert len(seen) == len(engine.asked) == 2
    unseen = "unknown", "The rows were not checked."
    assert rows_guard(make_plan(table, request(CHECKED, check_rows=False), context(engine))) == unseen
    assert rows_guard(make_plan(table, request(CHECKED), context())) == unseen
    assert len(engine.asked) == 2
    risky = msgspec.structs.replace(CHECKED.row_checks[0], unseen="Nor was it.")
    told = make_plan(table, request(msgspec.structs.replace(CHECKED, row_checks=(risky,))), context())
    assert rows_guard(told) == ("unknown", "The rows were not checked. Nor was it.")
    missing = msgspec.structs.replace(CHECKED, required_paths=("gone",))
    names = [guard.name for guard in make_plan(table, request(missing), context(engine)).guards]
    assert names[-2:] == ["files-exist", "rows-fit"]


def test_the_isolation_of_a_plan_is_that_of_its_table() -> None:
    loose = msgspec.structs.replace(small_logs.METADATA, configuration={"delta.isolationLevel": "WriteSerializable"})
    plan = make_plan(small_logs.table({0: [small_logs.PROTOCOL, loose]}), request(CHANGED), context())
    info: Any = plan.actions[0]["commitInfo"]
    assert info["isolationLevel"] == "WriteSerializable"


def vectors(rules: Protocol = LISTED) -> Proposal:
    return Proposal(operation="ENABLE", parameters={}, protocol=rules)


def test_clients_that_a_commit_shuts_out_are_told_by_what_they_do() -> None:
    before = requirements(small_logs.PROTOCOL, small_logs.METADATA)
    lost = losses(before, requirements(LISTED, small_logs.METADATA, has_vectors=False), client_facts())
    readers = [each.document() for each in lost if each.operation == "read"]
    writers = [each.document() for each in lost if each.operation == "write"]
    assert readers
    assert writers
    table = small_logs.table({0: FIRST})
    plan = make_plan(table, request(vectors()), context())
    assert (list(plan.consequences.readers), list(plan.consequences.writers)) == (readers, writers)
    (access,) = (guard for guard in plan.guards if guard.name == "access")
    named = {
        f"{each.client} {releases_in_words(each.version_from, each.version_to, newest=each.newest)}" for each in lost
    }
    assert set(access.evidence["clients"]) == named  # type: ignore[call-overload]  # evidence is any value
    shut = next(each for each in lost if each.operation == "read")
    mine = MyClient(shut.client, "my own", shut.version_from, "reader", "finance", "reports")
    own = make_plan(table, request(vectors()), context(clients=(mine,)))
    said = {"version": "my own", "role": "reader", "owner": "finance", "note": "reports"}
    only = {"versionTo": shut.version_from, "newest": False, "mine": said}
    assert list(own.consequences.readers) == [{**shut.document(), **only}, *readers]
    assert list(own.consequences.writers) == writers
    writer = msgspec.structs.replace(mine, role="writer")
    both = make_plan(table, request(vectors()), context(clients=(writer,))).consequences
    assert list(both.readers) == readers
    assert len(both.writers) == len(writers) + any(
        (each.client, each.version_from, each.operation) == (mine.client, mine.version_from, "write") for each in lost
    )
    assert make_plan(table, request(CHANGED), context(clients=(mine,))).consequences.readers == ()


MASKED = small_logs.add("a", 3, vector=small_logs.vector("v"))
PLAIN = small_logs.add("a", 3)
SAME = Proposal(operation="X", parameters={})
OTHER = Proposal(operation="X", parameters={}, metadata=COMMENTED)
UNMASKS = Proposal(operation="X", parameters={}, metadata=COMMENTED, removes=(small_logs.remove("a"),))
BRINGS = Proposal(operation="X", parameters={}, adds=(PLAIN, MASKED))


@pytest.mark.parametrize(
    ("live", "rules", "made", "look", "unused"),
    [
        (PLAIN, LISTED, SAME, False, (False, False)),
        (PLAIN, LISTED, SAME, True, (True, True)),
        (PLAIN, LISTED, OTHER, False, (True, True)),
        (MASKED, LISTED, OTHER, True, (False, False)),
        (PLAIN, LISTED, BRINGS, False, (True, False)),
        (MASKED, LISTED, BRINGS, False, (False, False)),
        (MASKED, LISTED, UNMASKS, False, (False, True)),
        (PLAIN, small_logs.PROTOCOL, OTHER, True, (False, False)),
        (PLAIN, small_logs.PROTOCOL, BRINGS, True, (False, False)),
    ],
)
def test_vectors_count_as_used_unless_no_file_is_seen_to_have_one(
    live: Any, rules: Protocol, made: Proposal, look: bool, unused: tuple[bool, bool]
) -> None:
    before, after = access_change(snapshot(live, rules=rules), made, always=look)
    assert ("deletionVectors" in before.unused, "deletionVectors" in after.unused) == unused
    assert (before.protocol, after.protocol) == (rules, rules)


def test_access_is_compared_by_the_protocols_and_metadata_before_and_after() -> None:
    old = snapshot(properties={"delta.constraints.c": "id > 0"}, rules=protocol(1, 3))
    made = Proposal(operation="X", parameters={}, metadata=small_logs.METADATA, protocol=protocol(1, 4))
    before, after = access_change(old, made)
    assert (before.protocol, after.protocol) == (protocol(1, 3), protocol(1, 4))
    assert ("checkConstraints" in before.unused, "checkConstraints" in after.unused) == (False, True)
    same = access_change(old, Proposal(operation="X", parameters={}))
    assert same[0] == same[1] == before


def test_the_guards_of_a_plan_are_its_own_last() -> None:
    own = GuardResult("own", "warn", json.loads("{}"))
    plan = make_plan(small_logs.table({0: FIRST}), request(msgspec.structs.replace(CHECKED, guards=(own,))), context())
    assert [guard.name for guard in plan.guards][-2:] == ["own", "rows-fit"]
