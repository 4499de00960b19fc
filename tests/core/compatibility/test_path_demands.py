"""Files that a log names by URLs decide which clients read and write a table; what the clients do was tried on such."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.compatibility.access import verdict_of
from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.demands import (
    FILE_URL,
    OTHER_STORAGE,
    UNKNOWN_STORAGE,
    demands_of_paths,
)
from explorer.core.compatibility.matrix import matrix
from explorer.core.compatibility.my_clients import MyClient
from explorer.core.compatibility.releases import OWN_ENGINE
from explorer.storage.schemes import STORAGES
from tests.support.clients.other_readers import deltalake_rows, duckdb_rows
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write_log

DUCKDB, DELTALAKE = "DuckDB delta extension", "delta-rs (python deltalake)"


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("a.parquet", "file:///t", set()),
        ("day=a%3A/b.parquet", "file:///t", set()),
        ("/other/a.parquet", "file:///t", set()),
        ("file:///other/a.parquet", "file:///t", {FILE_URL}),
        ("FILE:/other/a.parquet", "file:///t", {FILE_URL}),
        ("s3a://b/a.parquet", "s3://b/t", {FILE_URL}),
        ("abfss://c@x.dfs.core.windows.net/a.parquet", "az://c/t", {FILE_URL}),
        ("s3://b/a.parquet", "file:///t", {FILE_URL, OTHER_STORAGE}),
        ("gs://b/a.parquet", "s3://b/t", {FILE_URL, OTHER_STORAGE}),
        ("hdfs://h:1/a.parquet", "file:///t", {FILE_URL, OTHER_STORAGE, UNKNOWN_STORAGE}),
        ("dbfs:/a.parquet", "s3://b/t", {FILE_URL, OTHER_STORAGE, UNKNOWN_STORAGE}),
    ],
)
def test_the_schemes_of_paths_are_demands(path: str, root: str, expected: set[str]) -> None:
    assert demands_of_paths(pa.chunked_array([["x.parquet", path]]), root, STORAGES) == expected
    assert demands_of_paths(pa.chunked_array([], pa.string()), root, STORAGES) == set()


def _table(folder: Path, location: Callable[[Path], str]) -> explorer.Table:
    (folder / "source").mkdir()
    stored = folder / "source" / "a.parquet"
    pq.write_table(pa.table({"id": pa.array([1, 2, 3], pa.int64())}), stored)
    named = add(location(stored), 3, size=stored.stat().st_size)
    return explorer.open_table(write_log(folder / "table", [[PROTOCOL, METADATA, named]]))


def _reads(table: explorer.Table, client: str) -> str:
    facts = client_facts()
    return verdict_of(table.requirements(), facts, client, facts.versions[client][-1]).read


@pytest.mark.interop
@pytest.mark.parametrize(("client", "rows"), [(DUCKDB, duckdb_rows), (DELTALAKE, deltalake_rows)])
@pytest.mark.parametrize(
    "location",
    [
        str,
        lambda path: f"file://{path}",
        lambda path: f"file:{path}",
        lambda path: f"s3://bucket{path}",
        lambda path: f"hdfs://host:1{path}",
        lambda path: f"../source/{path.name}",
    ],
    ids=["absolute", "a URL", "a short URL", "S3", "HDFS", "relative"],
)
def test_clients_at_hand_do_what_the_verdict_says(
    tmp_path: Path, client: str, rows: Callable[[Path], pa.Table], location: Callable[[Path], str]
) -> None:
    table = _table(tmp_path, location)
    try:
        read = "yes" if rows(tmp_path / "table").num_rows == 3 else "wrong"
    except Exception:  # noqa: BLE001 - a client's own errors share no class
        read = "no"
    assert _reads(table, client) == read


@pytest.mark.parametrize(("scheme", "own"), [("file", "yes"), ("s3", "yes"), ("hdfs", "no"), ("dbfs", "no")])
def test_the_row_of_this_program_is_never_unknown(tmp_path: Path, scheme: str, own: str) -> None:
    table = _table(tmp_path, lambda path: f"{scheme}://host{path}")
    mine = [MyClient(f"{OWN_ENGINE}/1.0", "", None, None)]
    (row,) = (each for each in matrix(table.requirements(), (), client_facts(), mine) if each.mine)
    assert (row.read, row.write) == (own, own)
    assert (UNKNOWN_STORAGE in row.because) is (own == "no")
    found = {name for verdict in table.compatibility() for name in verdict.because}
    assert FILE_URL in found
