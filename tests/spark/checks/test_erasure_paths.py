"""Erasures where two paths to the rows could answer differently: checkpoints, statistics, partition columns."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import Add, Metadata
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, metadata, write
from tests.support.logs.spark_tables import column, struct

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

CUT = "a" * 31
BOUNDS: dict[str, tuple[str, pa.Array, Any, str]] = {
    "a pair of surrogates cut in half": (
        "string",
        pa.array([f"{CUT}\U0001f600z"]),
        f"{CUT}\ufffd",
        f"v = '{CUT}\U0001f600z'",
    ),
    "a greatest text cut off": ("string", pa.array(["b" * 40]), "b" * 32, f"v = '{'b' * 40}'"),
    "seconds": (
        "timestamp",
        pa.array([datetime(2024, 1, 1, 0, 0, 0, 123456, UTC)], pa.timestamp("us", "UTC")),
        "2024-01-01T00:00:00Z",
        "v = TIMESTAMP'2024-01-01 00:00:00.123456Z'",
    ),
    "the Julian calendar": ("date", pa.array([date(1500, 1, 1)]), "1500-01-10", "v = DATE'1500-01-01'"),
    "a lost digit": ("decimal(10,2)", pa.array([Decimal("1.25")]), 1.2, "v = 1.25"),
    "a number as a double": ("long", pa.array([9007199254740993]), 9.007199254740992e15, "v = 9007199254740993"),
}


def _write(store: LogStore, root: Path, fields: list[dict[str, Any]], stats: dict[str, Any]) -> None:
    named = Add(
        path="a.parquet",
        partition_values={},
        size=(root / "a.parquet").stat().st_size,
        modification_time=1,
        stats=json.dumps(stats),
    )
    write(store, {0: (PROTOCOL, Metadata(id=METADATA.id, schema_string=json.dumps(struct(*fields))), named)})


def _one_file(root: Path, kind: str, values: pa.Array, stats: dict[str, Any]) -> explorer.Table:
    store = open_store(root)
    pq.write_table(pa.table({"v": values}), root / "a.parquet")
    _write(store, root, [column("v", kind)], stats)
    return explorer.open_table(root)


def _first_steps(proof: Any) -> list[str]:
    return [step.intent["kind"] for step in proof.steps if step.intent is not None][:2]


def test_bounds_that_exclude_a_row_come_first(tmp_path: Path) -> None:
    store, names = open_store(tmp_path), list(BOUNDS)
    pq.write_table(pa.table({f"v{place}": BOUNDS[name][1] for place, name in enumerate(names)}), tmp_path / "a.parquet")
    bounds = {f"v{place}": BOUNDS[name][2] for place, name in enumerate(names)}
    stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": dict.fromkeys(bounds, 0)}
    fields = [column(f"v{place}", BOUNDS[name][0]) for place, name in enumerate(names)]
    _write(store, tmp_path, fields, stats)
    wheres = {name: BOUNDS[name][3].replace("v", f"v{place}", 1) for place, name in enumerate(names)}
    proofs = explorer.open_table(tmp_path).erasure(wheres)
    for name in at_least_one(names):
        assert (name, proofs[name].totals["live"], proofs[name].misleading) == (name, 1, ("a.parquet",))
        assert _first_steps(proofs[name]) == ["recompute-statistics", "delete"]


@pytest.mark.parametrize(
    ("stats", "where"),
    [
        ({"numRecords": 2, "nullCount": {"v": 0}}, "v IS NULL"),
        ({"numRecords": 2, "nullCount": {"v": 2}}, "v IS NOT NULL"),
        ({"numRecords": 0}, "v = 'x'"),
    ],
)
def test_counts_that_exclude_a_row_come_first(tmp_path: Path, stats: dict[str, Any], where: str) -> None:
    proof = _one_file(tmp_path, "string", pa.array(["x", None]), stats).erasure(where)
    assert (proof.totals["live"], proof.misleading) == (1, ("a.parquet",))
    assert _first_steps(proof) == ["recompute-statistics", "delete"]


@pytest.mark.parametrize("location", ["./a.parquet", "file://{root}/a.parquet"])
def test_a_file_is_known_by_any_spelling_of_its_place(tmp_path: Path, location: str) -> None:
    _one_file(tmp_path, "string", pa.array(["x"]), {"numRecords": 1, "nullCount": {"v": 1}})
    log = tmp_path / "_delta_log" / f"{0:020d}.json"
    log.write_text(log.read_text().replace('"a.parquet"', json.dumps(location.format(root=tmp_path))))
    proof = explorer.open_table(tmp_path).erasure("v = 'x'")
    assert (proof.totals["live"], len(proof.misleading), proof.unlisted) == (1, 1, ())


def test_a_file_that_the_newest_checkpoint_lost_is_put_back_before_the_delete(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64())}), tmp_path / "a.parquet")
    named = add("a.parquet", 2, size=(tmp_path / "a.parquet").stat().st_size)
    write(store, {0: (PROTOCOL, METADATA, named), 1: (commit_info("WRITE"),)})
    write_checkpoint(store, 1, (PROTOCOL, METADATA), "classic")
    table = explorer.open_table(tmp_path)
    proof = table.erasure("id = 1")
    assert (proof.totals["live"], proof.unlisted) == (1, ("a.parquet",))
    assert any("newest checkpoint lacks 1 live file" in text for text in proof.obstacles)
    assert _first_steps(proof) == ["checkpoint", "delete"]
    for step in proof.steps[:2]:
        assert step.intent is not None
        assert table.commit(table.plan(step.intent)).outcome == "committed"
    after = table.erasure("id = 1")
    assert (after.totals["live"], after.unlisted, table.rows().count()) == (0, (), 1)


def _partitioned(root: Path, partition: str, values: dict[str, str]) -> explorer.Table:
    store = open_store(root)
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64())}), root / "a.parquet")
    named = add("a.parquet", 2, partition_values=values, size=(root / "a.parquet").stat().st_size)
    write(store, {0: (PROTOCOL, metadata({"id": "long", "Region": "string"}, [partition]), named)})
    return explorer.open_table(root)


def test_a_partition_column_of_another_case_is_searched_and_compared(tmp_path: Path) -> None:
    table = _partitioned(tmp_path, "region", {"Region": "eu"})
    assert table.snapshot().partition_columns == ("Region",)
    assert table.erasure("Region = 'eu'").totals["live"] == 2
    assert table.row_diff(0, 0).counts().inserted == 0
    pq.write_table(pa.table({"id": [3], "Region": ["us"]}), tmp_path / "source.parquet")
    assert (
        table.commit(table.plan({"kind": "append", "source": str(tmp_path / "source.parquet")})).outcome == "committed"
    )
    written = json.loads(table.snapshot().logical_files.column("stats").to_pylist()[-1])
    assert set(written["nullCount"]) == {"id"}


@pytest.mark.parametrize("where", ["Region = 'eu'", "Region IS NULL", "id = 1", None])
def test_a_file_without_its_partition_value_is_refused_whatever_the_condition(
    tmp_path: Path, where: str | None
) -> None:
    table = _partitioned(tmp_path, "Region", {})
    with pytest.raises(CorruptTable, match=r"a\.parquet of version 0 has no value for the partition column 'Region'"):
        table.rows(where=where).count()
    assert table.snapshot().skipping(where or "id = 1").counts.after_statistics == 1


def test_no_row_is_read_or_searched_by_a_mapping_that_the_protocol_does_not_allow(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    pq.write_table(pa.table({"p1": pa.array([1, 2], pa.int64())}), tmp_path / "a.parquet")
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "p1"}
    asked = Metadata(
        id=METADATA.id,
        schema_string=json.dumps(struct(column("k", "long", **mapped))),
        configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"},
    )
    write(store, {0: (PROTOCOL, asked, add("a.parquet", 2, size=(tmp_path / "a.parquet").stat().st_size))})
    table = explorer.open_table(tmp_path)
    with pytest.raises(CorruptTable, match="the protocol does not list columnMapping"):
        table.rows()
    with pytest.raises(CorruptTable, match="the protocol does not list columnMapping"):
        table.erasure("k = 1")
    enabled = table.commit(table.plan({"kind": "enable-feature", "feature": "columnMapping"}))
    assert (enabled.outcome, sorted(row.k for row in table.rows().collect())) == ("committed", [1, 2])
