"""Rows of a table as Python records, with its times as moments in UTC.

Invariant: pandas is not loaded, which Arrow does to make a moment of a time, and which takes longer than most answers.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

from explorer.core.protocol.times import from_milliseconds

__all__ = ["moments", "records"]


def moments(times: pa.ChunkedArray) -> list[datetime | None]:
    """A column of times as moments in UTC, None for null.

    Args:
        times: In ms, with a zone.

    Raises:
        OverflowError: One lies outside the years 1 to 9999.
    """
    numbers = times.cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
    return [None if number is None else from_milliseconds(number) for number in numbers]


def records(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table by the names of their columns; maps are dictionaries.

    Args:
        table: With times in ms, if any, as columns of their own.

    Raises:
        OverflowError: A time lies outside the years 1 to 9999.
    """
    times = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    rows: list[dict[str, Any]] = table.drop_columns(times).to_pylist(maps_as_pydicts="strict")
    for name in times:
        for row, time in zip(rows, moments(table.column(name)), strict=True):
            row[name] = time
    return rows
