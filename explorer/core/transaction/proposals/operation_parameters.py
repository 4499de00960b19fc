"""How the reference writes columns into the ``operationParameters`` of a commit.

Protocol section: Commit Provenance Information. Invariants: a nested name is dotted, and a part is in backticks
only if it holds a dot; for a nested type only its kind is written.
"""

from __future__ import annotations

from explorer.core.protocol.json_values import JsonObject, encode_json
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    type_name,
)
from explorer.core.protocol.schema.edit import Column

__all__ = ["attribute_name", "change_parameters", "column_document", "parameter_text"]


def attribute_name(path: tuple[str, ...]) -> str:
    """A path as one text."""
    return ".".join(f"`{part}`" if "." in part else part for part in path)


def column_document(path: tuple[str, ...], kind: DataType | str, *, nullable: bool, metadata: JsonObject) -> JsonObject:
    """A column as an object: name, type, nullable, metadata."""
    text = kind if isinstance(kind, str) else _kind_name(kind)
    return {"name": attribute_name(path), "type": text, "nullable": nullable, "metadata": metadata}


def change_parameters(column: Column, field: StructField) -> JsonObject:
    """The parameters of a commit that changes one column."""
    document = column_document(column.path, field.type, nullable=field.nullable, metadata=field.metadata)
    return {"column": parameter_text(document)}


def parameter_text(value: object) -> str:
    """A parameter's value: JSON as text."""
    return encode_json(value).decode()


def _kind_name(kind: DataType) -> str:
    match kind:
        case PrimitiveType():
            return type_name(kind)
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case StructType():
            return "struct"
