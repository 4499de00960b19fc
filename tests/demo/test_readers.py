"""Independent readers find in the demo tables what the stories meant."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

import explorer
from explorer.demo.warehouse import TABLES
from tests.support.at_least_one import at_least_one
from tests.support.clients.other_readers import deltalake_rows, duckdb_rows

pytestmark = pytest.mark.interop

Build = tuple[Path, dict[str, dict[int, pa.Table]]]
KEYS = {
    "archive/sensors-damaged": "read_at",
    "crm/customers": "customer_id",
    "finance/invoices": "invoice_no",
    "finance/ledger": "posting",
    "sales/orders": "order_id",
    "web/events": "event_id",
}


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("name", TABLES)
def test_duckdb_reads_the_rows_of_every_version(name: str, demo_build: Build) -> None:
    folder, rows = demo_build
    for version in at_least_one(_readable(folder / name, rows[name])):
        found = duckdb_rows(folder / name, version)
        assert _same(found, rows[name][version], KEYS[name]), f"version {version}"


@pytest.mark.parametrize("name", TABLES)
def test_deltalake_reads_the_rows_of_some_versions(name: str, demo_build: Build) -> None:
    folder, rows = demo_build
    for version in at_least_one(_readable(folder / name, rows[name])[::-6]):
        found = deltalake_rows(folder / name, version)
        assert _same(found, rows[name][version], KEYS[name]), f"version {version}"


@pytest.mark.parametrize("name", TABLES)
def test_deltalake_lists_the_files_of_our_snapshot(name: str, demo_build: Build) -> None:
    folder, rows = demo_build
    table = explorer.open_table(folder / name)
    for version in at_least_one(_readable(folder / name, rows[name])[::-6]):
        found = DeltaTable(folder / name, version=version).get_add_actions()
        ours = table.snapshot(version).files()
        assert sorted(pa.table(found).column("path").to_pylist()) == sorted(ours.column("raw_path").to_pylist())


def test_the_demo_names_delta_rs_as_deltalake_names_itself(demo_build: Build, tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    named = DeltaTable(tmp_path / "t").history(1)[0]["engineInfo"]
    told = explorer.open_table(demo_build[0] / "web/events").history().column("engine_info").to_pylist()
    assert named.rstrip("0123456789.") in {name.rstrip("0123456789.") for name in told}


def _readable(table: Path, rows: dict[int, pa.Table]) -> list[int]:
    return list(range(explorer.open_table(table).version_range()[0], max(rows) + 1))


def _same(found: pa.Table, meant: pa.Table, key: str) -> bool:
    assert found.column_names == meant.column_names
    equal: bool = _sorted(found.cast(meant.schema), key).equals(_sorted(meant, key))
    return equal


def _sorted(rows: pa.Table, key: str) -> pa.Table:
    return rows.sort_by(key).combine_chunks()


@pytest.mark.parametrize("version", [1, 4, 6, 12])
def test_deltalake_reads_the_recorded_changes_of_invoices(version: int, demo_build: Build) -> None:
    folder, rows = demo_build
    place = folder / "finance/invoices"
    reader = DeltaTable(place).load_cdf(starting_version=version, ending_version=version)
    after = rows["finance/invoices"][version]
    told = pa.table(reader.read_all()).select([*after.column_names, "_change_type"])
    changes = told.cast(after.schema.append(pa.field("_change_type", pa.string())))
    before = rows["finance/invoices"][version - 1].cast(after.schema)
    gone, come = _kinds(changes, "delete", "update_preimage"), _kinds(changes, "insert", "update_postimage")
    stay = before.join(gone.select(["invoice_no"]), "invoice_no", join_type="left anti")
    made = pa.concat_tables([part.select(after.column_names).cast(after.schema) for part in (stay, come)])
    assert changes.num_rows
    assert _sorted(made, "invoice_no").equals(_sorted(after, "invoice_no"))


def _kinds(changes: pa.Table, *kinds: str) -> pa.Table:
    return changes.filter(pc.is_in(changes.column("_change_type"), pa.array(kinds)))
