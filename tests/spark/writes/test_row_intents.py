"""Rows deleted and appended by intents: what is committed, and what every reader sees afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import ExplorerError, InvalidIntent
from explorer.core.protocol.actions import DomainMetadata
from explorer.spark.scan.scan import scan
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import expected
from tests.support.clients.other_readers import duckdb_connection
from tests.support.clients.reference_steps import Step, copy_before, reference_commit
from tests.support.comparison.data_commands import data_commands
from tests.support.comparison.row_content import content_hash
from tests.support.dose import WHOLE_DOSE
from tests.support.logs import small_logs
from tests.support.logs.spark_tables import column, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.reference, pytest.mark.usefixtures("spark_engine")]

ROOT = reference_root()
EXPECTED = expected(ROOT)
DELETES: Final = [one.step for one in data_commands(ROOT) if one.step.text.startswith("DELETE") and not one.lost]
# What reads other data, or differs from one reading to the next, is refused here and there.
REFUSED: Final = ["copy-on-write#19", "copy-on-write#20"]
# Tables whose rows are deleted as those of another table are: their logs differ in what a deletion does not look at.
ALIKE: Final = {
    *("change-feed", "checkpoint-default", "checkpoint-json-stats", "checkpoint-multipart", "checkpoint-struct-stats"),
    *("checkpoint-without-checksum", "drop-feature", "log-compaction"),
}


def _some_deletes() -> list[Step]:
    """All in the whole dose; else of each table that differs the last that makes a commit, and all that make none."""
    last = {step.table: step for step in DELETES if step.version is not None and step.table not in ALIKE}
    return [step for step in DELETES if WHOLE_DOSE or step.version is None or step is last.get(step.table)]


@pytest.mark.sampled(cases=2)
@pytest.mark.conformance("FILE-002", "FILE-005", "FILE-010", "FILE-011", "FILE-016", "LOG-019", "META-004")
@pytest.mark.conformance(
    "DV-003",
    "DV-022",
    "DV-024",
    "STATS-009",
    "STATS-010",
    "CDF-001",
    "CDF-002",
    "ROWTRACK-003",
    "ROWTRACK-008",
    "ROWTRACK-009",
)
@pytest.mark.parametrize("step", _some_deletes(), ids=lambda step: step.name)
def test_a_deletion_of_the_reference_leaves_the_same_rows(step: Step, tmp_path: Path) -> None:
    table = explorer.open_table(copy_before(ROOT, step, tmp_path, with_data=True))
    if step.name in REFUSED or (step.error is not None and "UNRESOLVED" in step.error.get("condition", "")):
        with pytest.raises(ExplorerError):
            table.plan(step.intent)
        return
    plan = table.plan(step.intent, user="steward")
    if step.version is None:
        # Refused, or nothing to delete: the reference makes no commit and neither do we.
        assert not plan.committable
        assert table.commit(plan).outcome == "rejected"
        return
    result = table.commit(plan, user="steward")
    assert (result.outcome, result.version) == ("committed", step.version)
    wanted = next(record for record in EXPECTED[step.table]["versions"] if record["version"] == step.version)
    if "row_tracking" in wanted and "error" not in wanted["row_tracking"]:
        rows = table.rows(row_identity=True).toArrow()
        kept = [name for name in rows.column_names if name not in ("_file", "_row_index")]
        assert content_hash(rows.select(kept)) == wanted["row_tracking"]["content_hash"]
    if "content_hash" in wanted:
        assert content_hash(scan(table, table.snapshot()).to_arrow(readable=True)) == wanted["content_hash"]
    _is_legal(result.plan.actions)
    files = [file for action in result.plan.actions for kind, file in action.items() if kind in ("add", "remove")]
    assert {file["dataChange"] for file in files} == {True}
    tags = result.plan.actions[0]["commitInfo"].get("tags", {})
    tracking = table.snapshot().row_tracking
    assert tags.get("delta.rowTracking.preserved") == (str(tracking.enabled).lower() if tracking.supported else None)
    theirs, ours = reference_commit(ROOT, step), [dict(action) for action in result.plan.actions]
    assert _removed(ours) == _removed(theirs)
    assert _masked(ours) == _masked(theirs)
    assert any("cdc" in action for action in ours) == any("cdc" in action for action in theirs)
    named = [
        "numDeletedRows",
        "numRemovedFiles",
        "numCopiedRows",
        "numDeletionVectorsAdded",
        "numDeletionVectorsRemoved",
    ]
    metrics = [action["commitInfo"]["operationMetrics"] for action in (ours[0], theirs[0])]
    assert [metrics[0].get(name) for name in named] == [metrics[1].get(name) for name in named]


@pytest.mark.whole("test_every_row_counts.py")
@pytest.mark.conformance("CDF-001", "CDF-005")
def test_rows_of_whole_files_are_recorded_where_other_rows_are(tmp_path: Path) -> None:
    table = _table("change-feed-partitioned", 2, tmp_path)
    ids: dict[int, list[int]] = {}
    for row in table.rows().toArrow().to_pylist():
        ids.setdefault(row["p"], []).append(row["id"])
    whole, part = [sorted(ids[p]) for p in sorted(ids)][:2]
    assert len(part) > 1
    gone = [*whole, part[0]]
    result = table.commit(table.plan({"kind": "delete", "where": f"id IN ({', '.join(map(str, gone))})"}))
    assert result.outcome == "committed"
    found = table.changes(3, 3).toArrow().to_pylist()
    assert sorted((row["id"], row["_change_type"]) for row in found) == [(number, "delete") for number in sorted(gone)]


def _is_legal(actions: Sequence[dict[str, Any]]) -> None:
    """One action of a kind for each thing, and no vector changed without the old one removed."""
    found = [(kind, action) for line in actions for kind, action in line.items()]
    for kind, key in (("add", "path"), ("remove", "path"), ("domainMetadata", "domain"), ("txn", "appId")):
        names = [action[key] for name, action in found if name == kind]
        assert len(names) == len(set(names)), (kind, names)
    adds = {action["path"]: action.get("deletionVector") for name, action in found if name == "add"}
    for name, action in found:
        if name == "remove":
            assert action["extendedFileMetadata"] is True
            assert action["deletionTimestamp"] > 1_700_000_000_000
            assert {"partitionValues", "size", "dataChange"} <= action.keys()
            assert action["path"] not in adds or adds[action["path"]] != action.get("deletionVector")
    assert all(path in {a["path"] for n, a in found if n == "remove"} for path, vector in adds.items() if vector)


def _removed(actions: list[dict[str, Any]]) -> list[str]:
    return sorted(action["remove"]["path"] for action in actions if "remove" in action)


def _masked(actions: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Files that got a vector, with its cardinality."""
    adds = (action["add"] for action in actions if "add" in action)
    return sorted((add["path"], add["deletionVector"]["cardinality"]) for add in adds if add.get("deletionVector"))


