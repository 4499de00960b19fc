"""Types of a schema, each as it is read, named, written and widened, and what is said of one that cannot be read."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest

from explorer.core.errors import CorruptTable, LimitExceeded, UnsupportedFeature
from explorer.core.protocol.schema.char_types import char_type_text, is_char_type, lengthens
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    InvalidType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_columns,
    parse_schema,
    parse_type,
    type_name,
    type_outline,
)
from explorer.core.protocol.schema.edit import schema_without_marks
from explorer.core.protocol.schema.nested_types import (
    holds,
    nested_types,
    path_tree,
    walk,
    walk_physical,
    walk_structs,
    with_fields,
    with_parts,
)
from explorer.core.protocol.schema.type_widening import check_type_changes, recorded_changes
from tests.support.logs.small_proposals import protocol
from tests.support.logs.small_schemas import array, field, mapping, struct

LONG, TEXT, DAY = PrimitiveType("long"), PrimitiveType("string"), PrimitiveType("date")
BROKEN = "The metaData action that set it is damaged; an earlier version may still be readable."


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("null", PrimitiveType("void", 0, 0)),
        ("bigint", PrimitiveType("long")),
        ("int", PrimitiveType("integer")),
        ("smallint", PrimitiveType("short")),
        ("tinyint", PrimitiveType("byte")),
        ("char(3)", TEXT),
        ("varchar(3)", TEXT),
        ("decimal", PrimitiveType("decimal", 10, 0)),
        ("decimal( 38 , 38 )", PrimitiveType("decimal", 38, 38)),
        ("decimal(1,0)", PrimitiveType("decimal", 1, 0)),
        ({"type": "long"}, LONG),
        ({"type": "array", "elementType": "long"}, ArrayType(LONG, True)),
        ({"type": "array", "elementType": "long", "containsNull": False}, ArrayType(LONG, False)),
        ({"type": "map", "keyType": "string", "valueType": "long"}, MapType(TEXT, LONG, True)),
        (
            {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": False},
            MapType(TEXT, LONG, False),
        ),
        ({"type": "struct", "fields": []}, StructType(())),
        (
            {"type": "struct", "fields": [{"name": "a", "type": "long"}]},
            StructType((StructField("a", LONG, True, {}),)),
        ),
        (
            {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": False, "metadata": None}]},
            StructType((StructField("a", LONG, False, {}),)),
        ),
    ],
)
def test_a_type_is_read_in_each_of_its_spellings(value: Any, found: Any) -> None:
    assert parse_type(value) == found


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "None is not a type"),
        (3, "3 is not a type"),
        (["long"], "['long'] is not a type"),
        ({"type": "long", "size": 8}, '{"type": "long", "size": 8} is not a type'),
        ({"type": "bigint"}, '{"type": "bigint"} is not a type'),
        ({"type": "array"}, '{"type": "array"} is not a type'),
        ({"type": "list", "of": Decimal("1.5")}, "the type 'list' is not known to the protocol"),
        ({"type": "x" * 300}, "the type '" + "x" * 200 + "' is not known to the protocol"),
        ("String", "the type 'String' is not known to the protocol"),
        ("decimal(10)", "the type 'decimal(10)' is not known to the protocol"),
        ("decimal(5,2) x", "the type 'decimal(5,2) x' is not known to the protocol"),
        ("decimal(0,0)", "decimal(0,0) is out of range (precision 1 to 38, scale at most the precision)"),
        ("decimal(39,0)", "decimal(39,0) is out of range (precision 1 to 38, scale at most the precision)"),
        ("decimal(5,6)", "decimal(5,6) is out of range (precision 1 to 38, scale at most the precision)"),
        ({"type": "struct", "fields": [{"name": "a"}]}, '{"name": "a"} is not a field (it needs name and type)'),
        (
            {"type": "struct", "fields": [{"name": "a", "type": "long", "metadata": [1]}]},
            "the metadata of field 'a' is not an object",
        ),
    ],
)
def test_what_is_no_type_is_told_with_the_reason(value: Any, reason: str) -> None:
    with pytest.raises(InvalidType) as refused:
        parse_type(value)
    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("geometry(OGC:CRS84)", "geospatial"),
        ("geography", "geospatial"),
        ("timestamp_nanos", "timestampNanos"),
        ("interval day to second", "intervalType"),
    ],
)
def test_a_type_that_this_program_does_not_read_is_refused_by_name(name: str, feature: str) -> None:
    with pytest.raises(UnsupportedFeature) as refused:
        parse_type(name)
    assert (refused.value.features, refused.value.operation) == ([feature], "read the schema")
    assert str(refused.value) == (
        f"The schema uses the type {name} ({feature}), which this program does not read. "
        "Read the table with a client that supports it."
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it is not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"),
        ('"long"', "its top level is not a struct"),
        ('{"type":"array","elementType":"long"}', "its top level is not a struct"),
        ('"real"', "the type 'real' is not known to the protocol"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    with pytest.raises(CorruptTable) as refused:
        parse_schema(text)
    assert str(refused.value) == f"The table's schemaString cannot be used: {reason}. {BROKEN}"


def test_a_schema_is_written_with_every_member_and_named_in_short() -> None:
    kind = struct(
        field("a", array("decimal(5,2)"), nullable=False, comment="é"),
        field("m", {**mapping("string", struct(field("x"))), "valueContainsNull": False}),
        field("l", {**array(array("long")), "containsNull": False}),
    )
    schema = parse_schema(json.dumps(kind))
    assert json.loads(schema.to_json()) == kind
    assert "é" in schema.to_json()
    assert type_name(schema) == "struct<a:array<decimal(5,2)>,m:map<string,struct<x:integer>>,l:array<array<long>>>"
    assert [type_outline(item.type) for item in schema.fields] == [
        "array<decimal(5,2)>",
        "map<string,struct>",
        "array<array<long>>",
    ]


def test_a_text_with_half_a_pair_of_surrogates_is_written_as_short_as_any_other() -> None:
    text = (
        '{"type":"struct","fields":[{"name":"é","type":"long","nullable":true,"metadata":{"c":"\ud800","n":"1E+400"}}]}'
    )
    number = text.replace('"1E+400"', "1E+400")
    assert parse_schema(number).to_json() == text


def test_what_other_writers_take_for_a_number_is_kept_as_it_is_written() -> None:
    numbers = '{"n":NaN,"m":-Infinity,"o":Infinity}'
    text = f'{{"type":"struct","fields":[{{"name":"a","type":"long","nullable":true,"metadata":{numbers}}}]}}'
    assert parse_schema(text).to_json() == text


@pytest.mark.parametrize("depth", [300, 100_000])
def test_a_schema_that_is_nested_too_deeply_is_told(depth: int) -> None:
    with pytest.raises(LimitExceeded) as refused:
        parse_schema('{"a":' * depth + "{}" + "}" * depth)
    assert refused.value.allowed == 300
    assert str(refused.value) == (
        "The table's schemaString is nested deeper than 300 objects and arrays, the deepest nesting that is read. "
        "Real schemas are much flatter; the log is probably corrupt."
    )


@pytest.mark.parametrize(("value", "found"), [(None, None), (7, 7), (7.0, 7), ("7", 7), (-1, -1), ("-1", -1)])
def test_the_id_of_a_column_is_a_whole_number(value: Any, found: int | None) -> None:
    number = StructField("a", LONG, metadata={"delta.columnMapping.id": value}).field_id
    assert (number, type(number)) == (found, type(found))


@pytest.mark.parametrize("value", [True, 7.5, "7.0", "x", "1_0", float("inf"), float("nan"), [7], {}])
def test_an_id_that_is_no_whole_number_names_its_column(value: Any) -> None:
    with pytest.raises(CorruptTable) as refused:
        _ = StructField("a b", LONG, metadata={"delta.columnMapping.id": value}).field_id
    assert refused.value.column == "a b"
    assert str(refused.value) == (
        "The delta.columnMapping.id of the column 'a b' is not an integer. A faulty client wrote it. Write its "
        "metadata again."
    )


def test_a_field_is_found_by_its_own_spelling_first_and_has_its_own_name_where_it_is_not_mapped() -> None:
    upper, lower = StructField("A", LONG), StructField("a", LONG, metadata={"delta.columnMapping.physicalName": "p"})
    schema = StructType((upper, lower, StructField("Ab", LONG)))
    assert (schema.field("a"), schema.field("A")) == (lower, upper)
    assert schema.field("aB") == schema.fields[2]
    assert schema.field("b") is None
    assert [item.physical_name for item in schema.fields] == ["A", "p", "Ab"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("char(3)", "char(3)"),
        (array("varchar(20)"), "array<varchar(20)>"),
        (mapping("char(2)", "long"), "map<char(2),bigint>"),
        (mapping("integer", "varchar(2)"), "map<int,varchar(2)>"),
        (
            struct(field("a", "short"), field("b", "byte"), field("c", "char(1)"), field("d", "decimal(5, 2)")),
            "struct<a:smallint,b:tinyint,c:char(1),d:decimal(5,2)>",
        ),
        (struct(field("a", array("char(1)")), field("b", "boolean")), "struct<a:array<char(1)>,b:boolean>"),
        ("string", None),
        ("char", None),
        (array("string"), None),
        (mapping("string", "long"), None),
        (struct(field("a", "string")), None),
    ],
)
def test_lengths_are_kept_in_the_text_of_a_type_where_it_has_any(value: Any, text: str | None) -> None:
    assert char_type_text(value) == text


@pytest.mark.parametrize("value", [3, None, "char()", "char(3) ", "CHAR(3)", "xchar(3)", "array<char(3)>", "char(a)"])
def test_what_is_not_one_text_with_a_length_is_none(value: object) -> None:
    assert not is_char_type(value)
    assert is_char_type("char(3)")
    assert is_char_type("varchar(10)")


@pytest.mark.parametrize(
    ("before", "after", "may"),
    [
        ("char(3)", "varchar(3)", True),
        ("char(3)", "varchar(2)", False),
        ("char(3)", "char(5)", False),
        ("varchar(9)", "varchar(10)", True),
        ("varchar(10)", "varchar(9)", False),
        ("varchar(3)", "char(9)", False),
        ("varchar(3)", "string", True),
        ("varchar(3)", "binary", False),
        ("string", "varchar(3)", False),
        ("string", "string", False),
    ],
)
def test_a_length_grows_or_goes_and_nothing_is_padded(before: str, after: str, may: bool) -> None:
    assert lengthens(before, after) is may


INNER = StructType((StructField("x", LONG, metadata={"delta.columnMapping.physicalName": "p2"}),))
DEEP = StructType(
    (
        StructField("s", INNER, metadata={"delta.columnMapping.physicalName": "p1"}),
        StructField("l", ArrayType(INNER, False)),
        StructField("m", MapType(TEXT, ArrayType(INNER), False), False),
    )
)


def test_fields_are_walked_with_both_paths_outer_ones_first() -> None:
    assert [(path, physical) for path, physical, _ in walk_physical(DEEP)] == [
        (("s",), ("p1",)),
        (("s", "x"), ("p1", "p2")),
        (("l",), ("l",)),
        (("l", "element", "x"), ("l", "element", "p2")),
        (("m",), ("m",)),
        (("m", "value", "element", "x"), ("m", "value", "element", "p2")),
    ]
    assert [(path, item) for path, _, item in walk_physical(DEEP)] == list(walk(DEEP))
    assert [(path, physical, item.name) for path, physical, item in walk_structs(DEEP)] == [
        (("s",), ("p1",), "s"),
        (("s", "x"), ("p1", "p2"), "x"),
        (("l",), ("l",), "l"),
        (("m",), ("m",), "m"),
    ]


def test_the_types_inside_a_type_are_told_from_the_outermost() -> None:
    kind = MapType(TEXT, ArrayType(INNER))
    assert list(nested_types(kind)) == [kind, TEXT, ArrayType(INNER), INNER, LONG]
    assert [holds(kind, *names) for names in (("long",), ("date", "string"), ("date",), (), ("map",))] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_type_with_other_parts_keeps_all_else() -> None:
    def named(name: str, _: object) -> PrimitiveType:
        return PrimitiveType(name)

    assert with_parts(LONG, named) is LONG
    assert with_parts(ArrayType(LONG, False), named) == ArrayType(PrimitiveType("element"), False)
    assert with_parts(MapType(LONG, DAY, False), named) == MapType(PrimitiveType("key"), PrimitiveType("value"), False)
    fields = (StructField("a", LONG, False, {"k": 1}), StructField("b", LONG))
    assert with_parts(StructType(fields), named) == StructType(
        (StructField("a", PrimitiveType("a"), False, {"k": 1}), StructField("b", PrimitiveType("b")))
    )


def test_the_nearest_fields_are_changed_and_not_those_inside_them() -> None:
    seen = []

    def changed(item: StructField) -> StructField:
        seen.append(item.name)
        return StructField(f"{item.name}!", item.type)

    assert with_fields(MapType(INNER, ArrayType(DEEP, False), False), changed) == MapType(
        StructType((StructField("x!", LONG),)),
        ArrayType(StructType(tuple(StructField(f"{item.name}!", item.type) for item in DEEP.fields)), False),
        False,
    )
    assert seen == ["x", "s", "l", "m"]


def test_values_lie_at_their_paths_and_the_first_of_two_that_meet_stays() -> None:
    leaves = {("a", "b"): 1, ("a", "c", "d"): 2, ("e",): 3, ("a",): 4, ("e", "f"): 5, ("a", "c"): 6}
    assert path_tree(leaves) == {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    assert path_tree({}) == {}


WIDENING = protocol(3, 7, r="typeWidening", w="typeWidening")
CHANGES = "delta.typeChanges"


def changed_schema(changes: Any, *names: str) -> StructType:
    kind: Any = field(names[-1], "long", metadata={} if changes is None else {CHANGES: changes})
    for name in names[-2::-1]:
        kind = field(name, struct(kind))
    return parse_schema(json.dumps(struct(kind)))


def test_a_change_that_no_reader_carries_out_is_told_with_its_column() -> None:
    good = {"fromType": "byte", "toType": "short"}
    schema = changed_schema([good, {"fromType": "double", "toType": array("long")}], "a b", "c")
    with pytest.raises(UnsupportedFeature) as refused:
        check_type_changes(schema, WIDENING)
    error = refused.value
    assert (error.features, error.operation, error.column) == (
        ["type change double to array<long>"],
        "read",
        "`a b`.c",
    )
    assert str(error) == (
        "Column `a b`.c was changed from double to array<long>, a change that readers cannot apply to older "
        "files. Rewrite the files with the table's own engine."
    )
    check_type_changes(schema, protocol(1, 2))
    check_type_changes(changed_schema([good], "a"), WIDENING)
    check_type_changes(changed_schema(None, "a"), WIDENING)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (3, "Expected `array`, got `int`"),
        ([{"fromType": "byte"}], "Object missing required field `toType` - at `$[0]`"),
        ([{"fromType": "real", "toType": "long"}], "the type 'real' is not known to the protocol"),
        ([{"fromType": "byte", "toType": 1}], "1 is not a type"),
    ],
)
def test_a_record_of_changes_that_cannot_be_read_is_told_with_its_column(changes: Any, reason: str) -> None:
    schema = changed_schema(changes, "a b", "c")
    said = (
        f"The {CHANGES} of column `a b`.c cannot be read ({reason}), so the types of its older files are not known. "
        "The metaData action that set it is damaged."
    )
    with pytest.raises(CorruptTable, match=f"^{re.escape(said)}$") as refused:
        check_type_changes(schema, WIDENING)
    assert refused.value.column == "`a b`.c"


def test_recorded_changes_are_those_of_a_list() -> None:
    assert recorded_changes(StructField("a", LONG, metadata={CHANGES: [1, {}]})) == [1, {}]
    assert recorded_changes(StructField("a", LONG)) == []
    assert recorded_changes(StructField("a", LONG, metadata={CHANGES: {"a": 1}})) == []


def test_a_schema_without_marks_says_all_else() -> None:
    keys = {"delta.identity.start": 1, "delta.identity.step": 2, "comment": "c"}
    marked = struct(
        field("a", "long", metadata={**keys, "delta.identity.highWaterMark": 9}), field("b", nullable=False)
    )
    found = schema_without_marks(json.dumps(marked))
    assert found is not None
    assert json.loads(found) == struct(field("a", "long", metadata=keys), field("b", nullable=False))
    spaced = json.dumps(struct(field("a", "long", comment="delta.identity")))
    for same in (None, "", "no schema", 'delta.identity.highWaterMark{"', spaced):
        assert schema_without_marks(same) == same


def test_a_schema_in_use_is_parsed_once_and_one_with_unread_columns_names_them_each_time() -> None:
    text = StructType((StructField("a", LONG), StructField("b", ArrayType(LONG)))).to_json()
    schema = parse_schema(text)
    assert parse_schema("".join(list(text))) is schema
    unread = text.replace('"a","type":"long"', '"a","type":"geometry"')
    assert unread != text
    assert [column.name for _ in range(2) for column in parse_columns(unread)[1]] == ["a", "a"]
