"""The curve through rows that OPTIMIZE ... ZORDER BY follows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as sf

import explorer
from explorer.spark.engine.session import Engine
from explorer.spark.writes.z_order import z_ordered
from tests.support.comparison.row_content import row_lines
from tests.support.logs.spark_tables import column, write_table

pytestmark = pytest.mark.spark


@pytest.mark.timeout(120)
def test_curve_cuts_the_columns_of_a_full_sample_into_ranges_of_as_many_rows(spark_engine: Engine) -> None:
    """The sample is sorted once: sorted again for each of its 20,000 values it would take many minutes."""
    numbers = spark_engine.session().range(20_000)
    columns = [sf.col("id"), sf.reverse(sf.col("id").cast("string"))]
    placed = z_ordered(numbers, columns, "place").toArrow()
    for ranges in (_rows_by_range(placed.column("place"), start) for start in (1, 0)):
        assert len(ranges) == 256
        assert sum(ranges.values()) == 20_000
        assert max(ranges.values()) - min(ranges.values()) < 40


@pytest.mark.whole("test_curve_cuts_the_columns_of_a_full_sample_into_ranges_of_as_many_rows")
@pytest.mark.usefixtures("spark_engine")
def test_a_curve_lets_a_reader_skip_most_files_by_either_column(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t", [column("x", "integer"), column("y", "integer")], [])
    rows = pa.table({"x": [n % 64 for n in range(4096)], "y": [n // 64 for n in range(4096)]})
    rows = rows.cast(pa.schema([("x", pa.int32()), ("y", pa.int32())]))
    table = explorer.open_table(path)
    assert table.commit(table.plan({"kind": "append", "source": "rows"}, rows=rows)).outcome == "committed"
    size = table.snapshot().size_in_bytes
    assert size is not None
    plan = table.plan({"kind": "optimize", "zOrderBy": ["x", "y"], "targetSize": size // 16 + 1})
    assert table.commit(plan).outcome == "committed"
    files = [pq.read_table(Path(path) / name) for name in table.snapshot().files().column("path").to_pylist()]
    assert len(files) >= 8
    assert sorted(row_lines(pa.concat_tables(files))) == sorted(row_lines(rows))
    for name in ("x", "y"):
        ranges = [(min(file.column(name).to_pylist()), max(file.column(name).to_pylist())) for file in files]
        read = sum(low <= value <= high for value in range(64) for low, high in ranges)
        assert read / 64 < len(files) / 2, f"a filter on {name} skips more than half of the files"


def _rows_by_range(places: pa.ChunkedArray, start: int) -> Counter[int]:
    """How many rows have each number of one of the two columns: every other bit of their places on the curve."""
    return Counter(sum((place >> (2 * bit + start) & 1) << bit for bit in range(8)) for place in places.to_pylist())
