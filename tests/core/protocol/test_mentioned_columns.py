"""Which columns an expression of a table mentions: words in backticks, lambdas, names that begin with a digit."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from explorer.core.protocol.schema.data_types import StructType, parse_schema
from explorer.core.protocol.sql.stored_expressions import mentions, unknown_columns
from tests.support import small_logs
from tests.support.small_schemas import MAPPED, array, field, mapped, struct

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
