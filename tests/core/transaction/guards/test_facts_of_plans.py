"""What guards say where nothing stands against a change, and what a plan needs besides the version that it changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.core.errors import InvalidIntent, TimestampOutOfRange, VersionNotFound
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.schema.data_types import ArrayType, StructField, StructType
from explorer.core.transaction.guards.protocol import evolution_guard
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.add_columns import needs_values
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import proposal, protocol, snapshot
from tests.support.logs.spark_tables import column, struct

MAPPED = protocol(2, 7, w="columnMapping checkConstraints appendOnly invariants")
BY_NAME = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}


def mapped(name: str, number: int, **more: Any) -> dict[str, Any]:
    names = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name}
    return column(name, "long", **names, **more)


def by_name(guards: tuple[GuardResult, ...]) -> dict[str, tuple[str, dict[str, object], str | None]]:
    return {guard.name: (guard.status, dict(guard.evidence), guard.remedy) for guard in guards}


def test_what_does_not_stand_against_a_dropped_column_is_said_with_what_was_looked_at() -> None:
    schema = json.dumps(struct(mapped("a", 1), mapped("b", 2), mapped("c", 3)))
    before = snapshot(rules=MAPPED, properties={**BY_NAME, "delta.constraints.low": "a > 0"}, schema=schema)
    found = by_name(proposal(before, "drop-columns", columns=["b"]).guards)
    mode = {"delta.columnMapping.mode": "name", "detail": "Data files use physical column names that do not change."}
    assert found["column-mapping"] == ("pass", mode, None)
    nothing = "No constraint or invariant names the columns."
    assert found["constraint-columns"] == ("pass", {"looked at": 1, "detail": nothing}, None)
    nothing = "No generated column is computed from the columns."
    assert found["generated-columns"] == ("pass", {"looked at": 0, "detail": nothing}, None)
    untouched = "No partition column is touched."
    assert found["partition-columns"] == ("pass", {"partitionColumns": [], "detail": untouched}, None)
    untouched = "No clustering column is touched."
    assert found["clustering-columns"] == ("pass", {"clusteringColumns": [], "detail": untouched}, None)


def made_twice() -> explorer.Table:
    return small_logs.table(
        {0: [small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("a")], 1: [small_logs.add("b")]}
    )


def test_a_table_is_not_made_where_one_is() -> None:
    table = made_twice()
    with pytest.raises(InvalidIntent) as refused:
        table.plan({"kind": "create-table", "schema": struct(column("a", "long"))})
    assert str(refused.value) == f"There is already a table at {table.location}."
    assert (refused.value.field, refused.value.table) == ("kind", table.location)


@pytest.mark.parametrize(
    ("asked", "field", "kind"),
    [
        ({"version": 7}, "version", VersionNotFound),
        ({"timestamp": "1999-01-01T00:00:00+00:00"}, "timestamp", TimestampOutOfRange),
    ],
)
def test_a_version_that_cannot_be_restored_is_refused_by_its_field(
    asked: dict[str, Any], field: str, kind: type[explorer.ExplorerError]
) -> None:
    with pytest.raises(kind) as refused:
        made_twice().plan({"kind": "restore", **asked})
    assert getattr(refused.value, "field", None) == field


def test_what_the_carried_actions_hold_besides_what_is_known_is_written_again() -> None:
    metadata = {"id": "m", "format": {"provider": "parquet", "options": {}}, "schemaString": small_logs.SCHEMA}
    made = {"metaData": {**metadata, "partitionColumns": [], "configuration": {}, "house": 1}}
    table = small_logs.table({0: [small_logs.PROTOCOL, made]})
    plan = table.plan({"kind": "set-description", "description": "x"})
    [written] = [line["metaData"] for line in plan.actions if "metaData" in line]
    assert isinstance(written, dict)
    assert (written["house"], written["description"]) == (1, "x")


def test_what_a_restored_file_holds_besides_what_is_known_comes_back_with_it() -> None:
    file = {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    added = {"add": {**file, "house": 7}}
    store = small_logs.new_store()
    small_logs.write(store, {0: [small_logs.PROTOCOL, small_logs.METADATA, added], 1: [small_logs.remove("a")]})
    store.put_if_absent("a", b"x")
    plan = explorer.Table(store).plan({"kind": "restore", "version": 0})
    [written] = [line["add"] for line in plan.actions if "add" in line]
    assert isinstance(written, dict)
    assert (written["path"], written["house"]) == ("a", 7)


def test_what_a_file_holds_besides_what_is_known_stays_where_it_gets_row_ids() -> None:
    file = {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    added = {"add": {**file, "stats": '{"numRecords":3}', "house": 7}}
    rules = protocol(1, 7, w="appendOnly invariants")
    table = small_logs.table({0: [rules, small_logs.METADATA, added]})
    plan = table.plan({"kind": "set-properties", "properties": {"delta.enableRowTracking": "true"}})
    [written] = [line["add"] for line in plan.actions if "add" in line]
    assert isinstance(written, dict)
    assert (written["path"], written["house"], written["baseRowId"]) == ("a", 7, 0)


def test_a_column_inside_an_array_that_refuses_nulls_is_refused_by_its_field() -> None:
    inner = StructType((StructField("x", "long", nullable=False),))
    with pytest.raises(InvalidIntent) as refused:
        needs_values(StructField("s", ArrayType(inner, contains_null=True)), ())
    assert refused.value.field == "fields"
    assert str(refused.value).startswith("s.element.x cannot be NOT NULL")


def test_every_clock_of_a_constraint_is_named() -> None:
    before = snapshot(schema=json.dumps(struct(column("a", "timestamp"))))
    made = proposal(before, "add-constraint", name="late", expression="a < now() AND a < current_timestamp()")
    [detail] = [str(guard.evidence["detail"]) for guard in made.guards if guard.name == "expression"]
    assert detail.startswith("It calls ")
    assert sorted(detail.removeprefix("It calls ").partition(":")[0].split(", ")) == ["current_timestamp", "now"]


def test_only_what_a_change_makes_illegal_stands_against_it() -> None:
    broken = protocol(1, 7, r="appendOnly", w="appendOnly")
    more = protocol(1, 7, r="appendOnly", w="appendOnly invariants")
    assert evolution_guard(broken, _upgrade(more)).status == "pass"
    found = evolution_guard(small_logs.PROTOCOL, _upgrade(protocol(1, 1, w="appendOnly")))
    assert (found.status, found.remedy) == ("fail", "Raise the protocol in another way.")
    assert found.evidence["detail"] == (
        "The protocol would be illegal: the writer version falls from 2 to 1; "
        "the features invariants would be lost; "
        "writerFeatures exist with writer version 7 and with no other (FEAT-004)."
    )


def _upgrade(after: Protocol) -> Proposal:
    return Proposal(operation="UPGRADE PROTOCOL", parameters={}, protocol=after)


def test_a_plan_shows_the_commit_as_it_would_be_with_who_and_what_writes_it() -> None:
    table = made_twice()
    plan = table.plan({"kind": "set-description", "description": "x"}, user="Ada", accept=["access"])
    assert (plan.read_version, plan.user, plan.accepted, plan.checked_rows) == (1, "Ada", ("access",), True)
    assert not table.plan({"kind": "set-description", "description": "x"}, check_rows=False).checked_rows
    assert plan.table_id == small_logs.METADATA.id
    info = plan.actions[0]["commitInfo"]
    assert isinstance(info, dict)
    committed = explorer.Table(table.store)
    assert committed.commit(plan).outcome == "committed"
    written = committed.history_record().commits[-1].info
    assert written is not None
    assert (info["txnId"], info["userName"], info["readVersion"]) == (plan.txn_id, "Ada", 1)
    assert (written.txn_id, written.user_name, written.read_version) == (plan.txn_id, "Ada", 1)
    assert info["engineInfo"] == written.engine_info
    assert info["isolationLevel"] == written.isolation_level
    assert isinstance(info["timestamp"], int)
    assert written.timestamp is not None
    assert 0 <= written.timestamp - info["timestamp"] < 600_000
