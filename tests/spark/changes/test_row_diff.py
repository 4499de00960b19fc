"""Row differences: columns that changed between the versions, keys of every kind, what is read, what is refused."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import RequestError, StorageError, VersionNotFound
from explorer.spark.changes.row_diff import RowDiff
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, struct, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]


def _two(root: Path, fields: Sequence[Any], before: pa.Table, after: pa.Table, **more: Any) -> explorer.Table:
    """A table whose one file is replaced by another."""
    write_table(root, fields, [DataFile("a.parquet", before)], **more)
    _commit(root, 1, remove=["a.parquet"], add={"b.parquet": after})
    return explorer.open_table(root)


def _commit(
    root: Path, version: int, remove: Iterable[str] = (), add: dict[str, pa.Table] | None = None, **metadata: Any
) -> None:
    import pyarrow.parquet as pq

    actions: list[dict[str, Any]] = []
    if metadata:
        first = (root / "_delta_log" / f"{0:020}.json").read_text().splitlines()
        known = next(json.loads(line)["metaData"] for line in first if "metaData" in line)
        actions.append({"metaData": known | metadata})
    actions += [{"remove": {"path": path, "dataChange": True, "deletionTimestamp": 1}} for path in remove]
    for path, rows in (add or {}).items():
        pq.write_table(rows, root / path)
        size = (root / path).stat().st_size
        actions.append(
            {"add": {"path": path, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}}
        )
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (root / "_delta_log" / f"{version:020}.json").write_text(text, "utf-8")


def _told(diff: RowDiff) -> list[tuple[Any, ...]]:
    rows = diff.to_arrow(readable=True).to_pylist()
    sides = [
        tuple(None if row[side] is None else tuple(row[side].values()) for side in ("before", "after")) for row in rows
    ]
    named = [None if row["changed_columns"] is None else tuple(row["changed_columns"]) for row in rows]
    told = [(row["change"], *side, names) for row, side, names in zip(rows, sides, named, strict=True)]
    assert [row["count"] for row in rows] == [1] * len(rows)
    return sorted(told, key=repr)


_COMPARED: Final = [
    (name, spread)
    for name in ("column-mapping", "type-widening", "deletion-vectors", "variant")
    for spread in (False, True)
    # In many tasks on every run only where the rows that are compared are of several types.
    if WHOLE_DOSE or not spread or name == "type-widening"
]


@pytest.mark.sampled(cases=2)
@pytest.mark.always(cases=["column-mapping-False"])
@pytest.mark.reference
@pytest.mark.parametrize(("name", "spread"), _COMPARED)
def test_the_difference_of_versions_is_that_of_their_rows(
    name: str, spread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the columns that are compared, whatever they are called at each of the two; in one task or in many."""
    if spread:
        monkeypatch.setattr("explorer.spark.changes.surplus._FEW_ROWS", -1)
    table = explorer.open_table(reference_root() / "tables" / name)
    first, last = table.version_range()
    middle = (first + last) // 2
    for before, after in ((middle, middle + 1), (last, middle), (middle, last)):
        diff = table.row_diff(before, after)
        names = [field.name for field in diff.schema.fields]
        newer = max(before, after)
        assert all(column.column not in names or column.version != newer for column in diff.left_out)
        sides = [_rows(table, version, newer, names) for version in (before, after)]
        found: Counter[str] = Counter()
        for row in diff.to_arrow(readable=True).to_pylist():
            side = row["before"] or row["after"]
            found[row["change"] + repr(tuple(map(_plain, side.values())))] += row["count"]
        meant = Counter({"delete" + row: n for row, n in (sides[0] - sides[1]).items()}) + Counter(
            {"insert" + row: n for row, n in (sides[1] - sides[0]).items()}
        )
        assert meant == found, (before, after)


def _rows(table: explorer.Table, version: int, newer: int, names: Sequence[str]) -> Counter[str]:
    """The rows of a version under the column names of another, by the lineage of the columns."""
    from explorer.spark.scan.scan import scan

    then = {}
    for line in table.column_lineage().columns:
        spans = {v: span.name for span in line.spans for v in range(span.from_version, span.to_version + 1)}
        if newer in spans and version in spans:
            then[spans[newer]] = spans[version]
    rows = scan(table, table.snapshot(version)).to_arrow(readable=True).to_pylist()
    return Counter(repr(tuple(_plain(row[then[name]]) if name in then else None for name in names)) for row in rows)


