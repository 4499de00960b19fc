"""Rows of versions that readers disagree about: a warning for programs, an obstacle for the proof of an erasure."""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.core.log.contested import ContestedWarning
from tests.support.logs.small_logs import lines, remove
from tests.support.logs.spark_tables import DataFile, column, inline_vector, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


def _masked_twice(root: Path) -> explorer.Table:
    """A table whose second commit replaces a vector without removing the file under the old one."""
    rows = pa.table({"k": pa.array(range(10), pa.int32())})
    write_table(root, [column("k", "integer")], [DataFile("a.parquet", rows, masked=[5])])
    size = (root / "a.parquet").stat().st_size
    again = {"path": "a.parquet", "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}
    again |= {"stats": '{"numRecords":10}', "deletionVector": inline_vector([5, 9])}
    log = root / "_delta_log"
    (log / f"{1:020d}.json").write_bytes(lines([remove("a.parquet"), {"add": again}]))
    return explorer.open_table(root)


def test_rows_warn_with_both_counts_and_an_older_version_does_not(tmp_path: Path) -> None:
    table = _masked_twice(tmp_path)
    with pytest.warns(ContestedWarning, match=r"reads 8 rows\. .*delta-spark.* read 17 rows"):
        rows = table.rows()
    assert rows.count() == 8
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContestedWarning)
        assert table.rows(version=0).count() == 9


def test_no_erasure_is_claimed_while_other_clients_read_the_row(tmp_path: Path) -> None:
    table = _masked_twice(tmp_path)
    proof = table.erasure("k = 9")
    assert (proof.totals["live"], proof.totals["masked"]) == (0, 1)
    (open_,) = [each for each in proof.not_answered if each.path == "a.parquet"]
    assert "read 17 rows" in open_.reason
    assert any("not answered" in text for text in proof.obstacles)
