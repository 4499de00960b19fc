"""Column mapping: logical <-> physical names and ids of a schema.

Protocol section: Column Mapping. Invariants: a physical name and an id never change while the logical name may
(CM-007); partition values and statistics go by physical name (CM-006).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Final, Literal

from explorer.core.errors import CorruptTable, ExplorerError
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column, parse_schema
from explorer.core.protocol.schema.field_metadata import FIELD_ID, NESTED_IDS, PHYSICAL_NAME
from explorer.core.protocol.schema.nested_types import walk, walk_physical, with_fields
from explorer.core.protocol.table_features import supported_features
from explorer.core.protocol.table_properties.registry import COLUMN_MAPPING_MODE, MAX_COLUMN_ID

MappingMode = Literal["none", "name", "id"]


def mapping_mode(configuration: dict[str, str], protocol: Protocol) -> MappingMode:
    """Return the mapping mode of a version; for the versions of a history, use `History.mapping_mode`.

    Args:
        protocol: The protocol in force; a mode that it does not allow counts as none (CM-001).

    Raises:
        CorruptTable: The property has a value the protocol does not define.
    """
    if "columnMapping" not in supported_features(protocol):
        return "none"
    match COLUMN_MAPPING_MODE.of(configuration):
        case "none":
            return "none"
        case "name":
            return "name"
        case "id":
            return "id"
        case other:
            raise CorruptTable(
                f"{COLUMN_MAPPING_MODE} is {other!r}; the protocol defines none, name and id.", found=other
            )


def maps_columns(metadata: Metadata) -> bool:
    """Return whether the metadata sets a mapping in which a column has another name in the files."""
    if COLUMN_MAPPING_MODE.of(metadata.configuration) not in {"name", "id"}:
        return False
    try:
        schema = parse_schema(metadata.schema_string or "")
    except ExplorerError:
        return False
    return any(field.metadata.get(PHYSICAL_NAME, field.name) != field.name for _, field in walk(schema))


def check_mapping(schema: StructType, mode: MappingMode, max_column_id: int | None = None) -> None:
    """Check that every field is mapped once (CM-016).

    Args:
        max_column_id: The highest id ever assigned, if the table's properties have it.

    Raises:
        CorruptTable: An id or physical name is missing or used twice, or an id is above the highest one.
    """
    if mode == "none":
        return
    ids: dict[int, str] = {}
    names: dict[tuple[str, ...], str] = {}
    for path, physical, field in walk_physical(schema):
        column = format_column(path)
        if field.field_id is None or PHYSICAL_NAME not in field.metadata:
            raise CorruptTable(
                f"Column {column} has no column-mapping id or physical name in mode {mode}.", column=column
            )
        if field.field_id in ids:
            raise CorruptTable(f"Columns {ids[field.field_id]} and {column} share id {field.field_id}.", column=column)
        if physical in names:
            raise CorruptTable(f"Columns {names[physical]} and {column} share a physical name.", column=column)
        if max_column_id is not None and field.field_id > max_column_id:
            raise CorruptTable(
                f"Column {column} has id {field.field_id}, but {MAX_COLUMN_ID} is {max_column_id}: the next column "
                "added would take an id in use.",
                column=column,
            )
        ids[field.field_id], names[physical] = column, column


def physical_paths(schema: StructType, mode: MappingMode) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return logical path -> physical path of every field, nested ones included."""
    if mode == "none":
        return {path: path for path, _ in walk(schema)}
    return {path: physical for path, physical, _ in walk_physical(schema)}


def unmapped(field: StructField) -> StructField:
    """Return the field without its column mapping, at every depth: in mode ``none`` names are logical (CM-002)."""
    metadata = {key: value for key, value in field.metadata.items() if key not in (PHYSICAL_NAME, FIELD_ID)}
    return StructField(field.name, with_fields(field.type, unmapped), field.nullable, metadata)


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