def _plain(value: Any) -> Any:
    """A value that is equal to itself in a wider type and under other names of its fields."""
    match value:
        case dict():
            return [_plain(item) for item in value.values() if item is not None]
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() if math.isnan(value):
            return "NaN"
        case Decimal() | int() | float() if not isinstance(value, bool):
            return float(value)
        case date() if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - a day widens to a time without zone
    return value


@pytest.mark.always
def test_keys_match_nulls_and_both_zeros_and_name_what_changed(tmp_path: Path) -> None:
    fields = [column("k", "double"), column("v", "double"), column("`w`.x", "string")]
    names = ["k", "v", "`w`.x"]
    before = [(None, 1.0, "a"), (0.0, math.nan, "b"), (math.nan, 2.0, "c"), (7.0, 1.0, None), (8.0, -0.0, "e")]
    after = [(None, 3.0, "a"), (-0.0, math.nan, "B"), (math.nan, 2.0, "c"), (9.0, 1.0, None), (8.0, 0.0, "e")]
    tables = [pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))) for rows in (before, after)]
    table = _two(tmp_path, fields, *tables)
    diff = table.row_diff(0, 1, ["k"])
    told = _told(diff)
    assert [row[0] for row in told] == ["delete", "insert", "update", "update"]
    assert told[0][1:] == ((7.0, 1.0, None), None, None)
    assert told[1][1:] == (None, (9.0, 1.0, None), None)
    by_name = {row[3]: row for row in told[2:]}
    assert by_name[("v",)][1:3] == ((None, 1.0, "a"), (None, 3.0, "a"))
    assert repr(by_name[("`w`.x",)][1:3]) == "((0.0, nan, 'b'), (-0.0, nan, 'B'))"
    counts = diff.counts()
    assert (counts.inserted, counts.deleted, counts.updated, counts.rows_of_repeated_keys) == (1, 1, 2, 0)
    whole = table.row_diff(1, 0).counts()
    assert (whole.inserted, whole.deleted, whole.updated) == (3, 3, 0)


@pytest.mark.always
def test_a_repeated_key_is_not_matched_and_is_counted(tmp_path: Path) -> None:
    fields = [column("k", "long"), column("v", "long")]
    before, after = pa.table({"k": [1, 1, 2, 3], "v": [1, 2, 5, 6]}), pa.table({"k": [1, 2, 2, 3], "v": [9, 5, 5, 7]})
    diff = _two(tmp_path, fields, before, after).row_diff(0, 1, ["k"])
    counts = diff.counts()
    assert (counts.inserted, counts.deleted, counts.updated, counts.rows_of_repeated_keys) == (2, 2, 1, 3)
    rows = diff.to_arrow().to_pylist()
    assert {(row["change"], row["repeated_key"]) for row in rows if (row["before"] or row["after"])["k"] == 1} == {
        ("delete", True),
        ("insert", True),
    }


def test_only_files_that_differ_are_read(tmp_path: Path) -> None:
    files = [DataFile(f"{i}.parquet", pa.table({"id": [10 * i, 10 * i + 1]})) for i in range(4)]
    write_table(tmp_path, [column("id", "long")], files)
    _commit(tmp_path, 1, remove=["2.parquet"], add={"new.parquet": pa.table({"id": [20, 99]})})
    for name in ("0.parquet", "1.parquet", "3.parquet"):
        (tmp_path / name).unlink()
    table = explorer.open_table(tmp_path)
    diff = table.row_diff(0, 1)
    assert _told(diff) == [("delete", (21,), None, None), ("insert", None, (99,), None)]
    assert diff.estimate.files == 2
    (tmp_path / "2.parquet").unlink()
    with pytest.raises(StorageError) as caught:
        table.row_diff(0, 1)
    assert (caught.value.path, caught.value.version) == ("2.parquet", 0)
    assert _told(table.row_diff(1, 1)) == []


