"""The types of a schema in Arrow, as rows have them and as data files have them.

Protocol sections: Schema Serialization Format, Column Mapping. Invariants: timestamps count microseconds; a variant is
its two binaries, metadata first; void is null in rows and in no file; files have physical names, and field ids where
the schema has them (CM-007).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from explorer.core.protocol.schema.data_types import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    TypeVisitor,
    visit,
)


def to_arrow(kind: DataType) -> pa.DataType:
    """Return a type under logical names."""
    return visit(kind, _Logical())


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return a schema under logical names."""
    return pa.schema(to_arrow(schema))


def nullable_arrow_schema(schema: StructType) -> pa.Schema:
    """Return the same with every part nullable, as Spark returns rows."""
    return pa.schema(visit(schema, _Nullable()))


def json_variant_schema(schema: StructType) -> pa.Schema:
    """Return `nullable_arrow_schema` with variants as their JSON."""
    return pa.schema(visit(schema, _JsonVariants()))


def text_variant_schema(schema: StructType) -> pa.Schema:
    """Return `nullable_arrow_schema` with variants as the text of their JSON."""
    return pa.schema(visit(schema, _TextVariants()))


def physical_arrow_schema(fields: Sequence[StructField]) -> pa.Schema:
    """Return the schema of a data file with these fields: physical names and field ids at every depth."""
    return pa.schema(visit(StructType(tuple(fields)), _Physical()))


_PRIMITIVES: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "variant": pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)]),
    "void": pa.null(),
}


class _Logical(TypeVisitor[pa.DataType]):
    def primitive(self, kind: PrimitiveType) -> pa.DataType:
        return pa.decimal128(kind.precision, kind.scale) if kind.name == "decimal" else _PRIMITIVES[kind.name]

    def array(self, kind: ArrayType, element: pa.DataType) -> pa.DataType:
        return pa.list_(pa.field("element", element, kind.contains_null))

    def map(self, kind: MapType, key: pa.DataType, value: pa.DataType) -> pa.DataType:
        return pa.map_(pa.field("key", key, nullable=False), pa.field("value", value, kind.value_contains_null))

    def struct(self, kind: StructType, types: Sequence[pa.DataType]) -> pa.DataType:
        pairs = zip(kind.fields, types, strict=True)
        return pa.struct([pa.field(field.name, inner, field.nullable) for field, inner in pairs])


class _Nullable(_Logical):
    def primitive(self, kind: PrimitiveType) -> pa.DataType:
        if kind.name == "variant":
            return pa.struct([pa.field(half.name, half.type) for half in _PRIMITIVES["variant"]])
        return super().primitive(kind)

    def array(self, kind: ArrayType, element: pa.DataType) -> pa.DataType:  # noqa: ARG002 - every element is nullable
        return pa.list_(pa.field("element", element))

    def map(self, kind: MapType, key: pa.DataType, value: pa.DataType) -> pa.DataType:  # noqa: ARG002 - as above
        return pa.map_(key, value)

    def struct(self, kind: StructType, types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.struct([pa.field(field.name, inner) for field, inner in zip(kind.fields, types, strict=True)])


class _JsonVariants(_Nullable):
    def primitive(self, kind: PrimitiveType) -> pa.DataType:
        return pa.json_() if kind.name == "variant" else super().primitive(kind)


class _TextVariants(_Nullable):
    def primitive(self, kind: PrimitiveType) -> pa.DataType:
        return pa.string() if kind.name == "variant" else super().primitive(kind)


class _Physical(_Logical):
    def struct(self, kind: StructType, types: Sequence[pa.DataType]) -> pa.DataType:
        stored = [(field, inner) for field, inner in zip(kind.fields, types, strict=True) if field.type != VOID]
        return pa.struct([_physical_field(field, inner) for field, inner in stored])


def _physical_field(field: StructField, kind: pa.DataType) -> pa.Field:
    described = None if field.field_id is None else {"PARQUET:field_id": str(field.field_id)}
    return pa.field(field.physical_name, kind, field.nullable, described)
