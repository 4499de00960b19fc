"""The actions of a checkpoint that are not about files, as columns.

Protocol sections: Checkpoints, V2 Spec, Checkpoint Schema. Invariants: each row has one action and is null in every
other column (CKPT-009); a feature list is null unless its version requires it (CKPT-024). Unknown fields that are plain
values of one type stay as columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np
import pyarrow as pa

from explorer.core.protocol.actions import (
    CheckpointMetadata,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    Sidecar,
    TransactionAction,
)
from explorer.core.protocol.arrow.arrays import bools, int32s, int64s, mask, string_maps, strings
from explorer.core.protocol.arrow.typed_arrays import typed_column
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.logical_files import MAP
from explorer.core.protocol.schema.data_types import PrimitiveType

SmallAction = Protocol | Metadata | TransactionAction | DomainMetadata | CheckpointMetadata | Sidecar


def small_columns(actions: Sequence[SmallAction], kinds: Sequence[type[SmallAction]]) -> dict[str, pa.StructArray]:
    """Return one struct column for each kind, with a row for each action."""
    columns = {}
    for kind in kinds:
        places = [place for place, action in enumerate(actions) if isinstance(action, kind)]
        rows = [actions[place] for place in places]
        members = {
            encoded: _BUILDERS[kind][name]([getattr(row, name) for row in rows])
            for name, encoded in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
            if name != "unknown"
        }
        for name, values in _unknown_fields(rows).items():
            members.setdefault(name, values)
        filled = pa.StructArray.from_arrays(list(members.values()), names=list(members))
        start = places[0] if places else 0
        before, after = pa.nulls(start, filled.type), pa.nulls(len(actions) - start - len(rows), filled.type)
        columns[kind.wire_name] = pa.concat_arrays([before, filled, after])
    return columns


Builder = Callable[[Sequence[Any]], pa.Array]
"""Makes the column of one member, whose type is only in the record itself."""


def _lists(values: Sequence[Sequence[str] | None]) -> pa.ListArray:
    """Return a column of lists of texts; None is null."""
    filled = [value or () for value in values]
    offsets = np.fromiter(accumulate(map(len, filled), initial=0), np.int32, len(filled) + 1)
    items = strings([item for value in filled for item in value])
    known = mask(np.fromiter((value is not None for value in values), bool, len(values)))
    buffers = [known.buffers()[1], pa.py_buffer(offsets)]
    return pa.Array.from_buffers(pa.list_(pa.string()), len(values), buffers, children=[items])


def _formats(values: Sequence[Format]) -> pa.StructArray:
    options: list[dict[str, str | None] | None] = [dict(value.options) for value in values]
    arrays = [strings([value.provider for value in values]), string_maps(options)]
    return pa.StructArray.from_arrays(arrays, names=["provider", "options"])


_BUILDERS: Final[dict[type[SmallAction], dict[str, Builder]]] = {
    Protocol: {
        "min_reader_version": int32s,
        "min_writer_version": int32s,
        "reader_features": _lists,
        "writer_features": _lists,
    },
    Metadata: {
        "id": strings,
        "name": strings,
        "description": strings,
        "format": _formats,
        "schema_string": strings,
        "partition_columns": _lists,
        "configuration": string_maps,
        "created_time": int64s,
    },
    TransactionAction: {"app_id": strings, "version": int64s, "last_updated": int64s},
    DomainMetadata: {"domain": strings, "configuration": strings, "removed": bools},
    CheckpointMetadata: {"version": int64s, "tags": string_maps},
    Sidecar: {"path": strings, "size_in_bytes": int64s, "modification_time": int64s, "tags": string_maps},
}


def _unknown_fields(rows: Sequence[SmallAction]) -> dict[str, pa.Array]:
    """Return columns of the unknown fields that have plain values of one type in all rows."""
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row.unknown):
        values = [row.unknown.get(name) for row in rows]
        kinds = {column_type(value) for value in values if value is not None}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is not None and not pa.types.is_nested(kind):
            columns[name] = value_column(values, kind)
    return columns


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
