"""From the table's schema to what Spark reads in the files, and back to logical columns.

Protocol sections: Column Mapping, Schema Serialization Format, Type Widening. Invariants: files are read by physical
name (and by field id in id mode), with the table's own types, so that Spark widens what an older file holds (CM-003 to
CM-005); void columns are never read from a file, and are null (D-10); all results have logical names at every
depth, in the schema's order; CHAR values are read padded, as every comparison of the engines takes them, unless rows
are moved from file to file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, assert_never

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import UnsupportedFeature
from explorer.core.protocol.schema.char_types import TextLength, padded_lengths
from explorer.core.protocol.schema.data_types import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    TypeVisitor,
    has_misplaced_void,
    type_name,
    visit,
)
from explorer.core.protocol.schema.field_metadata import CHAR_VARCHAR
from explorer.core.protocol.schema.nested_types import holds, nested_types
from explorer.core.protocol.schema.type_widening import recorded_changes

_PARQUET_FIELD_ID: Final = "parquet.field.id"
_INTEGER_DIGITS: Final = {"byte": 10, "short": 10, "integer": 10, "long": 20}
_PRIMITIVES: Final[dict[str, st.DataType]] = {
    "string": st.StringType(),
    "long": st.LongType(),
    "integer": st.IntegerType(),
    "short": st.ShortType(),
    "byte": st.ByteType(),
    "float": st.FloatType(),
    "double": st.DoubleType(),
    "boolean": st.BooleanType(),
    "binary": st.BinaryType(),
    "date": st.DateType(),
    "timestamp": st.TimestampType(),
    "timestamp_ntz": st.TimestampNTZType(),
    "variant": st.VariantType(),
    "void": st.NullType(),
}


def quoted(name: str) -> str:
    """Return a column name as Spark's parser takes it: in backticks, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def spark_type(kind: DataType) -> st.DataType:
    """Return a logical type as Spark's, every part nullable: a reader does not enforce NOT NULL."""
    return visit(kind, _SparkType())


def read_schema(fields: tuple[StructField, ...], by_id: bool) -> st.StructType:
    """Return the schema to read data files with.

    Args:
        fields: Columns that files hold (no partition columns); void ones are left out.
        by_id: True in column-mapping mode ``id``: Spark then finds columns by Parquet field id.

    Raises:
        UnsupportedFeature: A void type is where no null can be inserted (inside an array or a map).
    """
    for field in fields:
        if has_misplaced_void(field.type):
            raise _misplaced_void(field.type)
    return st.StructType([_read_field(field, by_id) for field in fields if field.type != VOID])


def logical_column(source: Column, field: StructField, *, unpadded: bool = False) -> Column:
    """Return the logical column, from the physical one that `read_schema` reads.

    A cast renames nested fields, as casts between structs go by position.

    Args:
        field: The logical one.
        unpadded: Give CHAR values as the file holds them; otherwise they are padded, as engines read them.
    """
    value = _logical_field(source, field)
    return value.alias(field.name) if unpadded else compared_column(value, field).alias(field.name, **type_mark(field))


def compared_column(value: Column, field: StructField) -> Column:
    """Return a stored value as engines compare it: CHAR values padded with spaces to their length (SCHEMA-021)."""
    lengths = padded_lengths(field)
    return _padded(value, field.type, lengths) if lengths else value


def type_mark(field: StructField) -> dict[str, Any]:
    """Return the metadata for ``alias`` by which Spark pads the constants that it compares with CHAR values."""
    return {"metadata": {CHAR_VARCHAR: field.metadata[CHAR_VARCHAR]}} if padded_lengths(field) else {}


class _SparkType(TypeVisitor[st.DataType]):
    def primitive(self, kind: PrimitiveType) -> st.DataType:
        return st.DecimalType(kind.precision, kind.scale) if kind.name == "decimal" else _PRIMITIVES[kind.name]

    def array(self, kind: ArrayType, element: st.DataType) -> st.DataType:  # noqa: ARG002 - every part is nullable
        return st.ArrayType(element)

    def map(self, kind: MapType, key: st.DataType, value: st.DataType) -> st.DataType:  # noqa: ARG002 - as above
        return st.MapType(key, value)

    def struct(self, kind: StructType, types: Sequence[st.DataType]) -> st.DataType:
        return st.StructType(
            [st.StructField(field.name, inner) for field, inner in zip(kind.fields, types, strict=True)]
        )


