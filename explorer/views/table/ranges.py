"""Value ranges of one column across the files, on an axis that fits its type.

Numbers and times have a place of their own; strings, booleans and the rest are placed by their order among all bounds.
Files that cannot be drawn are counted by reason: every value is null, a bound has no place on the axis, no statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s
from explorer.core.protocol.times import days, microseconds

__all__ = ["ColumnRanges", "column_ranges", "depth"]


@dataclass(frozen=True, slots=True)
class ColumnRanges:
    """Bounds by file, least value first.

    Attributes:
        kind: ``number``, ``time`` (milliseconds since the epoch) or ``order`` (rank among ``order``).
        low, high: Places on the axis, one per file.
        paths, low_texts, high_texts, tight: The file, its bounds as text, and whether the bounds are tight.
        order: For ``order``, the distinct bounds as text.
        only_nulls: Files whose values of the column are all null.
        unplaced: Files with a bound that is unknown or not a number.
        missing: Files without statistics for the column.
    """

    kind: str
    low: Float64s
    high: Float64s
    paths: tuple[str, ...]
    low_texts: tuple[str, ...]
    high_texts: tuple[str, ...]
    tight: tuple[bool | None, ...]
    order: tuple[str, ...]
    only_nulls: int
    unplaced: int
    missing: int

    @property
    def span(self) -> float:
        """Width of the axis that the bounds cover."""
        return float(self.high.max() - self.low.min()) or 1.0 if len(self.low) else 1.0

    @property
    def overlap(self) -> float | None:
        """Mean number of files whose range holds the least value of a file: 1.0 means that no ranges overlap."""
        if not len(self.low):
            return None
        started = np.searchsorted(np.sort(self.low), self.low, side="right")
        ended = np.searchsorted(np.sort(self.high), self.low, side="left")
        return float(np.mean(started - ended))

    def shown(self, places: Float64s) -> Float64s | list[str | None]:
        """Return places as plotly takes them: times as ISO text, others unchanged."""
        if self.kind != "time":
            return places
        return [None if np.isnan(p) else str(np.datetime64(int(p), "ms")) for p in places]


def column_ranges(bounds: pa.Table) -> ColumnRanges:
    """Place the bounds of `Snapshot.column_ranges` on an axis."""
    found = bounds.to_pylist()
    rows = [row for row in found if _bounded(row)]
    only_nulls = sum(_only_nulls(row) for row in found)
    unplaced = sum(row["min"] is not None and not _bounded(row) for row in found)
    kind = _kind(rows)
    place, order = _placing(kind, rows)
    rows.sort(key=lambda row: (place(row["min"]), place(row["max"])))
    return ColumnRanges(
        kind=kind,
        low=np.array([place(row["min"]) for row in rows], dtype=np.float64),
        high=np.array([place(row["max"]) for row in rows], dtype=np.float64),
        paths=tuple(row["path"] for row in rows),
        low_texts=tuple(fmt.value_text(row["min"], 60) for row in rows),
        high_texts=tuple(fmt.value_text(row["max"], 60) for row in rows),
        tight=tuple(row["tight"] for row in rows),
        order=order,
        only_nulls=only_nulls,
        unplaced=unplaced,
        missing=len(found) - len(rows) - only_nulls - unplaced,
    )


def depth(ranges: ColumnRanges, steps: int = 400) -> tuple[Float64s, Int64s]:
    """Return places along the axis and how many files' ranges hold each.

    With few different bounds every bound is a place, twice: with the ranges that end there, and without them.
    """
    low, high = np.sort(ranges.low), np.sort(ranges.high)
    bounds = np.unique(np.concatenate([low, high]))
    if len(bounds) > steps:
        edges = np.linspace(bounds[0], bounds[-1], steps)
        return edges, np.searchsorted(low, edges, side="right") - np.searchsorted(high, edges, side="left")
    begun = np.searchsorted(low, bounds, side="right")
    ended = np.searchsorted(high, bounds, side="left"), np.searchsorted(high, bounds, side="right")
    return np.repeat(bounds, 2), np.column_stack([begun - ended[0], begun - ended[1]]).ravel()


def _bounded(row: Mapping[str, Any]) -> bool:
    values = (row["min"], row["max"])
    return all(value is not None and not (isinstance(value, float) and math.isnan(value)) for value in values)


def _only_nulls(row: Mapping[str, Any]) -> bool:
    return row["min"] is None and row["null_count"] is not None and row["null_count"] == row["num_records"]


def _kind(rows: Sequence[Mapping[str, Any]]) -> str:
    sample = rows[0]["min"] if rows else 0
    if isinstance(sample, bool):
        return "order"
    if isinstance(sample, int | float | Decimal):
        return "number" if all(abs(float(row[end])) < 1e300 for row in rows for end in ("min", "max")) else "order"
    return "time" if isinstance(sample, date | datetime) else "order"


def _placing(kind: str, rows: Sequence[Mapping[str, Any]]) -> tuple[Callable[[Any], float], tuple[str, ...]]:
    if kind == "number":
        return float, ()
    if kind == "time":
        return _milliseconds, ()
    distinct = sorted({value for row in rows for value in (row["min"], row["max"])})
    rank = {value: float(index) for index, value in enumerate(distinct)}
    return rank.__getitem__, tuple(fmt.value_text(value, 40) for value in distinct)


def _milliseconds(value: date | datetime) -> float:
    if not isinstance(value, datetime):
        return days(value) * 86_400_000.0
    return microseconds(value) / 1000
