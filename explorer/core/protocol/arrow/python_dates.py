"""Dates and times that Python has no value for, as texts: it has the years 1 to 9999 only, and Spark writes others.

Invariant: a column whose values Python has stays as it is.
"""

from __future__ import annotations

from typing import Any, TypeVar

import pyarrow as pa

from explorer.core.protocol.arrow.records import records

_Column = TypeVar("_Column", pa.Array, pa.ChunkedArray)


def with_python_dates(column: _Column) -> _Column:
    """Return a column with its dates and times, at any depth, as texts where Python lacks one of them."""
    as_text = _without_times(column.type)
    if as_text == column.type or _is_in_python(column):
        return column
    return column.cast(as_text)


def value_in_python(values: pa.Array | pa.ChunkedArray, place: int) -> Any:
    """Return a value of a column, a date or time as text where Python lacks it."""
    value = values.slice(place, 1)
    try:
        (row,) = records(pa.table([value], ["value"]))
    except (OverflowError, ValueError):
        return str(value.cast(pa.string())[0].as_py())
    return row["value"]


def _is_in_python(column: pa.Array | pa.ChunkedArray) -> bool:
    try:
        column.to_pylist()
    except (OverflowError, ValueError):
        return False
    return True


def _without_times(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_times(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_times(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_without_times(kind.key_type), _without_times(kind.item_type))
    return kind
