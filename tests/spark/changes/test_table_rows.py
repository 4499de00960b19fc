"""The rows in which two tables differ, beside what Spark's own EXCEPT ALL finds over the same files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.spark.changes.table_rows import table_row_preview
from explorer.spark.engine.session import engine
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("pair")
    one = pa.table({"id": [1, 2, 3, 4, 4], "name": ["a", "b", None, "d", "d"], "only": [1, 2, 3, 4, 5]})
    two = pa.table({"name": ["a", "B", None, "d", "e"], "id": pa.array([1, 2, 3, 4, 6], pa.int32())})
    write_table(root / "one", [column(n, t) for n, t in (("id", "long"), ("name", "string"), ("only", "long"))],
                [DataFile("a.parquet", one)])  # fmt: skip
    write_table(root / "two", [column("name", "string"), column("id", "integer")], [DataFile("b.parquet", two)])
    return root / "one", root / "two"


def _told(rows: pa.Table) -> Counter[Any]:
    told: Counter[Any] = Counter()
    for row in rows.to_pylist():
        sides = (None if row[side] is None else tuple(row[side].values()) for side in ("before", "after"))
        told[(row["change"], *sides)] += row["count"]
    return told


def test_entire_rows_that_differ_are_those_of_except_all(tables: tuple[Path, Path]) -> None:
    one, two = (explorer.open_table(path) for path in tables)
    session = engine().session()
    frames = [session.read.parquet(str(path / file)).selectExpr("cast(id as long) id", "name")
              for path, file in zip(tables, ("a.parquet", "b.parquet"), strict=True)]  # fmt: skip
    expected = Counter(("delete", (row["id"], row["name"]), None) for row in frames[0].exceptAll(frames[1]).collect())
    expected += Counter(("insert", None, (row["id"], row["name"])) for row in frames[1].exceptAll(frames[0]).collect())
    diff = one.compare_rows(two)
    assert _told(diff.to_arrow()) == expected
    assert {each.column: each.reason for each in diff.left_out} == {"only": "the second table has no such column"}


def test_a_key_matches_rows_and_a_repeated_one_is_counted(tables: tuple[Path, Path]) -> None:
    one, two = (explorer.open_table(path) for path in tables)
    seen = table_row_preview((one, one.snapshot()), (two, two.snapshot()), ["id"]).result(120)
    assert (seen.counts.updated, seen.counts.deleted, seen.counts.inserted) == (1, 1, 1)
    assert ("update", (2, "b"), (2, "B")) in _told(seen.table)
    assert seen.note == "All 3 rows that differ between the two tables."


def test_keys_that_are_not_in_both_tables_and_tables_without_a_common_column_are_refused(
    tables: tuple[Path, Path], tmp_path: Path
) -> None:
    one, two = (explorer.open_table(path) for path in tables)
    with pytest.raises(RequestError, match=r"'only'.*the second table has no such column"):
        one.compare_rows(two, ["only"])
    write_table(tmp_path / "t", [column("x", "long")], [DataFile("a.parquet", pa.table({"x": [1]}))])
    with pytest.raises(RequestError, match="no column in common"):
        one.compare_rows(explorer.open_table(tmp_path / "t"))


def test_a_table_and_itself_have_no_row_that_differs(tables: tuple[Path, Path]) -> None:
    one = explorer.open_table(tables[0])
    assert one.compare_rows(explorer.open_table(tables[0]), ["id"]).to_arrow().num_rows == 0
