"""Partition columns inside data files, where a feature binds writers to put them there: ours and the reference's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.spark.scan.scan import scan
from tests.support.at_least_one import at_least_one
from tests.support.reference_writer import ReferenceWriter
from tests.support.row_content import content_hash

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


@pytest.mark.conformance("MATPART-001", "PART-014")
def test_files_of_both_writers_hold_the_partition_columns(reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    path = tmp_path / "table"
    reference_writer.sql(
        f"CREATE TABLE delta.`{path}` (p STRING, id BIGINT, d DATE) USING delta PARTITIONED BY (d, p) "
        "TBLPROPERTIES ('delta.feature.materializePartitionColumns'='supported')"
    )
    insert = f"INSERT INTO delta.`{path}` VALUES ('x', {{}}, DATE '2026-01-02'), (NULL, {{}}, NULL)"
    reference_writer.sql(insert.format(1, 2))
    theirs = _columns(path)
    table = explorer.open_table(path)
    rows = pa.table({"p": ["x", "y"], "id": pa.array([3, 4], pa.int64()), "d": pa.array([20_455, None], pa.date32())})
    for intent, given in (({"kind": "append", "source": ""}, rows), ({"kind": "optimize"}, None)):
        before = _columns(path)
        assert table.commit(table.plan(intent, rows=given)).outcome == "committed"
        own = [found for file, found in _columns(path).items() if file not in before]
        assert [found for found in at_least_one(own) if found not in theirs.values()] == []
        _stats_without_partitions(table.commit_actions(table.latest_version()))
    reference_writer.sql(insert.format(5, 6))
    table.refresh()
    assert content_hash(scan(table, table.snapshot()).to_arrow()) == content_hash(reference_writer.rows(path))


def _columns(path: Path) -> dict[str, list[str]]:
    return {str(file): pq.read_schema(file).names for file in path.rglob("*.parquet") if "_delta_log" not in str(file)}


def _stats_without_partitions(lines: list[Any]) -> None:
    adds = [json.loads(line)["add"] for line in lines if "add" in json.loads(line)]
    assert [list(json.loads(add["stats"])["nullCount"]) for add in at_least_one(adds)] == [["id"]] * len(adds)