def _read_field(field: StructField, by_id: bool) -> st.StructField:
    metadata = {_PARQUET_FIELD_ID: field.field_id} if by_id and field.field_id is not None else None
    return st.StructField(field.physical_name, _widest(field) or _read_type(field.type, by_id), metadata=metadata)


def _widest(field: StructField) -> st.DecimalType | None:
    """Return the decimal type for a column that once held integers, if its own has too few digits for Spark's reader.

    Spark reads 32-bit integers as decimals of 10 digits before the point, 64-bit ones of 20. The protocol allows no
    such narrow target, but tables have them.
    """
    kind = field.type
    if not isinstance(kind, PrimitiveType) or kind.name != "decimal":
        return None
    came_from = [change.get("fromType") for change in recorded_changes(field) if isinstance(change, dict)]
    digits = max((_INTEGER_DIGITS.get(name, 0) for name in came_from if isinstance(name, str)), default=0)
    precision = min(max(kind.precision, digits + kind.scale), 38)
    return None if precision == kind.precision else st.DecimalType(precision, kind.scale)


def _read_type(kind: DataType, by_id: bool) -> st.DataType:
    match kind:
        case PrimitiveType():
            return spark_type(kind)
        case ArrayType():
            return st.ArrayType(_read_type(kind.element_type, by_id))
        case MapType():
            return st.MapType(_read_type(kind.key_type, by_id), _read_type(kind.value_type, by_id))
        case StructType():
            return read_schema(kind.fields, by_id)
        case _:
            assert_never(kind)


def _misplaced_void(kind: DataType) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"The type {type_name(kind)} has void where no file can hold it (inside an array or a map, or as the only "
        "fields of a struct), so its values cannot be read. Writers must not make such columns.",
        features=["void"],
        operation="read rows",
    )


def _logical_field(source: Column, field: StructField) -> Column:
    if field.type == VOID:
        return sf.lit(None)
    if _widest(field) is not None:
        return source.cast(spark_type(field.type))
    return _logical(source, field.type)


def _logical(source: Column, kind: DataType) -> Column:
    if isinstance(kind, PrimitiveType) and kind.name in {"float", "double"}:
        # Changes no value, and keeps comparisons out of the reader: it skips by bounds that ignore NaN, which is
        # above all numbers, and distinguish 0.0 from -0.0.
        return sf.nanvl(source, sf.lit(float("nan")).cast(spark_type(kind)))
    if isinstance(kind, StructType) and (holds(kind, VOID.name) or (_holds_float(kind) and not _needs_cast(kind))):
        return _rebuilt(source, kind)
    return source.cast(spark_type(kind)) if _needs_cast(kind) else source


def _holds_float(kind: StructType) -> bool:
    kinds = [field.type for struct in _structs(kind) for field in struct.fields]
    return any(isinstance(each, PrimitiveType) and each.name in {"float", "double"} for each in kinds)


def _rebuilt(source: Column, struct: StructType) -> Column:
    parts = [_logical_field(source.getField(field.physical_name), field).alias(field.name) for field in struct.fields]
    return sf.when(source.isNotNull(), sf.struct(*parts))


def _needs_cast(kind: DataType) -> bool:
    fields = [field for struct in _structs(kind) for field in struct.fields]
    return any(field.name != field.physical_name or _widest(field) is not None for field in fields)


def _padded(value: Column, kind: DataType, lengths: Sequence[TextLength]) -> Column:
    """Return the value with the texts at the end of some steps padded; a text that is longer stays as it is."""

    def inside(step: tuple[str, str]) -> list[TextLength]:
        return [(steps[1:], length) for steps, length in lengths if steps and steps[0] == step]

    match kind:
        case StructType():
            for field in kind.fields:
                if own := inside(("field", field.name)):
                    name = quoted(field.name)
                    value = value.withField(name, _padded(value.getField(field.name), field.type, own))
            return value
        case ArrayType():
            return sf.transform(value, lambda item: _padded(item, kind.element_type, inside(("element", ""))))
        case MapType():
            if own := inside(("value", "")):
                value = sf.transform_values(value, lambda _, item: _padded(item, kind.value_type, own))
            if of_keys := inside(("key", "")):
                value = sf.transform_keys(value, lambda key, _: _padded(key, kind.key_type, of_keys))
            return value
        case PrimitiveType():
            length = lengths[0][1]
            return sf.when(sf.length(value) < sf.lit(length), sf.rpad(value, length, " ")).otherwise(value)
        case _:
            assert_never(kind)


def _structs(kind: DataType) -> list[StructType]:
    return [part for part in nested_types(kind) if isinstance(part, StructType)]
