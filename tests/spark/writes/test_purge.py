"""Masked rows purged by an intent: what is committed, as the reference does it, and what readers see afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import ExpressionRefused
from explorer.spark.scan.scan import scan
from tests.support.clients.golden_expectations import expected
from tests.support.clients.other_readers import duckdb_connection
from tests.support.clients.reference_steps import Step, copy_before, reference_commit
from tests.support.comparison.data_commands import data_commands
from tests.support.comparison.row_content import content_hash
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.reference, pytest.mark.usefixtures("spark_engine")]

ROOT = reference_root()
PURGES = [one.step for one in data_commands(ROOT) if one.command == "REORG" and one.step.version is not None]


@pytest.mark.conformance("DV-022", "FILE-005", "FILE-010", "FILE-016", "ROWTRACK-003", "ROWTRACK-008", "ROWTRACK-009")
@pytest.mark.parametrize("step", PURGES, ids=lambda step: step.name)
def test_a_purge_of_the_reference_leaves_the_same_rows(step: Step, tmp_path: Path) -> None:
    table = explorer.open_table(copy_before(ROOT, step, tmp_path, with_data=True))
    plan = table.plan(step.intent, user="steward")
    result = table.commit(plan, user="steward")
    assert (result.outcome, result.version) == ("committed", step.version)
    wanted = next(each for each in expected(ROOT)[step.table]["versions"] if each["version"] == step.version)
    assert content_hash(scan(table, table.snapshot()).to_arrow(readable=True)) == wanted["content_hash"]
    if "row_tracking" in wanted:
        rows = table.rows(row_identity=True).toArrow()
        kept = [name for name in rows.column_names if name not in ("_file", "_row_index")]
        assert content_hash(rows.select(kept)) == wanted["row_tracking"]["content_hash"]
    ours, theirs = [dict(action) for action in result.plan.actions], reference_commit(ROOT, step)
    infos = [actions[0]["commitInfo"] for actions in (ours, theirs)]
    for name in ("operation", "operationParameters", "isolationLevel", "isBlindAppend", "tags"):
        assert infos[0].get(name) == infos[1].get(name), name
    metrics = [info["operationMetrics"] for info in infos]
    assert metrics[0].keys() == metrics[1].keys()
    for name in ("numRemovedFiles", "numRemovedBytes", "numDeletionVectorsRemoved"):
        assert metrics[0][name] == metrics[1][name]
    assert _removes(ours) == _removes(theirs)
    assert all(action["dataChange"] is False for line in ours for kind, action in line.items() if kind in _FILES)
    assert _physical_rows(ours) == _physical_rows(theirs)
    assert table.snapshot().num_deleted_records == 0
    assert not table.plan({"kind": "purge"}).committable


@pytest.mark.whole("tests/spark/writes/test_every_row_counts.py, where a purge under a condition takes some files")
def test_only_files_that_mask_a_matching_row_are_rewritten_and_an_emptied_one_goes(tmp_path: Path) -> None:
    table = explorer.open_table(_masked_table(tmp_path / "t"))
    plan = table.plan({"kind": "purge", "where": "name = 'c'"})
    assert table.commit(plan).outcome == "committed"
    assert _removes([dict(action) for action in plan.actions]) == [("b.parquet", 1)]
    assert "'c'" not in json.dumps(plan.actions[0])
    assert sorted(row["id"] for row in table.rows().toArrow().to_pylist()) == [1, 4]
    # The name of a row that is not masked, and that of no row.
    for where in ("name = 'd'", "name = 'z'"):
        assert not table.plan({"kind": "purge", "where": where}).committable
    assert table.commit(table.plan({"kind": "purge"})).outcome == "committed"
    assert table.snapshot().num_files == 2
    assert sorted(row["id"] for row in table.rows().toArrow().to_pylist()) == [1, 4]
    with pytest.raises(ExpressionRefused):
        table.plan({"kind": "purge", "where": "nobody = 1"})


_FILES = ("add", "remove")


def _masked_table(root: Path) -> Path:
    files = [
        DataFile("a.parquet", pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]}), masked=[1]),
        DataFile("b.parquet", pa.table({"id": pa.array([3, 4], pa.int64()), "name": ["c", "d"]}), masked=[0]),
        DataFile("c.parquet", pa.table({"id": pa.array([5], pa.int64()), "name": ["e"]}), masked=[0]),
    ]
    return write_table(root, [column("id", "long"), column("name", "string")], files)


def _removes(actions: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Files that are removed, with the rows that their vectors hid."""
    removes = [action["remove"] for action in actions if "remove" in action]
    return sorted((remove["path"], remove["deletionVector"]["cardinality"]) for remove in removes)