def _table(name: str, version: int, folder: Path) -> explorer.Table:
    step = Step(name, 0, version, None, "", {})
    return explorer.open_table(copy_before(ROOT, step, folder, with_data=True))


def _append(table: explorer.Table, rows: pa.Table, folder: Path) -> Any:
    source = folder / "rows.parquet"
    pq.write_table(rows, source)
    plan = table.plan({"kind": "append", "source": str(source)}, user="steward")
    return table.commit(plan, user="steward")


@pytest.fixture
def duck() -> duckdb.DuckDBPyConnection:
    return duckdb_connection()


@pytest.mark.conformance("FILE-001", "PART-002", "PART-006", "PART-009", "PART-010", "STATS-001", "WRITER-005")
def test_partition_values_of_every_type_are_read_back_by_others(
    tmp_path: Path, duck: duckdb.DuckDBPyConnection
) -> None:
    table = _table("partition-types", 2, tmp_path)
    rows = pa.table(
        {
            "id": pa.array([7], pa.int32()),
            "b": [False],
            "i8": pa.array([-128], pa.int8()),
            "i64": [-(2**63)],
            "d": [1e300],
            "dc": pa.array([Decimal("-9999999.999")], pa.decimal128(10, 3)),
            "s": ["a/b=c é%20+"],
            "dt": [date(1, 1, 1)],
            "ts": pa.array([datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)], pa.timestamp("us", "UTC")),
        }
    )
    assert _append(table, rows, tmp_path).outcome == "committed"
    ours = [row for row in table.rows().toArrow().to_pylist() if row["id"] == 7]
    named = ", ".join(rows.column_names)
    query = f"select {named} from delta_scan('{table.location}') where id = 7"
    (theirs,) = duck.execute(query).to_arrow_table().to_pylist()
    wanted = rows.to_pylist()[0]
    assert {name: ours[0][name] for name in wanted} == wanted
    assert theirs == wanted


