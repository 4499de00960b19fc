"""Undoing commits: the inverse of each change gives the table back what it had, and no other commit is undone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import VersionNotFound
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.json_values import JsonObject
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.undoing.undo import Undo
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, new_store, remove, write
from tests.support.logs.small_proposals import protocol


def table(rules: Protocol = PROTOCOL) -> explorer.Table:
    store = new_store()
    for name in "ab":
        store.put(name, b"rows")
    write(store, {0: (rules, metadata({"id": "long", "s": "string"}), add("a")), 1: (add("b"),)})
    return explorer.Table(store)


def done(opened: explorer.Table, kind: str, **fields: Any) -> int:
    plan = opened.plan({"kind": kind, **fields}, check_rows=False, accept=["existing-rows"])
    result = opened.commit(plan, reason=f"made by {kind}", user="ana")
    assert result.outcome == "committed", plan.blocking
    assert result.version is not None
    return result.version


def undone(opened: explorer.Table, undo: Undo) -> None:
    assert undo.steps
    for step in undo.steps:
        plan = opened.plan(step, check_rows=False, accept=["existing-rows"])
        assert opened.commit(plan, reason="undone").outcome == "committed", plan.blocking


def steps(undo: Undo) -> list[JsonObject]:
    return list(undo.record("memory://").steps)


def definition(opened: explorer.Table) -> dict[str, Any]:
    """Return what of the metadata an undo gives back: all but the counters and marks that only grow."""
    snapshot = opened.snapshot()
    plain = msgspec.to_builtins(snapshot.metadata)
    kept = ("delta.columnMapping.maxColumnId", "delta.columnMapping.hasDroppedOrRenamed")
    plain["configuration"] = {
        key: value
        for key, value in snapshot.metadata.configuration.items()
        if key not in kept and "row-" not in value and "inCommitTimestampEnablement" not in key
    }
    return plain | {"domains": dict(snapshot.domain_metadata)}


V7 = protocol(3, 7, r="columnMapping deletionVectors", w="columnMapping deletionVectors appendOnly invariants")
NAMED = {"delta.columnMapping.mode": "name"}


def mapped() -> explorer.Table:
    opened = table(V7)
    done(opened, "set-properties", properties=NAMED)
    return opened


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        ("rename-column", {"column": "s", "to": "t"}, "Rename t to s again."),
        ("add-columns", {"fields": [{"name": "n", "type": "long"}], "at": "first"}, "Drop n."),
        ("move-column", {"column": "s", "at": "first"}, "Move "),
        ("set-not-null", {"column": "id"}, "Allow nulls in id again."),
        ("set-column-comment", {"column": "s", "comment": "a word"}, "Remove the comment of s."),
        ("add-constraint", {"name": "big", "expression": "id > 0"}, "Drop the constraint big."),
        ("set-properties", {"properties": {"delta.appendOnly": "true"}}, "Unset delta.appendOnly."),
        ("set-properties", {"properties": {"delta.enableDeletionVectors": "true"}}, "Unset delta.enableDeletionV"),
        ("set-description", {"description": "Words."}, "Remove the description."),
    ],
)
def test_the_inverse_of_a_change_gives_the_table_back_what_it_had(kind: str, fields: dict[str, Any], text: str) -> None:
    opened = mapped()
    before = definition(opened)
    version = done(opened, kind, **fields)
    done(opened, "set-properties", properties={"mine": "kept"})
    undo = opened.undo(version)
    assert undo.exact, undo
    assert not undo.later
    assert undo.text.startswith(text), undo.text
    undone(opened, undo)
    after = definition(opened)
    assert after["configuration"].pop("mine") == "kept"
    assert after == before


def test_what_was_taken_away_comes_back() -> None:
    opened = mapped()
    done(opened, "add-constraint", name="big", expression="id > 0")
    done(opened, "set-properties", properties={"delta.appendOnly": "true", "mine": "one"})
    done(opened, "set-description", description="Words.")
    done(opened, "set-column-comment", column="s", comment="a word")
    before = definition(opened)
    changes: list[tuple[str, dict[str, Any]]] = [
        ("drop-constraint", {"name": "big"}),
        ("unset-properties", {"keys": ["delta.appendOnly", "mine"]}),
        ("set-properties", {"properties": {"mine": "two", "yours": "three"}}),
        ("set-description", {"description": None}),
        ("set-column-comment", {"column": "s", "comment": None}),
    ]
    for kind, fields in changes:
        undo = opened.undo(done(opened, kind, **fields))
        assert undo.exact, undo
        undone(opened, undo)
        assert definition(opened) == before, kind


def test_a_rename_is_undone_under_the_name_that_the_outer_column_has_now() -> None:
    nested = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}]}
    opened = mapped()
    done(opened, "add-columns", fields=[{"name": "place", "type": nested}])
    version = done(opened, "rename-column", column="place.x", to="y")
    done(opened, "rename-column", column="place", to="spot")
    undo = opened.undo(version)
    assert steps(undo) == [{"kind": "rename-column", "column": "spot.y", "to": "x"}]


def test_what_was_changed_again_later_is_not_set_back_behind_the_later_commit() -> None:
    opened = table()
    first = done(opened, "set-properties", properties={"mine": "one"})
    second = done(opened, "set-properties", properties={"mine": "two"})
    undo = opened.undo(first)
    assert not undo.exact
    assert undo.why == f"v{second} changed mine again."
    assert steps(undo) == [{"kind": "restore", "version": first - 1}]
    assert [(each.version, each.reason) for each in undo.later] == [(second, "made by set-properties")]


def test_a_dropped_column_comes_back_by_a_restore_that_names_what_later_commits_lose() -> None:
    opened = mapped()
    dropped = done(opened, "drop-columns", columns=["s"])
    later = done(opened, "set-description", description="Words.")
    undo = opened.undo(dropped)
    assert (undo.exact, [each.version for each in undo.later]) == (False, [later])
    assert undo.why.startswith("s was dropped")
    undone(opened, undo)
    assert [field.name for field in opened.snapshot().schema.fields] == ["id", "s"]


def test_rows_come_back_by_a_restore_which_is_exact_for_the_newest_commit() -> None:
    store = new_store()
    store.put("a", b"rows")
    write(store, {0: (PROTOCOL, metadata({"id": "long"}), add("a")), 1: (remove("a"),)})
    undo = explorer.Table(store).undo()
    assert (undo.version, undo.exact, steps(undo)) == (1, True, [{"kind": "restore", "version": 0}])


def test_creation_and_commits_that_change_nothing_have_no_undo() -> None:
    opened = table()
    assert opened.undo(0).steps == ()
    version = done(opened, "set-transaction", appId="nightly", version=7)
    undo = opened.undo(version)
    assert undo.steps == ()
    assert undo.text == "It changed neither rows nor properties, so there is nothing to undo."


def test_an_undo_of_a_version_that_does_not_exist_is_refused() -> None:
    for version in (99, -1):
        with pytest.raises(VersionNotFound, match=f"{version} is not in the log"):
            table().undo(version)


def test_a_protocol_that_was_raised_alone_says_that_it_stays() -> None:
    opened = table(protocol(1, 2))
    undo = opened.undo(done(opened, "upgrade-protocol", minReaderVersion=1, minWriterVersion=4))
    assert undo.why.startswith(("This program cannot drop", "Versions of the protocol never fall"))


def erased(reason: str, operation: str = "DELETE") -> explorer.Table:
    store = new_store()
    for name in "ab":
        store.put(name, b"rows")
    info = commit_info(operation, user_name="ana", user_metadata=reason, operation_metrics={"numDeletedRows": "3"})
    write(store, {0: (PROTOCOL, metadata({"id": "long"}), add("a")), 1: (add("b"),)})
    write(store, {2: (info, remove("a"))})
    write(store, {3: (add("c"),)})
    store.put("c", b"rows")
    return explorer.Table(store)


def restoring(opened: explorer.Table, version: int, *accept: str) -> CommitPlan:
    plan = opened.plan({"kind": "restore", "version": version}, accept=accept)
    assert isinstance(plan, CommitPlan)
    return plan


def judged(plan: CommitPlan) -> Any:
    return next(guard for guard in plan.guards if guard.name == "erased-rows")


@pytest.mark.parametrize(
    "reason", ["erasure request 17", "GDPR Art. 17", "DSGVO Löschung Kunde 4", "to erase customer 9", "Löschantrag 3"]
)
def test_a_restore_past_an_erasure_fails_until_it_is_accepted_by_name(reason: str) -> None:
    opened = erased(reason)
    plan = restoring(opened, 1)
    guard = judged(plan)
    assert (guard.status, guard.acceptable, plan.committable) == ("fail", True, False)
    assert guard.evidence["erasures"] == [
        {"version": 2, "operation": "DELETE", "user": "ana", "reason": reason, "rowsDeleted": 3}
    ]
    assert "erased-rows" in guard.remedy
    assert opened.commit(plan, reason="try").outcome == "rejected"
    accepted = restoring(opened, 1, "erased-rows")
    assert accepted.committable
    assert opened.commit(accepted, reason="the request was withdrawn").outcome == "committed"


def test_a_restore_that_brings_no_erased_row_back_passes() -> None:
    assert judged(restoring(erased("erasure request 17"), 2)).status == "pass"
    assert judged(restoring(erased("retention of 30 days"), 1)).status == "pass"
    assert judged(restoring(erased("erasure request 17", "SET TBLPROPERTIES"), 1)).status == "pass"


def test_a_failed_guard_that_cannot_be_accepted_stays_failed() -> None:
    opened = erased("no matter")
    opened.commit(opened.plan({"kind": "set-properties", "properties": {"delta.appendOnly": "true"}}))
    plan = opened.plan({"kind": "restore", "version": 2}, accept=["append-only", "erased-rows"])
    assert [guard.name for guard in plan.blocking] == ["append-only"]
