"""What the program says of other clients, beside what those at hand do with the reference's tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from deltalake import DeltaTable, QueryBuilder

import explorer
from tests.support.golden_expectations import expected
from tests.support.other_readers import duckdb_connection
from tests.support.row_content import content_hash
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.reference, pytest.mark.interop]

# Where a client fails on a table for another reason than a feature: the table, and what the client says.
FAULTS: Final = {("delta-rs to_pyarrow_*/to_pandas path", "partition-types"): "not a valid decimal128 number"}


def _by_deltalake(folder: Path) -> None:
    QueryBuilder().register("t", DeltaTable(folder)).execute("select * from t").read_all()


def _by_pyarrow(folder: Path) -> None:
    DeltaTable(folder).to_pyarrow_table()


def _by_duckdb(folder: Path) -> None:
    duckdb_connection().execute(f"from delta_scan('{folder}')").fetchall()


CLIENTS: Final[dict[str, Callable[[Path], None]]] = {
    "delta-rs (python deltalake)": _by_deltalake,
    "delta-rs to_pyarrow_*/to_pandas path": _by_pyarrow,
    "DuckDB delta extension": _by_duckdb,
}


def _verdict(folder: Path, client: str, version: int | None = None) -> str:
    return [each.read for each in explorer.open_table(folder).compatibility(version) if each.client == client][-1]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_refuses_the_tables_that_it_is_said_to_refuse_and_no_others(client: str) -> None:
    differences, refused = {}, 0
    for name in expected(reference_root()):
        folder, problem = reference_root() / "tables" / name, ""
        try:
            CLIENTS[client](folder)
        except Exception as error:  # noqa: BLE001  # whatever another program raises
            problem = str(error)
        verdict = _verdict(folder, client)
        refused += verdict == "no"
        if (verdict == "no") != bool(problem) and FAULTS.get((client, name), "\0") not in problem:
            differences[name] = (verdict, problem[:200])
    assert differences == {}
    assert refused


def test_a_client_that_is_said_to_answer_wrongly_gives_other_rows() -> None:
    # A column of version 10 was renamed: its files hold it under its first name.
    folder = reference_root() / "tables" / "column-mapping"
    truth = next(
        v["content_hash"] for v in expected(reference_root())["column-mapping"]["versions"] if v["version"] == 10
    )
    rows = DeltaTable(folder, version=10).to_pyarrow_table()
    assert rows.column("title").null_count == rows.num_rows
    assert content_hash(rows) != truth
    assert _verdict(folder, "delta-rs to_pyarrow_*/to_pandas path", 10) == "wrong"
