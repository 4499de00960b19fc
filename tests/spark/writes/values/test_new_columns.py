"""Rows that bring columns which the table lacks: refused, or the columns are added in the same commit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deltalake
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.spark.engine.session import engine
from tests.support.logs.spark_tables import column, struct, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=2)]

FIELDS = [column("id", "integer"), column("p", struct(column("x", "integer")))]


def _table(folder: Path) -> explorer.Table:
    table = explorer.open_table(write_table(folder / "t", FIELDS, []))
    rows = _frame("CAST(1 AS INT) AS id", "named_struct('x', 1) AS p")
    assert table.commit(table.plan({"kind": "append", "source": "rows"}, rows=rows)).outcome == "committed"
    return table


def _frame(*columns: str) -> Any:
    return engine().session().range(1).selectExpr(*columns)


BROUGHT = ("CAST(2 AS INT) AS id", "named_struct('y', array(named_struct('z', 5L)), 'x', 2) AS p", "'new' AS `a.b`")
FOUND = [
    {"id": 1, "p": {"x": 1, "y": None}, "a.b": None},
    {"id": 2, "p": {"x": 2, "y": [{"z": 5}]}, "a.b": "new"},
]


@pytest.mark.parametrize(
    "intent",
    [
        {"kind": "append"},
        {"kind": "overwrite", "where": "id = 2"},
        {"kind": "merge", "on": "target.id = source.id", "notMatched": [{"insert": "*"}]},
    ],
    ids=lambda intent: str(intent["kind"]),
)
def test_columns_are_added_where_it_is_asked_for(intent: dict[str, Any], tmp_path: Path) -> None:
    table = _table(tmp_path)
    whole = {**intent, "source": "rows"}
    if intent["kind"] != "merge":
        with pytest.raises(InvalidIntent, match="mergeSchema"):
            table.plan(whole, rows=_frame(*BROUGHT))
    plan = table.plan({**whole, "mergeSchema": True}, rows=_frame(*BROUGHT))
    assert [field.name for field in table.snapshot().schema.fields] == ["id", "p"], "nothing is written yet"
    assert table.commit(plan).outcome == "committed"
    assert table.rows().toArrow().sort_by("id").to_pylist() == FOUND
    assert [field.name for field in table.snapshot().schema.fields] == ["id", "p", "a.b"]
    written = (tmp_path / "t" / "_delta_log" / f"{2:020}.json").read_text().splitlines()
    assert sum("metaData" in json.loads(line) for line in written) == 1
    told = deltalake.DeltaTable(str(tmp_path / "t")).schema().fields
    assert [(field.name, str(field.type)) for field in told][2] == ("a.b", 'PrimitiveType("string")')
    again = table.plan({**whole, "mergeSchema": True}, rows=_frame("CAST(3 AS INT) AS id"))
    assert again.proposal.metadata is None, "columns that are missing are no reason to change the table"


def test_an_added_column_of_a_mapped_table_has_its_name_in_the_files(tmp_path: Path) -> None:
    table = _table(tmp_path)
    assert table.commit(table.plan({"kind": "set-column-mapping", "mode": "name"})).outcome == "committed"
    plan = table.plan({"kind": "append", "source": "rows", "mergeSchema": True}, rows=_frame(*BROUGHT))
    assert table.commit(plan).outcome == "committed"
    assert table.rows().toArrow().sort_by("id").to_pylist() == FOUND
    field = table.snapshot().schema.field("a.b")
    assert field is not None
    assert field.physical_name.startswith("col-")
    assert field.field_id is not None
