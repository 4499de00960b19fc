"""Every version of every demo table holds what its story meant, by our snapshot and by what history says."""

import shutil
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import MalformedAction, VersionNotFound
from explorer.core.log.last_checkpoint import parse_last_checkpoint
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.demo.stories.ledger import FIRST_KEPT
from explorer.demo.warehouse import TABLES
from tests.support.at_least_one import at_least_one

Build = tuple[Path, dict[str, dict[int, pa.Table]]]
LATEST = {
    "archive/sensors-damaged": 3,
    "crm/customers": 11,
    "finance/invoices": 13,
    "finance/ledger": 22,
    "sales/orders": 38,
    "web/events": 28,
}


def test_tables_are_all_there(demo_warehouse: Path) -> None:
    found = {log.parent.relative_to(demo_warehouse).as_posix() for log in demo_warehouse.rglob("_delta_log")}
    assert found == set(TABLES) == set(LATEST)


@pytest.mark.parametrize("name", TABLES)
def test_each_version_counts_the_rows_of_the_story(name: str, demo_build: Build) -> None:
    folder, rows = demo_build
    table = explorer.open_table(folder / name)
    versions = range(table.version_range()[0], LATEST[name] + 1)
    counted = {}
    for version in versions:
        snapshot = table.snapshot(version)
        assert snapshot.num_records is not None
        counted[version] = snapshot.num_records - snapshot.num_deleted_records
    assert counted == {version: rows[name][version].num_rows for version in versions}


@pytest.mark.parametrize("name", TABLES)
def test_each_version_has_the_columns_of_the_story(name: str, demo_build: Build) -> None:
    folder, rows = demo_build
    table = explorer.open_table(folder / name)
    for version in at_least_one(range(table.version_range()[0], LATEST[name] + 1)):
        assert arrow_schema(table.snapshot(version).schema) == rows[name][version].schema


@pytest.mark.parametrize("name", TABLES)
def test_statistics_are_those_of_the_data(name: str, demo_build: Build) -> None:
    """Counts exactly, bounds as the data's, or around them where they are called wide."""
    folder, _ = demo_build
    snapshot = explorer.open_table(folder / name).snapshot(LATEST[name])
    physical = {field.name: field.physical_name for field in snapshot.schema.fields}
    data = {path: pq.ParquetFile(folder / name / path).read() for path in snapshot.files().column("path").to_pylist()}
    checked = 0
    for column in set(physical) - set(snapshot.partition_columns) - {"address"}:
        for row in snapshot.column_ranges(column).to_pylist():
            file = data[row["path"]]
            assert row["num_records"] == file.num_rows
            if physical[column] not in file.column_names or row["null_count"] is None:
                continue
            values = file.column(physical[column])
            assert row["null_count"] == values.null_count
            if row["min"] is None:
                continue
            bounds = pc.min_max(values.cast(snapshot.column_ranges(column).schema.field("min").type)).as_py()
            if isinstance(bounds["max"], str) and len(bounds["max"]) > 32:
                assert row["min"] <= bounds["min"]
                assert bounds["max"] <= row["max"]
            else:
                assert (row["min"], row["max"]) == (bounds["min"], bounds["max"])
            checked += 1
    assert checked > 0


def test_orders_show_masks_renames_and_two_upgrades(demo_warehouse: Path) -> None:
    table = explorer.open_table(demo_warehouse / "sales/orders")
    history = table.history().to_pylist()[::-1]
    operations = [commit["operation"] for commit in history]
    assert {"WRITE", "DELETE", "MERGE", "UPDATE", "OPTIMIZE", "REORG", "RESTORE", "RENAME COLUMN"} <= set(operations)
    upgrades = [commit["version"] for commit in history if commit["protocol_changed"] and commit["version"]]
    protocols = [
        (table.snapshot(v).protocol.min_reader_version, table.snapshot(v).protocol.reader_features) for v in upgrades
    ]
    assert protocols[:3] == [
        (1, None),
        (3, ("deletionVectors",)),
        (3, ("deletionVectors", "columnMapping")),
    ]
    assert sum(commit["rows_masked"] for commit in history) > 1000
    renamed = [line for line in table.column_lineage().columns if line.physical_name == "cust"]
    assert [span.name for span in renamed[0].spans] == ["cust", "customer_id"]
    assert table.snapshot().properties["delta.constraints.positive_amount"] == "amount > 0"


def test_restored_orders_are_those_before_the_mistake(demo_warehouse: Path) -> None:
    table = explorer.open_table(demo_warehouse / "sales/orders")
    restored = next(c["version"] for c in table.history().to_pylist() if c["operation"] == "RESTORE")
    assert table.diff(restored - 2, restored).files.num_rows == 0


def test_deletion_vectors_of_orders_hide_what_they_say(demo_warehouse: Path) -> None:
    table = explorer.open_table(demo_warehouse / "sales/orders")
    masked = next(c["version"] for c in table.history().to_pylist()[::-1] if c["operation"] == "DELETE")
    snapshot = table.snapshot(masked)
    for vector in at_least_one(snapshot.deletion_vectors().to_pylist()):
        hidden = snapshot.deletion_vector_rows(vector["raw_path"])
        customers = pq.ParquetFile(demo_warehouse / "sales/orders" / vector["path"]).read().column("cust").to_numpy()
        assert set(customers[hidden.astype(np.int64)]) == {"TEST"}
        assert (customers == "TEST").sum() == vector["cardinality"] == len(hidden)


