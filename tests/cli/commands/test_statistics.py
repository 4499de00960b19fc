"""``statistics --summary``: a line for each column, over all files."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

import explorer
from tests.cli.conftest import Call


def test_the_summary_has_the_ends_and_nulls_of_the_live_rows(cli: Call, demo_warehouse: Path) -> None:
    table = demo_warehouse / "crm/customers"
    printed = cli("statistics", table, "--summary", "--column", "since", "--column", "address.city", "--json").out
    since, city = (json.loads(line) for line in printed.splitlines())
    rows = explorer.open_table(table).head(1_000)
    counted = duckdb.sql(
        "SELECT count(*), min(since)::text, max(since)::text, count(*) - count(address.city), min(address.city) "
        "FROM rows"
    ).fetchone()
    assert counted == (since["rows"], since["min"], since["max"], city["leastNulls"], city["min"])
    assert rows.num_rows == since["rows"]
    assert city["leastNulls"] == city["mostNulls"]


def test_a_summary_is_of_all_files(cli: Call, demo_warehouse: Path) -> None:
    refused = cli("statistics", demo_warehouse / "sales/orders", "--summary", "--limit", 3)
    assert refused.code == 2
    assert "leave out --limit" in refused.err
    shown = cli("statistics", demo_warehouse / "sales/orders", "--summary").out
    assert "12 of 12" in shown