@pytest.mark.conformance("CM-007", "PART-012", "STATS-013")
def test_nested_and_renamed_columns_are_written_under_physical_names(
    tmp_path: Path, duck: duckdb.DuckDBPyConnection
) -> None:
    table = _table("column-mapping", 15, tmp_path)
    items = pa.struct([("ex", pa.int32()), ("y", pa.int32()), ("w", pa.string())])
    rows = pa.table(
        {
            "id": [77, 78],
            "s": pa.array([{"alpha": 1, "b": 2}, None], pa.struct([("alpha", pa.int32()), ("b", pa.int32())])),
            "l": pa.array([[{"ex": 1, "y": 2, "w": "w"}, None], []], pa.list_(items)),
            "m": pa.array([[("k", {"vk": 3})], None], pa.map_(pa.string(), pa.struct([("vk", pa.int32())]))),
            "part": ["p 1/x", None],
            "x.y": pa.array([5, None], pa.int32()),
        }
    )
    assert _append(table, rows, tmp_path).outcome == "committed"
    found = table.rows(where="id >= 77").toArrow().select(rows.column_names).sort_by("id")
    assert found.to_pylist() == rows.to_pylist()
    root = Path(table.location.removeprefix("file://"))
    for add in at_least_one(_adds(table, table.latest_version())):
        stored, counts = pq.read_schema(root / unquote(add["path"])), json.loads(add["stats"])["nullCount"]
        assert set(counts) == set(stored.names), "statistics name columns as files do"
        assert "x.y" not in counts
        (inner,) = (each for each in counts.values() if isinstance(each, dict))
        assert set(inner) == {"a", stored.field("s").type[1].name}
    theirs = duck.execute(
        f"select id, s.alpha, part, \"x.y\" from delta_scan('{table.location}') where id >= 77 order by id"
    )
    assert theirs.fetchall() == [(77, 1, "p 1/x", 5), (78, None, None, None)]


@pytest.mark.conformance("IDENT-003", "IDENT-004", "IDENT-005")
def test_identity_columns_go_on_where_they_stopped(tmp_path: Path) -> None:
    table = _table("identity", 3, tmp_path)
    assert _append(table, pa.table({"v": ["x", "y"]}), tmp_path).outcome == "committed"
    found = {row["v"]: (row["id"], row["other"]) for row in table.rows().toArrow().to_pylist()}
    assert (found["x"], found["y"]) == ((6, 80), (7, 75))
    assert [field.metadata["delta.identity.highWaterMark"] for field in table.snapshot().schema.fields[:2]] == [7, 75]
    with pytest.raises(InvalidIntent, match="GENERATED ALWAYS"):
        _append(table, pa.table({"id": [99], "v": ["z"]}), tmp_path)


