"""A checkpoint that lists a file twice: its rows are refused, by whole reads, conditions and changes, not doubled."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import CorruptTable
from explorer.storage import open_store
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import PROTOCOL, add, metadata, remove, write
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


def _doubled(root: Path) -> explorer.Table:
    rows = pa.table({"k": pa.array([1, 2, 3], pa.int32())})
    write_table(root, [column("k", "integer")], [DataFile("a.parquet", rows), DataFile("b.parquet", rows)])
    (root / "_delta_log" / f"{0:020d}.json").unlink()
    a, b = (add(name, 3, size=(root / name).stat().st_size) for name in ("a.parquet", "b.parquet"))
    write_checkpoint(open_store(root), 1, [PROTOCOL, metadata({"k": "integer"}), a, b, a], "classic")
    return explorer.open_table(root)


def test_rows_of_a_file_that_is_listed_twice_are_refused_with_its_name(tmp_path: Path) -> None:
    table = _doubled(tmp_path)
    for where in (None, "k > 1"):
        with pytest.raises(CorruptTable, match=r"a\.parquet is listed more than once at version 1") as refused:
            table.rows(where=where)
        assert refused.value.version == 1
    with pytest.raises(CorruptTable, match="listed more than once"):
        table.plan({"kind": "delete", "where": "k = 1"})


def test_after_a_commit_that_removes_the_file_the_other_rows_are_read(tmp_path: Path) -> None:
    table = _doubled(tmp_path)
    write(open_store(tmp_path), {2: [remove("a.parquet")]})
    assert explorer.open_table(table.location).rows().count() == 3
