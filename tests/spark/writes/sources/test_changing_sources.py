"""Sources that are not what they were when the plan was made, or that do not say what becomes of a row."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.cli.app import run
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult
from explorer.spark.engine.session import engine
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]

MERGE: dict[str, Any] = {
    "kind": "merge",
    "source": "",
    "on": "target.id = source.id",
    "matched": [{"update": {"v": "source.v"}}],
    "notMatched": [{"insert": "*"}],
}
FEED = {"delta.enableChangeDataFeed": "true"}


def new_table(folder: Path, properties: dict[str, str] | None = None) -> explorer.Table:
    rows = pa.table({"id": pa.array(range(100), pa.int64()), "v": [0.0] * 100})
    fields = [column("id", "long"), column("v", "double")]
    files = [DataFile("a.parquet", rows.slice(0, 50)), DataFile("b.parquet", rows.slice(50))]
    features = ["changeDataFeed"]
    return explorer.open_table(write_table(folder, fields, files, (), properties or {}, writer_features=features))


def rows_from(first: int, count: int = 10) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "v": [1.0] * count})


def refused(table: explorer.Table, plan: CommitPlan, guard: str) -> str:
    """Commit a plan that a guard has to stop; nothing of it may be left. Returns what is said of it."""
    version, keys = table.latest_version(), sorted(table.store.list_tree())
    result = table.commit(plan)
    assert isinstance(result, CommitResult)
    assert result.outcome == "rejected"
    (found,) = result.plan.blocking
    assert found.name == guard
    assert (explorer.open_table(table.location).latest_version(), sorted(table.store.list_tree())) == (version, keys)
    return str(found.evidence["detail"])


def planned(table: explorer.Table, intent: dict[str, Any], rows: Any = None) -> CommitPlan:
    plan = table.plan(intent, rows=rows)
    assert isinstance(plan, CommitPlan)
    return plan


Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
LATER = {"other rows": rows_from(5), "more rows": rows_from(0, 11)}
WRITTEN_AGAIN = [(kind, later) for kind in ("append", "merge", "overwrite") for later in LATER]


@pytest.mark.parametrize(("kind", "later"), WRITTEN_AGAIN if WHOLE_DOSE else WRITTEN_AGAIN[::3])
def test_a_file_that_is_written_again_after_the_plan_is_not_committed(tmp_path: Path, kind: str, later: str) -> None:
    table, source = new_table(tmp_path / "t"), tmp_path / "rows.parquet"
    pq.write_table(rows_from(0), source)
    plan = planned(table, (MERGE if kind == "merge" else {"kind": kind}) | {"source": str(source)})
    assert plan.committable
    pq.write_table(LATER[later], source)
    assert "changed while it was read" in refused(table, plan, "source-unchanged")


def test_a_folder_that_gets_a_file_after_the_plan_is_not_committed(tmp_path: Path) -> None:
    table, source = new_table(tmp_path / "t"), tmp_path / "rows"
    source.mkdir()
    pq.write_table(rows_from(0), source / "1.parquet")
    plan = planned(table, {"kind": "append", "source": str(source)})
    pq.write_table(rows_from(10), source / "2.parquet")
    refused(table, plan, "source-unchanged")
    (source / "2.parquet").unlink()
    assert table.commit(planned(table, {"kind": "append", "source": str(source)})).outcome == "committed"


# A function in a function is sent to workers as it is: those of a Connect server have neither tests nor program.
def _other_ids() -> Task:
    def ids(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            found = sorted(random.SystemRandom().sample(range(100), 3))
            yield pa.RecordBatch.from_pydict({"id": found, "v": [1.0] * 3})

    return ids


def _other_values() -> Task:
    def values(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [1 + random.SystemRandom().random() for _ in range(batch.num_rows)]
            yield pa.RecordBatch.from_pydict({"id": batch.column(0), "v": pa.array(found)})

    return values


@pytest.mark.parametrize("properties", [{"delta.enableDeletionVectors": "true"}, {}], ids=["masks", "rewrites"])
def test_rows_that_match_others_at_each_reading_are_not_committed(tmp_path: Path, properties: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", properties)
    rows = engine().session().range(1).mapInArrow(_other_ids(), "id long, v double")
    refused(table, planned(table, {**MERGE, "notMatched": []}, rows), "source-unchanged")


@pytest.mark.always
def test_values_that_differ_at_each_reading_are_those_of_the_commit(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", FEED)
    rows = engine().session().range(95, 105, 1, 1).mapInArrow(_other_values(), "id long, v double")
    assert table.commit(planned(table, MERGE, rows)).outcome == "committed"
    found = {row["id"]: row["v"] for row in table.rows().toArrow().to_pylist()}
    assert sorted(found) == list(range(105))
    assert sum(value > 0 for value in found.values()) == 10


@pytest.mark.always
def test_several_rows_that_match_one_row_are_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, source = new_table(tmp_path / "t"), tmp_path / "rows.parquet"
    pq.write_table(pa.concat_tables([rows_from(40, 2), rows_from(41, 2)]), source)
    intent = MERGE | {"source": str(source)}
    said = refused(table, planned(table, intent), "one-match-each")
    assert '"id":41' in said
    assert "2 matches" in said
    arguments = ["commit", str(tmp_path / "t"), json.dumps(intent), "--reason", "r", "--yes", "--json"]
    assert run(arguments) == 5
    assert "one-match-each" in capsys.readouterr().err


def test_several_rows_that_delete_one_row_say_the_same(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", FEED)
    intent = {key: value for key, value in MERGE.items() if key != "notMatched"} | {"matched": [{"delete": True}]}
    result = table.commit(planned(table, intent, pa.concat_tables([rows_from(40, 2), rows_from(41, 2)])))
    assert result.outcome == "committed"
    assert table.rows().count() == 97
    found = sorted((row["id"], row["_change_type"]) for row in table.changes(1, 1).toArrow().to_pylist())
    assert found == [(40, "delete"), (41, "delete"), (42, "delete")]
