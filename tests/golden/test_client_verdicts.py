"""What the program says of other clients, beside what those at hand do with the reference's tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import explorer
from tests.support.dose import WHOLE_DOSE
from tests.support.golden_expectations import expected
from tests.support.other_readers import duckdb_connection
from tests.support.row_content import content_hash
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.reference, pytest.mark.interop]

# Where a client fails on a table for another reason than a feature: the table, and what the client says.
FAULTS: Final = {("delta-rs to_pyarrow_*/to_pandas path", "partition-types"): "not a valid decimal128 number"}
# The same of writing: the name of its folder is longer than a file system takes.
WRITE_FAULTS: Final = {"partition-types": "Unable to create dir"}
WRITTEN: Final = (
    "column-mapping", "change-feed", "deletion-vectors", "identity", "row-tracking", "clustering", "partition-types",
)  # fmt: skip


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


def _verdict(folder: Path, client: str, version: int | None = None, *, writes: bool = False) -> str:
    (*_, found) = (each for each in explorer.open_table(folder).compatibility(version) if each.client == client)
    return found.write if writes else found.read


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


def test_deltalake_writes_the_tables_that_it_is_said_to_write_and_no_others(tmp_path: Path) -> None:
    differences, outcomes = {}, set()
    for name in expected(reference_root()) if WHOLE_DOSE else WRITTEN:
        folder = tmp_path / name
        shutil.copytree(reference_root() / "tables" / name, folder)
        table = explorer.open_table(folder)
        before, verdict = table.snapshot(), _verdict(folder, "delta-rs (python deltalake)", writes=True)
        rows = _count(folder) if verdict == "yes" else 0
        problem = _append_one(folder)
        outcomes.add(verdict)
        if (verdict == "yes") != (not problem) and WRITE_FAULTS.get(name, "\0") not in problem:
            differences[name] = (verdict, problem[:200])
        if not problem:
            table.refresh()
            assert table.latest_version() == before.version + 1, name
            assert _count(folder) == rows + min(rows, 1), name
    assert differences == {}
    assert outcomes == {"yes", "no"}


def _count(folder: Path) -> int:
    """The rows that DuckDB reads."""
    (found,) = duckdb_connection().execute(f"select count(*) from delta_scan('{folder}')").fetchone() or (0,)
    return int(found)


def _append_one(folder: Path) -> str:
    """Append a row that the table has to it, if it has any; return why that failed, or nothing."""
    try:
        table = DeltaTable(folder)
        rows = QueryBuilder().register("t", table).execute("select * from t limit 1").read_all()
        write_deltalake(table, rows, mode="append")
    except Exception as error:  # noqa: BLE001  # whatever another program raises
        return str(error)
    return ""


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