def _physical_rows(actions: list[dict[str, Any]]) -> int:
    return sum(json.loads(action["add"]["stats"])["numRecords"] for action in actions if "add" in action)


def test_no_masked_row_is_left_in_a_stored_file_of_the_newest_version(tmp_path: Path) -> None:
    root = _masked_table(tmp_path / "t")
    table = explorer.open_table(root)
    table.commit(table.plan({"kind": "purge"}))
    live = table.snapshot().files().column("path").to_pylist()
    query = f"select id from delta_scan('{table.location}') order by id"
    assert duckdb_connection().execute(query).fetchall() == [(1,), (4,)]
    names = [name for path in live for name in pq.read_table(root / path).column("name").to_pylist()]
    assert sorted(names) == ["a", "d"]


@pytest.mark.whole("tests/spark/writes/test_every_row_counts.py, where dropped columns are purged under a condition")
@pytest.mark.conformance("CM-007", "ROWTRACK-003")
@pytest.mark.parametrize("mode", ["name", "id"])
def test_no_dropped_column_is_left_in_a_stored_file_of_the_newest_version(mode: str, tmp_path: Path) -> None:
    items = pa.struct([("keep", pa.int32()), ("drop", pa.int32())])
    fields = [column("id", "long"), column("secret", "string"), column("items", _items_type())]
    path = write_table(tmp_path / "t", fields, [])
    table = explorer.open_table(path)
    mapping = {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}
    table.commit(table.plan({"kind": "set-properties", "properties": mapping}))
    if mode == "id":
        table = explorer.open_table(_with_ids(path))
    for first in (0, 10, 20):
        rows = pa.table(
            {
                "id": pa.array([first, first + 1], pa.int64()),
                "secret": ["x", "y"],
                "items": pa.array([[{"keep": 1, "drop": 2}], None], pa.list_(items)),
            }
        )
        assert table.commit(table.plan({"kind": "append", "source": ""}, rows=rows)).outcome == "committed"
    assert not table.plan({"kind": "purge"}).committable, "no column is dropped yet"
    assert table.commit(table.plan({"kind": "drop-columns", "columns": ["secret", "items.element.drop"]})).version
    assert table.commit(table.plan({"kind": "delete", "where": "id = 21"})).outcome == "committed"
    rows = pa.table({"id": pa.array([30], pa.int64())})
    assert table.commit(table.plan({"kind": "append", "source": ""}, rows=rows)).outcome == "committed"
    before = sorted(row["id"] for row in table.rows().toArrow().to_pylist())
    assert _purged(table, "id = 11") == 1
    assert _purged(table, "id = 30") == 0, "its file has never held the columns"
    assert _purged(table, None) == 2
    assert not table.plan({"kind": "purge"}).committable
    found = table.rows().toArrow().sort_by("id")
    assert found.column("id").to_pylist() == before == [0, 1, 10, 11, 20, 30]
    assert found.column("items").to_pylist()[:2] == [[{"keep": 1}], None]
    for name in table.snapshot().files().column("path").to_pylist():
        stored = pq.read_schema(path / name)
        assert len(stored) == 2
        assert stored.field(1).type.value_type.num_fields == 1


def _purged(table: explorer.Table, where: str | None) -> int:
    """Purge, and return how many files were rewritten."""
    plan = table.plan({"kind": "purge"} | ({} if where is None else {"where": where}))
    result = table.commit(plan)
    return sum("remove" in line for line in result.plan.actions) if result.outcome == "committed" else 0


def _items_type() -> dict[str, Any]:
    fields = [column("keep", "integer"), column("drop", "integer")]
    return {"type": "array", "containsNull": True, "elementType": {"type": "struct", "fields": fields}}


def _with_ids(path: Path) -> Path:
    """The same table, read by field ids: nobody may switch, so the log is written again while there are no files."""
    log = path / "_delta_log"
    for commit in sorted(log.glob("*.json")):
        commit.write_text(
            commit.read_text().replace('"delta.columnMapping.mode":"name"', '"delta.columnMapping.mode":"id"')
        )
    for derived in log.glob("*.crc"):
        derived.unlink()
    return path
