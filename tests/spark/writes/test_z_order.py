"""The curve through rows that OPTIMIZE ... ZORDER BY follows."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

from explorer.spark.engine.session import Engine
from explorer.spark.writes.z_order import z_ordered

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


def _rows_by_range(places: pa.ChunkedArray, start: int) -> Counter[int]:
    """How many rows have each number of one of the two columns: every other bit of their places on the curve."""
    return Counter(sum((place >> (2 * bit + start) & 1) << bit for bit in range(8)) for place in places.to_pylist())
