"""Columns as people ask for them: what a field may hold, and columns that fill themselves, each refusal whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.core.errors import InvalidIntent, UnsupportedFeature
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_schema,
    type_name,
)
from explorer.core.transaction.intents.fields import (
    IDENTITY_KEYS,
    SPECIAL_KEYS,
    check_special_columns,
    features_of_columns,
    features_of_types,
    read_field,
)
from tests.support.logs.small_schemas import array, mapping
from tests.support.logs.spark_tables import column, struct

CHAR = "__CHAR_VARCHAR_TYPE_STRING"
MEMBERS = ("name", "type", "nullable", "metadata")
LONG, STRING = PrimitiveType("long"), PrimitiveType("string")


def refused(value: Any, allowed: tuple[str, ...] = ()) -> InvalidIntent:
    with pytest.raises(InvalidIntent) as caught:
        read_field(value, "fields", allowed)
    assert caught.value.field == "fields"
    return caught.value


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"name": "a", "type": "long"}, StructField("a", LONG, nullable=True, metadata={})),
        (
            {"name": "a", "type": "long", "nullable": False, "metadata": {"comment": "c", "n": 1}},
            StructField("a", LONG, nullable=False, metadata={"comment": "c", "n": 1}),
        ),
        (
            {"name": "a", "type": "varchar(5)", "metadata": {"comment": "c"}},
            StructField("a", STRING, nullable=True, metadata={"comment": "c", CHAR: "varchar(5)"}),
        ),
        (
            {"name": "a", "type": array("char(2)")},
            StructField("a", ArrayType(STRING, contains_null=True), nullable=True, metadata={CHAR: "array<char(2)>"}),
        ),
        ({"name": "a", "type": "void"}, StructField("a", PrimitiveType("void"), nullable=True, metadata={})),
        ({"name": "s.x", "type": struct()}, None),
    ],
)
def test_a_field_is_read_with_what_it_leaves_out(value: dict[str, Any], field: StructField | None) -> None:
    if field is None:
        assert str(refused(value)).startswith("The type of 's.x' has void inside an array or a map")
        return
    assert read_field(value, "fields") == field


def test_members_of_an_intent_that_are_tuples_are_read_as_json() -> None:
    found = read_field({"name": "a", "type": {"type": "struct", "fields": ({"name": "x", "type": "long"} | {
        "nullable": True, "metadata": {}},)}}, "fields")  # type: ignore[dict-item]  # a tuple is what a caller may give  # fmt: skip
    assert type_name(found.type) == "struct<x:long>"


NEEDS = "A column needs name and type; its members are name, type, nullable, metadata."


@pytest.mark.parametrize(
    ("value", "said", "members"),
    [
        (3, "A column must be an object with name, type, nullable, metadata, not 3.", False),
        (["a"], "A column must be an object with name, type, nullable, metadata, not ['a'].", False),
        ({"type": "long"}, NEEDS, True),
        ({"name": 3, "type": "long"}, NEEDS, True),
        ({"name": "a"}, NEEDS, True),
        (
            {"name": "a", "type": "long", "nulable": True, "x": 1},
            "A column has no member 'nulable'; its members are name, type, nullable, metadata.",
            True,
        ),
        (
            {"name": "a", "type": "long", "nullable": 1},
            "In 'a', nullable must be true or false and metadata an object.",
            False,
        ),
        (
            {"name": "a", "type": "long", "metadata": []},
            "In 'a', nullable must be true or false and metadata an object.",
            False,
        ),
    ],
)
def test_what_is_no_field_is_refused_with_its_members(value: Any, said: str, members: bool) -> None:
    error = refused(value)
    assert str(error) == said
    assert (error.allowed, error.found) == (MEMBERS if members else None, None)


INNER = {"name": "x", "type": "long", "nullable": True, "metadata": {}}


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "struct", "fields": [INNER, INNER | {"name": "y", "odd": 1}]},
        array({"type": "struct", "fields": [INNER | {"odd": 1}]}),
        mapping({"type": "struct", "fields": [INNER | {"odd": 1}]}, "long"),
        mapping("long", {"type": "struct", "fields": [INNER | {"odd": 1}]}),
        {"type": "struct", "fields": [INNER | {"type": {"type": "struct", "fields": [INNER | {"odd": 1}]}}]},
    ],
)
def test_a_misspelt_member_is_found_at_every_depth(kind: dict[str, Any]) -> None:
    error = refused({"name": "a", "type": kind})
    assert str(error) == "A column has no member 'odd'; its members are name, type, nullable, metadata."
    assert error.allowed == MEMBERS


@pytest.mark.parametrize(
    ("value", "start"),
    [
        ({"name": "a", "type": {"type": "what"}}, "The fields cannot be read: "),
        ({"name": "a", "type": struct({"name": "x"})}, "The fields cannot be read: "),
        ({"name": "\ud800", "type": "long"}, "The fields cannot be read: "),
        ({"name": "a", "type": object()}, "The fields cannot be read: "),
    ],
)
def test_what_cannot_be_read_says_why(value: dict[str, Any], start: str) -> None:
    error = refused(value)
    assert str(error).startswith(start)
    assert str(error) == f"{start}{error.__cause__}."


def test_a_type_that_this_program_does_not_know_is_told_apart() -> None:
    with pytest.raises(UnsupportedFeature):
        read_field({"name": "a", "type": "geometry"}, "fields")


@pytest.mark.parametrize("key", ["delta.columnMapping.id", "delta.generationExpression", CHAR])
def test_keys_of_the_protocol_are_not_given_by_people(key: str) -> None:
    asked: dict[str, Any] = {"name": "a", "type": "long", "metadata": {"comment": "c", key: "1"}}
    error = refused(asked)
    said = f"The metadata key {key!r} of 'a' belongs to the protocol and cannot be given here."
    assert (str(error), error.found) == (said, key)
    assert read_field(asked, "fields", (key,)).metadata == {"comment": "c", key: "1"}
    inside: dict[str, Any] = {"name": "s", "type": struct(column("x", "long", **{key: "1"}))}
    error = refused(inside, (key,))
    said = f"The metadata key {key!r} of 'x' belongs to the protocol and cannot be given here."
    assert (str(error), error.found) == (said, key)
    assert refused(asked | {"metadata": {"delta.own": 1, key: 1}}, ("delta.own",)).found == key


@pytest.mark.parametrize("key", ["CURRENT_DEFAULT", "EXISTS_DEFAULT"])
def test_a_default_is_not_given_with_a_new_column(key: str) -> None:
    error = refused({"name": "a", "type": "long", "metadata": {key: "1"}})
    assert str(error) == (
        "A default cannot be given in the command that adds 'a' (DEFCOL-002): existing rows would not have it. Add "
        "the column, then set its default with an engine that writes it."
    )
    assert error.found == key


@pytest.mark.parametrize(
    ("kind", "held"),
    [
        ("void", True),
        (struct(column("x", "long"), column("y", "void")), True),
        (array("long"), True),
        (array("void"), False),
        (mapping("string", "void"), False),
        (mapping("void", "string"), False),
        (struct(column("x", "void")), False),
        (struct(), False),
        (struct(column("x", "long"), column("y", struct(column("z", "void")))), False),
        (array(array("void")), False),
    ],
)
def test_a_void_type_is_where_files_can_do_without_it(kind: Any, held: bool) -> None:
    asked = {"name": "a", "type": kind}
    if held:
        assert read_field(asked, "fields").name == "a"
        return
    assert str(refused(asked)) == (
        "The type of 'a' has void inside an array or a map, or a struct with nothing else: no file can hold it."
    )


def test_features_of_types_are_named_once_in_the_order_of_the_types() -> None:
    kinds: list[DataType] = [
        LONG,
        StructType((StructField("x", PrimitiveType("variant")), StructField("y", PrimitiveType("timestamp_ntz")))),
        MapType(STRING, PrimitiveType("variant"), value_contains_null=True),
    ]
    assert features_of_types(kinds) == ("variantType", "timestampNtz")
    assert features_of_types([LONG, STRING]) == ()


START, STEP, EXPLICIT = IDENTITY_KEYS
COUNTED = {START: 1, STEP: 2, EXPLICIT: False}
COMPUTED, DEFAULT = "delta.generationExpression", "CURRENT_DEFAULT"


def fields(*columns: dict[str, Any]) -> StructType:
    return parse_schema(json.dumps(struct(*columns)))


def test_the_keys_of_columns_that_fill_themselves_are_those_of_the_protocol() -> None:
    names = ("start", "step", "allowExplicitInsert")
    assert tuple(f"delta.identity.{name}" for name in names) == IDENTITY_KEYS
    assert (*IDENTITY_KEYS, COMPUTED, DEFAULT) == SPECIAL_KEYS


@pytest.mark.parametrize(
    ("columns", "features"),
    [
        ([column("a", "long")], ()),
        ([column("a", "long"), column("b", "long", **COUNTED)], ("identityColumns",)),
        ([column("a", "long", **{EXPLICIT: True})], ("identityColumns",)),
        ([column("a", "long", **{COMPUTED: "b"}), column("b", "long")], ("generatedColumns",)),
        ([column("b", "long", **COUNTED), column("a", "long", **{COMPUTED: "b"})],
         ("generatedColumns", "identityColumns")),
        ([column("a", "long", **{DEFAULT: "1"})], ()),
    ],
)  # fmt: skip
def test_columns_that_fill_themselves_need_their_features(
    columns: list[dict[str, Any]], features: tuple[str, ...]
) -> None:
    assert features_of_columns(fields(*columns)) == features


@pytest.mark.parametrize(
    "columns",
    [
        [column("id", "long", **COUNTED), column("p", "long")],
        [column("id", "long", **COUNTED | {START: -(2**63), STEP: 2**63 - 1})],
        [column("id", "long", **COUNTED | {START: 2**63 - 1, STEP: -(2**63), EXPLICIT: True})],
        [column("g", "long", **{COMPUTED: "p + 1"}), column("p", "long")],
        [column("g", "long", **{COMPUTED: "1"}), column("h", "long", **{COMPUTED: "P + 1"}), column("p", "long")],
        [column("d", "long", **{DEFAULT: "1 + 1"}), column("v", "variant", **{DEFAULT: " NULL "})],
        [column("d", "timestamp", **{DEFAULT: "current_timestamp()"})],
    ],
)
def test_columns_that_can_fill_themselves_are_taken(columns: list[dict[str, Any]]) -> None:
    schema = fields(*columns)
    check_special_columns(schema, ["p"], ["allowColumnDefaults"])
    assert any(set(field.metadata) & set(SPECIAL_KEYS) for field in schema.fields)


NUMBER = "needs an integer as delta.identity"


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ([column("c", "long", **COUNTED, **{COMPUTED: "1"})], "is identity and generated at once"),
        ([column("c", "long", **{START: 1, DEFAULT: "1"})], "is identity and default at once"),
        ([column("c", "long", **{DEFAULT: "1", COMPUTED: "1"})], "is generated and default at once"),
        ([column("c", "long", **COUNTED, **{COMPUTED: "1", DEFAULT: "1"})],
         "is identity and generated and default at once"),
        ([column("c", "long", **COUNTED | {START: "1"})], f"{NUMBER}.start, not '1' (IDENT-001)"),
        ([column("c", "long", **COUNTED | {START: True})], f"{NUMBER}.start, not True (IDENT-001)"),
        ([column("c", "long", **{STEP: 1})], f"{NUMBER}.start, not None (IDENT-001)"),
        ([column("c", "long", **COUNTED | {START: 2**63})], f"{NUMBER}.start, not {2**63} (IDENT-001)"),
        ([column("c", "long", **COUNTED | {STEP: -(2**63) - 1})], f"{NUMBER}.step, not {-(2**63) - 1} (IDENT-001)"),
        ([column("c", "long", **{START: 1, EXPLICIT: True})], f"{NUMBER}.step, not None (IDENT-001)"),
        ([column("c", "long", **COUNTED | {STEP: 0})], "cannot count in steps of 0 (IDENT-001)"),
        ([column("c", "long", **COUNTED | {EXPLICIT: 1})],
         "needs true or false as delta.identity.allowExplicitInsert (IDENT-001)"),
        ([column("c", "integer", **COUNTED)], "is an identity column, which has the type long"),
        ([column("p", "long", **COUNTED)], "is an identity column, which cannot be a partition column"),
        ([column("c", "long", **{COMPUTED: 1})], "needs SQL text as delta.generationExpression, not 1"),
        ([column("c", "timestamp", **{COMPUTED: "current_timestamp()"})],
         "calls current_timestamp, so its value would change from one reading to the next"),
        ([column("c", "long", **{COMPUTED: "a + b + d"}), column("a", "long")],
         "is computed from b, which the table does not have"),
        ([column("c", "variant", **{COMPUTED: "1"})],
         "cannot be computed: the result may not be a variant (GENCOL-003)"),
        ([column("c", "long", **{COMPUTED: "a + G + h"}), column("a", "long"), column("g", "long", **{COMPUTED: "a"}),
          column("h", "long", **{COMPUTED: "a"})], "is computed from G, which is itself computed"),
        ([column("c", "long", **{COMPUTED: "c + 1"})], "is computed from c, which is itself computed"),
        ([column("c", "long", **{DEFAULT: None})], "needs SQL text as CURRENT_DEFAULT, not None"),
        ([column("c", "long", **{DEFAULT: "a + b"}), column("a", "long")],
         "has a default that is not a constant: 'a + b' names a (DEFCOL-001)"),
        ([column("c", "variant", **{DEFAULT: "1"})], "is a variant, whose only default is null (DEFCOL-004)"),
    ],
)  # fmt: skip
def test_a_column_that_cannot_fill_itself_says_why(columns: list[dict[str, Any]], why: str) -> None:
    plain = column("first", "long")
    with pytest.raises(InvalidIntent) as caught:
        check_special_columns(fields(plain, *columns), ["p"], ["allowColumnDefaults"])
    name = columns[0]["name"]
    assert str(caught.value) == f"The column {name!r} {why}."
    assert (caught.value.field, caught.value.column) == ("schema", name)


def test_a_default_needs_its_feature() -> None:
    with pytest.raises(InvalidIntent) as caught:
        check_special_columns(fields(column("c", "long", **{DEFAULT: "1"})), [], ["appendOnly"])
    assert str(caught.value) == (
        "The column 'c' has a default, which needs the feature allowColumnDefaults: add the property "
        "delta.feature.allowColumnDefaults = supported."
    )
    assert caught.value.field == "schema"


@pytest.mark.parametrize("key", [COMPUTED, DEFAULT])
def test_an_expression_that_no_table_keeps_is_refused_by_its_field(key: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        check_special_columns(fields(column("c", "long", **{key: "(1"})), [], ["allowColumnDefaults"])
    assert (str(caught.value), caught.value.field) == (
        "The expression '(1' leaves a parenthesis open at position 3.",
        "schema",
    )
