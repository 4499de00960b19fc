"""Fields that this program does not know as columns of a checkpoint.

Protocol sections: Actions, Checkpoint Schema. Invariants: a value is preserved as it is or not at all (PROTO-003); a
column has one type, and a value of another is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from explorer.core.protocol.arrow.arrays import bools, int64s, string_maps, strings
from explorer.core.protocol.arrow.typed_arrays import typed_column
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.logical_files import MAP
from explorer.core.protocol.schema.data_types import PrimitiveType

__all__ = ["column_type", "value_column"]

_INT64: Final = range(-(1 << 63), 1 << 63)


def column_type(value: JsonValue) -> pa.DataType | None:
    """Return the type of a column for a value; None if there is none."""
    match value:
        case bool():
            return pa.bool_()
        case int():
            return pa.int64() if value in _INT64 else None
        case float():
            return pa.float64()
        case str():
            return pa.string()
        case dict() if _text_map(value) is not None:
            return MAP
    return None


def value_column(values: Sequence[JsonValue], kind: pa.DataType | None) -> pa.Array:
    """Return a column of a type that `column_type` returns, with the values of that type."""
    of_kind = [value if value is not None and column_type(value) == kind else None for value in values]
    if kind is None:
        return pa.nulls(len(values))
    if pa.types.is_boolean(kind):
        return bools([value if isinstance(value, bool) else None for value in of_kind])
    if pa.types.is_int64(kind):
        return int64s([value if isinstance(value, int) else None for value in of_kind])
    if pa.types.is_float64(kind):
        return typed_column([value if isinstance(value, float) else None for value in of_kind], PrimitiveType("double"))
    if pa.types.is_string(kind):
        return strings([value if isinstance(value, str) else None for value in of_kind])
    return string_maps([_text_map(value) for value in of_kind])


def _text_map(value: JsonValue) -> dict[str, str | None] | None:
    """Return an object whose members are texts; None for anything else."""
    if not isinstance(value, dict):
        return None
    texts = {name: item for name, item in value.items() if item is None or isinstance(item, str)}
    return texts if len(texts) == len(value) else None
