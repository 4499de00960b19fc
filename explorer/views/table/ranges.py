"""Value ranges of one column across the files, on an axis that fits its type.

Numbers and times have a place of their own; strings, booleans and the rest are placed by their order among all bounds.
Files that cannot be drawn are counted by reason: every value is null, a bound has no place on the axis, no statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask

_DAY: Final = 86_400_000.0
_LARGEST: Final = 1e300
"""Numbers beyond it have no place on an axis of floats with room beside them."""


@dataclass(frozen=True, slots=True)
class ColumnRanges:
    """Bounds by file, least value first.

    Attributes:
        kind: ``number``, ``time`` (milliseconds since the epoch) or ``order`` (rank among ``order``).
        low, high: Places on the axis, one per file.
        paths, bounds, tight: The file, its bounds, and whether the bounds are tight.
        order: For ``order``, the distinct bounds as text.
        only_nulls: Files whose values of the column are all null.
        unplaced: Files with a bound that is unknown or not a number.
        missing: Files without statistics for the column.
    """

    kind: str
    low: Float64s
    high: Float64s
    paths: tuple[str, ...]
    bounds: pa.Table
    tight: tuple[bool | None, ...]
    order: tuple[str, ...]
    only_nulls: int
    unplaced: int
    missing: int

    @property
    def low_texts(self) -> tuple[str, ...]:
        """The least values as text."""
        return tuple(fmt.value_text(value, 60) for value in self.bounds.column("min").to_pylist())

    @property
    def high_texts(self) -> tuple[str, ...]:
        """The greatest values as text."""
        return tuple(fmt.value_text(value, 60) for value in self.bounds.column("max").to_pylist())

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
    least, records = bounds.column("min"), bounds.column("num_records")
    known = least.is_valid().to_numpy(zero_copy_only=False)
    nothing = pc.fill_null(pc.equal(bounds.column("null_count"), records), fill_value=False)
    only_nulls = int((~known & nothing.to_numpy(zero_copy_only=False)).sum())
    bounded = _bounded(least) & _bounded(bounds.column("max"))
    unplaced = int((known & ~bounded).sum())
    rows = bounds.filter(pa.array(bounded))
    kind, low, high, order = _placed(rows.column("min"), rows.column("max"))
    sorting = np.lexsort((high, low))
    rows = rows.take(pa.array(sorting))
    return ColumnRanges(
        kind=kind,
        low=low[sorting],
        high=high[sorting],
        paths=tuple(rows.column("path").to_pylist()),
        bounds=rows.select(["min", "max"]),
        tight=tuple(rows.column("tight").to_pylist()),
        order=order,
        only_nulls=only_nulls,
        unplaced=unplaced,
        missing=len(bounds) - len(rows) - only_nulls - unplaced,
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


def _bounded(values: pa.ChunkedArray) -> Mask:
    """Return where a bound is known and not NaN."""
    present: Mask = values.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(values.type):
        present &= ~pc.fill_null(pc.is_nan(values), fill_value=True).to_numpy(zero_copy_only=False)
    return present


def _placed(low: pa.ChunkedArray, high: pa.ChunkedArray) -> tuple[str, Float64s, Float64s, tuple[str, ...]]:
    """Return the kind of the axis, the places of the bounds on it, and for ranks what they are ranks of."""
    of = low.type
    if pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of):
        places = tuple(values.cast(pa.float64(), safe=False).to_numpy() for values in (low, high))
        if all((np.abs(ends) < _LARGEST).all() for ends in places):
            return "number", places[0], places[1], ()
    if pa.types.is_date(of):
        days = [_as_floats(values.cast(pa.date32()).cast(pa.int32())) * _DAY for values in (low, high)]
        return "time", days[0], days[1], ()
    if pa.types.is_timestamp(of):
        unit = pa.timestamp("us", of.tz)
        times = [_as_floats(values.cast(unit, safe=False)) / 1_000 for values in (low, high)]
        return "time", times[0], times[1], ()
    return _ranked(low.to_pylist(), high.to_pylist())


def _as_floats(values: pa.ChunkedArray) -> Float64s:
    numbers: Float64s = values.cast(pa.int64()).to_numpy().astype(np.float64)
    return numbers


def _ranked(low: list[Any], high: list[Any]) -> tuple[str, Float64s, Float64s, tuple[str, ...]]:
    distinct = sorted({*low, *high})
    rank = {value: float(index) for index, value in enumerate(distinct)}
    places = [np.array([rank[value] for value in values], np.float64) for values in (low, high)]
    return "order", places[0], places[1], tuple(fmt.value_text(value, 40) for value in distinct)
