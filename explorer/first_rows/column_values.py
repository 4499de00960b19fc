"""The values of one column in some rows: how many are null or different, the commonest ones, or counts by range.

Invariants: all counts are of the given rows, exact; ranges follow one after the other, with round ends, and each begins
with a value that it includes and ends before one that it does not, so that a condition finds the rows that it counts;
a value that is no range's and no bar's is counted among the others, never dropped.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.schema.data_types import DataType, PrimitiveType

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_VALUES: Final = 10
"""Values that are listed one by one."""
_RANGES: Final = 10
_COMPARED: Final = frozenset({"void", "variant"})
_NUMBERS: Final = frozenset({"byte", "short", "integer", "long", "float", "double", "decimal"})
_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_DAYS: Final = (1, 2, 7, 14, 28, 91, 182, 365)
_SECONDS: Final = (1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600, 43_200)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = 86_400_000_000
_EXACT: Final = Context(prec=80)


@dataclass(frozen=True, slots=True)
class ValueBar:
    """Rows with one value, or with values of one range.

    Attributes:
        count: How many.
        low: The value; of a range its first.
        high: What the range ends before; None of one value.
    """

    count: int
    low: Any
    high: Any = None


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """A column in some rows.

    Attributes:
        rows: The rows.
        nulls: Those without a value.
        distinct: Different values, null not counted; None of a type that cannot be compared.
        exact: The number of different values is exact; otherwise it is an estimate.
        bars: Values, the commonest first, or ranges in their order; none where neither can be told.
        others: Rows with a value that is in no bar.
    """

    rows: int
    nulls: int
    distinct: int | None = None
    exact: bool = True
    bars: tuple[ValueBar, ...] = ()
    others: int = 0

    @property
    def largest(self) -> int:
        """The most rows of a bar."""
        return max((bar.count for bar in self.bars), default=0)


def column_values(column: pa.ChunkedArray, kind: DataType) -> ColumnValues:
    """Return what a column has in rows that are in memory.

    Args:
        column: Its values.
        kind: Its type.
    """
    rows, nulls = len(column), int(column.null_count)
    if not isinstance(kind, PrimitiveType) or kind.name in _COMPARED or pa.types.is_nested(column.type):
        return ColumnValues(rows, nulls)
    try:
        present = _one_zero(column.drop_null()).to_pylist()
    except (OverflowError, ValueError):
        return ColumnValues(rows, nulls, int(pc.count_distinct(column).as_py()), others=rows - nulls)
    counts = _counted(present)
    bars = value_bars(counts.items(), kind, len(counts))
    if bars is None:
        ends = range_ends(min(filter(_finite, counts)), max(filter(_finite, counts)), kind)
        bars = _in_ranges(present, ends) if ends else _commonest(counts.items())
    return ColumnValues(rows, nulls, len(counts), bars=bars, others=len(present) - sum(bar.count for bar in bars))


def has_ranges(kind: DataType) -> bool:
    """Return whether values of a type can be counted by range."""
    return isinstance(kind, PrimitiveType) and kind.name in _NUMBERS | _TIMES


def value_bars(counts: Iterable[tuple[Any, int]], kind: PrimitiveType, distinct: int) -> tuple[ValueBar, ...] | None:
    """Return the bars of single values; None where ranges show more.

    Args:
        counts: Values and how many rows have each: all of them, or the commonest.
        kind: Their type.
        distinct: How many different ones there are.
    """
    if not has_ranges(kind):
        return _commonest(counts)
    if distinct > MOST_VALUES:
        return None
    return tuple(ValueBar(count, value) for value, count in sorted(counts, key=lambda each: _order(each[0])))


def range_ends(low: Any, high: Any, kind: PrimitiveType) -> tuple[Any, ...]:
    """Return the ends of ranges from the least to beyond the greatest value; none where there are none to be told.

    Args:
        low, high: The least and the greatest value, as Arrow gives them in Python, both finite.
        kind: Their type.
    """
    try:
        match low:
            case float():
                return _of_floats(low, float(high))
            case datetime():
                return _of_times(low, high)
            case date():
                step = _step_of(high.toordinal() - low.toordinal(), _DAYS)
                return tuple(map(date.fromordinal, _ends(low.toordinal(), high.toordinal(), step)))
            case Decimal():
                return _of_decimals(low, high, kind.scale)
            case int():
                return _ends(low, high, _round(high - low))
    except (OverflowError, ValueError):
        pass
    return ()


def _one_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers with one zero: Spark takes both for the same."""
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


