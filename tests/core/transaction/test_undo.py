"""How a change is undone: what is said can be done, and what stays is named."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.intents.documents import intent_document
from tests.support.logs.small_logs import PROTOCOL, add, metadata, new_store, remove, write
from tests.support.logs.small_proposals import protocol


def table(rules: Protocol = PROTOCOL, kind: Metadata | None = None) -> explorer.Table:
    store = new_store()
    for name in "ab":
        store.put(name, b"rows")
    write(store, {0: (rules, kind or metadata({"id": "long", "s": "string"}), add("a")), 1: (add("b"),)})
    return explorer.Table(store)


def planned(opened: explorer.Table, kind: str, **fields: Any) -> CommitPlan:
    plan = opened.plan({"kind": kind, **fields}, check_rows=False, accept=["existing-rows"])
    assert isinstance(plan, CommitPlan)
    return plan


def done(opened: explorer.Table, kind: str, **fields: Any) -> CommitPlan:
    plan = planned(opened, kind, **fields)
    result = opened.commit(plan)
    assert result.outcome == "committed", (intent_document(plan.intent), plan.blocking)
    return plan


FEED = {"delta.enableChangeDataFeed": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}
V7 = protocol(1, 7, w="appendOnly invariants")


@pytest.mark.parametrize(
    ("rules", "kind", "fields", "said"),
    [
        (V7, "set-properties", {"properties": FEED}, "changeDataFeed is a feature that this program cannot drop."),
        (
            PROTOCOL,
            "set-properties",
            {"properties": FEED},
            "changeDataFeed is a feature that this program cannot drop.",
        ),
        (
            V7,
            "add-columns",
            {"fields": [{"name": "t", "type": "timestamp_ntz"}]},
            "The protocol stays raised for good: timestampNtz is a feature that this program cannot drop.",
        ),
        (
            V7,
            "enable-feature",
            {"feature": "allowColumnDefaults"},
            "The protocol stays raised for good: allowColumnDefaults is a feature that this program cannot drop.",
        ),
        (
            V7,
            "set-properties",
            {"properties": VECTORS},
            (
                "The protocol stays raised until deletionVectors is dropped. Dropping deletionVectors adds "
                "checkpointProtection, which stays until the protected versions are cleaned up (clean-log) and it is "
                "dropped too."
            ),
        ),
        (V7, "add-constraint", {"name": "c", "expression": "id > 0"}, "until checkConstraints is dropped."),
        (
            V7,
            "set-properties",
            {"properties": {"delta.enableRowTracking": "true"}},
            "The protocol stays raised until rowTracking and domainMetadata are dropped.",
        ),
        (protocol(1, 1), "set-not-null", {"column": "id"}, "invariants is a feature that this program cannot drop."),
        (V7, "set-column-mapping", {"mode": "name"}, "Dropping columnMapping adds checkpointProtection"),
        (
            protocol(3, 7, r="", w=""),
            "upgrade-protocol",
            {"minReaderVersion": 3, "minWriterVersion": 7},
            "Nothing changes.",
        ),
    ],
)
def test_a_raised_protocol_is_told_whatever_raised_it(
    rules: Protocol, kind: str, fields: dict[str, Any], said: str
) -> None:
    assert said in planned(table(rules), kind, **fields).consequences.undo


def test_of_a_dropped_feature_that_binds_readers_the_protection_stays() -> None:
    opened = table(protocol(3, 7, r="deletionVectors", w="deletionVectors"))
    opened.commit(opened.plan({"kind": "checkpoint"}))
    undo = done(opened, "drop-feature", feature="deletionVectors").consequences.undo
    assert undo.startswith("Add the feature again: set delta.feature.deletionVectors to 'supported'.")
    assert "checkpointProtection stays until the protected versions are cleaned up" in undo
    done(opened, "set-properties", properties={"delta.feature.deletionVectors": "supported"})


def test_the_undo_of_dropped_timestamps_switches_nothing_on() -> None:
    opened = table(protocol(1, 7, w="inCommitTimestamp"))
    undo = done(opened, "drop-feature", feature="inCommitTimestamp").consequences.undo
    assert undo == "Add the feature again: set delta.feature.inCommitTimestamp to 'supported'."
    done(opened, "set-properties", properties={"delta.feature.inCommitTimestamp": "supported"})
    assert "delta.enableInCommitTimestamps" not in opened.snapshot().properties


@pytest.mark.parametrize(
    ("key", "left"),
    [
        (
            "delta.enableInCommitTimestamps",
            "delta.inCommitTimestampEnablementVersion, delta.inCommitTimestampEnablementTimestamp stay set.",
        ),
        (
            "delta.enableRowTracking",
            (
                "delta.rowTracking.materializedRowIdColumnName, "
                "delta.rowTracking.materializedRowCommitVersionColumnName stay set."
            ),
        ),
    ],
)
def test_properties_that_an_undo_leaves_are_named(key: str, left: str) -> None:
    opened = table(V7)
    plan = done(opened, "set-properties", properties={key: "true"})
    assert plan.consequences.undo.startswith(f"Unset {key}. {left}")
    before = opened.snapshot().properties
    done(opened, "unset-properties", keys=[key])
    assert opened.snapshot().properties == {name: value for name, value in before.items() if name != key}
    assert all(name.removesuffix(",") in before for name in left.removesuffix(" stay set.").split(" "))


@pytest.mark.parametrize("mode", ["none", "name"])
def test_the_undo_of_new_columns_says_what_dropping_them_needs(mode: str) -> None:
    opened = table(PROTOCOL)
    if mode == "name":
        done(opened, "set-column-mapping", mode="name")
    undo = done(opened, "add-columns", fields=[{"name": "n", "type": "long"}]).consequences.undo
    assert ("set-column-mapping" in undo) is (mode == "none")
    if mode == "none":
        done(opened, "set-column-mapping", mode="name")
    else:
        assert undo == "Drop n again (drop-columns). delta.columnMapping.maxColumnId keeps its new value."
    done(opened, "drop-columns", columns=["n"])
    assert [field.name for field in opened.snapshot().schema.fields] == ["id", "s"]


def test_the_undo_of_a_restore_can_be_carried_out_or_is_said_to_change_nothing() -> None:
    opened = table(V7)
    done(opened, "set-properties", properties={"delta.feature.deletionVectors": "supported", "own": "1"})
    undo = done(opened, "restore", version=1).consequences.undo
    assert undo == "Restore version 2."
    done(opened, "restore", version=2)
    assert opened.snapshot().properties["own"] == "1"
    back = done(opened, "restore", version=0)
    assert back.consequences.undo.startswith("Restore version 4, as long as its files are not vacuumed.")
    done(opened, "restore", version=4)


def test_the_undo_of_a_restore_names_the_protocol_that_stays() -> None:
    plain = table(protocol(1, 7, w="appendOnly invariants checkConstraints"))
    done(plain, "drop-feature", feature="checkConstraints")
    undo = done(plain, "restore", version=1).consequences.undo
    assert undo == (
        "It cannot be undone: a restore of version 2 would change nothing. The protocol stays raised until "
        "checkConstraints is dropped."
    )
    assert not planned(plain, "restore", version=2).committable


def test_the_undo_of_new_rows_in_an_append_only_table_says_what_comes_first() -> None:
    kept = metadata({"id": "long", "s": "string"}, configuration={"delta.appendOnly": "true"})
    opened = table(V7, kept)
    done(opened, "set-properties", properties={"delta.appendOnly": "false"})
    opened.store.put("c", b"rows")
    write(opened.store, {3: (add("c"), remove("a"))})
    opened.refresh()
    undo = done(opened, "restore", version=1).consequences.undo
    assert undo == (
        "Restore version 3, as long as its files are not vacuumed. Set delta.appendOnly to 'false' first, as a restore "
        "takes the new rows away."
    )
    assert not planned(opened, "restore", version=3).committable
    done(opened, "set-properties", properties={"delta.appendOnly": "false"})
    done(opened, "restore", version=3)
