"""Tables that are made with rows in one commit, beside the reference's CREATE TABLE AS SELECT."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.new_table import new_table
from explorer.spark.engine.session import engine
from tests.support.clients.other_readers import assert_others_read
from tests.support.comparison.row_content import row_lines
from tests.support.logs.spark_tables import column, struct
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


def _info(log: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    (info,) = [line["commitInfo"] for line in lines if "commitInfo" in line]
    found: dict[str, Any] = info
    return found


@pytest.mark.reference
@pytest.mark.conformance("PROTO-011", "META-005")
def test_a_table_of_a_query_is_that_of_the_reference(tmp_path: Path) -> None:
    root = reference_root() / "tables" / "ctas-and-replace"
    same = explorer.open_table(root)
    rows = same.rows(version=0)
    place = new_table(tmp_path / "t")
    partitions = list(same.snapshot(0).partition_columns)
    plan = place.plan({"kind": "create-table", "partitionColumns": partitions}, rows=rows)
    assert (plan.read_version, plan.proposal.estimate.rows) == (-1, rows.count())
    assert not (tmp_path / "t").exists(), "a plan writes nothing"
    assert place.commit(plan).outcome == "committed"
    table = place.open()
    assert sorted(row_lines(table.rows().toArrow())) == sorted(row_lines(rows.toArrow()))
    assert table.snapshot().schema == same.snapshot(0).schema
    ours, theirs = _info(tmp_path / "t" / "_delta_log"), _info(root / "_delta_log")
    for name in ("operation", "isolationLevel", "isBlindAppend"):
        assert ours[name] == theirs[name]
    assert ours["operationParameters"].keys() == theirs["operationParameters"].keys()
    assert ours["operationMetrics"]["numOutputRows"] == theirs["operationMetrics"]["numOutputRows"]
    assert_others_read(tmp_path / "t", rows.toArrow(), "the new table")


def test_a_file_a_schema_and_properties_make_a_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": ["x", "y", "z"]}), tmp_path / "rows.parquet")
    identity = {"delta.identity.start": 10, "delta.identity.step": 5, "delta.identity.allowExplicitInsert": False}
    fields = struct(column("id", "long", **identity), column("v", "string"))
    intent = {
        "kind": "create-table",
        "schema": fields,
        "source": str(tmp_path / "rows.parquet"),
        "properties": {"delta.enableRowTracking": "true"},
    }
    place = new_table(tmp_path / "t")
    assert place.commit(place.plan(intent)).outcome == "committed"
    table = place.open()
    found = table.rows(row_identity=True).toArrow().sort_by("v")
    assert set(found.column("id").to_pylist()) == {10, 15, 20}
    assert set(found.column("_row_id").to_pylist()) == {0, 1, 2}
    assert table.commit(table.plan({"kind": "append", "source": intent["source"]})).outcome == "committed"
    assert set(table.rows().toArrow().column("id").to_pylist()) == {10, 15, 20, 25, 30, 35}


def test_rows_that_break_a_rule_make_no_table(tmp_path: Path) -> None:
    rows = engine().session().range(3).selectExpr("id", "nullif(id, 2) AS v")
    place = new_table(tmp_path / "t")
    fields = struct(column("id", "long"), {**column("v", "long"), "nullable": False})
    plan = place.plan({"kind": "create-table", "schema": fields}, rows=rows)
    (guard,) = plan.blocking
    assert (guard.name, guard.evidence["violations"]) == ("new-rows:not-null:v", 1)
    assert guard.evidence["examples"] == [{"row": {"id": "2", "v": None}}]
    assert place.commit(plan).outcome == "rejected"
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidIntent) as raised:
        place.plan({"kind": "create-table"})
    assert raised.value.field == "schema"


def test_rows_of_a_table_that_somebody_else_made_first_are_taken_back(tmp_path: Path) -> None:
    rows = engine().session().range(3)
    place, other = new_table(tmp_path / "t"), new_table(tmp_path / "t")
    plan, faster = (each.plan({"kind": "create-table"}, rows=rows) for each in (place, other))
    assert other.commit(faster).outcome == "committed"
    before = sorted((tmp_path / "t").rglob("*.parquet"))
    assert place.commit(plan).outcome == "conflicted"
    assert sorted((tmp_path / "t").rglob("*.parquet")) == before