def _counted(values: Sequence[Any]) -> dict[Any, int]:
    """Return how often each value occurs; all NaN are one value."""
    nan, counts = math.nan, dict[Any, int]()
    for value in values:
        key = nan if value != value else value  # noqa: PLR0124  # only NaN differs from itself
        counts[key] = counts.get(key, 0) + 1
    return counts


def _commonest(counts: Iterable[tuple[Any, int]]) -> tuple[ValueBar, ...]:
    first = sorted(counts, key=lambda each: (-each[1], _order(each[0])))[:MOST_VALUES]
    return tuple(ValueBar(count, value) for value, count in first)


def _order(value: Any) -> tuple[bool, Any]:
    """Order as Spark does: NaN above all, texts by their bytes."""
    if isinstance(value, str):
        return False, value.encode("utf-8", "surrogatepass")
    return (True, 0) if value != value else (False, value)  # noqa: PLR0124  # only NaN differs from itself


def _finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _in_ranges(values: Sequence[Any], ends: Sequence[Any]) -> tuple[ValueBar, ...]:
    counts = [0] * (len(ends) - 1)
    for value in filter(_finite, values):
        counts[bisect_right(ends, value) - 1] += 1
    return tuple(ValueBar(count, low, high) for count, (low, high) in zip(counts, pairwise(ends), strict=True))


def _round(width: int) -> int:
    """Return the round step by which so much is some ranges: 1, 2, or 5, and zeros."""
    least = max(1, -(-width // _RANGES))
    power = int("1" + "0" * (len(str(least)) - 1))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least)


def _step_of(width: int, steps: Sequence[int]) -> int:
    """Return the first of some steps by which so much is few enough ranges, or a round multiple of the last."""
    last = steps[-1]
    return next((step for step in steps if width <= step * _RANGES), last * _round(-(-width // last)))


def _ends(low: int, high: int, step: int) -> tuple[int, ...]:
    start = low // step * step
    return tuple(range(start, high + step + 1, step))


def _of_decimals(low: Decimal, high: Decimal, scale: int) -> tuple[Decimal, ...]:
    first, last = (int(_EXACT.scaleb(value, scale)) for value in (low, high))
    return tuple(_EXACT.scaleb(Decimal(end), -scale) for end in _ends(first, last, _round(last - first)))


def _of_times(low: datetime, high: datetime) -> tuple[datetime, ...]:
    epoch = _EPOCH if low.tzinfo is not None else _EPOCH.replace(tzinfo=None)
    unit = timedelta(microseconds=1)
    first, last = ((value - epoch) // unit for value in (low, high))
    width = last - first
    if width > _DAY * _RANGES:
        step = _DAY * _step_of(-(-width // _DAY), _DAYS)
    elif width > 1_000_000 * _RANGES:
        step = 1_000_000 * _step_of(-(-width // 1_000_000), (*_SECONDS, _DAY // 1_000_000))
    else:
        step = _round(width)
    return tuple(epoch + timedelta(microseconds=end) for end in _ends(first, last, step))


def _of_floats(low: float, high: float) -> tuple[float, ...]:
    width = high - low
    if not math.isfinite(width) or width <= 0:
        return ()
    power = Decimal(10) ** (math.floor(math.log10(width / _RANGES)))
    step = next(size for size in (power, 2 * power, 5 * power, 10 * power) if float(size) * _RANGES >= width)
    start = math.floor(Decimal(low) / step)
    ends = [float(start * step)]
    while ends[-1] <= high and len(ends) < 3 * _RANGES:
        ends.append(float((start + len(ends)) * step))
    # An end beyond the greatest number is infinite, and would claim the infinite values, which no range counts.
    exact = all(map(math.isfinite, ends)) and all(before < after for before, after in pairwise(ends))
    return tuple(ends) if exact and ends[0] <= low and ends[-1] > high else ()
