"""CHAR values padded with spaces to their length, as engines read them, in Arrow.

Protocol section: Schema Serialization Format (SCHEMA-021). Invariant: a text that is longer stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.schema.char_types import Step, TextLength, padded_lengths
from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, StructField, StructType


def padded_column(column: Any, field: StructField) -> Any:
    """Return the values of a column with its CHAR values padded, at any depth."""
    lengths = padded_lengths(field)
    return _padded(column, field.type, lengths) if lengths else column


def _padded(array: Any, kind: DataType, lengths: Sequence[TextLength]) -> Any:
    if not lengths:
        return array
    match kind:
        case StructType():
            parts = [
                _padded(pc.struct_field(array, [place]), field.type, _inside(lengths, ("field", field.name)))
                for place, field in enumerate(kind.fields)
            ]
            return pa.StructArray.from_arrays(parts, fields=list(array.type), mask=array.is_null())
        case ArrayType():
            items = _padded(array.values, kind.element_type, _inside(lengths, ("element", "")))
            return pa.ListArray.from_arrays(array.offsets, items, type=array.type, mask=array.is_null())
        case MapType():
            keys = _padded(array.keys, kind.key_type, _inside(lengths, ("key", "")))
            items = _padded(array.items, kind.value_type, _inside(lengths, ("value", "")))
            return pa.MapArray.from_arrays(array.offsets, keys, items, type=array.type, mask=array.is_null())
        case _:
            return pc.utf8_rpad(array, width=lengths[0][1], padding=" ")


def _inside(lengths: Sequence[TextLength], step: Step) -> list[TextLength]:
    return [(steps[1:], length) for steps, length in lengths if steps and steps[0] == step]
