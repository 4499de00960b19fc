"""Which columns an expression of a table mentions: words in backticks, lambdas, names that begin with a digit."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from explorer.core.protocol.schema.data_types import StructType, parse_schema
from explorer.core.protocol.sql.stored_expressions import mentions, unknown_columns
from tests.support.logs import small_logs
from tests.support.logs.small_schemas import MAPPED, array, field, mapped, mapping, struct

TAGS = array("string")


def schema_of(*fields: dict[str, Any]) -> StructType:
    return parse_schema(json.dumps(struct(*fields)))


@pytest.mark.parametrize(
    ("text", "name", "mentioned"),
    [
        ("`from` < `to`", "from", True),
        ("x > 0 AND forall(tags, x -> x <> '')", "x", True),
        ("forall(tags, x -> x <> '')", "x", False),
        ("2020_sales > 0", "2020_sales", True),
        ("2020 > 0", "2020", False),
    ],
)
def test_a_column_is_mentioned_where_an_expression_may_read_it(text: str, name: str, mentioned: bool) -> None:
    assert mentions(text, (name,)) is mentioned


def test_a_lambda_gives_its_name_to_nothing_outside() -> None:
    schema = schema_of(field("k", "long"), field("tags", TAGS))
    assert unknown_columns("zz > 0 AND forall(tags, zz -> zz > '')", schema) == ("zz",)
    assert unknown_columns("k > 0 AND forall(tags, zz -> zz > '')", schema) == ()
    assert unknown_columns("2020_sales > 0 AND k > 2020", schema) == ("2020_sales",)


ITEM = struct(field("k", "integer"), field("m", "integer"))
WIDE = schema_of(
    field("arr", array(ITEM)),
    field("pair", struct(field("key", "integer"), field("value", "integer"))),
    field("byName", mapping("string", ITEM)),
    *(field(name, "string") for name in ("s", "str")),
    *(field(name, kind) for name, kind in (("d", "date"), ("b", "boolean"), ("bin", "binary"), ("m", "integer"))),
)


@pytest.mark.parametrize(
    "text",
    [
        "arr[0].k > 0",
        "element_at(arr, 1).k > 0",
        "byName['x'].k > 0",
        "named_struct('q', 1).q > 0",
        "from_json(s, 'x INT').x > 0",
        "cast(s as struct<x:int, y: array<struct<z: map<string, int>>>>).x > 0",
        "(s::struct<x int>).x > 0",
        "extract(QUARTER FROM d) = 1",
        "extract(DOW FROM d) = 1",
        "dateadd(QUARTER, 1, d) > d",
        "timestampdiff(QUARTER, d, d) = 0",
        "bin = X'1F'",
        "b IS NOT UNKNOWN",
        "overlay(str PLACING 'x' FROM 1) = 'x'",
        "str COLLATE UTF8_BINARY = 'a'",
    ],
)
def test_what_is_no_column_is_not_taken_for_an_unknown_one(text: str) -> None:
    """delta-spark 4.4.0 takes each of these as a constraint of such a table."""
    assert unknown_columns(text, WIDE) == ()


@pytest.mark.parametrize("text", ["zz.k > 0", "x > 0", "cast(zz as struct<x:int>).x > 0", "str < zz AND m > 0"])
def test_what_is_a_column_is_still_told_where_there_is_none(text: str) -> None:
    assert len(unknown_columns(text, WIDE)) == 1


@pytest.mark.parametrize(
    ("text", "path", "mentioned"),
    [
        ("arr[0].m > 0", ("m",), False),
        ("arr[0].m > 0", ("arr", "element", "m"), True),
        ("arr.element.m > 0", ("arr", "element", "m"), True),
        ("arr.element.m > 0", ("arr", "element", "k"), False),
        ("pair.key > 0", ("pair", "key"), True),
        ("pair.key > 0", ("pair", "value"), False),
        ("PAIR.Value > 0", ("pair", "value"), True),
        ("pair.key > 0", ("pair",), True),
        ("byName['x'].k > 0", ("byName", "value", "k"), True),
        ("byName.value.k > 0", ("byName", "value", "k"), True),
        ("byName.value.k > 0", ("byName", "value", "m"), False),
        ("byName.key = 'x'", ("byName", "value", "m"), True),
        ("cast(s as struct<m:int>).m > 0", ("m",), False),
        ("s < m AND str > 'x'", ("str",), True),
    ],
)
def test_steps_into_arrays_and_maps_are_told_from_fields_of_such_names(
    text: str, path: tuple[str, ...], mentioned: bool
) -> None:
    assert mentions(text, path, WIDE) is mentioned
    assert mentions(text, path) >= mentioned


INTENTS: list[dict[str, Any]] = [
    {"kind": "drop-columns", "columns": ["from"]},
    {"kind": "drop-columns", "columns": ["x"]},
    {"kind": "rename-column", "column": "from", "to": "since"},
    {"kind": "drop-columns", "columns": ["2020_sales"]},
]


@pytest.mark.parametrize("intent", INTENTS, ids=lambda intent: f"{intent['kind']} {list(intent.values())[1]}")
def test_a_column_that_a_constraint_reads_is_neither_dropped_nor_renamed(intent: dict[str, Any]) -> None:
    columns = [field(name, "long") for name in ("from", "to", "x", "keep", "2020_sales")]
    schema = json.dumps(mapped(struct(*columns, field("tags", TAGS))))
    rules = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "6",
        "delta.constraints.ordered": "`from` < `to`",
        "delta.constraints.tagged": "x > 0 AND forall ( tags , x -> x <> '' )",
        "delta.constraints.sold": "2020_sales > 0",
    }
    metadata = msgspec.structs.replace(small_logs.METADATA, schema_string=schema, configuration=rules)
    plan = small_logs.table({0: [MAPPED, metadata]}).plan(intent)
    (guard,) = (guard for guard in plan.guards if guard.name == "constraint-columns")
    assert guard.status == "fail"
    assert not plan.committable
