"""Which row is which: ids and commit versions of tracked rows, the file of every row and its place there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import CorruptTable, RequestError
from explorer.spark.scan.scan import scan
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import expected
from tests.support.comparison.row_content import content_hash
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=6)]

ROOT = reference_root()
EXPECTED = {
    name: [version for version in record["versions"] if "row_tracking" in version]
    for name, record in expected(ROOT).items()
    if any("row_tracking" in version for version in record["versions"])
}
IDENTITY: Final = ["_file", "_row_index", "_row_id", "_row_commit_version"]
MATERIALISED: Final = {
    "delta.rowTracking.materializedRowIdColumnName": "_row-id-x",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version-x",
}
FEATURES: Final = ["rowTracking", "domainMetadata"]
TRACKED: Final = {"delta.enableRowTracking": "true", **MATERIALISED}


def _identified(root: Path, where: str | None = None) -> list[dict[str, Any]]:
    table = explorer.open_table(root)
    found = scan(table, table.snapshot(), where=where, row_identity=True).to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["_file"], row["_row_index"]))


def _tracked_table(root: Path, configuration: dict[str, str], **file: Any) -> Path:
    made = DataFile("a.parquet", pa.table({"id": [1]}), base_row_id=10, commit_version=3, **file)
    return write_table(root, [column("id", "long")], [made], (), configuration, writer_features=FEATURES)


@pytest.mark.reference
@pytest.mark.conformance("ROWTRACK-006")
@pytest.mark.parametrize("name", EXPECTED)
def test_ids_and_commit_versions_equal_what_the_reference_reads(name: str) -> None:
    table = explorer.open_table(ROOT / "tables" / name)
    for record in at_least_one(EXPECTED[name]):
        version, wanted = record["version"], record["row_tracking"]
        plain = scan(table, table.snapshot(version)).frame.columns
        rows = table.rows(version, row_identity=True).toArrow()
        assert rows.column_names == [*plain, *IDENTITY]
        if "error" in wanted:
            # Row tracking is off at this version, which the reference tells by having no such columns.
            assert wanted["error"]["condition"] == "FIELD_NOT_FOUND"
            assert rows["_row_id"].null_count == rows["_row_commit_version"].null_count == rows.num_rows
        else:
            found = rows.drop_columns(["_file", "_row_index"])
            assert (wanted["row_count"], wanted["content_hash"]) == (rows.num_rows, content_hash(found)), version


@pytest.mark.whole("test_ids_and_commit_versions_equal_what_the_reference_reads")
@pytest.mark.reference
def test_every_row_names_its_file_and_its_place_there() -> None:
    table = explorer.open_table(ROOT / "tables" / "deletion-vectors")
    first, last = table.version_range()
    for version in at_least_one(range(first, last + 1)):
        snapshot = table.snapshot(version)
        found = table.rows(version, row_identity=True).toArrow().to_pylist()
        places = {(row["_file"], row["_row_index"]) for row in found}
        assert len(places) == len(found)
        wanted = set()
        for file in snapshot.files().to_pylist():
            masked = set(snapshot.deletion_vector_rows(file["raw_path"]).tolist())
            wanted |= {(file["path"], index) for index in range(file["num_records"]) if index not in masked}
        assert wanted == places


@pytest.mark.conformance("ROWTRACK-006")
@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_an_id_is_the_materialised_one_or_base_plus_place(tmp_path: Path, mode: str) -> None:
    physical = "id" if mode == "none" else "col-1"
    number = {b"PARQUET:field_id": b"1"} if mode == "id" else None
    first = pa.field(physical, pa.int64(), metadata=number)
    ids = pa.schema([first, ("_row-id-x", pa.int64()), ("_row-version-x", pa.int64())])
    moved = pa.table([[1, 2, 3, 4], [70, None, 72, None], [None, 5, 6, None]], schema=ids)
    fresh = pa.table([[5, 6]], schema=pa.schema([first]))
    files = [
        DataFile("a b.parquet", moved, {"p": "x"}, masked=[2], base_row_id=100, commit_version=9),
        DataFile("c.parquet", fresh, {"p": "y"}, base_row_id=0, commit_version=1),
        DataFile("d.parquet", fresh, {"p": "z"}),
    ]
    fields = [column("id", "long"), column("p", "string")]
    configuration = dict(TRACKED)
    if mode != "none":
        configuration["delta.columnMapping.mode"] = mode
        for place, field in enumerate(fields, start=1):
            name = "p" if place == 2 else physical
            field["metadata"] = {"delta.columnMapping.id": place, "delta.columnMapping.physicalName": name}
    root = write_table(tmp_path, fields, files, ["p"], configuration, writer_features=FEATURES)
    wanted = [
        (1, "x", "a b.parquet", 0, 70, 9),
        (2, "x", "a b.parquet", 1, 101, 5),
        (4, "x", "a b.parquet", 3, 103, 9),
        (5, "y", "c.parquet", 0, 0, 1),
        (6, "y", "c.parquet", 1, 1, 1),
        (5, "z", "d.parquet", 0, None, None),
        (6, "z", "d.parquet", 1, None, None),
    ]
    assert wanted == [tuple(row.values()) for row in _identified(root)]
    assert [row["id"] for row in _identified(root, where="_row_id = 103 AND _file LIKE 'a%'")] == [4]


@pytest.mark.parametrize("configuration", [MATERIALISED, {**TRACKED, "delta.enableRowTracking": "false"}])
def test_ids_are_null_where_row_tracking_is_not_enabled(tmp_path: Path, configuration: dict[str, str]) -> None:
    root = _tracked_table(tmp_path, configuration)
    assert _identified(root) == [
        {"id": 1, "_file": "a.parquet", "_row_index": 0, "_row_id": None, "_row_commit_version": None}
    ]


def test_an_empty_table_has_the_columns_of_identity(tmp_path: Path) -> None:
    frame = explorer.open_table(write_table(tmp_path, [column("id", "long")], [])).rows(row_identity=True)
    identity = "_file:string,_row_index:bigint,_row_id:bigint,_row_commit_version:bigint"
    assert frame.schema.simpleString() == f"struct<id:bigint,{identity}>"
    assert frame.count() == 0


@pytest.mark.parametrize("name", [*IDENTITY, "_Row_ID"])
def test_a_column_of_the_same_name_is_refused_and_readable_without_identity(tmp_path: Path, name: str) -> None:
    file = DataFile("a.parquet", pa.table({name: [1]}))
    table = explorer.open_table(write_table(tmp_path, [column(name, "long")], [file]))
    with pytest.raises(RequestError, match=name) as caught:
        table.rows(row_identity=True)
    assert (caught.value.column, caught.value.version) == (name, 0)
    assert [tuple(row) for row in table.rows().collect()] == [(1,)]


@pytest.mark.parametrize(
    "names",
    [
        (None, None),
        ("_row-id-x", None),
        ("ID", "_row-version-x"),
        ("_row-id-x", "id"),
        ("_row-x", "_ROW-x"),
    ],
)
def test_ids_whose_place_is_not_told_are_an_error_and_not_guessed(
    tmp_path: Path, names: tuple[str | None, str | None]
) -> None:
    named = {key: name for key, name in zip(MATERIALISED, names, strict=True) if name is not None}
    table = explorer.open_table(_tracked_table(tmp_path, {"delta.enableRowTracking": "true", **named}))
    with pytest.raises(CorruptTable, match="without their identity"):
        table.rows(row_identity=True)
    assert [tuple(row) for row in table.rows().collect()] == [(1,)]