def test_maps_structs_arrays_and_binaries_are_compared_by_value(tmp_path: Path) -> None:
    map_type = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    array = {"type": "array", "elementType": struct(column("z", "double")), "containsNull": True}
    fields = [column("k", "long"), column("m", map_type), column("a", array), column("b", "binary")]
    kinds = pa.schema(
        {
            "k": pa.int64(),
            "m": pa.map_(pa.string(), pa.int64()),
            "a": pa.list_(pa.struct({"z": pa.float64()})),
            "b": pa.binary(),
        }
    )
    before = [(1, [("x", 1), ("y", None)], [{"z": 0.0}], b"\0"), (2, None, [None], b""), (3, [], [], None)]
    after = [(1, [("y", None), ("x", 1)], [{"z": -0.0}], b"\0"), (2, [], [None], b""), (3, [], [{"z": math.nan}], b"")]
    tables = [
        pa.table(
            [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds.types, strict=True)], kinds
        )
        for rows in (before, after)
    ]
    told = _told(_two(tmp_path, fields, *tables).row_diff(0, 1, ["k"]))
    assert [(row[1][0], row[3]) for row in told] == [(2, ("m",)), (3, ("a", "b"))]


def test_an_added_column_is_null_before_and_a_dropped_one_is_left_out(tmp_path: Path) -> None:
    ids = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    more = [{"delta.columnMapping.id": i, "delta.columnMapping.physicalName": f"col-{i}"} for i in (2, 3)]
    write_table(
        tmp_path,
        [column("k", "integer", **ids), column("gone", "long", **more[0])],
        [DataFile("a.parquet", pa.table({"col-1": pa.array([1, 2], pa.int32()), "col-2": [5, 6]}))],
        configuration={"delta.columnMapping.mode": "name"},
    )
    schema = struct(column("key", "long", **ids), column("gone", "string", **more[1]))
    rows = pa.table({"col-1": [1, 2], "col-3": [None, "new"]})
    _commit(tmp_path, 1, ["a.parquet"], {"b.parquet": rows}, schemaString=json.dumps(schema))
    table = explorer.open_table(tmp_path)
    for versions, change in (((0, 1), (None, "new")), ((1, 0), ("new", None))):
        diff = table.row_diff(*versions, ["key"])
        assert [field.name for field in diff.schema.fields] == ["key", "gone"]
        assert [(column.column, column.version) for column in diff.left_out] == [("gone", 0)]
        assert _told(diff) == [("update", (2, change[0]), (2, change[1]), ("gone",))]


def test_a_column_of_another_type_is_left_out_and_named(tmp_path: Path) -> None:
    write_table(
        tmp_path,
        [column("k", "long"), column("v", "string")],
        [DataFile("a.parquet", pa.table({"k": [1], "v": ["x"]}))],
    )
    schema = json.dumps(struct(column("k", "long"), column("v", "double")))
    _commit(tmp_path, 1, ["a.parquet"], {"b.parquet": pa.table({"k": [1, 2], "v": [1.0, 2.0]})}, schemaString=schema)
    diff = explorer.open_table(tmp_path).row_diff(0, 1)
    (left_out,) = diff.left_out
    assert (left_out.column, "string at version 0 and double at version 1" in left_out.reason) == ("v", True)
    assert _told(diff) == [("insert", None, (2,), None)]
    with pytest.raises(RequestError, match="string at version 0"):
        explorer.open_table(tmp_path).row_diff(0, 1, ["v"])


def test_partition_values_without_a_zone_are_read_in_that_of_the_table(tmp_path: Path) -> None:
    fields = [column("id", "long"), column("at", "timestamp")]
    rows = pa.table({"id": [1]})
    write_table(tmp_path, fields, [DataFile("a.parquet", rows, {"at": "2024-07-01 12:00:00"})], ["at"])
    _commit(tmp_path, 1, ["a.parquet"])
    table = explorer.open_table(tmp_path, time_zone="Europe/Berlin")
    (row,) = table.row_diff(0, 1).to_arrow().to_pylist()
    assert row["before"]["at"].isoformat() == "2024-07-01T10:00:00+00:00"
    (span,) = table.row_history({"id": 1}).spans.to_pylist()
    assert (span["row"], span["to_version"]) == (row["before"], 0)


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    table = explorer.open_table(write_table(tmp_path, [column("id", "long")], []))
    with pytest.raises(RequestError, match="Columns: id") as caught:
        table.row_diff(0, 0, ["nope"])
    assert caught.value.column == "nope"
    with pytest.raises(RequestError, match="twice"):
        table.row_diff(0, 0, ["id", "id"])
    with pytest.raises(VersionNotFound):
        table.row_diff(0, 5)
