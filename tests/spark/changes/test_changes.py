"""Change feeds through Spark: the answers of the reference, recorded change files, inferred changes, holes, faults."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame

import explorer
from explorer.changed_rows.change_preview import CHANGE_COLUMNS
from explorer.core.errors import ChangeFeedGap, CorruptTable, RequestError
from explorer.core.versions.change_feed.feed import change_feed_coverage
from explorer.spark.changes.changes import Changes, changes
from explorer.spark.scan.physical import spark_type
from tests.support.clients.golden_expectations import expected
from tests.support.comparison.change_rows import change_rows
from tests.support.comparison.row_content import content_hash
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

INFERRED = ["deletion-vectors", "copy-on-write", "clustering", "optimize", "replace-where"]
UNREADABLE = {"kernelrs__cdf-table-with-dv": (0, 4)}
"""A range that leaves out a deletion vector whose text is no Z85."""
LOG_ALONE = {"kernelrs__table-with-cdf"}


def _reference(name: str) -> explorer.Table:
    return explorer.open_table(reference_root() / "tables" / name)


def _answered() -> list[tuple[str, dict[str, Any]]]:
    records = expected(reference_root()).items()
    return [(name, c) for name, record in records for c in record.get("changes", ()) if "error" not in c]


@pytest.mark.reference
@pytest.mark.conformance("CDF-005", "CDF-006", "CDF-007", "CDF-010", "CDF-012", "CDF-020")
def test_every_recorded_range_gives_the_rows_of_the_reference() -> None:
    answered = _answered()
    assert len(answered) == 10
    for name, change in answered:
        found = changes(_reference(name), change["from"], change["to"])
        rows = found.to_arrow()
        kinds = dict(zip(rows.column_names, found.frame.schema.fields, strict=True))
        named = [f"{column} {kinds[column].dataType.simpleString()}" for column in rows.column_names[:-1]]
        assert named == change["columns"]
        told = (rows.num_rows, content_hash(rows.drop_columns([CHANGE_COLUMNS[2]])))
        assert told == (change["row_count"], change["content_hash"]), (name, change["from"])
        times = {version.version: version.timestamp for version in found.sources.versions}
        pairs = zip(*(rows.column(name).to_pylist() for name in CHANGE_COLUMNS[1:]), strict=True)
        assert all(moment.timestamp() * 1000 == times[version] for version, moment in pairs)
        assert found.inferred_versions == ()


@pytest.mark.reference
@pytest.mark.conformance("CDF-011", "CDF-013", "CDF-018")
def test_every_range_that_the_reference_refuses_is_refused_before_spark_plans_anything() -> None:
    refused = 0
    for name, record in expected(reference_root()).items():
        table = _reference(name)
        for change in record.get("changes", ()):
            if "error" in change and "RETENTION_DURATION" not in change["error"].get("condition", ""):
                with pytest.raises(RequestError):
                    table.changes(change["from"], change["to"])
                refused += 1
    assert refused >= 20


@pytest.mark.sampled(cases=3)
@pytest.mark.reference
@pytest.mark.conformance("CDF-007", "CDF-008", "CDF-009")
@pytest.mark.parametrize("name", INFERRED)
def test_inferred_changes_are_those_of_the_files(name: str) -> None:
    table = _reference(name)
    found = changes(table, 0, inferred=True, skip=True)
    _equal_to_files(table, reference_root() / "tables" / name, found)
    recorded = {
        v
        for span in change_feed_coverage(table.history_record())
        for v in range(span.from_version, span.to_version + 1)
    }
    assert found.inferred_versions == tuple(
        v.version for v in found.sources.versions if v.num_sources and v.version not in recorded
    )
    assert found.inferred_versions


@pytest.mark.whole("test_every_recorded_range_gives_the_rows_of_the_reference, and tests/golden/test_golden_changes.py")
@pytest.mark.golden
@pytest.mark.conformance("CDF-005", "CDF-006", "CDF-008", "CDF-009", "CDF-020")
def test_recorded_feeds_of_the_golden_tables_are_those_of_their_files() -> None:
    compared = 0
    for path in sorted((golden_root() / "tables").iterdir()):
        if ("cdf" not in path.name and "cdc" not in path.name) or path.name in LOG_ALONE:
            continue
        table = explorer.open_table(path)
        for span in change_feed_coverage(table.history_record()):
            first, last = UNREADABLE.get(path.name, (span.from_version, span.to_version))
            _equal_to_files(table, path, changes(table, first, last, schema_version=last))
            compared += 1
    assert compared >= 10


def _equal_to_files(table: explorer.Table, root: Path, found: Changes) -> None:
    """Compare with the same files read by PyArrow alone; equal rows of an inferred version cancel out."""
    rows = found.to_arrow().drop_columns([CHANGE_COLUMNS[2]])
    told = Counter(map(repr, zip(*(values.to_pylist() for values in rows.columns), strict=True)))
    meant = Counter(map(repr, change_rows(table, root, found.sources)))
    for *row, kind, version in list(change_rows(table, root, found.sources)):
        if kind == "insert" and version in found.inferred_versions:
            here, there = repr((*row, "insert", version)), repr((*row, "delete", version))
            both = min(meant[here], meant[there])
            meant -= Counter({here: both, there: both})
    assert told == meant


@pytest.mark.reference
@pytest.mark.conformance("CDF-011")
def test_holes_are_left_out_by_choice_and_named(tmp_path: Path) -> None:
    table = _reference("change-feed")
    found = changes(table, 2, skip=True)
    assert [(hole.kind, hole.from_version, hole.to_version) for hole in found.sources.skipped] == [
        ("off", 11, 12),
        ("schema", 15, 17),
    ]
    versions = set(found.to_arrow().column("_commit_version").to_pylist())
    assert versions <= {v.version for v in found.sources.versions} == {*range(2, 11), 13, 14, 18}
    shutil.copytree(reference_root() / "tables" / "change-feed", tmp_path / "t")
    gone = next(iter(sorted((tmp_path / "t" / "_change_data").rglob("*.parquet"))))
    gone.unlink()
    cut = changes(explorer.open_table(tmp_path / "t"), 2, 10, skip=True)
    (hole,) = cut.sources.skipped
    assert (hole.kind, gone.name in hole.detail) == ("vacuumed", True)
    assert hole.from_version not in cut.to_arrow().column("_commit_version").to_pylist()
    with pytest.raises(ChangeFeedGap) as caught:
        explorer.open_table(tmp_path / "t").changes(2, 10)
    assert caught.value.version == hole.from_version


@pytest.mark.reference
def test_one_plan_reads_each_file_once_whatever_the_number_of_versions() -> None:
    found = changes(_reference("change-feed"), 2, 10)
    assert len(found.parts) == 2
    for part in found.parts:
        assert len({address.metadata_path for address in part.addresses}) == len(part.addresses)
    paths = set(found.sources.files.column("path").to_pylist())
    assert found.estimate.files == len(paths) <= sum(len(part.addresses) for part in found.parts)


@pytest.mark.reference
def test_counts_are_those_of_the_rows() -> None:
    found = changes(_reference("change-feed-partitioned"), 2, 11)
    rows = found.to_arrow()
    meant = Counter(
        zip(rows.column("_commit_version").to_pylist(), rows.column("_change_type").to_pylist(), strict=True)
    )
    assert {(row["version"], row["change_type"]): row["rows"] for row in found.counts().to_pylist()} == meant


def test_types_and_partition_values_of_changes_are_those_of_the_table(tmp_path: Path) -> None:
    moment = datetime(2024, 3, 1, 12, 30, tzinfo=UTC)
    rows = pa.table({"v": pa.array([1, None], pa.int16()), "void": pa.nulls(2, pa.int32())}).select(["v"])
    fields = [column("v", "short"), column("n", "void"), column("at", "timestamp"), column("d", "date")]
    files = [DataFile("_odd name=1%.parquet", rows, {"at": moment.isoformat(), "d": "2024-02-29"}, masked=[1])]
    root = write_table(tmp_path, fields, files, ["at", "d"])
    table = explorer.open_table(root)
    found = table.changes(0, inferred=True)
    assert [field.dataType for field in found.schema.fields][:4] == [
        spark_type(field.type) for field in table.snapshot().schema.fields
    ]
    (row,) = found.toArrow().to_pylist()
    assert (row["v"], row["n"], row["at"], row["d"].isoformat(), row["_change_type"]) == (
        1,
        None,
        moment,
        "2024-02-29",
        "insert",
    )


def test_a_column_named_like_one_of_the_feed_is_refused_by_name(tmp_path: Path) -> None:
    root = write_table(tmp_path, [column("_Change_type", "long")], [])
    with pytest.raises(RequestError, match="_Change_type") as caught:
        explorer.open_table(root).changes(0, inferred=True)
    assert caught.value.column == "_Change_type"


def test_a_damaged_file_is_named_with_its_version_also_while_it_is_read(tmp_path: Path) -> None:
    root = write_table(tmp_path, [column("id", "long")], [DataFile("f.parquet", pa.table({"id": [1]}))])
    table = explorer.open_table(root)
    size = (root / "f.parquet").stat().st_size
    (root / "f.parquet").write_bytes(b"\0" * size)
    with pytest.raises(CorruptTable, match=r"f\.parquet of version 0") as caught:
        changes(table, 0, inferred=True).to_arrow()
    assert caught.value.version == 0
    (root / "f.parquet").write_bytes(b"")
    with pytest.raises(CorruptTable, match="has 0 bytes"):
        table.changes(0, inferred=True)


def test_a_range_without_changes_has_the_columns(tmp_path: Path) -> None:
    table = explorer.open_table(write_table(tmp_path, [column("id", "long")], []))
    rows = table.changes(0, inferred=True).toArrow()
    assert (rows.num_rows, rows.column_names) == (0, ["id", *CHANGE_COLUMNS])


@pytest.mark.reference
def test_ranges_can_be_put_together_by_whoever_asks() -> None:
    """The frames are plain ones: a union of two ranges is the range of both."""
    table = _reference("change-feed")
    parts = [table.changes(2, 5), table.changes(6, 10)]
    both = reduce(DataFrame.union, parts).toArrow()
    assert sorted(map(repr, both.to_pylist())) == sorted(map(repr, table.changes(2, 10).toArrow().to_pylist()))
    assert pc.min_max(both.column("_commit_version")).as_py() == {"min": 3, "max": 10}
