"""Readers that we did not write, each behind one function: DuckDB's delta extension, and deltalake."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

import explorer
from explorer.core.protocol.table_features import supported_features
from tests.support.clients.client_process import duckdb_connection, duckdb_table
from tests.support.comparison.row_content import content_hash

__all__ = ["assert_others_read", "deltalake_rows", "duckdb_connection", "duckdb_rows", "read_by_deltalake"]

NOT_READ_BY_DELTALAKE = frozenset({"columnMapping", "typeWidening", "vacuumProtocolCheck"})
"""Features for which deltalake refuses a table (1.6.6)."""


def duckdb_rows(folder: Path, version: int | None = None) -> pa.Table:
    """The rows of a table's newest or of another version."""
    chosen = "" if version is None else f", version = {version}"
    return duckdb_table(f"from delta_scan('{folder}'{chosen})")


def deltalake_rows(folder: Path, version: int | None = None) -> pa.Table:
    """The rows of a table's newest or of another version."""
    table = DeltaTable(folder, version=version)
    return pa.table(QueryBuilder().register("t", table).execute("select * from t").read_all())


def read_by_deltalake(folder: Path) -> bool:
    """False if deltalake refuses the newest version for one of its features."""
    features = supported_features(explorer.open_table(folder).snapshot().protocol)
    return NOT_READ_BY_DELTALAKE.isdisjoint(features)


def assert_others_read(folder: Path, rows: pa.Table, where: str) -> None:
    """DuckDB reads these rows, and so does deltalake unless the table has a feature that it refuses.

    Args:
        folder: The table's folder.
        rows: Its rows, in any order.
        where: Told if one reads other rows.
    """
    for reader in (duckdb_rows, deltalake_rows) if read_by_deltalake(folder) else (duckdb_rows,):
        found = reader(folder)
        assert found.column_names == rows.column_names, (reader.__name__, where)
        assert content_hash(found.cast(rows.schema)) == content_hash(rows), (reader.__name__, where)
