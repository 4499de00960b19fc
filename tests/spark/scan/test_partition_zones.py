"""Rows go by the zone that partition values without one are read in, as statistics do."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.spark.scan.scan import scan
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


@pytest.mark.conformance("PART-008")
@pytest.mark.parametrize(("zone", "hour"), [("UTC", 12), ("Europe/Berlin", 10), ("Asia/Tokyo", 3)])
def test_rows_and_statistics_read_a_zone_less_partition_alike(tmp_path: Path, zone: str, hour: int) -> None:
    files = [DataFile("a.parquet", pa.table({"id": [1]}), {"at": "2026-07-01 12:00:00"})]
    write_table(tmp_path, [column("id", "long"), column("at", "timestamp")], files, ["at"])
    table = explorer.open_table(tmp_path, time_zone=zone)
    moment = datetime(2026, 7, 1, hour, tzinfo=UTC)
    assert table.snapshot().column_ranges("at").column("min").to_pylist() == [moment]
    (row,) = scan(table, table.snapshot()).to_arrow().to_pylist()
    assert row["at"].astimezone(UTC) == moment
    where = f"at = TIMESTAMP '2026-07-01 {hour:02}:00:00Z'"
    assert scan(table, table.snapshot(), where=where).to_arrow().num_rows == 1
