"""Arrow columns of a table's types from Python values, exact and without `pyarrow.array`.

Invariants: a value that does not fit its type raises, nothing is rounded; years 1 to 9999 and times before 1970 are
exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import accumulate
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Mask, bools, int64s, strings
from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.schema.data_types import PrimitiveType, PrimitiveValue
from explorer.core.protocol.times import days, microseconds


def typed_column(values: Sequence[PrimitiveValue | None], kind: PrimitiveType) -> pa.Array:
    """Return a column of Python values of one type; None is null.

    Raises:
        OverflowError, ValueError, pa.ArrowInvalid: A value is out of the type's range.
    """
    # The type determines the Python type of the values.
    match kind.name:
        case "byte" | "short" | "integer" | "long":
            return int64s(cast(Sequence[int | None], values)).cast(to_arrow(kind))
        case "float" | "double":
            return _floats(cast(Sequence[float | None], values), to_arrow(kind))
        case "decimal":
            return _decimals(cast(Sequence[Decimal | None], values), kind)
        case "boolean":
            return bools(cast(Sequence[bool | None], values))
        case "string":
            return strings(cast(Sequence[str | None], values))
        case "binary":
            return _binaries(cast(Sequence[bytes | None], values))
        case "date":
            numbers = [None if day is None else days(day) for day in cast(Sequence[date | None], values)]
            return int64s(numbers).cast(pa.int32()).view(pa.date32())
        case "timestamp" | "timestamp_ntz":
            moments = cast(Sequence[datetime | None], values)
            return int64s([None if each is None else microseconds(each) for each in moments]).view(to_arrow(kind))
    return pa.nulls(len(values), to_arrow(kind))


def without_nan(column: pa.Array) -> pa.Array:
    """Return the column with null for every NaN."""
    nan = np.isnan(_floating(column))
    return _with_nulls(column, ~nan) if nan.any() else column


def without_infinity(column: pa.Array) -> pa.Array:
    """Return the column with null for every infinity."""
    infinite = np.isinf(_floating(column))
    return _with_nulls(column, ~infinite) if infinite.any() else column


def _floating(column: pa.Array) -> npt.NDArray[np.floating]:
    width = np.dtype(f"f{column.type.bit_width // 8}")
    return np.frombuffer(column.buffers()[1], width)[column.offset : column.offset + len(column)]


def _with_nulls(column: pa.Array, keep: Mask) -> pa.Array:
    import pyarrow.compute as pc

    bits = pa.Array.from_buffers(pa.bool_(), len(keep), [None, pa.py_buffer(np.packbits(keep, bitorder="little"))])
    return pc.if_else(bits, column, pa.nulls(1, column.type)[0])


def _floats(values: Sequence[float | None], kind: pa.DataType) -> pa.Array:
    known = np.fromiter((value is not None for value in values), bool, len(values))
    with np.errstate(over="ignore"):
        data = np.fromiter((0.0 if value is None else value for value in values), np.float64, len(values)).astype(
            f"f{kind.bit_width // 8}"
        )
    return pa.Array.from_buffers(kind, len(values), [_bitmap(known), pa.py_buffer(data)])


def _decimals(values: Sequence[Decimal | None], kind: PrimitiveType) -> pa.Array:
    known = np.fromiter((value is not None for value in values), bool, len(values))
    data = b"".join(_unscaled(value, kind).to_bytes(16, "little", signed=True) for value in values)
    return pa.Array.from_buffers(to_arrow(kind), len(values), [_bitmap(known), pa.py_buffer(data)])


def _unscaled(value: Decimal | None, kind: PrimitiveType) -> int:
    if not value:
        return 0
    sign, digits, exponent = value.as_tuple()
    shift = int(exponent) + kind.scale
    # Only a value that does not fit shifts beyond the precision.
    if not -len(digits) < shift <= kind.precision:
        raise ValueError(f"{value} does not fit {kind.precision} digits")
    number = int("".join(map(str, digits)))
    up: int = 10 ** max(shift, 0)
    down: int = 10 ** max(-shift, 0)
    unscaled, rest = divmod(number * up, down)
    if rest or unscaled >= 10**kind.precision:
        raise ValueError(f"{value} does not fit {kind.precision} digits, {kind.scale} after the point")
    return -unscaled if sign else unscaled


def _binaries(values: Sequence[bytes | None]) -> pa.Array:
    known = np.fromiter((value is not None for value in values), bool, len(values))
    filled = [value or b"" for value in values]
    offsets = np.fromiter(accumulate(map(len, filled), initial=0), np.int32, len(filled) + 1)
    buffers = [_bitmap(known), pa.py_buffer(offsets), pa.py_buffer(b"".join(filled))]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


def _bitmap(known: Mask) -> pa.Buffer | None:
    return None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
