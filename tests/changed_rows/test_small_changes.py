"""Changes without Spark: what is read, what is refused with its file, what is left to Spark, and how rows pair."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.changed_rows.comparable import comparable_values
from explorer.changed_rows.small_changes import small_changes
from explorer.changed_rows.small_differences import small_differences
from explorer.core.errors import ChangeFeedGap, CorruptTable, RequestError, UnsupportedFeature
from explorer.core.versions.change_feed.schema_breaks import readable_ranges
from explorer.first_rows.first_rows import SparkOnly
from tests.support.at_least_one import at_least_one
from tests.support.logs.changing_table import FEED, Changing, written
from tests.support.logs.spark_tables import column
from tests.support.shared_tables import reference_root

Told = list[tuple[Any, ...]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return written(tmp_path / "t")


def told(root: Path, first: int, last: int, **options: Any) -> Told:
    """The changes: version, kind, id, name."""
    rows = explorer.open_table(root).changed_rows(first, last, inferred=True, **options)
    names = ("_commit_version", "_change_type", "id", "name")
    return list(zip(*(rows.column(name).to_pylist() for name in names), strict=True))


def test_added_and_masked_rows_are_changes(root: Path) -> None:
    first = [(1, "insert", 1, "one"), (1, "insert", 2, "two"), (1, "insert", 3, "three"), (1, "insert", 4, "four")]
    assert told(root, 1, 2) == [*first, (2, "delete", 2, "two")]
    assert told(root, 4, 4) == [(4, "insert", 5, "five")]


def test_copies_cancel_out_and_updates_pair_by_key(root: Path) -> None:
    assert told(root, 3, 3) == [(3, "delete", 3, "three"), (3, "insert", 3, "THREE")]
    assert told(root, 3, 3, keys=["id"]) == [(3, "update_preimage", 3, "three"), (3, "update_postimage", 3, "THREE")]
    table = explorer.open_table(root)
    seen = small_changes(table, table.change_sources(3, 3, True), 100, ["id"])
    assert not isinstance(seen, SparkOnly)
    assert (
        seen.note
        == "All 2 changes of version 3. 2 rows were only rewritten: in another file now, with the same values."
    )
    assert not seen.by_spark


def test_a_condition_leaves_the_rows_whose_own_values_meet_it(root: Path) -> None:
    everything = told(root, 1, 4)
    assert told(root, 1, 4, where="id > 2") == [row for row in everything if row[2] > 2]
    assert told(root, 3, 3, keys=["id"], where="name = 'THREE'") == [(3, "update_postimage", 3, "THREE")]
    assert told(root, 1, 4, where="id > 100") == []


def test_what_only_spark_can_judge_is_left_to_it_with_the_reason(root: Path) -> None:
    with pytest.raises(UnsupportedFeature, match="condition"):
        told(root, 1, 4, where="soundex(name) = 'T600'")


@pytest.mark.reference
def test_a_range_across_renames_is_the_changes_of_its_parts_under_the_last_names(tmp_path: Path) -> None:
    table = explorer.open_table(reference_root() / "tables" / "column-mapping")
    history = table.history_record()
    last = table.latest_version()
    parts = readable_ranges(history, 1, last)
    whole = readable_ranges(history, 1, last, by_id=True)
    assert len(whole) < len(parts)
    compared = 0
    for first, end in at_least_one(whole):
        inside = [part for part in parts if first <= part[0] and part[1] <= end]
        options = {"inferred": True, "schema_version": end, "skip": True}
        joined = table.changed_rows(first, end, by_id=True, **options)
        alone = [table.changed_rows(*part, inferred=True, schema_version=part[1], skip=True) for part in inside]
        physical = [field.physical_name for field in table.snapshot(end).schema.fields]
        rows = Counter(map(repr, _by_physical(joined, physical, physical)))
        expected: Counter[str] = Counter()
        for part, changes in zip(inside, alone, strict=True):
            names = [field.physical_name for field in table.snapshot(part[1]).schema.fields]
            expected += Counter(map(repr, _by_physical(changes, names, physical)))
        assert rows == expected
        compared += len(inside) > 1 and bool(rows)
    assert compared


def _values(value: Any) -> Any:
    """A value without the names of the fields in it, which were renamed too."""
    if isinstance(value, dict):
        return tuple(map(_values, value.values()))
    return [*map(_values, value)] if isinstance(value, list | tuple) else value


def _by_physical(changes: pa.Table, names: list[str], wanted: list[str]) -> list[tuple[Any, ...]]:
    """The rows by physical names; one that a part lacks is null."""
    records = changes.to_pylist()
    columns = dict(zip(names, changes.column_names, strict=False))
    marks = ("_commit_version", "_change_type")
    return [
        (*(_values(row[columns[name]]) if name in columns else None for name in wanted), *(row[mark] for mark in marks))
        for row in records
    ]


def test_updates_pair_by_row_id_where_rows_are_tracked(tmp_path: Path) -> None:
    tracked = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version",
    }
    table = Changing(tmp_path / "t", [column("id", "long"), column("name", "string")], tracked)
    before = pa.table({"id": [1, 2], "name": ["one", "two"]})
    after = pa.table({"id": [1, 7], "name": ["one", "TWO"], "_row-id": pa.array([0, 1], pa.int64())})
    table.commit(table.add("a.parquet", before, base_row_id=0))
    table.commit(table.remove("a.parquet"), table.add("b.parquet", after, base_row_id=10))
    table.write()
    assert told(tmp_path / "t", 2, 2) == [(2, "update_preimage", 2, "two"), (2, "update_postimage", 7, "TWO")]
    # A key that is asked for comes before the ID.
    assert told(tmp_path / "t", 2, 2, keys=["id"]) == [(2, "delete", 2, "two"), (2, "insert", 7, "TWO")]


def test_recorded_changes_come_from_their_files_alone(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t", [column("id", "long"), column("name", "string")], FEED)
    recorded = pa.table({"id": [9], "name": ["of the feed"], "_change_type": ["insert"]})
    added = table.add("a.parquet", pa.table({"id": [1], "name": ["of the file"]}))
    table.commit(added, table.feed("feed.parquet", recorded))
    table.write()
    assert told(tmp_path / "t", 1, 1) == [(1, "insert", 9, "of the feed")]
    (tmp_path / "t" / "feed.parquet").unlink()
    with pytest.raises(ChangeFeedGap, match=r"feed\.parquet is no longer in the table's folder"):
        told(tmp_path / "t", 1, 1)


def test_a_key_that_is_there_twice_pairs_nothing(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t", [column("id", "long"), column("name", "string")])
    table.commit(table.add("a.parquet", pa.table({"id": [1, 1, 2], "name": ["a", "b", "c"]})))
    after = pa.table({"id": [1, 2], "name": ["A", "C"]})
    table.commit(table.remove("a.parquet"), table.add("b.parquet", after))
    root = table.write()
    kinds = [kind for _, kind, *_ in told(root, 2, 2, keys=["id"])]
    assert kinds == ["delete", "delete", "insert", "update_preimage", "update_postimage"]
    seen = small_differences(explorer.open_table(root), 1, 2, ["id"])
    assert not isinstance(seen, SparkOnly)
    assert (seen.counts.updated, seen.counts.rows_of_repeated_keys) == (1, 3)
    repeated = [(row["change"], row["repeated_key"]) for row in seen.table.to_pylist()]
    assert repeated == [("update", False), ("delete", True), ("delete", True), ("insert", True)]
    assert seen.table.column("changed_columns")[0].as_py() == ["name"]


def test_a_range_without_changes_is_empty_and_has_its_columns(root: Path) -> None:
    rows = explorer.open_table(root).changed_rows(0, 0, inferred=True)
    assert rows.num_rows == 0
    assert rows.column_names == ["id", "name", "_change_type", "_commit_version", "_commit_timestamp"]


def test_a_file_of_another_size_is_named_with_its_version(root: Path) -> None:
    with (root / "b.parquet").open("ab") as file:
        file.write(b"more")
    assert told(root, 4, 4)
    with pytest.raises(CorruptTable, match=r"b\.parquet of version 3 has \d+ bytes, but the log records \d+"):
        told(root, 3, 3)


@pytest.mark.parametrize(
    ("fields", "rows", "reason"),
    [
        ([column("v", "variant")], pa.table({"v": pa.array([{"metadata": b"\1\0\0", "value": b"\0"}])}), "variants"),
        ([column("id", "long")], pa.table({"id": list(range(10_001))}), "more than 10,000 rows"),
    ],
)
def test_what_only_spark_reads_is_refused_with_its_reason(
    tmp_path: Path, fields: list[dict[str, Any]], rows: pa.Table, reason: str
) -> None:
    table = Changing(tmp_path / "t", fields)
    table.commit(table.add("a.parquet", rows))
    opened = explorer.open_table(table.write())
    with pytest.raises(UnsupportedFeature, match=reason):
        opened.changed_rows(1, inferred=True)
    found = small_differences(opened, 0, 1)
    assert isinstance(found, SparkOnly)
    assert reason in found.reason


def test_a_gap_a_wrong_key_and_a_taken_name_are_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ChangeFeedGap):
        explorer.open_table(root).changed_rows(1, 2)
    with pytest.raises(RequestError, match="no column 'nope'"):
        told(root, 3, 3, keys=["nope"])
    table = Changing(tmp_path / "taken", [column("_change_type", "string")])
    with pytest.raises(RequestError, match="name of a column of the change feed"):
        explorer.open_table(table.write()).changed_rows(0, inferred=True)


def test_equal_values_have_equal_forms_at_every_depth() -> None:
    nan = float("nan")
    kind = pa.struct([("f", pa.list_(pa.float64())), ("m", pa.map_(pa.string(), pa.float64()))])
    same = [
        {"f": [0.0, nan, None], "m": [("a", -0.0), ("b", nan)]},
        {"f": [-0.0, nan, None], "m": [("b", nan), ("a", 0.0)]},
    ]
    other: list[Any] = [{"f": None, "m": None}, None, {"f": [], "m": []}]
    forms = comparable_values(pa.array([*same, *other], kind))
    assert len(set(forms)) == 4
    assert forms[0] == forms[1]
    # A slice knows where it begins, and no date is too late.
    assert comparable_values(pa.array([[1], [2, 3], None], pa.list_(pa.int64())).slice(1)) == [(2, 3), None]
    late = pa.array([10**9, None], pa.int32()).cast(pa.date32())
    assert comparable_values(late) == [10**9, None]


def test_no_spark_and_no_pandas_are_loaded(root: Path) -> None:
    code = (
        "import sys, explorer; t = explorer.open_table(sys.argv[1]);"
        "assert t.changed_rows(1, inferred=True, keys=['id']).num_rows == 8;"
        "print(sorted({'pandas', 'pyspark', 'py4j'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_reads_a_small_range_without_java(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    command = [sys.executable, "-m", "explorer.cli", "changes", str(root), "--from", "2", "--to", "3", "--inferred"]
    env = os.environ | {"JAVA_HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run([*command, "--json", "--key", "id"], capture_output=True, text=True, env=env, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["_change_type"] for line in lines] == ["delete", "update_preimage", "update_postimage"], done.stderr
    assert done.stderr == '{"inferredVersions":[2,3],"skipped":[]}\n'
    shown = subprocess.run([*command, "--limit", "1"], capture_output=True, text=True, env=env, check=True)
    assert "The first 1 of 3 changes of versions 2 to 3." in shown.stdout + shown.stderr
    assert "Inferred from files, not recorded: versions 2, 3." in shown.stdout + shown.stderr
    subprocess.run([*command, "--output", str(out)], env=env, check=True, capture_output=True)
    assert pq.read_table(out).column("id").to_pylist() == [2, 3, 3]
