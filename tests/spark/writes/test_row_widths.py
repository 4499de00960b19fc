"""Rows that Spark hands over without weighing each, and rows of which a batch would be too large for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from explorer.new_table import new_table
from explorer.spark.engine.session import engine
from explorer.spark.writes.new_rows import unweighed, widest_row
from tests.support.logs.spark_tables import column, struct

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=1)]

LIMIT: Final = "spark.sql.execution.arrow.maxBytesPerBatch"


def _limits(frame: Any) -> set[str | None]:
    """The limit of bytes that tasks of this thread's jobs are told of; None is Spark's own."""

    def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for _ in batches:
            yield pa.RecordBatch.from_pydict(
                {"limit": [context.getLocalProperty(LIMIT)]}, pa.schema([("limit", "string")])
            )

    return set(frame.mapInArrow(told, "limit string").toArrow().column("limit").to_pylist())


def _widest(frame: Any) -> int | None:
    found = widest_row(frame)
    return None if found is None else frame.agg(found.alias("widest")).collect()[0]["widest"]


def test_the_widest_row_counts_the_bytes_of_its_texts() -> None:
    session = engine().session()
    assert _widest(session.range(3)) == 0
    assert _widest(session.sql("VALUES ('ä', 'bcd'), ('xyzzy', NULL), (NULL, NULL) AS t(a, b)")) == 5
    assert _widest(session.sql("SELECT 'a' AS a WHERE false")) is None
    for kind in ("array(1)", "map(1, 2)", "struct(1 AS a)", "X'00'", "parse_json('1')"):
        assert _widest(session.sql(f"SELECT 'a' AS a, {kind} AS b")) is None, kind


def test_narrow_rows_go_unweighed_and_the_limit_comes_back() -> None:
    frame = engine().session().range(10)
    unlimited = {None} if engine().connected_remotely else {str((1 << 31) - 1)}
    for widest, seen in ((0, unlimited), (10_000, unlimited), (20_000, {None}), (None, {None})):
        with unweighed(frame, widest):
            assert _limits(frame) == seen, widest
        assert _limits(frame) == {None}


def test_rows_of_a_megabyte_are_written(tmp_path: Path) -> None:
    rows, width = 900, 1_000_000
    place = new_table(tmp_path / "wide")
    created = {"kind": "create-table", "schema": struct(column("id", "long"), column("text", "string"))}
    assert place.commit(place.plan(created)).outcome == "committed"
    table = place.open()
    wide = engine().session().range(0, rows, 1, 1).selectExpr("id", f"repeat('x', {width}) AS text")
    assert table.commit(table.plan({"kind": "append", "source": "rows"}, rows=wide)).outcome == "committed"
    assert table.snapshot().num_records == rows
