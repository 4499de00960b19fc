"""Ids and physical names of columns: assigned once, never changed, removed only when all files are rewritten.

Protocol section: Column Mapping (Writer Requirements). Invariants: every struct field has both, nested ones included
(CM-007); ids only rise (CM-009); a field comes before the fields inside it, as the reference numbers them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Final

from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.schema.column_mapping import unmapped
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.protocol.schema.field_metadata import FIELD_ID, NESTED_IDS, PHYSICAL_NAME
from explorer.core.protocol.schema.nested_types import walk, with_fields

__all__ = ["HIGHEST_ID", "highest_id", "map_columns", "map_field", "unmap_columns"]

HIGHEST_ID: Final = 2**31 - 1

Naming = Callable[[StructField], str]
"""Returns the physical name of a field that has none yet."""


def highest_id(schema: StructType, configured: int = 0) -> int:
    """Return the highest id ever assigned: in the fields, nested ones included, or by the table's properties."""
    fields = [field for _, field in walk(schema)]
    own = (field.field_id for field in fields if field.field_id is not None)
    return max([configured, *own, *chain.from_iterable(map(_nested_ids, fields))])


def map_columns(schema: StructType, last_id: int, naming: Naming) -> tuple[StructType, int]:
    """Assign every field of a schema an id and a physical name, whatever it had before.

    Returns:
        The schema, and the highest id assigned.
    """
    ids = _Ids(last_id)
    return StructType(tuple(_mapped(field, ids, naming) for field in schema.fields)), ids.last


def map_field(field: StructField, last_id: int, naming: Naming) -> tuple[StructField, int]:
    """Return the same for one field and the fields inside it."""
    ids = _Ids(last_id)
    return _mapped(field, ids, naming), ids.last


def unmap_columns(schema: StructType) -> StructType:
    """Remove ids and physical names from every field."""
    return StructType(tuple(_without_nested_ids(unmapped(field)) for field in schema.fields))


class _Ids:
    """Counts ids on from the last one assigned."""

    def __init__(self, last: int) -> None:
        self.last = last

    def next(self) -> int:
        self.last += 1
        return self.last


def _mapped(field: StructField, ids: _Ids, naming: Naming) -> StructField:
    own = ids.next()
    kind = with_fields(field.type, lambda inner: _mapped(inner, ids, naming))
    metadata: JsonObject = {**field.metadata, FIELD_ID: own, PHYSICAL_NAME: naming(field)}
    return StructField(field.name, kind, field.nullable, metadata)


def _nested_ids(field: StructField) -> list[int]:
    """Return the ids of its elements, keys and values, which a table for Iceberg has."""
    nested = field.metadata.get(NESTED_IDS)
    return [nested_id for nested_id in nested.values() if type(nested_id) is int] if isinstance(nested, dict) else []


def _without_nested_ids(field: StructField) -> StructField:
    metadata = {key: value for key, value in field.metadata.items() if key != NESTED_IDS}
    return StructField(field.name, with_fields(field.type, _without_nested_ids), field.nullable, metadata)
