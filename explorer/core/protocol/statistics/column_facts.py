"""The facts of a column in statistics, for every file at once: bounds that compare exactly, and null counts.

Protocol section: Per-file Statistics. Invariants: numbers, decimals and times are compared by their digits, texts by
their UTF-8 bytes; bounds with a minimum above the maximum are no bounds; a null count counts only
where it is 0 or all rows, as wide bounds demand (STATS-007); the maximum time is raised by a millisecond (STATS-011,
D-37).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, TypeAlias, assert_never

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Mask, Numbers, flags, numbers, strings, validity
from explorer.core.protocol.arrow.typed_arrays import typed_column, without_nan
from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.core.protocol.sql.predicates import Operator
from explorer.core.protocol.statistics.file_statistics import FileStatistics, StatisticsColumn
from explorer.core.protocol.statistics.skipping_constants import ComparedConstant, threshold

BoundValues: TypeAlias = pa.Array | Numbers
"""NumPy numbers, or an Arrow column of texts or decimals."""

_MILLISECOND: Final = 1_000
# The most digits with which a decimal is distinct from its neighbors as a float.
_FLOAT_DIGITS: Final = 15
_LAST: Final = np.iinfo(np.int64).max
_ARROW: Final = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_NUMPY: Final[Mapping[Operator, np.ufunc]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


class Side(msgspec.Struct, frozen=True):
    """One bound in every file, and a mask of the known ones."""

    values: BoundValues
    known: Mask

    def holds(self, operator: Operator, constant: ComparedConstant, kind: PrimitiveType, *, unknown: bool) -> Mask:
        """Return where the bound compares so with a constant; ``unknown`` is the result for unknown bounds."""
        compared = _compared(self.values, operator, constant, kind)
        return (compared & self.known) | ~self.known if unknown else compared & self.known


class ColumnFacts(msgspec.Struct, frozen=True):
    """The known facts of a column in every file.

    Attributes:
        type: The column's type.
        partition: Whether it is a partition column.
        low: Minimums.
        high: Maximums; times already raised.
        all_null: Files in which every row is null.
        none_null: Files in which no row is.
        uncounted: Files without a null count.
    """

    type: PrimitiveType
    partition: bool
    low: Side
    high: Side
    all_null: Mask
    none_null: Mask
    uncounted: Mask

    @classmethod
    def of(cls, statistics: FileStatistics, column: StatisticsColumn) -> ColumnFacts:
        """Return the facts of a column; a null count counts only where it is 0 or all rows, as wide bounds demand."""
        bounds = statistics.bounds(column)
        if column.partition:
            present, recorded = validity(bounds.low), statistics.stated(column)
            side = side_of(bounds.low, column.type)
            return cls(column.type, True, side, side, recorded & ~present, present, ~recorded)
        nulls, counted = numbers(bounds.nulls)
        records, sized = numbers(statistics.num_records)
        low, high = side_of(bounds.low, column.type), _raised(side_of(bounds.high, column.type), column.type)
        low, high = _in_order(_certain(low, column.type), _certain(high, column.type))
        all_null = counted & sized & (nulls == records)
        return cls(column.type, False, low, high, all_null, counted & (nulls == 0), ~counted)

    @classmethod
    def of_ranges(cls, low: pa.Array, high: pa.Array, kind: PrimitiveType) -> ColumnFacts:
        """Return the facts of non-null values, each between two ends, both included.

        A value that is known has equal ends; an end that is not known is null.
        """
        sides = _in_order(_certain(side_of(low, kind), kind), _certain(side_of(high, kind), kind))
        none = np.zeros(len(low), bool)
        return cls(kind, True, *sides, all_null=none, none_null=~none, uncounted=none)

    def by_partition_values(self) -> ColumnFacts:
        """Return the facts without statistics: all of a partition column, and none of any other."""
        if self.partition:
            return self
        nothing = np.zeros(len(self.all_null), bool)
        return msgspec.structs.replace(self.by_null_counts(), all_null=nothing, none_null=nothing)

    def by_null_counts(self) -> ColumnFacts:
        """Return the facts without bounds: all of a partition column, and the null counts of any other."""
        if self.partition:
            return self
        nothing = np.zeros(len(self.all_null), bool)
        low, high = Side(self.low.values, nothing), Side(self.high.values, nothing)
        return msgspec.structs.replace(self, low=low, high=high)


def side_of(column: pa.Array, kind: PrimitiveType) -> Side:
    """Return the values of a column of a type as they are compared; nulls and NaN are not known."""
    if kind.name in {"binary", "variant", "void"}:
        return Side(np.zeros(len(column), np.int64), np.zeros(len(column), bool))
    if kind.name in {"string", "decimal"}:
        return Side(column, validity(column))
    if kind.name in {"float", "double"}:
        exact = without_nan(column).cast(pa.float64())
        data = np.frombuffer(exact.buffers()[1], np.float64)[exact.offset : exact.offset + len(exact)]
        return Side(data, validity(exact))
    if kind.name == "boolean":
        return Side(flags(column).astype(np.int64), validity(column))
    return Side(*numbers(_as_integers(column)))


def _as_integers(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        return column.view(pa.int64())
    return column.cast(pa.int64())


def _raised(side: Side, kind: PrimitiveType) -> Side:
    """Return maximum times a millisecond later: writers truncate them to milliseconds (D-37)."""
    if kind.name not in {"timestamp", "timestamp_ntz"}:
        return side
    return Side(np.minimum(side.values, _LAST - _MILLISECOND) + _MILLISECOND, side.known)


def _certain(side: Side, kind: PrimitiveType) -> Side:
    """Return a side without decimals that may be a rounded float, as delta-rs writes bounds: these may be wrong."""
    if not isinstance(side.values, pa.Array) or kind.name != "decimal" or kind.precision <= _FLOAT_DIGITS:
        return side
    near = side.values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    known = side.known.copy()
    for place in np.flatnonzero(known & (2 * np.spacing(np.abs(near)) > 10.0**-kind.scale)).tolist():
        known[place] = Decimal(repr(float(near[place]))) != side.values[place].as_py()
    return Side(side.values, known)


def _in_order(low: Side, high: Side) -> tuple[Side, Side]:
    """Return bounds, unknown where they contradict each other."""
    import pyarrow.compute as pc

    if isinstance(low.values, pa.Array):
        wrong = flags(pc.greater(low.values, high.values))
    else:
        wrong = (low.values > high.values) & low.known & high.known
    return Side(low.values, low.known & ~wrong), Side(high.values, high.known & ~wrong)


def _compared(values: BoundValues, operator: Operator, constant: ComparedConstant, kind: PrimitiveType) -> Mask:
    match constant:
        case float():
            return _by_numpy(values, operator, constant)
        case str():
            return _by_arrow(values, operator, strings([constant])[0])
        case Decimal():
            limit = threshold(constant, operator, kind)
            if limit.below or limit.above:
                # The constant is outside the range of the type: every value compares with it in the same way.
                return np.full(len(values), operator in ({">", ">="} if limit.below else {"<", "<="}))
            if kind.name == "decimal":
                return _by_arrow(values, operator, typed_column([limit.value], kind)[0])
            return _by_numpy(values, operator, limit.value)
        case _:
            assert_never(constant)


def _by_numpy(values: BoundValues, operator: Operator, constant: float | Decimal) -> Mask:
    compared: Mask = _NUMPY[operator](values, constant)
    return compared


def _by_arrow(values: BoundValues, operator: Operator, constant: pa.Scalar) -> Mask:
    import pyarrow.compute as pc

    return flags(pc.call_function(_ARROW[operator], [values, constant]))
