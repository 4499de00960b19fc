"""New tables: what version 0 holds, and what makes no table."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent, NotAllowed
from explorer.core.protocol.table_features import supported_features
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals.create_table import create_table
from explorer.new_table import NewTable, new_table
from explorer.storage import open_store
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import circumstances
from tests.support.logs.small_schemas import (
    IDENTITY,
    NESTED,
    array,
    column,
    configuration,
    failed,
    field,
    guard,
    shape,
    struct,
)

DEFAULTS = {"delta.feature.allowColumnDefaults": "supported"}


def _create(
    *fields: dict[str, Any],
    partition: list[str] | None = None,
    properties: Mapping[str, str] | None = None,
    **more: Any,
) -> Proposal:
    document = {"kind": "create-table", "schema": struct(*fields), "properties": dict(properties or {}), **more}
    intent: Any = parse_intent(document | ({} if partition is None else {"partitionColumns": partition}))
    return create_table(intent, circumstances())


def _versions(made: Proposal) -> tuple[int, int]:
    assert made.protocol is not None
    return made.protocol.min_reader_version, made.protocol.min_writer_version


@pytest.mark.conformance("LOG-021", "META-001", "META-005", "META-010", "PROTO-011", "SCHEMA-001")
def test_version_0_holds_a_protocol_and_whole_metadata() -> None:
    made = _create(*NESTED["fields"], partition=["P"], name="n", description="d", properties={"free": "1"})
    assert _versions(made) == (1, 2)
    assert made.metadata is not None
    wire = msgspec.json.decode(msgspec.json.encode(made.metadata.to_wire()))
    assert str(uuid.UUID(wire["id"])) == wire.pop("id")
    assert json.loads(wire.pop("schemaString")) == NESTED
    assert wire == {
        "name": "n",
        "description": "d",
        "format": {"provider": "parquet", "options": {}},
        "partitionColumns": ["p"],
        "configuration": {"free": "1"},
        "createdTime": 1_700_000_000_000,
    }
    assert made.parameters == {
        "partitionBy": '["p"]',
        "clusterBy": "[]",
        "description": "d",
        "isManaged": "false",
        "properties": '{"free":"1"}',
    }
    assert failed(made) == []


@pytest.mark.conformance("FEAT-005")
@pytest.mark.parametrize(
    ("fields", "properties", "versions", "features"),
    [
        ([field("a")], {"delta.appendOnly": "true"}, (1, 2), set()),
        ([field("a")], {"delta.minReaderVersion": "1", "delta.minWriterVersion": "1"}, (1, 1), set()),
        ([field("a")], {"delta.minReaderVersion": "2", "delta.minWriterVersion": "6"}, (2, 6), {"identityColumns"}),
        ([field("a")], {"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"}, (3, 7), {"invariants"}),
        ([field("a")], {"delta.feature.checkConstraints": "supported"}, (1, 3), {"checkConstraints"}),
        ([field("a")], {"delta.enableChangeDataFeed": "true"}, (1, 7), {"changeDataFeed"}),
        ([field("a")], {"delta.enableDeletionVectors": "true"}, (3, 7), {"deletionVectors"}),
        ([field("a")], {"delta.checkpointPolicy": "v2"}, (3, 7), {"v2Checkpoint"}),
        ([field("a")], {"delta.enableRowTracking": "true"}, (1, 7), {"rowTracking", "domainMetadata"}),
        ([field("a")], {"delta.columnMapping.mode": "id"}, (2, 7), {"columnMapping"}),
        ([field("a", array("timestamp_ntz"))], {}, (3, 7), {"timestampNtz"}),
        ([field("a", "variant")], {}, (3, 7), {"variantType"}),
        ([field("a", "long", metadata=IDENTITY)], {}, (1, 7), {"identityColumns"}),
        ([field("a"), field("b", metadata={"delta.generationExpression": "a"})], {}, (1, 7), {"generatedColumns"}),
        ([field("a", metadata={"CURRENT_DEFAULT": "1"})], DEFAULTS, (1, 7), {"allowColumnDefaults"}),
        (
            [field("a", nullable=False)],
            {"delta.minReaderVersion": "1", "delta.minWriterVersion": "1"},
            (1, 7),
            {"invariants"},
        ),
    ],
)
def test_the_protocol_is_the_least_that_the_table_needs(
    fields: list[dict[str, Any]], properties: dict[str, str], versions: tuple[int, int], features: set[str]
) -> None:
    made = _create(*fields, properties=properties)
    assert _versions(made) == versions
    assert made.protocol is not None
    assert features <= {*supported_features(made.protocol)}
    assert not any(key.startswith(("delta.feature.", "delta.min")) for key in configuration(made))


@pytest.mark.conformance("CM-007", "CM-009", "CM-010")
@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_of_a_mapped_table_get_names_of_their_own(mode: str) -> None:
    made = _create(*NESTED["fields"], field("a b"), properties={"delta.columnMapping.mode": mode})
    assert failed(made) == []
    assert configuration(made)["delta.columnMapping.maxColumnId"] == "10"
    assert [column(made, name).field_id for name in ("id", "s", "s.x", "l.element.q", "a b")] == [1, 2, 3, 6, 10]
    assert column(made, "m.value.k").physical_name.startswith("col-")


@pytest.mark.conformance("CMUSAGE-001", "CMUSAGE-002")
def test_a_table_with_usage_tracking_begins_with_plain_names() -> None:
    unmapped = _create(field("a"), properties={"delta.feature.columnMappingUsageTracking": "supported"})
    assert configuration(unmapped)["delta.columnMapping.hasDroppedOrRenamed"] == "false"
    properties = {"delta.columnMapping.mode": "name", "delta.feature.columnMappingUsageTracking": "supported"}
    made = _create(field("a"), properties=properties)
    assert column(made, "a").physical_name == "a"
    assert configuration(made)["delta.columnMapping.hasDroppedOrRenamed"] == "false"


@pytest.mark.conformance("ROWTRACK-005")
def test_row_tracking_gets_the_names_of_its_columns() -> None:
    found = configuration(_create(field("a"), properties={"delta.enableRowTracking": "true"}))
    assert found["delta.rowTracking.materializedRowIdColumnName"].startswith("_row-id-col-")
    assert found["delta.rowTracking.materializedRowCommitVersionColumnName"].startswith("_row-commit-version-col-")


@pytest.mark.conformance("SCHEMA-008")
@pytest.mark.parametrize(
    "fields", [[field("a"), field("A")], [field("s", struct(field("x"), field("X")))], [field("")]]
)
def test_names_are_unique_ignoring_case(fields: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidIntent) as caught:
        _create(*fields)
    assert caught.value.field == "schema"


@pytest.mark.conformance("SCHEMA-009", "CDF-016")
def test_names_that_files_or_the_change_feed_do_not_bear_fail() -> None:
    assert failed(_create(field("a b"))) == ["column-names"]
    assert failed(_create(field("s", struct(field("x=1"))))) == ["column-names"]
    assert failed(_create(field("_Change_type"), properties={"delta.enableChangeDataFeed": "true"})) == ["column-names"]
    assert failed(_create(field("a b"), properties={"delta.columnMapping.mode": "name"})) == []


@pytest.mark.conformance("META-007")
def test_a_partition_column_may_be_named_as_it_is_or_in_backticks() -> None:
    mapped = {"delta.columnMapping.mode": "name"}
    for name in ("a.b `c`", "`a.b ``c```", "`A.B ``c```"):
        made = _create(field("a.b `c`"), field("v"), partition=[name], properties=mapped)
        assert made.metadata is not None
        assert made.metadata.partition_columns == ("a.b `c`",)


@pytest.mark.conformance("META-007", "VARIANT-002")
@pytest.mark.parametrize(
    "partition",
    [["nope"], ["s.x"], ["p", "P"], ["s"], ["l"], ["m"], ["v"], ["n"], ["id", "p", "s", "l", "m", "v", "n"]],
)
def test_partition_columns_that_cannot_be_are_refused(partition: list[str]) -> None:
    fields = [*NESTED["fields"], field("v", "variant"), field("n", "void")]
    with pytest.raises(InvalidIntent) as caught:
        _create(*fields, partition=partition)
    assert caught.value.field == "partitionColumns"
    with pytest.raises(InvalidIntent, match="Not every column"):
        _create(field("a"), field("b"), partition=["a", "b"])


@pytest.mark.conformance("IDENT-001")
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("integer", {}),
        ("long", {"delta.identity.step": 0}),
        ("long", {"delta.identity.start": "1"}),
        ("long", {"delta.identity.start": 2**63}),
        ("long", {"delta.identity.step": None}),
        ("long", {"delta.identity.allowExplicitInsert": "false"}),
        ("long", {"CURRENT_DEFAULT": "1"}),
        ("long", {"delta.generationExpression": "v"}),
    ],
)
def test_an_identity_column_that_cannot_count_is_refused(kind: str, change: dict[str, Any]) -> None:
    given = {key: value for key, value in {**IDENTITY, **change}.items() if value is not None}
    with pytest.raises(InvalidIntent) as caught:
        _create(field("i", kind, metadata=given), field("v"), properties=DEFAULTS)
    assert caught.value.column == "i"


@pytest.mark.conformance("IDENT-008")
def test_no_table_is_partitioned_by_identity_nor_given_a_mark() -> None:
    with pytest.raises(InvalidIntent, match="cannot be a partition column"):
        _create(field("i", "long", metadata=IDENTITY), field("v"), partition=["i"])
    with pytest.raises(InvalidIntent, match="highWaterMark"):
        _create(field("i", "long", metadata={**IDENTITY, "delta.identity.highWaterMark": 9}))


@pytest.mark.conformance("GENCOL-003", "VARIANT-002")
@pytest.mark.parametrize(
    ("kind", "expression"),
    [
        ("double", "rand()"),
        ("long", "r2 + 1"),
        ("long", "nope + 1"),
        ("date", "current_date()"),
        ("long", "(SELECT 1)"),
        ("long", "sum(id)"),
        ("string", "reflect('java.lang.System', 'exit')"),
        ("long", "id) OR (id"),
        ("long", "'open"),
        ("variant", "id"),
        ("long", ""),
        ("long", 7),
    ],
)
def test_a_column_that_cannot_be_computed_is_refused(kind: str, expression: Any) -> None:
    fields = [
        field("id", "long"),
        field("r", kind, metadata={"delta.generationExpression": expression}),
        field("r2", "long", metadata={"delta.generationExpression": "id"}),
    ]
    with pytest.raises(InvalidIntent) as caught:
        _create(*fields)
    assert caught.value.field == "schema"


@pytest.mark.conformance("GENCOL-003")
def test_a_variant_may_feed_a_generated_column() -> None:
    expression = "variant_get(v, '$.a', 'int')"
    made = _create(field("v", "variant"), field("g", metadata={"delta.generationExpression": expression}))
    assert column(made, "g").metadata == {"delta.generationExpression": expression}


def test_whether_an_expression_has_the_type_of_its_column_is_for_spark_to_say() -> None:
    made = _create(field("a"), field("g", "string", metadata={"delta.generationExpression": "upper(a)"}))
    assert guard(made, "generated-types").status == "unknown"


@pytest.mark.conformance("DEFCOL-001", "DEFCOL-004")
@pytest.mark.parametrize(
    ("kind", "default", "features", "passes"),
    [
        ("integer", "40 + 2", DEFAULTS, True),
        ("date", "DATE'2020-02-02'", DEFAULTS, True),
        ("date", "current_date()", DEFAULTS, True),
        ("boolean", "true", DEFAULTS, True),
        ("variant", "NULL", DEFAULTS, True),
        ("variant", "parse_json('1')", DEFAULTS, False),
        ("integer", "other + 1", DEFAULTS, False),
        ("integer", "(SELECT 1)", DEFAULTS, False),
        ("integer", "1", {}, False),
    ],
)
def test_a_default_is_a_constant_and_needs_its_feature(
    kind: str, default: str, features: dict[str, str], passes: bool
) -> None:
    fields = [field("a", kind, metadata={"CURRENT_DEFAULT": default}), field("other")]
    if passes:
        assert column(_create(*fields, properties=features), "a").metadata == {"CURRENT_DEFAULT": default}
        return
    with pytest.raises(InvalidIntent) as caught:
        _create(*fields, properties=features)
    assert caught.value.field == "schema"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        {"type": "struct"},
        {"type": "struct", "fields": []},
        {"type": "struct", "fields": {}},
        {"type": "struct", "fields": ["a"]},
        {"type": "struct", "fields": [field("a")], "more": 1},
        {"type": "struct", "fields": [field("a", "void")]},
        {"type": "struct", "fields": [field("a", metadata={"delta.columnMapping.id": 1})]},
        {"type": "struct", "fields": [field("a", array(struct(field("b", nullable=False))))]},
    ],
)
def test_what_is_no_schema_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidIntent) as caught:
        create_table(parse_intent({"kind": "create-table", "schema": schema}), circumstances())  # type: ignore[arg-type]  # its kind is given
    assert caught.value.field == "schema"


@pytest.mark.parametrize(
    "properties",
    [
        {"delta.appendOnly": "maybe"},
        {"delta.unknown": "1"},
        {"delta.minReaderVersion": "2", "delta.minWriterVersion": "4"},
        pytest.param({"delta.columnMapping.maxColumnId": "5"}, marks=pytest.mark.conformance("CM-009")),
        {"delta.dataSkippingStatsColumns": "nope"},
        {"delta.constraints.c": "a > 0"},
        {"owner": "ann"},
    ],
)
def test_properties_that_cannot_be_are_refused(properties: dict[str, str]) -> None:
    with pytest.raises(InvalidIntent) as caught:
        _create(field("a"), properties=properties)
    assert caught.value.field


# --- the place --------------------------------------------------------------------------------------------------------

INTENT = {"kind": "create-table", "schema": struct(field("a")), "properties": {"delta.checkpointInterval": "1"}}


@pytest.mark.conformance("LOG-002", "LOG-005", "ICT-001")
def test_a_place_becomes_a_table_once() -> None:
    store = small_logs.new_store()
    first, second = NewTable(store), NewTable(store)
    properties = {"delta.enableInCommitTimestamps": "true"}
    plans = [place.plan({**INTENT, "properties": properties}, user="me") for place in (first, second)]
    assert [plan.commit_version for plan in plans] == [0, 0]
    result = first.commit(plans[0], reason="because")
    assert (result.outcome, result.version, result.notes) == ("committed", 0, ())
    lost = second.commit(plans[1])
    assert lost.outcome == "conflicted"
    assert lost.conflict is not None
    assert lost.conflict.version == 0
    again = first.commit(plans[0])
    assert (again.outcome, again.version) == ("committed", 0)
    table = first.open()
    assert table.latest_version() == 0
    info = json.loads(table.commit_actions(0)[0])["commitInfo"]
    assert "inCommitTimestamp" in info
    assert "readVersion" not in info
    assert (info["userMetadata"], info["operation"]) == ("because", "CREATE TABLE")
    for use in (lambda: first.plan(INTENT), lambda: table.plan(INTENT)):
        with pytest.raises(InvalidIntent, match="already"):
            use()


def test_nothing_is_made_where_other_files_lie() -> None:
    store = small_logs.new_store()
    store.put_if_absent("part-0.parquet", b"PAR1")
    place = NewTable(store)
    plan = place.plan(INTENT)
    assert [item.name for item in plan.blocking] == ["location-free"]
    assert place.commit(plan).outcome == "rejected"
    assert place.latest_version() == -1


def test_nothing_is_made_inside_another_table(tmp_path: Path) -> None:
    outer = tmp_path / "a b" / "orders"
    small_logs.write(open_store(outer), {0: (small_logs.PROTOCOL, small_logs.METADATA)})
    for inside in ("new", "deep/er/new"):
        place = new_table(outer / inside)
        plan = place.plan(INTENT)
        (blocking,) = plan.blocking
        assert (blocking.name, blocking.evidence["location"]) == ("outside-other-tables", str(outer))
        assert place.commit(plan).outcome == "rejected"
    for beside in (outer.parent / "new", outer.parent / "orders new", tmp_path / "a b" / "ord"):
        assert new_table(beside).plan(INTENT).blocking == ()
    # What lies beyond the places that may be used is not looked at.
    assert new_table(outer / "new", roots=[str(outer / "new")]).plan(INTENT).blocking == ()


def test_a_folder_that_cannot_be_looked_into_leaves_the_guard_unknown(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").symlink_to("_delta_log")  # a link to itself can be neither listed nor read
    place = new_table(tmp_path / "new")
    assert [(guard.name, guard.status) for guard in place.plan(INTENT).blocking] == [
        ("outside-other-tables", "unknown")
    ]
    accepted = place.plan(INTENT, accept=["outside-other-tables"])
    assert place.commit(accepted).outcome == "committed"


def test_a_place_for_reading_alone_refuses() -> None:
    place = NewTable(small_logs.new_store(), read_only=True)
    with pytest.raises(NotAllowed):
        place.commit(place.plan(INTENT))


def test_other_intents_need_a_table() -> None:
    with pytest.raises(InvalidIntent, match="create-table"):
        NewTable(small_logs.new_store()).plan({"kind": "set-description", "description": "d"})


def test_a_new_table_takes_every_further_change() -> None:
    place = NewTable(small_logs.new_store())
    place.commit(place.plan(INTENT))
    table = place.open()
    for change in (
        {"kind": "set-column-mapping", "mode": "name"},
        {"kind": "add-columns", "fields": [field("b", "short", nullable=False)], "at": "first"},
        {"kind": "rename-column", "column": "a", "to": "c d"},
        {"kind": "set-properties", "properties": {"delta.enableTypeWidening": "true"}},
        {"kind": "widen-type", "column": "b", "type": "long"},
        {"kind": "set-not-null", "column": "c d"},
    ):
        assert table.commit(table.plan(change)).outcome == "committed", change
    snapshot: explorer.Snapshot = table.snapshot()
    assert snapshot.version == 6
    assert shape(snapshot) == "struct<b:long,c d:integer>"
    assert msgspec.json.decode(table.commit_actions(0)[1]).keys() == {"protocol"}