def test_events_are_skewed_and_partly_without_country(demo_warehouse: Path) -> None:
    files = explorer.open_table(demo_warehouse / "web/events").snapshot().files()
    values = files.column("partition_values").to_pylist(maps_as_pydicts="strict")
    per_partition: dict[tuple[str, str], int] = {}
    for value in values:
        key = value["event_date"], value["country"]
        per_partition[key] = per_partition.get(key, 0) + 1
    assert max(per_partition.values()) > 20 * sorted(per_partition.values())[len(per_partition) // 2]
    assert {"Germany", "Côte d'Ivoire", None} <= {country for _, country in per_partition}
    assert pc.max(files.column("size")).as_py() < 100_000


def test_statistics_of_events_end_at_the_fourth_column(demo_warehouse: Path) -> None:
    snapshot = explorer.open_table(demo_warehouse / "web/events").snapshot()
    covered = {row["column"]: row["files"] for row in snapshot.statistics_coverage().to_pylist()}
    assert covered["load_ms"] == snapshot.num_files
    assert covered["agent"] == 0


def test_early_ledger_is_gone_from_the_log(demo_warehouse: Path) -> None:
    table = explorer.open_table(demo_warehouse / "finance/ledger")
    assert table.version_range() == (FIRST_KEPT, 22)
    with pytest.raises(VersionNotFound) as caught:
        table.snapshot(FIRST_KEPT - 1)
    assert caught.value.nearest == FIRST_KEPT
    assert table.snapshot().transactions == {"ledger-import": 18}
    assert "delta.clustering" in table.snapshot().domain_metadata


def test_data_of_every_readable_ledger_version_is_on_disk(demo_warehouse: Path) -> None:
    folder = demo_warehouse / "finance/ledger"
    table = explorer.open_table(folder)
    for version in at_least_one(range(FIRST_KEPT, 23)):
        assert [
            p for p in table.snapshot(version).files().column("path").to_pylist() if not (folder / p).exists()
        ] == []


def test_invoices_have_the_numbers_and_sums_of_the_table_and_a_feed_with_a_hole(demo_build: Build) -> None:
    folder, rows = demo_build
    table, last = explorer.open_table(folder / "finance/invoices"), rows["finance/invoices"][13]
    fields = {field.name: field.metadata for field in table.snapshot().schema.fields}
    numbers = last.column("invoice_no").to_pylist()
    assert len(set(numbers)) == last.num_rows == 954
    assert fields["invoice_no"]["delta.identity.highWaterMark"] == max(numbers) == 10_957
    assert pc.all(pc.equal(last.column("gross"), pc.add(last.column("net"), last.column("vat")))).as_py()
    told = [c["version"] for c in table.history().to_pylist() if c["metadata_changed"] or c["schema_changed"]]
    assert told[::-1] == [0, 3, 7, 10], "a mark that rows move is no change of the schema"
    recorded = {}
    for version in (4, 6, 12):
        files = [row for row in table.change_sources(version, version).files.to_pylist() if row["kind"] == "cdc"]
        recorded[version] = [pq.read_table(folder / "finance/invoices" / row["path"]) for row in files]
    kinds = {
        v: {k: t.num_rows for t in found for k in t.column("_change_type").unique().to_pylist()}
        for v, found in recorded.items()
    }
    assert kinds == {
        4: {"update_preimage": 146, "update_postimage": 146},
        6: {"update_preimage": 24, "update_postimage": 24},
        12: {"delete": 3},
    }


def test_names_of_customers_changed_hands(demo_warehouse: Path) -> None:
    hazards = explorer.open_table(demo_warehouse / "crm/customers").column_lineage().hazards
    assert {hazard.name for hazard in hazards} == {"email", "first_name", "last_name"}


def test_damaged_log_names_version_and_line(demo_warehouse: Path) -> None:
    table = explorer.open_table(demo_warehouse / "archive/sensors-damaged")
    with pytest.raises(MalformedAction) as caught:
        table.snapshot()
    assert (caught.value.version, caught.value.line) == (4, 2)


def test_commit_times_are_those_of_the_story(demo_warehouse: Path) -> None:
    table = explorer.open_table(demo_warehouse / "sales/orders")
    times = table.history().column("timestamp").to_pylist()[::-1]
    assert times[0] == datetime(2026, 3, 2, 9, 12, 40, tzinfo=UTC)
    assert times == sorted(set(times))
    assert times[-1].date() < date(2026, 4, 20)


@pytest.mark.parametrize("name", ["finance/ledger", "sales/orders", "web/events"])
def test_hint_of_the_last_checkpoint_is_valid(name: str, demo_warehouse: Path) -> None:
    log = demo_warehouse / name / "_delta_log"
    hint = parse_last_checkpoint((log / "_last_checkpoint").read_bytes())
    assert hint is not None
    assert (log / f"{hint.version:020}.checkpoint.parquet").exists()


@pytest.mark.parametrize("name", ["sales/orders", "web/events"])
def test_checkpoints_agree_with_the_commits(name: str, demo_warehouse: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(demo_warehouse / name / "_delta_log", copy / "_delta_log")
    for path in [*copy.rglob("*.checkpoint.parquet"), *copy.rglob("_last_checkpoint")]:
        path.unlink()
    for version in (20, LATEST[name]):
        ours = explorer.open_table(demo_warehouse / name).snapshot(version)
        replayed = explorer.open_table(copy).snapshot(version)
        assert _files(ours) == _files(replayed)
        assert (ours.protocol, ours.metadata, ours.transactions) == (
            replayed.protocol,
            replayed.metadata,
            replayed.transactions,
        )


def _files(snapshot: explorer.Snapshot) -> list[dict[str, object]]:
    chosen = snapshot.files().select(["path", "partition_values", "size", "num_records", "dv_unique_id"])
    rows: list[dict[str, object]] = chosen.sort_by("path").to_pylist()
    return rows
