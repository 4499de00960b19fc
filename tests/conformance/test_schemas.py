"""The schema text, column mapping inside it, and the type changes it records."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from explorer.core.errors import CorruptTable, RequestError, UnsupportedFeature
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.arrow.arrow_types import arrow_schema, to_arrow
from explorer.core.protocol.schema.column_mapping import check_mapping, physical_paths
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_schema,
    parse_type,
)
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.schema.type_widening import widens
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, table

INTEGER, LONG = PrimitiveType("integer"), PrimitiveType("long")
APPENDIX = {
    "type": "struct",
    "fields": [
        {"name": "a", "type": "integer", "nullable": False, "metadata": {}},
        {
            "name": "b",
            "type": {"type": "struct", "fields": [{"name": "d", "type": "integer", "nullable": False, "metadata": {}}]},
            "nullable": True,
            "metadata": {},
        },
        {
            "name": "c",
            "type": {"type": "array", "elementType": "integer", "containsNull": False},
            "nullable": True,
            "metadata": {},
        },
        {
            "name": "e",
            "type": {
                "type": "array",
                "elementType": {
                    "type": "struct",
                    "fields": [{"name": "d", "type": "integer", "nullable": False, "metadata": {}}],
                },
                "containsNull": True,
            },
            "nullable": True,
            "metadata": {},
        },
        {
            "name": "f",
            "type": {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True},
            "nullable": True,
            "metadata": {},
        },
    ],
}


def _one(kind: Any, **metadata: Any) -> StructType:
    field = {"name": "c", "type": kind, "nullable": True, "metadata": metadata}
    return parse_schema(json.dumps({"type": "struct", "fields": [field]}))


@pytest.mark.conformance("SCHEMA-001", "SCHEMA-004", "SCHEMA-005", "SCHEMA-006")
def test_the_sample_of_the_appendix_is_read_and_written_as_it_stands() -> None:
    inner = StructType((StructField("d", INTEGER, False),))
    expected = (
        StructField("a", INTEGER, False),
        StructField("b", inner),
        StructField("c", ArrayType(INTEGER, False)),
        StructField("e", ArrayType(inner)),
        StructField("f", MapType(PrimitiveType("string"), PrimitiveType("string"))),
    )
    parsed = parse_schema(json.dumps(APPENDIX))
    assert parsed.fields == expected
    assert json.loads(parsed.to_json()) == APPENDIX


@pytest.mark.conformance("SCHEMA-002")
@pytest.mark.parametrize(
    ("name", "arrow"),
    [
        ("string", pa.string()),
        ("long", pa.int64()),
        ("integer", pa.int32()),
        ("short", pa.int16()),
        ("byte", pa.int8()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("boolean", pa.bool_()),
        ("binary", pa.binary()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", "UTC")),
    ],
)
def test_each_primitive_type_is_known(name: str, arrow: pa.DataType) -> None:
    schema = _one(name)
    assert schema.fields[0].type == PrimitiveType(name)
    assert to_arrow(schema.fields[0].type).equals(arrow)
    assert json.loads(schema.to_json())["fields"][0]["type"] == name


@pytest.mark.conformance("SCHEMA-003")
@pytest.mark.parametrize(
    ("text", "precision", "scale"),
    [("decimal(10,2)", 10, 2), ("decimal(6, 2)", 6, 2), ("decimal", 10, 0), ("decimal(38,38)", 38, 38)],
)
def test_decimals_in_every_spelling(text: str, precision: int, scale: int) -> None:
    schema = _one(text)
    assert schema.fields[0].type == PrimitiveType("decimal", precision, scale)
    assert json.loads(schema.to_json())["fields"][0]["type"] == f"decimal({precision},{scale})"


@pytest.mark.conformance("SCHEMA-003")
@pytest.mark.parametrize("text", ["decimal(39,0)", "decimal(5,6)", "decimal(0,0)", "decimal(-1,0)", "decimal(5)"])
def test_decimals_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(CorruptTable, match="decimal"):
        _one(text)


@pytest.mark.conformance("SCHEMA-004")
def test_arrays_of_arrays_keep_what_each_level_says_of_nulls() -> None:
    inner = {"type": "array", "elementType": "long", "containsNull": False}
    kind = _one({"type": "array", "elementType": inner, "containsNull": True}).fields[0].type
    assert kind == ArrayType(ArrayType(LONG, False), True)
    assert to_arrow(kind).value_type.value_field.nullable is False


@pytest.mark.conformance("SCHEMA-005")
def test_a_map_without_a_word_on_nulls_allows_them_in_values_and_never_in_keys() -> None:
    schema = _one({"type": "map", "keyType": "string", "valueType": "long"})
    kind = schema.fields[0].type
    assert kind == MapType(PrimitiveType("string"), LONG, True)
    assert json.loads(schema.to_json())["fields"][0]["type"]["valueContainsNull"] is True
    assert to_arrow(kind).key_field.nullable is False


@pytest.mark.conformance("SCHEMA-006")
def test_fields_that_must_not_be_null_say_so_at_every_depth() -> None:
    schema = parse_schema(json.dumps(APPENDIX))
    required = {path for path, field in walk(schema) if not field.nullable}
    assert required == {("a",), ("b", "d"), ("e", "element", "d")}
    assert arrow_schema(schema).field("a").nullable is False


@pytest.mark.conformance("SCHEMA-007", "SCHEMA-021")
def test_field_metadata_is_kept_whatever_it_holds() -> None:
    metadata = {
        "comment": 'it\'s a \u0000 "name"',
        "__CHAR_VARCHAR_TYPE_STRING": "varchar(12)",
        "delta.unheardOf": {"deep": [1, None, 1.5]},
        "big": 9007199254740993,
    }
    schema = _one("string", **metadata)
    assert schema.fields[0].type == PrimitiveType("string")
    assert json.loads(schema.to_json())["fields"][0]["metadata"] == metadata
    assert parse_schema(schema.to_json()) == schema


@pytest.mark.conformance("SCHEMA-010")
def test_a_column_is_found_whatever_its_case_and_keeps_its_own() -> None:
    fields = [{"name": "OrderId", "type": "long"}, {"name": "id", "type": "long"}, {"name": "ID", "type": "string"}]
    schema = parse_schema(json.dumps({"type": "struct", "fields": fields}))
    found = schema.field("orderid")
    assert found is not None
    assert found.name == "OrderId"
    exact = schema.field("ID")
    assert exact is not None
    assert exact.type == PrimitiveType("string")
    snapshot = table({0: (PROTOCOL, METADATA, add("a"))}).snapshot()
    assert snapshot.column_ranges("ID").num_rows == 1
    with pytest.raises(RequestError):
        snapshot.column_ranges("other")


def _mapped(name: str, number: Any, physical: Any, kind: Any = "long") -> dict[str, Any]:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    kept = {key: value for key, value in metadata.items() if value is not None}
    return {"name": name, "type": kind, "nullable": True, "metadata": kept}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def _listed(element: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


@pytest.mark.conformance("CM-014")
def test_paths_inside_collections_say_element_key_and_value() -> None:
    inner = _struct(_mapped("x", 2, "col-2"))
    kinds = {
        "type": "map",
        "keyType": inner,
        "valueType": {"type": "array", "elementType": _struct(_mapped("y", 3, "col-3")), "containsNull": True},
    }
    schema = parse_schema(json.dumps(_struct(_mapped("m", 1, "col-1", kinds))))
    assert physical_paths(schema, "id") == {
        ("m",): ("col-1",),
        ("m", "key", "x"): ("col-1", "key", "col-2"),
        ("m", "value", "element", "y"): ("col-1", "value", "element", "col-3"),
    }


@pytest.mark.conformance("CM-016")
@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize(
    ("fields", "maximum", "reason"),
    [
        ([_mapped("a", 1, "x"), _mapped("b", 1, "y")], "2", "share id 1"),
        ([_mapped("a", 1, "x"), _mapped("b", 2, "x")], "2", "share a physical name"),
        ([_mapped("a", None, "x")], "2", "no column-mapping id"),
        ([_mapped("a", 1, None)], "2", "no column-mapping id or physical name"),
        *(([_mapped("a", number, "x")], "2", "not an integer") for number in (1.5, True, "1_0", "x", [], {})),
        ([_mapped("a", 3, "x")], "2", "maxColumnId is 2"),
        ([_mapped("s", 1, "x", _struct(_mapped("a", 2, "y"), _mapped("b", 2, "z")))], "2", "share id 2"),
        ([_mapped("s", 1, "x", _struct(_mapped("a", None, "y")))], None, "no column-mapping id"),
        ([_mapped("s", 1, "x", _struct(_mapped("a", 2, None)))], None, "no column-mapping id or physical name"),
        ([_mapped("s", 1, "x", _struct(_mapped("a", 2, "y"), _mapped("b", 3, "y")))], "3", "share a physical name"),
        ([_mapped("l", 1, "x", _listed(_struct(_mapped("a", 1, "y"))))], "1", "share id 1"),
        ([_mapped("l", 1, "x", _listed(_struct(_mapped("a", None, None))))], "1", "no column-mapping id"),
        ([_mapped("l", 1, "x", _listed(_struct(_mapped("a", 2, "y"))))], "1", "maxColumnId is 1"),
    ],
)
def test_a_mapping_that_contradicts_itself_is_refused(
    fields: list[dict[str, Any]], maximum: str | None, reason: str, mode: str
) -> None:
    configuration = {"delta.columnMapping.mode": mode} | (
        {"delta.columnMapping.maxColumnId": maximum} if maximum else {}
    )
    metadata = Metadata(id="x", schema_string=json.dumps(_struct(*fields)), configuration=configuration)
    with pytest.raises(CorruptTable, match=reason):
        table({0: (Protocol(min_reader_version=2, min_writer_version=5), metadata)}).snapshot()


@pytest.mark.conformance("CM-016")
def test_one_physical_name_at_two_places_is_no_contradiction() -> None:
    fields = (_mapped("a", 1, "x"), _mapped("s", 2, "y", _struct(_mapped("a", 3, "x"))))
    check_mapping(parse_schema(json.dumps(_struct(*fields))), "name", 3)


WIDENING = Protocol(
    min_reader_version=3, min_writer_version=7, reader_features=("typeWidening",), writer_features=("typeWidening",)
)


def _changed(*changes: dict[str, Any], kind: Any = "long") -> Metadata:
    field = {"name": "c", "type": kind, "nullable": True, "metadata": {"delta.typeChanges": list(changes)}}
    return Metadata(id="x", schema_string=json.dumps(_struct(field)))


@pytest.mark.conformance("TYPEWIDEN-002")
@pytest.mark.parametrize(
    ("before", "after"), [("string", "integer"), ("long", "double"), ("long", "decimal(19,0)"), ("timestamp", "date")]
)
@pytest.mark.parametrize("feature", ["typeWidening", "typeWidening-preview"])
def test_a_recorded_type_change_that_no_reader_carries_out_is_refused(before: str, after: str, feature: str) -> None:
    protocol = Protocol(
        min_reader_version=3, min_writer_version=7, reader_features=(feature,), writer_features=(feature,)
    )
    metadata = _changed({"fromType": "short", "toType": "integer"}, {"fromType": before, "toType": after})
    with pytest.raises(UnsupportedFeature, match=before) as caught:
        table({0: (protocol, metadata)}).snapshot()
    assert caught.value.column == "c"


@pytest.mark.conformance("TYPEWIDEN-002")
@pytest.mark.parametrize("place", [(), ("elementType",), ("keyType",), ("valueType", "elementType")])
def test_a_recorded_type_change_is_found_at_every_depth(place: tuple[str, ...]) -> None:
    kind: Any = _struct(
        {"name": "x", "type": "long", "metadata": {"delta.typeChanges": [{"fromType": "string", "toType": "long"}]}}
    )
    for name in reversed(place):
        inside = {"keyType": "long", "valueType": "long", name: kind}
        kind = {"type": "array", name: kind} if name == "elementType" else {"type": "map", **inside}
    metadata = Metadata(id="x", schema_string=json.dumps(_struct({"name": "c", "type": kind})))
    with pytest.raises(UnsupportedFeature, match="string"):
        table({0: (WIDENING, metadata)}).snapshot()


@pytest.mark.conformance("TYPEWIDEN-002")
def test_the_recorded_changes_of_the_samples_are_read() -> None:
    element = {"fieldPath": "element.value", "fromType": "decimal(6, 2)", "toType": "decimal(10, 4)"}
    steps = ({"fromType": "short", "toType": "integer"}, {"fromType": "integer", "toType": "long"})
    key = {"fieldPath": "key", "fromType": "float", "toType": "double"}
    for metadata in (_changed(*steps), _changed(key), _changed(element)):
        assert table({0: (WIDENING, metadata)}).snapshot().schema.fields[0].name == "c"


@pytest.mark.conformance("TYPEWIDEN-002")
def test_a_record_of_a_type_change_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(CorruptTable, match=r"delta\.typeChanges"):
        table({0: (WIDENING, _changed({"toType": "long"}))}).snapshot()


@pytest.mark.conformance("TYPEWIDEN-002", "TYPEWIDEN-003")
@pytest.mark.parametrize(
    ("before", "after", "legal"),
    [
        ("byte", "long", True),
        ("long", "integer", False),
        ("float", "double", True),
        ("integer", "double", True),
        ("long", "double", False),
        ("date", "timestamp_ntz", True),
        ("date", "timestamp", False),
        ("long", "decimal(20,0)", True),
        ("long", "decimal(19,0)", False),
        ("integer", "decimal(11,1)", True),
        ("integer", "decimal(10,1)", False),
        ("decimal(6,2)", "decimal(10,4)", True),
        ("decimal(6,2)", "decimal(7,4)", False),
        ("decimal(6,2)", "decimal(6,1)", False),
        ("decimal(5,2)", "decimal(5,2)", True),
        ("decimal(5,2)", "decimal(6,2)", True),
        ("decimal(5,2)", "decimal(6,3)", True),
        ("decimal(5,2)", "decimal(5,3)", False),
        ("decimal(5,2)", "decimal(6,1)", False),
        ("decimal(5,2)", "decimal(4,2)", False),
        ("integer", "decimal(10,0)", True),
        ("integer", "decimal(12,2)", True),
        ("integer", "decimal(11,2)", False),
        ("integer", "decimal(9,0)", False),
        ("long", "decimal(38,18)", True),
        ("double", "decimal(38,0)", False),
        ("decimal(5,0)", "long", False),
        ("decimal(5,0)", "double", False),
    ],
)
def test_which_type_changes_lose_nothing(before: str, after: str, legal: bool) -> None:
    assert widens(parse_type(before), parse_type(after)) is legal


INTERVALS = [
    "interval year to month",
    "interval day to second",
    "interval year",
    "interval month",
    "interval hour to minute",
    "interval second",
]


@pytest.mark.conformance("INTERVAL-001")
@pytest.mark.parametrize("name", INTERVALS)
def test_interval_columns_are_refused_by_their_type(name: str) -> None:
    with pytest.raises(UnsupportedFeature, match=name) as caught:
        _one(name)
    assert caught.value.features == ["intervalType"]


@pytest.mark.conformance("INTERVAL-001")
@pytest.mark.parametrize("name", ["interval month to second", "INTERVAL YEAR", "interval", "interval second to day"])
def test_what_only_looks_like_an_interval_is_no_type(name: str) -> None:
    with pytest.raises(CorruptTable, match="not known"):
        _one(name)


@pytest.mark.conformance("NTZ-001")
def test_a_time_without_a_zone_has_a_type_of_its_own() -> None:
    schema = _one("timestamp_ntz")
    assert arrow_schema(schema).field("c").type == pa.timestamp("us")
    assert json.loads(schema.to_json())["fields"][0]["type"] == "timestamp_ntz"


@pytest.mark.conformance("VARIANT-001")
@pytest.mark.parametrize("kind", ["variant", {"type": "variant"}])
def test_a_variant_is_a_struct_of_two_binaries(kind: Any) -> None:
    arrow = to_arrow(_one(kind).fields[0].type)
    assert {field.name: field.type for field in arrow} == {"metadata": pa.binary(), "value": pa.binary()}


@pytest.mark.conformance("SCHEMA-014")
def test_a_void_column_is_shown() -> None:
    schema = _one("void")
    assert schema.fields[0].type == PrimitiveType("void")
    assert arrow_schema(schema).field("c").type == pa.null()
