"""A file that a read finds missing is known as missing from then on, whoever read: no page, command or notebook has to
be the one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExplorerError, StorageError
from explorer.views import TableFacts
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = pytest.mark.spark

READS: dict[str, Callable[[explorer.Table], object]] = {
    "check": lambda found: found.check({"some": "id > 0"}),
    "profile": lambda found: found.profile(),
    "delete": lambda found: found.plan({"kind": "delete", "where": "id = 3"}),
    "erasure": lambda found: found.erasure("id = 1"),
}


@pytest.fixture
def table(tmp_path: Path) -> explorer.Table:
    """Two files, of which one was deleted by hand."""
    files = [DataFile(f"{name}.parquet", pa.table({"id": pa.array(ids, pa.int64())})) for name, ids in
             (("a", [1, 2]), ("b", [3, 4]))]  # fmt: skip
    write_table(tmp_path / "t", [column("id", "long")], files)
    (tmp_path / "t" / "b.parquet").unlink()
    return explorer.open_table(tmp_path / "t")


@pytest.mark.parametrize("name", READS)
def test_what_a_read_finds_missing_the_versions_have_lost(table: explorer.Table, name: str) -> None:
    assert table.known_missing.now.missing == frozenset()
    with nullcontext() if name == "erasure" else pytest.raises(ExplorerError, match=r"b\.parquet"):
        READS[name](table)
    assert table.known_missing.now.missing == {"b.parquet"}
    assert "b.parquet" in TableFacts(table).lost_data(0)


def test_a_failure_that_names_a_file_which_is_there_or_a_log_file_teaches_nothing(table: explorer.Table) -> None:
    for path in ("a.parquet", "_delta_log/00000000000000000009.json"):
        table.learn(StorageError("not read", path=path))
    table.learn(StorageError("not read"))
    table.learn(ValueError("b.parquet"))
    table.learn(None)
    assert table.known_missing.now.missing == frozenset()
    table.learn(StorageError("not read", path="b.parquet"))
    assert table.known_missing.now.missing == {"b.parquet"}
