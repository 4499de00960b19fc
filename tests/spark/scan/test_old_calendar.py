"""Times of Spark 2 and 3.0 in an object store: the tasks refuse what only Spark's own reader converts, and no more."""

from __future__ import annotations

import io
from datetime import date, datetime
from typing import Any, Final

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from explorer.data_files.object_rows import ObjectRows, Shape, reader
from explorer.spark.scan.object_files import room

MOMENT: Final = Shape("at", None, pa.timestamp("us", "UTC"))
DAY: Final = Shape("day", None, pa.date32())
OLD_INT96: Final = {"org.apache.spark.legacyINT96": ""}


def _rows(metadata: dict[str, str], shapes: tuple[Shape, ...], *, int96: bool) -> list[dict[str, Any]]:
    moment = datetime(1000, 1, 1)  # noqa: DTZ001 - the column's type has the zone
    rows = pa.table({"at": pa.array([moment], pa.timestamp("us")), "day": [date(1000, 1, 1)]})
    sink = io.BytesIO()
    pq.write_table(rows.replace_schema_metadata(metadata), sink, use_deprecated_int96_timestamps=int96)
    store: Any = MemoryStore()
    obstore.put(store, "a.parquet", sink.getvalue())
    file = {"store": 0, "key": "a.parquet", "size": len(sink.getvalue()), "name": "a.parquet"}
    task = ObjectRows((store,), (), shapes, "file", "row", room())
    return [row for batch in reader(task)([pa.RecordBatch.from_pylist([file])]) for row in batch.to_pylist()]


@pytest.mark.parametrize("metadata", [{"org.apache.spark.version": "3.0.3"}, OLD_INT96], ids=["version", "key"])
def test_times_in_96_bits_of_spark_3_0_are_refused(metadata: dict[str, str]) -> None:
    with pytest.raises(RuntimeError, match=r"cannot be read: a\.parquet :: .* in the calendar of Spark 2"):
        _rows(metadata, (MOMENT, DAY), int96=True)


@pytest.mark.parametrize(
    ("version", "shapes", "int96"),
    [("3.0.3", (DAY,), True), ("3.0.3", (MOMENT, DAY), False), ("3.1.0", (MOMENT, DAY), True)],
    ids=["not among the columns", "in 64 bits", "a later Spark"],
)
def test_times_in_the_calendar_of_today_are_read(version: str, shapes: tuple[Shape, ...], int96: bool) -> None:
    (row,) = _rows({"org.apache.spark.version": version}, shapes, int96=int96)
    assert row["day"] == date(1000, 1, 1)
