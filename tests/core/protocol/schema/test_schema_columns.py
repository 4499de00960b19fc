"""Columns of a schema: found, changed and put in their places, mapped to names in files, and those that cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from explorer.core.errors import CorruptTable, InvalidIntent
from explorer.core.protocol.clustering import clustering_columns
from explorer.core.protocol.schema.column_mapping import (
    MappingMode,
    check_mapping,
    highest_id,
    map_columns,
    map_field,
    mapping_mode,
    physical_paths,
    unmap_columns,
    unmapped,
)
from explorer.core.protocol.schema.data_types import (
    PrimitiveType,
    StructField,
    StructType,
    format_column,
    parse_column,
    parse_schema,
    type_name,
)
from explorer.core.protocol.schema.edit import (
    Column,
    children,
    column_path,
    edit_fields,
    find_column,
    position,
    position_text,
    replace_field,
    replace_type,
    struct_field,
    with_schema,
)
from explorer.core.protocol.schema.nested_types import walk
from tests.support.logs.small_logs import METADATA
from tests.support.logs.small_proposals import protocol
from tests.support.logs.small_schemas import NESTED, array, field, mapped, mapping, struct

ID, NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"
NESTED_IDS = "delta.columnMapping.nested.ids"
LONG = PrimitiveType("long")


def schema_of(*fields: dict[str, Any]) -> StructType:
    return parse_schema(json.dumps(struct(*fields)))


TABLE = schema_of(
    field("Id", "long", nullable=False, comment="kept"),
    field("s", struct(field("X"), field("y z", "string"))),
    field("l", {**array(struct(field("q"))), "containsNull": False}),
    field("m", mapping("string", struct(field("k")))),
)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("a",), "a"),
        (("a", "b"), "a.b"),
        (("a b", "c.d"), "`a b`.`c.d`"),
        (("a`b",), "`a``b`"),
        (("`",), "````"),
        (("",), "``"),
        (("", "a"), "``.a"),
        (("élan", "a1_"), "élan.a1_"),
    ],
)
def test_a_dotted_column_is_written_with_quotes_where_they_are_needed(path: tuple[str, ...], text: str) -> None:
    assert format_column(path) == text
    assert parse_column(text) == path


@pytest.mark.parametrize(
    ("text", "path"), [("a b.c", ("a b", "c")), ("`a`.b", ("a", "b")), ("a.`b`", ("a", "b")), ("a-1", ("a-1",))]
)
def test_a_dotted_column_is_read_with_quotes_that_it_does_not_need(text: str, path: tuple[str, ...]) -> None:
    assert parse_column(text) == column_path(text) == path


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a..b", "`", "```", "`a", "a`", "`a`b", "a`b`", "`a`.", "a.`", "``."]
)
def test_a_text_that_is_no_column_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a column: ") as plain:
        parse_column(text)
    assert str(plain.value) == f"not a column: {text!r}"
    for given, named in (((), "column"), (("columns",), "columns")):
        with pytest.raises(InvalidIntent) as refused:
            column_path(text, *given)
        assert refused.value.field == named
        assert str(refused.value) == (
            f"{text!r} is not a column: write a dotted path, with parts in backticks where they contain dots."
        )


@pytest.mark.parametrize(
    ("text", "path", "kind", "nullable", "owner"),
    [
        ("ID", ("Id",), "long", False, ("Id",)),
        ("S.x", ("s", "X"), "integer", True, ("s", "X")),
        ("s.`Y z`", ("s", "y z"), "string", True, ("s", "y z")),
        ("L.Element", ("l", "element"), "struct<q:integer>", False, ("l",)),
        ("l.element.Q", ("l", "element", "q"), "integer", True, ("l", "element", "q")),
        ("m.KEY", ("m", "key"), "string", False, ("m",)),
        ("m.Value", ("m", "value"), "struct<k:integer>", True, ("m",)),
        ("m.value.k", ("m", "value", "k"), "integer", True, ("m", "value", "k")),
    ],
)
def test_a_column_is_found_in_any_case_and_told_in_its_own(
    text: str, path: tuple[str, ...], kind: str, nullable: bool, owner: tuple[str, ...]
) -> None:
    found = find_column(TABLE, text)
    assert found == Column(path, found.type, nullable, dict(walk(TABLE)).get(path), owner)
    assert (type_name(found.type), found.name) == (kind, format_column(path))
    assert found == find_column(TABLE, tuple(text.replace("`", "").split(".")))


@pytest.mark.parametrize("text", ["Id.x", "Id.element", "l.key", "l.x", "m.element", "m.k", "s.element"])
def test_a_part_that_is_not_there_is_no_column(text: str) -> None:
    with pytest.raises(InvalidIntent) as refused:
        find_column(TABLE, text, "columns")
    assert refused.value.field == "columns"
    assert str(refused.value).startswith(f"There is no column {text}.")
    assert str(refused.value).endswith(" Columns: Id, s, l, m.")


def test_a_column_that_is_missing_is_told_with_those_that_are_near() -> None:
    schema = schema_of(*(field(name) for name in ("day", "amountedly", "amounted", "amounts", "amount", "a b")))
    shown = "Columns: day, amountedly, amounted, amounts, amount, `a b`."
    with pytest.raises(InvalidIntent) as near:
        find_column(schema, "amoun")
    assert str(near.value) == f"There is no column amoun. Did you mean amount? {shown}"
    error = near.value
    assert (error.field, error.allowed, error.nearest) == ("column", ["amount", "amounts", "amounted"], "amount")
    with pytest.raises(InvalidIntent) as far:
        find_column(schema, ("x y", "z"))
    assert str(far.value) == f"There is no column `x y`.z. {shown}"
    known = ["day", "amountedly", "amounted", "amounts", "amount", "`a b`"]
    assert (far.value.allowed, far.value.nearest) == (known, None)


def test_only_a_field_of_a_struct_is_a_column_of_its_own() -> None:
    found, own = struct_field(TABLE, "s.x")
    assert (found.path, own) == (("s", "X"), StructField("X", PrimitiveType("integer"), True, {}))
    for text, name in (("L.Element", "l.element"), ("m.key", "m.key"), ("m.value", "m.value")):
        with pytest.raises(InvalidIntent) as refused:
            struct_field(TABLE, text)
        assert refused.value.field == "column"
        assert str(refused.value) == (
            f"{name} is inside an array or a map, so it is not a column of its own: only fields of a struct can "
            "be changed in this way."
        )


def test_the_columns_inside_a_column_are_those_of_a_struct() -> None:
    assert children(TABLE, ()) == TABLE.fields
    assert [item.name for item in children(TABLE, ("S",))] == ["X", "y z"]
    assert [item.name for item in children(TABLE, ("m", "value"))] == ["k"]
    for given, named in (((), "column"), (("parent",), "parent")):
        with pytest.raises(InvalidIntent) as refused:
            children(TABLE, ("m", "key"), *given)
        assert refused.value.field == named
        assert str(refused.value) == (
            "m.key is not a struct, so it has no columns inside. Inside an array, name the part element; inside a map, "
            "key or value."
        )
        with pytest.raises(InvalidIntent) as missing:
            children(TABLE, ("gone",), *given)
        assert missing.value.field == named


def edited(schema: StructType) -> Any:
    return json.loads(schema.to_json())["fields"]


def test_an_edit_changes_what_it_names_and_nothing_else() -> None:
    before = edited(TABLE)
    turned = edit_fields(TABLE, ("s",), lambda fields: fields[::-1])
    assert edited(turned) == [before[0], field("s", struct(field("y z", "string"), field("X"))), *before[2:]]
    more = edit_fields(TABLE, (), lambda fields: [*fields[1:], StructField("n", LONG)])
    assert edited(more) == [*before[1:], field("n", "long")]
    deep = edit_fields(TABLE, ("m", "value"), lambda fields: [*fields, StructField("n", LONG)])
    assert edited(deep) == [*before[:3], field("m", mapping("string", struct(field("k"), field("n", "long"))))]
    assert edited(TABLE) == before


def test_a_field_or_a_type_is_replaced_in_its_place() -> None:
    before = edited(TABLE)
    named = replace_field(TABLE, ("l", "element", "q"), lambda item: msgspec.structs.replace(item, name="r"))
    assert edited(named) == [*before[:2], field("l", {**array(struct(field("r"))), "containsNull": False}), before[3]]
    last = replace_field(TABLE, ("s", "y z"), lambda item: msgspec.structs.replace(item, nullable=False))
    assert edited(last)[1] == field("s", struct(field("X"), field("y z", "string", nullable=False)))
    for path, index, kind in (
        (("Id",), 0, "date"),
        (("l", "element"), 2, {**array("date"), "containsNull": False}),
        (("m", "key"), 3, mapping("date", struct(field("k")))),
        (("m", "value", "k"), 3, mapping("string", struct(field("k", "date")))),
    ):
        found = edited(replace_type(TABLE, path, PrimitiveType("date")))
        assert found == [{**item, "type": kind} if place == index else item for place, item in enumerate(before)]
    assert replace_type(TABLE, (), StructType()) == StructType()
    with pytest.raises(AssertionError, match=r"^x cannot be inside long$"):
        replace_type(TABLE, ("Id", "x"), LONG)


def test_metadata_with_another_schema_says_all_else() -> None:
    before = msgspec.structs.replace(METADATA, name="n", configuration={"k": "v"}, unknown={"u": 1})
    assert with_schema(before, TABLE) == msgspec.structs.replace(before, schema_string=TABLE.to_json())


NAMES = ("A", "a", "b`c", "`d`", "after b", "Last\nB")


@pytest.mark.parametrize(
    ("at", "index"),
    [
        (None, 6),
        (0, 0),
        (6, 6),
        (" First ", 0),
        ("LAST", 6),
        ("after a", 2),
        ("AFTER  A", 1),
        ("after `a`", 2),
        ("after `b``c`", 3),
        ("after B`C", 3),
        ("after `d`", 4),
        ("after ```D```", 4),
        ("after after b", 5),
        ("after last\nb", 6),
    ],
)
def test_a_position_among_columns_is_an_index(at: str | int | None, index: int) -> None:
    assert position(at, NAMES) == index


@pytest.mark.parametrize("at", [True, False, -1, 3, "", "second", "after", "after c", "afterwards a", "after `a", "1"])
@pytest.mark.parametrize(("names", "shown"), [(("a", "b"), "a, b"), ((), "none")])
def test_what_is_no_position_is_told_with_those_that_there_are(at: Any, names: Sequence[str], shown: str) -> None:
    with pytest.raises(InvalidIntent) as refused:
        position(at, names)
    assert str(refused.value) == (
        f"{at!r} is not a position. Write one of first, last, after NAME, a position from 0; the existing columns are: "
        f"{shown}."
    )
    assert refused.value.field == "at"
    assert refused.value.allowed == ["first", "last", *(f"after {name}" for name in names)]


def test_a_position_is_written_by_the_column_before_it() -> None:
    assert [position_text(index, ("a", "b")) for index in range(3)] == ["FIRST", "AFTER a", "AFTER b"]


def physical(item: StructField) -> str:
    return f"p-{item.name}"


def test_ids_are_given_in_the_order_of_the_schema_outer_fields_first() -> None:
    old = {"comment": "c", ID: 99, NAME: "old"}
    outer = field("s", struct(field("x", nullable=False), field("y")), metadata=old)
    inner = field("m", mapping(struct(field("k")), array(struct(field("v")))), nullable=False)
    found, last = map_columns(schema_of(outer, inner, field("z")), 40, physical)
    numbers = {path[-1]: (item.field_id, item.physical_name) for path, item in walk(found)}
    assert numbers == {name: (41 + place, f"p-{name}") for place, name in enumerate("sxymkvz")}
    assert last == 47
    assert found.fields[0].metadata == {"comment": "c", ID: 41, NAME: "p-s"}
    assert [item.nullable for _, item in walk(found)] == [True, False, True, False, True, True, True]
    one, next_last = map_field(schema_of(outer).fields[0], 7, physical)
    assert [item.field_id for _, item in walk(StructType((one,)))] == [8, 9, 10]
    assert next_last == 10


def test_the_highest_id_is_that_of_the_fields_or_of_the_properties() -> None:
    schema = parse_schema(json.dumps(mapped(NESTED)))
    assert [highest_id(schema), highest_id(schema, 8), highest_id(schema, 10)] == [9, 9, 10]
    assert [highest_id(TABLE), highest_id(TABLE, 5)] == [0, 5]
    given: list[object] = [{"p.element": 12, "p.element.key": 11}, {"p.element": "12"}, {"p.element": True}, {}, "12"]
    nested = [schema_of(field("l", array("long"), metadata={ID: 3, NAME: "p", NESTED_IDS: ids})) for ids in given]
    assert [highest_id(each) for each in nested] == [12, 3, 3, 3, 3]
    assert highest_id(nested[0], 20) == 20


def test_what_column_mapping_gave_is_taken_away_at_every_depth() -> None:
    ids = {ID: 1, NAME: "p", NESTED_IDS: {"p.element": 2}, "comment": "c"}
    kept = {"comment": "c"}
    given, plain = (
        schema_of(
            field("s", struct(field("l", array("long"), metadata=each, nullable=False)), metadata=each, nullable=False),
            field("a", array(struct(field("x", metadata=each))), metadata=each),
        )
        for each in (ids, kept)
    )
    assert unmap_columns(given) == plain
    assert unmap_columns(plain) == plain
    left = {"comment": "c", NESTED_IDS: {"p.element": 2}}
    assert [item.metadata for _, item in walk(StructType((unmapped(given.fields[0]),)))] == [left, left]
    assert unmapped(given.fields[0]).nullable is False


@pytest.mark.parametrize(
    ("value", "mode"), [(None, "none"), ("none", "none"), ("Name", "name"), ("ID", "id"), ("id", "id")]
)
def test_the_mode_of_a_table_is_its_property_where_the_protocol_has_the_feature(value: str | None, mode: str) -> None:
    properties = {} if value is None else {"delta.columnMapping.mode": value}
    assert mapping_mode(properties, protocol(2, 5)) == mode
    assert mapping_mode(properties, protocol(2, 7, w="columnMapping")) == mode
    assert mapping_mode(properties, protocol(1, 2)) == "none"


def test_a_mode_that_the_protocol_does_not_know_is_told() -> None:
    properties = {"delta.columnMapping.mode": "Other"}
    assert mapping_mode(properties, protocol(1, 2)) == "none"
    with pytest.raises(CorruptTable) as refused:
        mapping_mode(properties, protocol(2, 5))
    assert str(refused.value) == "delta.columnMapping.mode is 'other'; the protocol defines none, name and id."
    assert refused.value.found == "other"


def numbered(name: str, number: int | None, stored: str | None, kind: Any = "long") -> dict[str, Any]:
    keys = {**({} if number is None else {ID: number}), **({} if stored is None else {NAME: stored})}
    return field(name, kind, metadata=keys)


@pytest.mark.parametrize(
    ("fields", "column", "said"),
    [
        ([numbered("a b", None, "x")], "`a b`", "Column `a b` has no column-mapping id or physical name in mode id."),
        ([numbered("a", 1, None)], "a", "Column a has no column-mapping id or physical name in mode id."),
        ([numbered("a", 1, "x"), numbered("b", 1, "y")], "b", "Columns a and b share id 1."),
        ([numbered("a", 1, "x"), numbered("b", 2, "x")], "b", "Columns a and b share a physical name."),
        (
            [numbered("s", 2, "x", struct(numbered("b", 3, "y")))],
            "s.b",
            (
                "Column s.b has id 3, but delta.columnMapping.maxColumnId is 2: the next column added would take an id "
                "in use."
            ),
        ),
    ],
)
def test_a_mapping_that_is_not_whole_names_the_column(fields: list[dict[str, Any]], column: str, said: str) -> None:
    with pytest.raises(CorruptTable) as refused:
        check_mapping(schema_of(*fields), "id", 2)
    assert (str(refused.value), refused.value.column) == (said, column)
    check_mapping(schema_of(*fields), "none", 2)
    whole = schema_of(numbered("a", 1, "x"), numbered("s", 2, "y", struct(numbered("a", 3, "x"))))
    for highest in (3, None):
        check_mapping(whole, "id", highest)


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_paths_in_files_are_those_of_the_mode(mode: MappingMode) -> None:
    schema = schema_of(numbered("s", 1, "p", struct(numbered("x", 2, "q"))))
    stored = [("s",), ("s", "x")] if mode == "none" else [("p",), ("p", "q")]
    assert physical_paths(schema, mode) == dict(zip([("s",), ("s", "x")], stored, strict=True))


def clustered(text: str, mode: MappingMode = "name") -> tuple[tuple[str, ...], ...]:
    schema = schema_of(numbered("s", 1, "p", struct(numbered("x", 2, "q"))), numbered("d", 3, "r"))
    return clustering_columns(schema, mode, {"delta.clustering": text, "other": "{"})


def test_clustering_columns_have_their_logical_names_in_their_order() -> None:
    assert clustered('{"clusteringColumns":["r",["p","q"]],"domainName":"delta.clustering"}') == (("d",), ("s", "x"))
    assert clustered('{"clusteringColumns":[["s","x"],["d"]]}', "none") == (("s", "x"), ("d",))
    assert clustered('{"clusteringColumns":[]}') == ()
    assert clustering_columns(TABLE, "none", {"delta.other": "{"}) == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "Object missing required field `clusteringColumns`"),
        ('{"clusteringColumns":[1]}', "Expected `str | array`, got `int` - at `$.clusteringColumns[0]`"),
        ("{", "Input data was truncated"),
        ('{"clusteringColumns":["\ud800"]}', None),
    ],
)
def test_a_domain_that_does_not_hold_clustering_columns_is_told(text: str, reason: str | None) -> None:
    with pytest.raises(CorruptTable) as refused:
        clustered(text)
    assert refused.value.found == text
    shown = str(refused.value).removeprefix("The domain delta.clustering does not contain clusteringColumns (")
    assert shown.endswith("). A faulty client wrote it. Cluster the table again to write it again.")
    assert reason is None or shown.startswith(f"{reason}). ")


@pytest.mark.parametrize(("columns", "name"), [('["s"]', "s"), ('["d"]', "d"), ('[["p","gone"]]', "p.gone")])
def test_a_clustering_column_that_the_schema_lacks_is_told_by_its_name_in_the_files(columns: str, name: str) -> None:
    with pytest.raises(CorruptTable) as refused:
        clustered(f'{{"clusteringColumns":{columns}}}')
    assert refused.value.column == name
    assert str(refused.value) == (
        f"The domain delta.clustering names the column {name!r} (its name in the files), which the schema does not "
        "have."
    )
