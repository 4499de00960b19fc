"""Profiles and columns at a glance of dates and times beyond the calendar of Python."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

FAR, FAR_MOMENT = 3_663_000, 260_000_000_000_000_000


def _table(root: Path) -> explorer.Table:
    days = [0, FAR, None, *range(20)]
    moments = [0, FAR_MOMENT, None, *(number * 10**12 for number in range(20))]
    rows = pa.table(
        {
            "d": pa.array(days, pa.int32()).cast(pa.date32()),
            "t": pa.array(moments, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "n": pa.array(moments, pa.int64()).cast(pa.timestamp("us")),
        }
    )
    kinds = [column("d", "date"), column("t", "timestamp"), column("n", "timestamp_ntz")]
    return explorer.open_table(write_table(root, kinds, [DataFile("a.parquet", rows)]))


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("values", [False, True])
def test_a_profile_has_dates_beyond_the_year_9999_as_text(tmp_path: Path, values: bool) -> None:
    from explorer.spark.checks.column_profile import profile

    table = _table(tmp_path / "t")
    found = profile(table, table.snapshot(), values=values).result(120)
    assert [each.nulls for each in found.columns] == [1, 1, 1]
    assert [str(each.max)[:5] for each in found.columns] == ["11998", "10209", "10209"]
    assert [str(each.min)[:10] for each in found.columns] == ["1970-01-01"] * 3
