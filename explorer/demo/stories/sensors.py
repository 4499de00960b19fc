"""archive/sensors-damaged: a table with a damaged log, to show how the explorer reports one.

The last commit was cut off in the middle of a line, as a full disk does. The versions before it can be read.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, time, timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from explorer.core.log.log_path import commit_name
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.demo.provenance import Calendar, DemoProvenance
from explorer.demo.writer import TableWriter

SCHEMA: Final = StructType(
    (
        StructField("sensor", PrimitiveType("short")),
        StructField("read_at", PrimitiveType("timestamp")),
        StructField("celsius", PrimitiveType("float")),
    )
)


def tell(table: TableWriter, calendar: Calendar) -> None:
    """Write the table, then damage its last commit."""
    numbers = np.random.default_rng(7)
    table.create(
        DemoProvenance(calendar.at(0, 0, "06:00:00"), "hall@shop.example"),
        SCHEMA,
        description="Temperatures in the hall. The last commit is damaged on purpose. Made-up data.",
    )
    for weekday in range(4):
        rows = _readings(numbers, calendar, weekday)
        table.append(DemoProvenance(calendar.at(0, weekday, "23:59:00"), "hall@shop.example"), rows)
    _cut_off(table)


def _readings(numbers: np.random.Generator, calendar: Calendar, weekday: int) -> pa.Table:
    start = datetime.combine(calendar.day(0, weekday), time(), UTC)
    columns = {
        "sensor": pa.array(numbers.integers(1, 9, 288), pa.int16()),
        "read_at": pa.array([start + timedelta(minutes=5 * n) for n in range(288)], pa.timestamp("us", "UTC")),
        "celsius": pa.array(np.round(numbers.normal(19.5, 1.2, 288), 1), pa.float32()),
    }
    return pa.table(columns).cast(arrow_schema(SCHEMA))


def _cut_off(table: TableWriter) -> None:
    path = table.folder / commit_name(table.log.version)
    status, content = path.stat(), path.read_bytes()
    path.write_bytes(content[: len(content) - 120])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    del table.versions[table.log.version]
