"""Rows of a table as Python records, with its times as `datetime`.

Invariant: pandas is not loaded, which Arrow uses for conversion of times, and which takes longer than most calls.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa

_MICROSECONDS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}


def moments(times: pa.ChunkedArray) -> list[datetime | None]:
    """Return a column of times: with a zone as moments in UTC, without as they are; None for null.

    Args:
        times: In s, ms or µs.

    Raises:
        OverflowError: One lies outside the years 1 to 9999.
    """
    epoch = datetime(1970, 1, 1, tzinfo=None if times.type.tz is None else UTC)
    unit = _MICROSECONDS[times.type.unit]
    numbers = times.cast(pa.int64()).to_pylist()
    return [None if number is None else epoch + timedelta(microseconds=number * unit) for number in numbers]


def records(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table by the names of their columns; maps are dictionaries.

    Args:
        table: With times, if any, in s, ms or µs, as columns of their own.

    Raises:
        OverflowError: A time lies outside the years 1 to 9999.
    """
    times = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    rows: list[dict[str, Any]] = table.drop_columns(times).to_pylist(maps_as_pydicts="strict")
    for name in times:
        for row, time in zip(rows, moments(table.column(name)), strict=True):
            row[name] = time
    return rows
