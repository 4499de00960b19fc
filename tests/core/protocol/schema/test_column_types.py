"""Wider types, NOT NULL, and column mapping switched on and off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.core.errors import InvalidIntent, UnsupportedFeature
from explorer.core.protocol.actions import DomainMetadata
from explorer.core.protocol.schema.data_types import type_name
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.schema.type_widening import check_type_changes
from explorer.core.transaction.guards.judge import Situation, judge
from tests.support.logs.small_logs import add
from tests.support.logs.small_proposals import proposal, protocol, snapshot
from tests.support.logs.small_schemas import (
    IDENTITY,
    MAPPED,
    NAME,
    NESTED,
    array,
    column,
    configuration,
    failed,
    field,
    guard,
    mapped,
    mapped_table,
    mapping,
    plain_table,
    schema_of,
    shape,
    struct,
)

WIDENING = protocol(3, 7, r="typeWidening", w="typeWidening invariants appendOnly")
ON = {"delta.enableTypeWidening": "true"}
TRACKED = protocol(2, 7, w="columnMapping columnMappingUsageTracking invariants appendOnly")

# The list of the protocol's section Type Widening, by hand.
ALLOWED = {
    "byte": ["short", "integer", "long", "double", "decimal(10,0)", "decimal(12,2)"],
    "short": ["integer", "long", "double", "decimal(10,0)", "decimal(38,28)"],
    "integer": ["long", "double", "decimal(10,0)", "decimal(11,1)"],
    "long": ["decimal(20,0)", "decimal(25,5)"],
    "float": ["double"],
    "date": ["timestamp_ntz"],
    "decimal(6,2)": ["decimal(7,2)", "decimal(8,4)", "decimal(38,2)"],
}
REFUSED = {
    "byte": ["float", "decimal(3,0)", "decimal(9,0)", "decimal(11,2)", "string", "boolean"],
    "short": ["byte", "float", "decimal(9,0)", "timestamp"],
    "integer": ["short", "float", "decimal(10,1)", "date"],
    "long": ["integer", "double", "decimal(19,0)", "decimal(20,1)", "timestamp"],
    "float": ["integer", "decimal(38,10)"],
    "double": ["float"],
    "date": ["timestamp", "string"],
    "timestamp_ntz": ["timestamp", "date"],
    "timestamp": ["timestamp_ntz"],
    "decimal(6,2)": ["decimal(6,3)", "decimal(5,2)", "decimal(7,4)", "double"],
    "string": ["binary", "integer"],
}


# --- wider types ------------------------------------------------------------------------------------------------------


@pytest.mark.conformance("TYPEWIDEN-003", "TYPEWIDEN-004")
@pytest.mark.parametrize(("before", "after"), [(old, new) for old, found in ALLOWED.items() for new in found])
def test_a_change_of_the_protocols_list_passes_and_is_recorded(before: str, after: str) -> None:
    table = plain_table(struct(field("c", before)), rules=WIDENING, properties=ON)
    made = proposal(table, "widen-type", column="c", type=after)
    assert failed(made) == []
    assert type_name(column(made, "c").type) == after
    assert column(made, "c").metadata == {"delta.typeChanges": [{"toType": after, "fromType": before}]}
    check_type_changes(schema_of(made), made.protocol or table.protocol)
    adds = made.protocol is not None and "timestampNtz" in (made.protocol.reader_features or ())
    assert adds is (after == "timestamp_ntz")


@pytest.mark.conformance("TYPEWIDEN-003")
@pytest.mark.parametrize(("before", "after"), [(old, new) for old, found in REFUSED.items() for new in found])
def test_any_other_change_fails(before: str, after: str) -> None:
    rules = protocol(3, 7, r="typeWidening timestampNtz", w="typeWidening timestampNtz invariants appendOnly")
    table = plain_table(struct(field("c", before)), rules=rules, properties=ON)
    assert failed(proposal(table, "widen-type", column="c", type=after)) == ["type-change"]


@pytest.mark.conformance("TYPEWIDEN-004")
@pytest.mark.parametrize(
    ("rules", "properties"),
    [
        (WIDENING, {}),
        (WIDENING, {"delta.enableTypeWidening": "false"}),
        (protocol(1, 2), ON),
    ],
)
def test_the_table_must_allow_wider_types(rules: object, properties: dict[str, str]) -> None:
    table = plain_table(struct(field("c", "byte")), rules=rules, properties=properties)
    assert failed(proposal(table, "widen-type", column="c", type="short")) == ["type-widening"]


@pytest.mark.conformance("TYPEWIDEN-004")
def test_changes_inside_arrays_and_maps_are_recorded_with_their_place_and_earlier_ones_stay() -> None:
    kind = struct(field("m", mapping("byte", array(array("byte"))), metadata={"comment": "kept"}))
    table = plain_table(kind, rules=WIDENING, properties=ON)
    first = proposal(table, "widen-type", column="m.key", type="short")
    assert json.loads(first.parameters["column"]) == {
        "name": "m.key",
        "type": "short",
        "nullable": False,
        "metadata": {},
    }
    again = plain_table(json.loads(schema_of(first).to_json()), rules=WIDENING, properties=ON)
    second = proposal(again, "widen-type", column="m.value.element.element", type="long")
    assert column(second, "m").metadata == {
        "comment": "kept",
        "delta.typeChanges": [
            {"toType": "short", "fromType": "byte", "fieldPath": "key"},
            {"toType": "long", "fromType": "byte", "fieldPath": "value.element.element"},
        ],
    }
    assert shape(second) == "struct<m:map<short,array<array<long>>>>"


@pytest.mark.conformance("TYPEWIDEN-004", "CM-007")
def test_the_nearest_struct_field_keeps_the_record_through_later_changes_of_columns() -> None:
    kind = struct(field("s", struct(field("x", "short"), field("y"))))
    rules = protocol(3, 7, r="typeWidening columnMapping", w="typeWidening columnMapping invariants appendOnly")
    made = proposal(mapped_table(kind, ON, rules=rules), "widen-type", column="s.x", type="integer")
    wide = snapshot(schema=schema_of(made).to_json(), rules=rules, properties=configuration(made))
    for change in (
        {"kind": "rename-column", "column": "s.x", "to": "z"},
        {"kind": "move-column", "column": "s.x", "at": "last"},
        {"kind": "set-column-comment", "column": "s.x", "comment": "c"},
        {"kind": "add-columns", "fields": [field("s.n")]},
        {"kind": "drop-columns", "columns": ["s.y"]},
    ):
        later = proposal(wide, change.pop("kind"), **change)
        (changed,) = [item for _, item in walk(schema_of(later)) if item.field_id == 2]
        assert changed.metadata["delta.typeChanges"] == [{"toType": "integer", "fromType": "short"}]


def test_a_column_that_an_expression_rests_on_keeps_its_type() -> None:
    kind = struct(
        field("a", "short"),
        field("b", "short"),
        field("g", "short", metadata={"delta.generationExpression": "a"}),
        field("f", "short"),
    )
    table = plain_table(kind, rules=WIDENING, properties={**ON, "delta.constraints.c": "b > 0"})
    assert failed(proposal(table, "widen-type", column="a", type="long")) == ["generated-columns"]
    assert failed(proposal(table, "widen-type", column="b", type="long")) == ["constraint-columns"]
    assert failed(proposal(table, "widen-type", column="g", type="long")) == ["generated-columns"]
    assert failed(proposal(table, "widen-type", column="f", type="long")) == []
    counting = plain_table(struct(field("i", "long", metadata=IDENTITY), field("v")), rules=WIDENING, properties=ON)
    assert failed(proposal(counting, "widen-type", column="i", type="decimal(20,0)")) == ["identity-columns"]
    text = {"__CHAR_VARCHAR_TYPE_STRING": "struct<c:char(2),n:smallint>"}
    spelt = struct(field("d", struct(field("c", "string"), field("n", "short")), metadata=text))
    table = plain_table(spelt, rules=WIDENING, properties=ON)
    assert failed(proposal(table, "widen-type", column="d.n", type="long")) == ["char-types"]


@pytest.mark.conformance("TYPEWIDEN-005")
def test_tables_kept_for_iceberg_are_not_written_at_all() -> None:
    rules = protocol(
        3,
        7,
        r="typeWidening columnMapping",
        w="typeWidening columnMapping icebergCompatV2 invariants appendOnly",
    )
    table = mapped_table(struct(field("c", "integer")), {**ON, "delta.enableIcebergCompatV2": "true"}, rules=rules)
    made = proposal(table, "widen-type", column="c", type="double")
    judged = {item.name: item.status for item in judge(Situation(table, made, "me"))}
    assert judged["protocol-allows-writer"] == "fail"


@pytest.mark.conformance("SCHEMA-016")
def test_a_void_column_takes_any_type_without_the_feature() -> None:
    table = plain_table(struct(field("id"), field("v", "void")))
    made = proposal(table, "widen-type", column="v", type="string")
    assert (failed(made), shape(made)) == ([], "struct<id:integer,v:string>")
    assert column(made, "v").metadata == {}


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("varchar(3)", "varchar(5)", "varchar(5)"),
        ("char(3)", "varchar(3)", "varchar(3)"),
        ("char(3)", "string", None),
        ("varchar(3)", "STRING", None),
    ],
)
def test_lengths_grow_without_the_feature(before: str, after: str, kept: str | None) -> None:
    table = plain_table(struct(field("c", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": before, "comment": "x"})))
    made = proposal(table, "widen-type", column="c", type=after)
    assert failed(made) == []
    assert column(made, "c").metadata == {"comment": "x"} | ({"__CHAR_VARCHAR_TYPE_STRING": kept} if kept else {})


@pytest.mark.parametrize(
    ("before", "after"),
    [("varchar(3)", "varchar(2)"), ("char(3)", "char(4)"), ("varchar(3)", "char(3)"), (None, "varchar(9)")],
)
def test_lengths_do_not_shrink_or_come_into_being(before: str | None, after: str) -> None:
    metadata = {} if before is None else {"__CHAR_VARCHAR_TYPE_STRING": before}
    table = plain_table(struct(field("c", "string", metadata=metadata)))
    assert failed(proposal(table, "widen-type", column="c", type=after)) == ["type-change"]


@pytest.mark.parametrize("kind", ["integer", "nonsense", "decimal(50,2)", "struct<a:int>", ""])
def test_a_type_that_is_none_or_the_same_is_refused(kind: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(plain_table(struct(field("c"))), "widen-type", column="c", type=kind)
    assert caught.value.field == "type"


def test_a_type_that_is_not_implemented_is_unsupported() -> None:
    with pytest.raises(UnsupportedFeature):
        proposal(plain_table(struct(field("c"))), "widen-type", column="c", type="geometry(ogc:crs84)")


# --- NOT NULL ---------------------------------------------------------------------------------------------------------


@pytest.mark.conformance("SCHEMA-006", "CONSTR-014")
def test_not_null_waits_for_a_look_at_every_row() -> None:
    table = snapshot(add("a"), schema=json.dumps(NESTED), rules=protocol(1, 1))
    made = proposal(table, "set-not-null", column="S.y")
    (check,) = made.row_checks
    assert check.expression == "`s`.`y` IS NOT NULL"
    assert (check.guard, made.reads_files, made.is_blind_append) == ("existing-rows", True, False)
    assert not column(made, "s.y").nullable
    assert made.protocol is not None
    assert made.protocol.min_writer_version >= 2


def test_a_table_without_files_has_no_row_to_look_at() -> None:
    made = proposal(plain_table(), "set-not-null", column="id")
    assert made.row_checks == ()
    assert guard(made, "existing-rows").status == "pass"


def test_names_are_quoted_in_the_predicate() -> None:
    table = snapshot(add("a"), schema=json.dumps(mapped(struct(field("a`b; DROP")))), rules=MAPPED, properties=NAME)
    (check,) = proposal(table, "set-not-null", column="`a``b; DROP`").row_checks
    assert check.expression == "`a``b; DROP` IS NOT NULL"


def test_not_null_is_refused_where_no_writer_keeps_it_and_where_it_is_already() -> None:
    for name in ("l.element.q", "m.value.k", "m"):
        with pytest.raises(InvalidIntent):
            proposal(plain_table(), "set-not-null", column=name)


def test_not_null_is_taken_away_without_looking() -> None:
    made = proposal(plain_table(), "drop-not-null", column="m")
    assert column(made, "m").nullable
    assert (made.row_checks, made.reads_files, made.is_blind_append) == ((), False, True)
    with pytest.raises(InvalidIntent, match="already allows nulls"):
        proposal(plain_table(), "drop-not-null", column="id")


# --- column mapping ---------------------------------------------------------------------------------------------------


@pytest.mark.conformance("CM-007", "CM-009", "CM-011", "CM-012")
@pytest.mark.parametrize(
    ("rules", "after"),
    [
        (protocol(1, 2), (2, 7)),
        (protocol(2, 5), None),
        (protocol(2, 6), None),
        (protocol(3, 7, r="deletionVectors", w="deletionVectors"), (3, 7)),
        (protocol(3, 7, r="columnMapping", w="columnMapping"), None),
    ],
)
def test_an_existing_table_is_mapped_to_the_names_its_files_have(rules: object, after: tuple[int, int] | None) -> None:
    made = proposal(plain_table(rules=rules, properties={"free": "1"}), "set-column-mapping", mode="name")
    assert failed(made) == []
    found = {".".join(path): (item.field_id, item.physical_name) for path, item in walk(schema_of(made))}
    expected = ["id", "s", "s.x", "s.y", "l", "l.element.q", "m", "m.value.k", "p"]
    assert found == {path: (place, path.split(".")[-1]) for place, path in enumerate(expected, 1)}
    assert configuration(made) == {"free": "1", **NAME, "delta.columnMapping.maxColumnId": "9"}
    if after is None:
        assert made.protocol is None
    else:
        assert made.protocol is not None
        assert (made.protocol.min_reader_version, made.protocol.min_writer_version) == after
        assert "columnMapping" in (made.protocol.writer_features or ())


@pytest.mark.conformance("CM-009")
def test_ids_rise_above_those_of_an_earlier_mapping() -> None:
    made = proposal(
        plain_table(properties={"delta.columnMapping.maxColumnId": "40"}), "set-column-mapping", mode="name"
    )
    assert configuration(made)["delta.columnMapping.maxColumnId"] == "49"


@pytest.mark.conformance("CMUSAGE-001")
def test_usage_tracking_begins_with_nothing_renamed() -> None:
    made = proposal(plain_table(rules=TRACKED), "set-column-mapping", mode="name")
    assert configuration(made)["delta.columnMapping.hasDroppedOrRenamed"] == "false"


@pytest.mark.conformance("CMUSAGE-001")
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(
    "intent",
    [
        {"kind": "enable-feature", "feature": "columnMappingUsageTracking"},
        {"kind": "set-properties", "properties": {"delta.feature.columnMappingUsageTracking": "supported", **NAME}},
    ],
    ids=["alone", "with the mapping"],
)
def test_usage_tracking_that_comes_later_knows_nothing_of_columns_mapped_before(
    intent: dict[str, Any], mapped: bool
) -> None:
    made = proposal(mapped_table() if mapped else plain_table(), **intent)
    assert failed(made) == []
    assert made.protocol is not None
    assert "columnMappingUsageTracking" in (made.protocol.writer_features or ())
    assert configuration(made)["delta.columnMapping.hasDroppedOrRenamed"] == ("true" if mapped else "false")


@pytest.mark.conformance("CM-012")
@pytest.mark.parametrize(("before", "after"), [("none", "id"), ("name", "id"), ("id", "name")])
def test_other_changes_of_the_mode_fail(before: str, after: str) -> None:
    table = plain_table() if before == "none" else mapped_table(properties={"delta.columnMapping.mode": before})
    assert failed(proposal(table, "set-column-mapping", mode=after)) == ["mapping-mode"]
    assert failed(proposal(table, "set-properties", properties={"delta.columnMapping.mode": after})) == ["mapping-mode"]


@pytest.mark.conformance("CM-012", "CM-015")
def test_the_mapping_comes_off_a_table_without_files_alone() -> None:
    rules = protocol(2, 7, w="columnMapping domainMetadata clustering invariants appendOnly")
    clustered = DomainMetadata(
        domain="delta.clustering", configuration=json.dumps({"clusteringColumns": [["col-2", "col-3"]]})
    )
    properties = {**NAME, "delta.columnMapping.maxColumnId": "20", "free": "1"}
    schema = json.dumps(mapped(NESTED))
    empty = snapshot(clustered, rules=rules, properties=properties, schema=schema)
    made = proposal(empty, "set-column-mapping", mode="none")
    assert failed(made) == []
    assert json.loads(schema_of(made).to_json()) == NESTED
    assert configuration(made) == {"free": "1", "delta.columnMapping.mode": "none"}
    (domain,) = made.domains
    assert json.loads(domain.configuration)["clusteringColumns"] == [["s", "x"]]
    full = snapshot(add("a"), rules=MAPPED, properties=properties, schema=schema)
    assert failed(proposal(full, "set-column-mapping", mode="none")) == ["mapping-mode"]


@pytest.mark.conformance("SCHEMA-009")
def test_the_mapping_stays_where_names_would_not_be_valid_without_it() -> None:
    table = mapped_table(struct(field("a b"), field("c")))
    made = proposal(table, "set-column-mapping", mode="none")
    assert failed(made) == ["column-names"]
    assert guard(made, "column-names").remedy == "Rename these columns first."


@pytest.mark.parametrize("mode", ["names", "", "none"])
def test_a_mode_that_is_none_or_the_same_is_refused(mode: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(plain_table(), "set-column-mapping", mode=mode)
    assert caught.value.field == "mode"