@pytest.mark.conformance("WRITER-003")
def test_data_files_are_written_before_the_commit_that_states_their_size_and_time(tmp_path: Path) -> None:
    root = Path(write_table(tmp_path / "t", [column("id", "long"), column("p", "string")], [], ["p"]))
    table = explorer.open_table(root)
    before = table.latest_version()
    assert _append(table, pa.table({"id": [1, 2, 3], "p": ["x", "x", "y z"]}), tmp_path).outcome == "committed"
    commit = (root / "_delta_log" / f"{before + 1:020d}.json").stat()
    adds = _adds(table, before + 1)
    assert len(adds) == 2
    for add in adds:
        file = (root / unquote(add["path"])).stat()
        assert (add["size"], add["modificationTime"]) == (file.st_size, file.st_mtime_ns // 1_000_000)
        assert file.st_mtime_ns <= commit.st_mtime_ns


@pytest.mark.conformance("GENCOL-002")
def test_generated_columns_that_are_left_out_are_computed(tmp_path: Path, duck: duckdb.DuckDBPyConnection) -> None:
    table = _table("generated-columns", 2, tmp_path)
    rows = pa.table(
        {"id": [70, 71], "ts": pa.array([datetime(2021, 3, 4, 5, tzinfo=UTC), None], pa.timestamp("us", "UTC"))}
    )
    assert _append(table, rows, tmp_path).outcome == "committed"
    found = table.rows(where="id >= 70").toArrow().select(["id", "d", "y", "dbl"]).sort_by("id").to_pylist()
    wanted = [(70, date(2021, 3, 4), 2021, 140), (71, None, None, 142)]
    assert [tuple(row.values()) for row in found] == wanted
    query = f"select id, d, y, dbl from delta_scan('{table.location}') where id >= 70 order by id"
    assert duck.execute(query).fetchall() == wanted


@pytest.mark.sampled(cases=2)
@pytest.mark.conformance("CONSTR-007", "CONSTR-014", "GENCOL-001", "SCHEMA-006")
@pytest.mark.parametrize(
    ("name", "version", "rows", "broken"),
    [
        ("constraints", 5, {"id": [1], "amount": [-1], "s": [{"a": 1, "b": "x"}]}, "new-rows:check:positive"),
        ("constraints", 5, {"id": [None], "amount": [1], "s": [{"a": 1, "b": "x"}]}, "new-rows:not-null:id"),
        ("constraints", 5, {"id": [1], "amount": [1]}, "new-rows:not-null:s.a"),
        ("generated-columns", 2, {"id": [1], "dbl": [3]}, "new-rows:generated:dbl"),
        ("char-varchar", 1, {"v": ["abcd"]}, "new-rows:length:v"),
    ],
)
def test_rows_that_break_a_rule_are_not_written(
    name: str, version: int, rows: dict[str, Any], broken: str, tmp_path: Path
) -> None:
    table = _table(name, version, tmp_path)
    files = sorted(path.name for path in Path(table.location.removeprefix("file://")).rglob("*"))
    result = _append(table, pa.table(rows), tmp_path)
    assert result.outcome == "rejected"
    (guard,) = [guard for guard in result.plan.blocking if guard.name == broken]
    (example,) = guard.evidence["examples"]
    assert {name: example["row"][name] for name in rows}.keys() == rows.keys(), "the row that breaks it is shown"
    assert table.latest_version() == version
    assert files == sorted(path.name for path in Path(table.location.removeprefix("file://")).rglob("*"))


@pytest.mark.conformance("ROWTRACK-001", "ROWTRACK-002")
def test_appended_rows_get_fresh_ids(tmp_path: Path) -> None:
    table = _table("row-tracking", 3, tmp_path)
    before = table.rows(row_identity=True).toArrow().column("_row_id").to_pylist()
    mark = table.snapshot().row_tracking.high_water_mark
    assert _append(table, pa.table({"id": [100, 101]}), tmp_path).outcome == "committed"
    rows = table.rows(row_identity=True).toArrow().sort_by("id").to_pylist()
    assert [row["_row_id"] for row in rows[-2:]] == [mark + 1, mark + 2]
    assert {row["_row_commit_version"] for row in rows[-2:]} == {4}
    assert len({row["_row_id"] for row in rows}) == len(before) + 2


@pytest.mark.conformance("DEFCOL-001")
def test_columns_left_out_take_their_default_and_an_explicit_null_stays(tmp_path: Path) -> None:
    table = _table("default-columns", 8, tmp_path)
    given = pa.table({"id": [50, 51], "n": pa.array([None, 3], pa.int32())})
    assert _append(table, given, tmp_path).outcome == "committed"
    found = {row["id"]: row for row in table.rows(where="id >= 50").toArrow().to_pylist()}
    assert (found[50]["n"], found[51]["n"]) == (None, 3)
    assert found[50]["v"] == "none"


def test_a_csv_file_that_does_not_fit_is_refused_by_name(tmp_path: Path) -> None:
    table = _table("constraints", 5, tmp_path)
    source = tmp_path / "rows.csv"
    source.write_text("id,amont\n1,2\n")
    with pytest.raises(InvalidIntent, match="no column 'amont'"):
        table.plan({"kind": "append", "source": str(source)})
    source.write_text("id,amount\nfive,2\n")
    with pytest.raises(InvalidIntent, match="do not fit"):
        table.plan({"kind": "append", "source": str(source)})


def test_the_files_of_another_table_are_no_rows_to_append(tmp_path: Path) -> None:
    table = _table("constraints", 5, tmp_path)
    other = Path(table.location.removeprefix("file://"))
    for source in (str(other), f"{other}/", other.as_uri()):
        with pytest.raises(InvalidIntent, match="is a Delta table") as caught:
            table.plan({"kind": "append", "source": source})
        assert caught.value.field == "source"


@pytest.mark.sampled(cases=1)
@pytest.mark.conformance("CONSTR-003", "CONSTR-004", "CONSTR-005")
@pytest.mark.parametrize("text", ['{"expression": {"expression": "x > 3"}}', "x > 3"])
def test_invariants_hold_for_new_rows_where_the_protocol_has_them(text: str, tmp_path: Path) -> None:
    fields = [column("x", "long", **{"delta.invariants": text})]
    bound = explorer.open_table(write_table(tmp_path / "bound", fields, [], writer_features=["invariants"]))
    for value, outcome in ((3, "rejected"), (None, "rejected"), (4, "committed")):
        assert _append(bound, pa.table({"x": pa.array([value], pa.int64())}), tmp_path).outcome == outcome
    free = explorer.open_table(write_table(tmp_path / "free", fields, []))
    assert _append(free, pa.table({"x": [1]}), tmp_path).outcome == "committed"


@pytest.mark.conformance("IDENT-009")
def test_two_writers_never_give_one_identity_value_twice(tmp_path: Path) -> None:
    table = _table("identity", 3, tmp_path)
    source = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"v": ["x"]}), source)
    intent = {"kind": "append", "source": str(source)}
    first, second = table.plan(intent), table.plan(intent)
    assert table.commit(first).outcome == "committed"
    late = table.commit(second)
    assert (late.outcome, late.conflict.action if late.conflict else None) == ("conflicted", "metaData")


