"""What the statistics of a column say, for every file at once: bounds that compare exactly, and counts of nulls.

Protocol section: Per-file Statistics. Invariants: numbers, decimals and times are compared by their digits, texts by
their UTF-8 bytes; bounds of which the least is above the greatest are no bounds; a null count says something only
where it is 0 or all rows, as wide bounds demand (STATS-007); the greatest time is raised by a millisecond (STATS-011,
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

__all__ = ["ColumnFacts", "Side"]

BoundValues: TypeAlias = pa.Array | Numbers
"""NumPy numbers, or an Arrow column of texts or decimals."""

_MILLISECOND: Final = 1_000
# So many digits a decimal may have and still be told from its neighbours as a float.
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
    """One bound in every file, and where it is known."""

    values: BoundValues
    known: Mask

    def holds(self, operator: Operator, constant: ComparedConstant, kind: PrimitiveType, *, unknown: bool) -> Mask:
        """Where the bound compares so with a constant; ``unknown`` is the answer where the bound is not known."""
        found = _compared(self.values, operator, constant, kind)
        return (found & self.known) | ~self.known if unknown else found & self.known


class ColumnFacts(msgspec.Struct, frozen=True):
    """What is known of a column in every file.

    Attributes:
        type: The column's type.
        partition: Whether it is a partition column.
        low: Least values.
        high: Greatest values; times already raised.
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
        """The facts of a column; a null count counts only where it is 0 or all rows, as wide bounds demand."""
        bounds = statistics.bounds(column)
        if column.partition:
            there, stated = validity(bounds.low), statistics.stated(column)
            side = _side(bounds.low, column.type)
            return cls(column.type, True, side, side, stated & ~there, there, ~stated)
        nulls, counted = numbers(bounds.nulls)
        records, sized = numbers(statistics.num_records)
        low, high = _side(bounds.low, column.type), _raised(_side(bounds.high, column.type), column.type)
        low, high = _in_order(_certain(low, column.type), _certain(high, column.type))
        all_null = counted & sized & (nulls == records)
        return cls(column.type, False, low, high, all_null, counted & (nulls == 0), ~counted)

    @classmethod
    def of_ranges(cls, low: pa.Array, high: pa.Array, kind: PrimitiveType) -> ColumnFacts:
        """The facts of single values that are not null, each between two ends, both included: one that is known as it
        is has equal ends; an end that is not known is null."""
        sides = _in_order(_certain(_side(low, kind), kind), _certain(_side(high, kind), kind))
        none = np.zeros(len(low), bool)
        return cls(kind, True, *sides, all_null=none, none_null=~none, uncounted=none)

    def by_partition_values(self) -> ColumnFacts:
        """What is known without statistics: all of a partition column, and nothing of any other."""
        if self.partition:
            return self
        nothing = np.zeros(len(self.all_null), bool)
        return msgspec.structs.replace(self.by_null_counts(), all_null=nothing, none_null=nothing)

    def by_null_counts(self) -> ColumnFacts:
        """What is known without bounds: all of a partition column, and the null counts of any other."""
        if self.partition:
            return self
        nothing = np.zeros(len(self.all_null), bool)
        low, high = Side(self.low.values, nothing), Side(self.high.values, nothing)
        return msgspec.structs.replace(self, low=low, high=high)


def _side(column: pa.Array, kind: PrimitiveType) -> Side:
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
    """Greatest times a millisecond later: writers cut them to milliseconds (D-37)."""
    if kind.name not in {"timestamp", "timestamp_ntz"}:
        return side
    return Side(np.minimum(side.values, _LAST - _MILLISECOND) + _MILLISECOND, side.known)


def _certain(side: Side, kind: PrimitiveType) -> Side:
    """Without decimals that may be a rounded float, as delta-rs writes bounds: these need not bound the values."""
    if not isinstance(side.values, pa.Array) or kind.name != "decimal" or kind.precision <= _FLOAT_DIGITS:
        return side
    near = side.values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    known = side.known.copy()
    for place in np.flatnonzero(known & (2 * np.spacing(np.abs(near)) > 10.0**-kind.scale)).tolist():
        known[place] = Decimal(repr(float(near[place]))) != side.values[place].as_py()
    return Side(side.values, known)


def _in_order(low: Side, high: Side) -> tuple[Side, Side]:
    """Bounds that contradict each other say nothing."""
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
                # The constant is outside the range of the type: every value compares alike with it.
                return np.full(len(values), operator in ({">", ">="} if limit.below else {"<", "<="}))
            if kind.name == "decimal":
                return _by_arrow(values, operator, typed_column([limit.value], kind)[0])
            return _by_numpy(values, operator, limit.value)
        case _:
            assert_never(constant)


def _by_numpy(values: BoundValues, operator: Operator, constant: float | Decimal) -> Mask:
    found: Mask = _NUMPY[operator](values, constant)
    return found


def _by_arrow(values: BoundValues, operator: Operator, constant: pa.Scalar) -> Mask:
    import pyarrow.compute as pc

    return flags(pc.call_function(_ARROW[operator], [values, constant]))
