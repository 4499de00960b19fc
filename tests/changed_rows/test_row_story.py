"""One row's story: by key, by ID and by place; through renames, rewrites and masks; and keys that are not unique."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.changed_rows.followed_range import followed_range
from explorer.changed_rows.place_rows import row_at
from explorer.changed_rows.row_story import RowStory
from explorer.changed_rows.small_story import small_story
from explorer.core.errors import CorruptTable, RequestError
from explorer.core.protocol.actions import Metadata
from explorer.first_rows.first_rows import SparkOnly
from tests.support.logs.changing_table import Changing, written
from tests.support.logs.spark_tables import column, struct

TRACKED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version",
}


def told(root: Path, key: dict[str, Any] | int) -> RowStory:
    table = explorer.open_table(root)
    found = small_story(table, followed_range(table, key))
    assert not isinstance(found, SparkOnly)
    return found


def steps(story: RowStory) -> list[tuple[int, str, list[tuple[str, int]]]]:
    return [(step.version, step.kind, [(row.path, row.row) for row in step.rows]) for step in story.steps]


def test_a_row_is_followed_by_its_key_through_an_update_and_a_rewrite(tmp_path: Path) -> None:
    root = written(tmp_path / "t")
    story = told(root, {"id": 3})
    assert steps(story) == [(1, "insert", [("a.parquet", 2)]), (3, "update", [("b.parquet", 1)])]
    assert story.steps[1].changed == ("name",)
    assert story.rows.column("name").to_pylist() == ["three", "THREE"]
    assert steps(told(root, {"id": 1})) == [(1, "insert", [("a.parquet", 0)]), (3, "move", [("b.parquet", 0)])]
    assert steps(told(root, {"id": 2})) == [(1, "insert", [("a.parquet", 1)]), (2, "delete", [])]
    assert steps(told(root, {"id": 9})) == []


def test_a_row_is_followed_by_its_id_where_its_key_changes(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t", [column("id", "long")], TRACKED)
    table.commit(table.add("a.parquet", pa.table({"id": [1, 2]}), base_row_id=0))
    after = pa.table({"id": [7, 1], "_row-id": pa.array([1, 0], pa.int64())})
    table.commit(table.remove("a.parquet"), table.add("b.parquet", after, base_row_id=10))
    root = table.write()
    assert steps(told(root, 1)) == [(1, "insert", [("a.parquet", 1)]), (2, "update", [("b.parquet", 0)])]
    opened = explorer.open_table(root)
    placed = row_at(opened, opened.snapshot(), "b.parquet", 0)
    assert (placed.row_id, placed.values) == (1, {"id": 7})
    assert row_at(opened, opened.snapshot(1), "a.parquet", 1).row_id == 1
    for path, row in (("a.parquet", 0), ("b.parquet", 2), ("nope", 0)):
        with pytest.raises(RequestError, match="has no row"):
            row_at(opened, opened.snapshot(), path, row)


def test_a_row_is_followed_through_a_rename(tmp_path: Path) -> None:
    def named(name: str) -> dict[str, Any]:
        return column(name, "long", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"})

    mode = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    table = Changing(tmp_path / "t", [named("old")], mode)
    table.commit(table.add("a.parquet", pa.table({"c1": [1, 2]})))
    before = table.commits[0][1]
    assert isinstance(before, Metadata)
    renamed = msgspec.structs.replace(before, schema_string=json.dumps(struct(named("new"))))
    table.commit(renamed, operation="RENAME COLUMN")
    table.commit(table.remove("a.parquet"), table.add("b.parquet", pa.table({"c1": [2]})))
    root = table.write()
    assert steps(told(root, {"new": 1})) == [(1, "insert", [("a.parquet", 0)]), (3, "delete", [])]
    with pytest.raises(RequestError, match="no column 'old'"):
        told(root, {"old": 1})


def test_a_key_that_is_not_unique_is_named_with_its_files_and_the_rows_stay(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t", [column("id", "long"), column("name", "string")])
    table.commit(table.add("a.parquet", pa.table({"id": [1], "name": ["one"]})))
    table.commit(table.add("b.parquet", pa.table({"id": [1, 2], "name": ["uno", "dos"]})))
    table.commit(table.remove("b.parquet"))
    story = told(table.write(), {"id": 1})
    assert steps(story) == [
        (1, "insert", [("a.parquet", 0)]),
        (2, "several", [("a.parquet", 0), ("b.parquet", 0)]),
        (3, "several", [("a.parquet", 0)]),
    ]
    assert story.rows.column("name").to_pylist() == ["one", "uno"]
    assert steps(told(tmp_path / "t", {"id": 1, "name": "uno"})) == [
        (2, "insert", [("b.parquet", 0)]),
        (3, "delete", []),
    ]


def test_null_nan_and_zeros_are_keys_as_in_sql(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t", [column("x", "double")])
    table.commit(table.add("a.parquet", pa.table({"x": [0.0, -0.0, float("nan"), None]})))
    root = table.write()
    assert [len(told(root, {"x": value}).latest) for value in (0.0, float("nan"), None, 1.0)] == [2, 1, 1, 0]


def test_bad_requests_and_bad_files_are_named(tmp_path: Path) -> None:
    root = written(tmp_path / "t")
    with pytest.raises(RequestError, match="row tracking is off"):
        told(root, 3)
    with pytest.raises(RequestError, match="not a value of the column 'id'"):
        told(root, {"id": "three"})
    with (root / "b.parquet").open("ab") as file:
        file.write(b"more")
    with pytest.raises(CorruptTable, match=r"b\.parquet of version 4 has"):
        told(root, {"id": 3})


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_spark_tells_the_same_story(tmp_path: Path) -> None:
    from explorer.spark.rows.key_history import story_job

    root = written(tmp_path / "t")
    tracked = Changing(tmp_path / "tracked", [column("id", "long"), column("name", "string")], TRACKED)
    tracked.commit(tracked.add("a.parquet", pa.table({"id": [1, 2], "name": ["a", "b"]}), base_row_id=0))
    after = pa.table({"id": [7, 1], "name": ["B", "a"], "_row-id": pa.array([1, None], pa.int64())})
    tracked.commit(tracked.remove("a.parquet"), tracked.add("b.parquet", after, base_row_id=10))
    tracked.write()
    keys: list[tuple[Path, dict[str, Any] | int]] = [(root, {"id": 3}), (root, {"id": 2}), (root, {"id": 9})]
    keys += [(tmp_path / "tracked", row_id) for row_id in (0, 1, 11)]
    for folder, key in keys:
        table = explorer.open_table(folder)
        here = told(folder, key)
        there = story_job(table, followed_range(table, key)).result(120)
        assert (here.by_spark, there.by_spark) == (False, True)
        assert (steps(here), here.rows.schema.types) == (steps(there), there.rows.schema.types), key
        assert [step.changed for step in here.steps] == [step.changed for step in there.steps]
        assert (here.files_read, here.files_total) == (there.files_read, there.files_total)


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_the_condition_of_a_row_means_that_row_to_spark(tmp_path: Path) -> None:
    from explorer.views.rows.row_reference import condition_of, parsed_row, row_text, typed_key

    kinds = ("decimal(10,2)", "timestamp", "timestamp_ntz", "binary", "float", "date", "boolean", "string")
    values = {
        "decimal(10,2)": pa.array([Decimal("1.50"), Decimal("1.51")], pa.decimal128(10, 2)),
        "timestamp": pa.array([1, 2], pa.timestamp("us", "UTC")),
        "timestamp_ntz": pa.array([1, 2], pa.timestamp("us")),
        "binary": pa.array([b"\0\xff", b""]),
        "float": pa.array([0.1, 0.2], pa.float32()),
        "date": pa.array([1, 2], pa.int32()).cast(pa.date32()),
        "boolean": pa.array([True, False]),
        "string": pa.array(["it's \\ \u2028 ${x}\n", ""]),
    }
    table = Changing(tmp_path / "t", [column(f"a {kind}", kind) for kind in kinds])
    table.commit(table.add("a.parquet", pa.table({f"a {kind}": values[kind] for kind in kinds})))
    opened = explorer.open_table(table.write())
    first, schema = opened.head(1).to_pylist()[0], opened.snapshot().schema
    reference = parsed_row(row_text(first))
    assert isinstance(reference, dict)
    assert typed_key(opened.snapshot(), reference) == first
    for name, value in first.items():
        assert steps(told(tmp_path / "t", {name: value})) == [(1, "insert", [("a.parquet", 0)])], name
        assert opened.rows(where=condition_of({name: value}, schema)).count() == 1, name
    assert opened.rows(where=condition_of(first, schema)).count() == 1
