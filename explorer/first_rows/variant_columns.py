"""Columns with variants in them, at any depth, as columns with their JSON text.

Protocol section: Variant Data Type. Invariant: all other values stay as they are.
"""

from __future__ import annotations

from typing import Any, Final, assert_never

import pyarrow as pa

from explorer.core.protocol.arrow.arrays import strings
from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, PrimitiveType, StructType
from explorer.core.protocol.schema.nested_types import holds
from explorer.first_rows.variant_json import MalformedVariant, variant_json

_MOST_TEXT: Final = 64 << 20


def with_variants_as_json(column: Any, kind: DataType) -> Any:
    """Return a column of a type of the table; its variants are structs of ``metadata`` and ``value``.

    Raises:
        MalformedVariant: One is damaged, or the texts are too long together.
    """
    if not holds(kind, "variant"):
        return column
    match kind:
        case StructType():
            pairs = zip(column.flatten(), kind.fields, strict=True)
            parts = [with_variants_as_json(part, field.type) for part, field in pairs]
            return pa.StructArray.from_arrays(parts, names=[field.name for field in kind.fields], mask=column.is_null())
        case ArrayType():
            lists = _compact(column)
            items = with_variants_as_json(lists.values, kind.element_type)
            return pa.ListArray.from_arrays(lists.offsets, items, mask=lists.is_null())
        case MapType():
            maps = _compact(column)
            items = with_variants_as_json(maps.items, kind.value_type)
            return pa.MapArray.from_arrays(maps.offsets, maps.keys, items, mask=maps.is_null())
        case PrimitiveType():
            return _json(column)
        case _:
            assert_never(kind)


def _json(column: Any) -> Any:
    """Return variants as their texts."""
    halves = [part.to_pylist() for part in column.flatten()]
    texts: list[str | None] = []
    length = 0
    for metadata, value in zip(*halves, strict=True):
        if metadata is None or value is None:
            if metadata is not None or value is not None:
                raise MalformedVariant("one of its two binaries is missing")
            texts.append(None)
            continue
        texts.append(variant_json(metadata, value))
        length += len(texts[-1] or "")
        if length > _MOST_TEXT:
            raise MalformedVariant(f"the texts have more than {_MOST_TEXT >> 20} million characters")
    return strings(texts)


def _compact(column: Any) -> Any:
    """Return lists or maps whose offsets begin with 0, and fit their values."""
    return pa.concat_arrays([column, column.slice(0, 0)]) if column.offset else column
