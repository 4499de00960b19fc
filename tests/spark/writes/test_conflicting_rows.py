"""Changes of rows planned on one version and committed on top of others: what can be is right, what cannot is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.transaction.commit_plan import CommitResult
from explorer.core.versions.retention.missing_files import data_locations
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]

VECTORS = {"delta.enableDeletionVectors": "true"}


def new_table(folder: Path, properties: dict[str, str], **more: Any) -> Path:
    """Ids 0 to 9 in partition a, in two files, and 10 to 19 in b."""
    files = [
        DataFile(f"p={p}/{first}.parquet", pa.table({"id": pa.array(range(first, last), pa.int64())}), {"p": p})
        for p, first, last in (("a", 0, 5), ("a", 5, 10), ("b", 10, 20))
    ]
    return write_table(folder, [column("id", "long"), column("p", "string")], files, ["p"], properties, **more)


def ids(table: explorer.Table) -> list[int]:
    found: list[int] = sorted(table.rows().toArrow().column("id").to_pylist())
    return found


APPENDED = pa.table({"id": pa.array([100, 101], pa.int64()), "p": ["b", "b"]})
MERGED = pa.table({"id": pa.array([200, 201], pa.int64())})
DELETE_A = {"kind": "delete", "where": "p = 'a' AND id < 3"}
DELETE_B = {"kind": "delete", "where": "p = 'b' AND id IN (18, 19)"}
UPDATE_A = {"kind": "update", "set": {"id": "id + 1000"}, "where": "p = 'a' AND id = 4"}
APPEND_B = {"kind": "append", "source": ""}
OPTIMIZE_A, OPTIMIZE_B = ({"kind": "optimize", "where": f"p = '{p}'"} for p in "ab")
REPLACE_B = {"kind": "overwrite", "source": "", "partitions": True}
MERGE_B = {
    "kind": "merge",
    "source": "",
    "on": "target.p = 'b' AND target.id = source.id - 190",
    "matched": [{"update": {"id": "source.id"}}],
}


def late(path: Path, intent: dict[str, Any], first: dict[str, Any]) -> CommitResult:
    """Commit a plan after another one that was made later."""
    table, other = explorer.open_table(path), explorer.open_table(path)
    plan = table.plan(intent, rows=rows_of(intent))
    won = other.commit(other.plan(first, rows=rows_of(first)), user="ada")
    assert won.outcome == "committed"
    result = table.commit(plan)
    assert isinstance(result, CommitResult)
    return result


def rows_of(intent: dict[str, Any]) -> pa.Table | None:
    return None if "source" not in intent else MERGED if intent["kind"] == "merge" else APPENDED


@pytest.mark.whole(
    (
        "test_appends_in_between.py, where changes go on top of others or do not, and "
        "test_row_ids_stay_apart_when_a_change_goes_on_top_of_another"
    ),
    cases=["masks"],
)
@pytest.mark.whole("test_appends_in_between.py, where changes go on top of others or do not", cases=["rewrites"])
@pytest.mark.conformance("LOG-023", "DV-022")
@pytest.mark.parametrize("properties", [VECTORS, {}], ids=["masks", "rewrites"])
def test_changes_of_two_partitions_go_one_on_top_of_the_other(tmp_path: Path, properties: dict[str, str]) -> None:
    path = new_table(tmp_path / "t", properties)
    expected = set(range(20))
    for intent, first, gone, come in (
        (DELETE_A, DELETE_B, {0, 1, 2, 18, 19}, set()),
        (UPDATE_A, APPEND_B, {4}, {1004, 100, 101}),
        (MERGE_B, OPTIMIZE_A, {10, 11}, {200, 201}),
        (OPTIMIZE_B, DELETE_A | {"where": "p = 'a' AND id = 3"}, {3}, set()),
        (REPLACE_B, DELETE_A | {"where": "p = 'a' AND id >= 1000"}, {*range(12, 18), 200, 201, 1004}, set()),
    ):
        result = late(path, intent, first)
        assert result.outcome == "committed", (intent, result.conflict, result.plan.blocking)
        expected = (expected - gone) | come
        table = explorer.open_table(path)
        assert result.version == table.latest_version()
        assert ids(table) == sorted(expected)
        assert [problem for problem in table.verify().problems if problem.kind != "stale-hint"] == []
    left = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.suffix in {".parquet", ".bin"}}
    left = {name for name in left if not name.startswith("_delta_log/")}
    named = set(data_locations(explorer.open_table(path).history_record().lifetimes))
    assert left == named, "files are written once for all tries, and those of no use are taken away"


@pytest.mark.whole("the case masks", cases=["rewrites"])
@pytest.mark.conformance("LOG-023", "DV-022")
@pytest.mark.parametrize("properties", [VECTORS, {}], ids=["masks", "rewrites"])
def test_two_changes_of_one_file_conflict_and_the_loser_is_told_which_file_and_who(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    path = new_table(tmp_path / "t", properties)
    result = late(path, DELETE_A, {"kind": "delete", "where": "p = 'a' AND id = 4"})
    assert result.outcome == "conflicted"
    assert result.conflict is not None
    assert result.conflict.action == "remove"
    assert "(DELETE by ada)" in result.conflict.why
    assert "p=a/0.parquet" in result.conflict.why
    assert ids(explorer.open_table(path)) == [number for number in range(20) if number != 4]
    again = explorer.open_table(path)
    assert again.commit(again.plan(DELETE_A)).outcome == "committed"
    assert ids(again) == [3, *range(5, 20)], "a new plan masks beside what was masked"


@pytest.mark.always(cases=["Serializable-conflicted"])
@pytest.mark.parametrize(("level", "outcome"), [("Serializable", "conflicted"), ("WriteSerializable", "committed")])
def test_rows_appended_first_come_after_a_deletion_where_the_table_allows_it(
    tmp_path: Path, level: str, outcome: str
) -> None:
    path = new_table(tmp_path / "t", {"delta.isolationLevel": level})
    result = late(path, {"kind": "delete", "where": "p = 'b'"}, APPEND_B)
    assert result.outcome == outcome
    table = explorer.open_table(path)
    if outcome == "committed":
        assert result.plan.actions[0]["commitInfo"]["isolationLevel"] == level
        assert ids(table) == [*range(10), 100, 101]
    else:
        assert result.conflict is not None
        assert result.conflict.action == "add"
        assert ids(table) == [*range(20), 100, 101]


@pytest.mark.conformance("ROWTRACK-002", "ROWTRACK-003")
def test_row_ids_stay_apart_when_a_change_goes_on_top_of_another(tmp_path: Path) -> None:
    path = new_table(tmp_path / "t", VECTORS, writer_features=["domainMetadata"])
    table = explorer.open_table(path)
    for intent in (
        {"kind": "enable-feature", "feature": "rowTracking"},
        {"kind": "set-properties", "properties": {"delta.enableRowTracking": "true"}},
    ):
        plan = table.plan(intent)
        if plan.committable:
            assert table.commit(plan).outcome == "committed"
    before = {row["id"]: row["_row_id"] for row in table.rows(row_identity=True).toArrow().to_pylist()}
    assert late(path, UPDATE_A, APPEND_B).outcome == "committed"
    after = {
        row["id"]: row["_row_id"] for row in explorer.open_table(path).rows(row_identity=True).toArrow().to_pylist()
    }
    assert len(set(after.values())) == len(after) == 22
    assert {**before, 1004: before[4]}.items() >= {number: after[number] for number in (*range(4), 1004)}.items()
    assert not {after[100], after[101]} & set(before.values())
