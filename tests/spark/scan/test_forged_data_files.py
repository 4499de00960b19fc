"""Data files whose footer would exhaust a worker's memory are refused in the worker, by name."""

from __future__ import annotations

import io
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from explorer.core.errors import LimitExceeded
from explorer.core.protocol import limits
from explorer.data_files.object_rows import ObjectRows, Shape, footer_reader, reader
from explorer.spark.engine.failures import failure_of
from explorer.spark.scan.object_files import room
from tests.support.attacks.forged_footers import FOOTERS, parquet_with

_ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


def _task(data: bytes) -> tuple[ObjectRows, list[pa.RecordBatch]]:
    """What a task is given to read one file that has some bytes."""
    store: Any = MemoryStore()
    obstore.put(store, "a.parquet", data)
    shapes = (Shape("id", None, pa.int64()),)
    file = {"store": 0, "key": "a.parquet", "size": len(data), "name": "a.parquet"}
    return ObjectRows((store,), (), shapes, "file", "row", room()), [pa.RecordBatch.from_pylist([file])]


@pytest.mark.parametrize("name", FOOTERS)
def test_rows_of_a_file_with_a_forged_footer_are_refused_by_its_name(name: str) -> None:
    rows, batches = _task(parquet_with(FOOTERS[name]))
    with pytest.raises(RuntimeError, match=r"explorer: file has too large a footer: a\.parquet") as raised:
        list(reader(rows)(batches))
    error = failure_of(raised.value, version=3)
    assert isinstance(error, LimitExceeded)
    assert error.path == "a.parquet"
    assert error.found is not None
    assert error.found > limits.footer_bytes() == error.allowed
    assert limits.DECODED_VARIABLE in error.message


def test_a_forged_footer_does_not_stop_the_footers_of_other_files() -> None:
    rows, batches = _task(parquet_with(FOOTERS["a million columns claimed"]))
    (answer,) = [row for batch in footer_reader(rows)(batches) for row in batch.to_pylist()]
    assert answer["rows"] is None
    assert answer["failure"].startswith("the file has too large a footer")


def test_rows_of_an_honest_file_are_read() -> None:
    sink = io.BytesIO()
    pq.write_table(_ROWS, sink)
    rows, batches = _task(sink.getvalue())
    assert [row["id"] for batch in reader(rows)(batches) for row in batch.to_pylist()] == [1, 2]
    (footer,) = [row for batch in footer_reader(rows)(batches) for row in batch.to_pylist()]
    assert (footer["rows"], footer["failure"]) == (2, None)
