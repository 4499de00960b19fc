"""Identity columns of rows that a merge or an overwrite brings: whose value counts, and what the change feed says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

MERGE = {"kind": "merge", "source": "", "on": "target.k = source.k"}


def _table(folder: Path, *, fed: bool) -> explorer.Table:
    """Rows 1 and 2 of a column that counts by one, in which people may give values of their own."""
    counting = {"start": 1, "step": 1, "highWaterMark": 2, "allowExplicitInsert": True}
    identity = {f"delta.identity.{name}": value for name, value in counting.items()}
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "k": ["a", "b"]})
    path = write_table(
        folder / "t",
        [column("id", "long", **identity), column("k", "string")],
        [DataFile("f.parquet", rows)],
        (),
        {"delta.enableChangeDataFeed": str(fed).lower()},
        writer_features=("identityColumns", "changeDataFeed"),
    )
    return explorer.open_table(path)


def _committed(table: explorer.Table, intent: dict[str, Any], rows: pa.Table) -> dict[str, int]:
    result = table.commit(table.plan(intent, rows=rows))
    assert result.outcome == "committed"
    found = table.rows().toArrow().to_pylist()
    assert len({row["k"] for row in found}) == len(found)
    return {row["k"]: row["id"] for row in found}


def _mark(table: explorer.Table) -> int:
    return int(table.snapshot().schema.fields[0].metadata["delta.identity.highWaterMark"])


@pytest.mark.conformance("IDENT-003", "IDENT-005", "IDENT-007")
def test_a_merge_keeps_the_values_that_it_gives_and_makes_the_others(tmp_path: Path) -> None:
    table = _table(tmp_path, fed=True)
    source = pa.table({"k": ["b", "c", "d", "e"], "given": pa.array([None, None, 50, None], pa.int64())})
    ids = _committed(
        table,
        {
            **MERGE,
            "matched": [{"update": {"k": "'b!'"}}],
            "notMatched": [
                {"when": "source.given IS NOT NULL", "insert": {"id": "source.given", "k": "source.k"}},
                {"insert": {"k": "source.k"}},
            ],
        },
        source,
    )
    assert {name: ids[name] for name in ("a", "b!", "d")} == {"a": 1, "b!": 2, "d": 50}
    assert len({ids["c"], ids["e"]}) == 2
    assert min(ids["c"], ids["e"]) > 2
    assert _mark(table) == max(ids["c"], ids["e"]) < 50, "what a person gives does not move the mark"
    changes = table.changes(1, 1).toArrow().to_pylist()
    inserted = {row["k"]: row["id"] for row in changes if row["_change_type"] == "insert"}
    assert inserted == {name: ids[name] for name in "cde"}


@pytest.mark.whole("test_a_merge_keeps_the_values_that_it_gives_and_makes_the_others")
@pytest.mark.conformance("IDENT-007")
def test_a_merge_that_gives_every_value_leaves_the_mark(tmp_path: Path) -> None:
    table = _table(tmp_path, fed=False)
    source = pa.table({"k": ["c"], "id": pa.array([50], pa.int64())})
    assert _committed(table, {**MERGE, "notMatched": [{"insert": "*"}]}, source) == {"a": 1, "b": 2, "c": 50}
    assert _mark(table) == 2


@pytest.mark.conformance("IDENT-007")
def test_an_append_that_gives_the_values_leaves_the_mark(tmp_path: Path) -> None:
    table = _table(tmp_path, fed=False)
    rows = pa.table({"ID": pa.array([50], pa.int64()), "k": ["c"]})
    assert _committed(table, {"kind": "append", "source": ""}, rows) == {"a": 1, "b": 2, "c": 50}
    assert _mark(table) == 2


@pytest.mark.whole(
    "test_a_merge_keeps_the_values_that_it_gives_and_makes_the_others, and the feed of "
    "overwrites in tests/spark/writes/test_every_row_counts.py"
)
@pytest.mark.conformance("IDENT-005", "CDF-003")
def test_the_feed_of_an_overwrite_has_the_values_that_the_rows_got(tmp_path: Path) -> None:
    table = _table(tmp_path, fed=True)
    rows = pa.table({"k": ["b2", "b3"]})
    ids = _committed(table, {"kind": "overwrite", "source": "", "where": "k >= 'b'"}, rows)
    assert {name: ids[name] > 2 for name in ("b2", "b3")} == {"b2": True, "b3": True}
    changes = table.changes(1, 1).toArrow().to_pylist()
    told = sorted((row["_change_type"], row["k"], row["id"]) for row in changes)
    assert told == [("delete", "b", 2), ("insert", "b2", ids["b2"]), ("insert", "b3", ids["b3"])]
