"""The columns of a table as data files hold them, and whether Arrow reads a file's columns as Spark does.

Protocol sections: Schema Serialization Format, Column Mapping, Type Widening. Invariant: a pair of types that is not
known to give the same values by both readers is left to Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, assert_never

import pyarrow as pa

from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.schema.data_types import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    has_misplaced_void,
)
from explorer.core.protocol.schema.nested_types import nested_types
from explorer.data_files.arrow_columns import FieldPlaces, Shape, is_in_old_calendar
from explorer.data_files.column_sources import ColumnSources, case_collides

# No file has a column of this name: void columns are in none.
_NOWHERE: Final = "\0"
_HALVES: Final = (Shape("metadata", None, pa.binary()), Shape("value", None, pa.binary()))
_IN_FILES: Final = [("metadata", "binary"), ("value", "binary")]
_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
# Digits that Spark asks of a decimal for integers of as many bits: smaller ones are stored in 32.
_DIGITS: Final = {8: 10, 16: 10, 32: 10, 64: 20}


def shapes_of(fields: Sequence[StructField], *, by_id: bool) -> tuple[Shape, ...]:
    """Return how to read columns; void ones are found in no file.

    Args:
        fields: The columns that files hold.
        by_id: True to find them by Parquet field id.
    """
    return tuple(_shape(field, by_id) for field in fields)


def unread_table(columns: ColumnSources) -> str | None:
    """Return why rows of these columns are left to Spark, for people; None if they can be read here."""
    if any("\0" in name for name in _names(columns.schema)):
        return "a name of a column has a NUL, where Arrow ends it"
    if case_collides(columns.schema):
        return "names of columns differ only by case"
    for field in columns.stored:
        if has_misplaced_void(field.type):
            return f"the column {field.name} holds void inside another type"
    return None


def unread_file(
    schema: pa.Schema,
    metadata: dict[bytes, bytes] | None,
    int96: Collection[str],
    columns: Sequence[StructField],
    shapes: Sequence[Shape],
) -> str | None:
    """Return why the rows of a file are left to Spark, for people; None if they can be read here.

    Args:
        schema: Its columns as Arrow reads them.
        metadata: The keys and values of its footer.
        int96: What `explorer.data_files.arrow_columns.in_96_bits` returns of it.
        columns, shapes: The columns to give, and how to read them.
    """
    if is_in_old_calendar(schema, metadata, shapes, int96):
        return "its dates and times are in the calendar of Spark 2"
    fields = list(schema)
    field_places = FieldPlaces(fields)
    for field, shape in zip(columns, shapes, strict=True):
        if field.type == VOID:
            continue
        if field_places.is_ambiguous(shape):
            return f"it has several columns {shape.name}"
        place = field_places.place(shape)
        if place is None:
            continue
        stored = fields[place]
        if not _is_read(stored.type, field.type, shape, stored.name in int96):
            return f"the column {field.name} is stored as {stored.type}"
    return None


def _names(schema: StructType) -> Iterator[str]:
    structs = (kind for kind in nested_types(schema) if isinstance(kind, StructType))
    return (name for struct in structs for field in struct.fields for name in (field.name, field.physical_name))


def _shape(field: StructField, by_id: bool) -> Shape:
    if field.type == VOID:
        return Shape(_NOWHERE, None, pa.null())
    return _typed(field.physical_name, field.field_id if by_id else None, field.type, by_id)


def _typed(name: str, field_id: int | None, kind: DataType, by_id: bool) -> Shape:
    match kind:
        case StructType():
            return Shape(name, field_id, pa.struct([]), shapes_of(kind.fields, by_id=by_id))
        case ArrayType():
            return Shape(name, field_id, pa.list_(pa.null()), (_typed("element", None, kind.element_type, by_id),))
        case MapType():
            parts = _typed("key", None, kind.key_type, by_id), _typed("value", None, kind.value_type, by_id)
            return Shape(name, field_id, pa.map_(pa.string(), pa.null()), parts)
        case PrimitiveType(name="variant"):
            return Shape(name, field_id, pa.struct([]), _HALVES)
        case PrimitiveType():
            return Shape(name, field_id, to_arrow(kind))
        case _:
            assert_never(kind)


def _is_read(stored: Any, kind: DataType, shape: Shape, int96: bool) -> bool:
    match kind:
        case StructType():
            return pa.types.is_struct(stored) and _is_struct_read(list(stored), kind, shape, int96)
        case ArrayType():
            is_list = pa.types.is_list(stored) or pa.types.is_large_list(stored)
            return is_list and _is_read(stored.value_type, kind.element_type, shape.parts[0], int96)
        case MapType():
            return (
                pa.types.is_map(stored)
                and _is_read(stored.key_type, kind.key_type, shape.parts[0], int96)
                and _is_read(stored.item_type, kind.value_type, shape.parts[1], int96)
            )
        case PrimitiveType(name="variant"):
            # Writers disagree on which of the two comes first; shredded variants have more of them.
            return pa.types.is_struct(stored) and sorted((part.name, str(part.type)) for part in stored) == _IN_FILES
        case PrimitiveType():
            return _is_value_read(stored.value_type if pa.types.is_dictionary(stored) else stored, kind, int96)
        case _:
            assert_never(kind)


def _is_struct_read(fields: Sequence[Any], kind: StructType, shape: Shape, int96: bool) -> bool:
    field_places = FieldPlaces(fields)
    places = [field_places.place(part) for part in shape.parts]
    # Spark cannot tell a null struct from one whose fields a file lacks, unless it reads another field for that.
    return any(place is not None for place in places) and all(
        place is None or (not field_places.is_ambiguous(part) and _is_read(fields[place].type, field.type, part, int96))
        for place, field, part in zip(places, kind.fields, shape.parts, strict=True)
    )


def _is_value_read(stored: Any, kind: PrimitiveType, int96: bool) -> bool:
    """Whether both readers give the same values of a stored type."""
    name, types = kind.name, pa.types
    if types.is_signed_integer(stored):
        # Small integers without an annotation are stored in 32 bits.
        is_integer = name in _BITS and (stored.bit_width <= _BITS[name] or stored.bit_width == 32)
        is_decimal = name == "decimal" and kind.precision - kind.scale >= _DIGITS[stored.bit_width]
        return is_integer or is_decimal or (name == "double" and stored.bit_width <= 32)
    if types.is_decimal128(stored):
        whole = kind.precision - kind.scale >= stored.precision - stored.scale
        return name == "decimal" and kind.scale >= stored.scale and whole
    if types.is_timestamp(stored):
        # Spark takes a time without a zone for one in UTC, and refuses the opposite.
        is_local = name == "timestamp_ntz" and stored.tz is None and not int96
        return stored.unit in ("ms", "us") and (name == "timestamp" or is_local)
    if any(is_kind(stored) for is_kind in _BYTES):
        return name in ("binary", "string")
    return (name, stored) in _SAME


_BYTES: Final = (
    pa.types.is_binary,
    pa.types.is_string,
    pa.types.is_large_binary,
    pa.types.is_large_string,
    pa.types.is_string_view,  # DataFusion, so deltalake where it updates or merges rows, says that it wrote these
    pa.types.is_binary_view,
)
_SAME: Final = (
    ("boolean", pa.bool_()),
    ("float", pa.float32()),
    ("double", pa.float32()),
    ("double", pa.float64()),
    ("date", pa.date32()),
    ("timestamp_ntz", pa.date32()),
)