@pytest.mark.conformance("CLUSTER-003")
def test_a_masked_file_stays_in_its_cluster(tmp_path: Path) -> None:
    table = _table("clustering", 3, tmp_path)
    before = {add["path"]: add.get("clusteringProvider") for add in _adds(table, 3)}
    assert set(before.values()) == {"liquid"}
    vectors = {"kind": "set-properties", "properties": {"delta.enableDeletionVectors": "true"}}
    assert table.commit(table.plan(vectors)).outcome == "committed"
    (rows,) = table.rows().groupBy("a").count().orderBy("count").limit(1).collect()
    plan = table.plan({"kind": "delete", "where": f"a = {rows['a']}"})
    masked = [line["add"] for line in plan.actions if "add" in line and line["add"].get("deletionVector")]
    assert masked
    assert [add["clusteringProvider"] for add in masked] == [before[add["path"]] for add in masked]


@pytest.mark.conformance("VARIANT-002", "VARIANT-004")
def test_no_variant_is_shredded(tmp_path: Path) -> None:
    variants = _table("variant", 2, tmp_path)
    rows = variants.rows(where="v IS NOT NULL").select("v")
    assert variants.commit(variants.plan({"kind": "append", "source": ""}, rows=rows)).outcome == "committed"
    added = [add["path"] for add in _adds(variants, 3)]
    assert added
    for path in added:
        stored = pq.read_schema(tmp_path / "variant" / path).field("v").type
        assert {field.name for field in stored} == {"metadata", "value"}


@pytest.mark.whole("test_data_commands.py, on a clustered table of the reference")
@pytest.mark.conformance("CLUSTER-002", "CLUSTER-003", "STATS-009", "DV-022")
def test_files_of_a_clustered_table_have_bounds_of_its_columns_and_say_who_clustered_them(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(40)]
    features = ("clustering", "domainMetadata")
    properties = {"delta.enableDeletionVectors": "true"}
    folder = write_table(
        tmp_path / "t", [column(name, "integer") for name in names], [], (), properties, writer_features=features
    )
    domain = {"clusteringColumns": [["c39"]], "domainName": "delta.clustering"}
    clustered = DomainMetadata(domain="delta.clustering", configuration=json.dumps(domain))
    small_logs.write_log(folder, [(clustered,)], 1)
    table = explorer.open_table(folder)
    rows = pa.table({name: pa.array(range(10), pa.int32()) for name in names})
    for version in (2, 3):
        assert table.commit(table.plan({"kind": "append", "source": ""}, rows=rows)).version == version
    (add,) = _adds(table, 3)
    stats = json.loads(add["stats"])
    assert (stats["minValues"]["c39"], stats["maxValues"]["c39"]) == (0, 9)
    assert "c35" not in stats["minValues"], "beyond the first 32 only what the table is clustered by is described"
    assert table.commit(table.plan({"kind": "optimize"})).outcome == "committed"
    (add,) = _adds(table, 4)
    assert add["clusteringProvider"] == "liquid"
    vectors = []
    for number, hidden in ((1, 2), (2, 4)):
        assert table.commit(table.plan({"kind": "delete", "where": f"c0 = {number}"})).outcome == "committed"
        (again,), (gone,) = _adds(table, 4 + number), _removes(table, 4 + number)
        assert (again["path"], again["clusteringProvider"]) == (add["path"], "liquid")
        assert json.loads(again["stats"])["numRecords"] == pq.read_metadata(folder / add["path"]).num_rows == 20
        assert json.loads(again["stats"])["tightBounds"] is False
        assert again["deletionVector"]["cardinality"] == hidden
        assert [gone.get("deletionVector")] == (vectors[-1:] or [None]), "the old pair goes"
        vectors.append(again["deletionVector"])


def _removes(table: explorer.Table, version: int) -> list[dict[str, Any]]:
    lines = map(json.loads, table.commit_actions(version))
    return [line["remove"] for line in lines if "remove" in line]


def _adds(table: explorer.Table, version: int) -> list[dict[str, Any]]:
    lines = map(json.loads, table.commit_actions(version))
    return [line["add"] for line in lines if "add" in line]
