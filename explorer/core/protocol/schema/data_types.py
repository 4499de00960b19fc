"""The table schema: parse, serialise, walk, and turn into Arrow.

Protocol section: Schema Serialization Format. Invariants: unknown field metadata is kept (SCHEMA-007); nested types
are walked with ``element``, ``key`` and ``value`` as path parts (CM-014); a type that this program does not know is
refused by name.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Final

import msgspec
import pyarrow as pa

from explorer.core.errors import CorruptTable, UnsupportedFeature
from explorer.core.protocol.json_values import JsonObject, JsonValue
from explorer.core.protocol.limits import check_nesting, too_deep
from explorer.core.protocol.schema.field_metadata import FIELD_ID, PHYSICAL_NAME
from explorer.core.protocol.table_features import feature_of_type

__all__ = [
    "ArrayType",
    "DataType",
    "InvalidType",
    "MapType",
    "PrimitiveType",
    "StructField",
    "StructType",
    "format_column",
    "parse_column",
    "parse_schema",
    "parse_type",
    "to_arrow",
    "type_name",
    "type_outline",
    "walk",
]


class InvalidType(ValueError):
    """A text or a JSON value is not a type; the message is the reason alone, to be put into a sentence."""


class PrimitiveType(msgspec.Struct, frozen=True):
    """A type without parts; a decimal carries its precision and scale."""

    name: str
    precision: int = 0
    scale: int = 0


class ArrayType(msgspec.Struct, frozen=True):
    """A list of one element type."""

    element_type: DataType
    contains_null: bool = True


class MapType(msgspec.Struct, frozen=True):
    """A map; keys are never null (SCHEMA-005)."""

    key_type: DataType
    value_type: DataType
    value_contains_null: bool = True


class StructField(msgspec.Struct, frozen=True):
    """A named, typed field with its metadata."""

    name: str
    type: DataType
    nullable: bool = True
    metadata: JsonObject = {}

    @property
    def physical_name(self) -> str:
        """Name used in data files, partition values and statistics; the field's own without column mapping."""
        return str(self.metadata.get(PHYSICAL_NAME, self.name))

    @property
    def field_id(self) -> int | None:
        """Column-mapping id, or None.

        Raises:
            CorruptTable: It is not an integer.
        """
        match self.metadata.get(FIELD_ID):
            case None:
                return None
            case int() | float() | str() as value:
                with contextlib.suppress(ValueError, OverflowError):
                    return int(value)
        raise CorruptTable(
            f"The {FIELD_ID} of the column {self.name!r} is not an integer. A broken client wrote it. Write its "
            "metadata again.",
            column=self.name,
        )


class StructType(msgspec.Struct, frozen=True):
    """An ordered set of fields; a table's schema is one."""

    fields: tuple[StructField, ...] = ()

    def field(self, name: str) -> StructField | None:
        """The field of that name, exactly first and else ignoring case (SCHEMA-010)."""
        exact = next((field for field in self.fields if field.name == name), None)
        return exact or next((field for field in self.fields if field.name.lower() == name.lower()), None)

    def to_json(self) -> str:
        """Serialise as a ``schemaString``."""
        return json.dumps(_to_wire(self), ensure_ascii=False, separators=(",", ":"))

    def to_arrow(self) -> pa.Schema:
        """The schema in Arrow types, logical names."""
        return pa.schema([_arrow_field(field) for field in self.fields])


DataType = PrimitiveType | ArrayType | MapType | StructType

_PRIMITIVES: Final = frozenset(
    [
        "string",
        "long",
        "integer",
        "short",
        "byte",
        "float",
        "double",
        "boolean",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "variant",
        "void",
    ]
)
_ALIASES: Final = {"null": "void", "bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte"}
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)\Z")
_UNSUPPORTED: Final = re.compile(
    r"(geometry|geography|time|timestamp_nanos|timestamp_ntz_nanos|timestamp_ns)\b.*"
    r"|(interval) (?:(?:year|month)|(?:day|hour|minute|second)"
    r"|year to month|day to (?:hour|minute|second)|hour to (?:minute|second)|minute to second)\Z"
)


def parse_schema(text: str) -> StructType:
    """Parse a ``schemaString``.

    Raises:
        CorruptTable: The text is not a JSON struct type.
        UnsupportedFeature: It uses a type this program does not read.
        LimitExceeded: It is nested too deeply.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise _bad(f"it is not JSON ({error})") from error
    except RecursionError as error:
        raise too_deep("The table's schemaString") from error
    check_nesting(value, "The table's schemaString")
    try:
        parsed = parse_type(value)
    except InvalidType as error:
        raise _bad(str(error)) from error
    if not isinstance(parsed, StructType):
        raise _bad("its top level is not a struct")
    return parsed


def parse_type(value: JsonValue) -> DataType:
    """Parse a type from decoded JSON: a name, or an object of a nested type.

    Raises:
        InvalidType: It is not a type.
        UnsupportedFeature: It is one this program does not read.
    """
    if isinstance(value, str):
        return _parse_primitive(value)
    if not isinstance(value, dict):
        raise InvalidType(f"{value!r} is not a type")
    match value:
        case {"type": "struct", "fields": [*fields]}:
            return StructType(tuple(_parse_field(field) for field in fields))
        case {"type": "array", "elementType": element}:
            return ArrayType(parse_type(element), bool(value.get("containsNull", True)))
        case {"type": "map", "keyType": key, "valueType": item}:
            return MapType(parse_type(key), parse_type(item), bool(value.get("valueContainsNull", True)))
        case {"type": str(name)} if name in _PRIMITIVES and len(value) == 1:
            return PrimitiveType(name)
    raise InvalidType(f"{json.dumps(value)[:200]} is not a type")


def walk(struct: StructType) -> Iterator[tuple[tuple[str, ...], StructField]]:
    """Yield every field at any depth with its logical path, parents before children, in schema order."""
    return _walk(struct, ())


def type_name(kind: DataType) -> str:
    """A type as people write it, for example ``struct<a:long,b:array<string>>``."""
    match kind:
        case PrimitiveType("decimal"):
            return f"decimal({kind.precision},{kind.scale})"
        case PrimitiveType():
            return kind.name
        case ArrayType():
            return f"array<{type_name(kind.element_type)}>"
        case MapType():
            return f"map<{type_name(kind.key_type)},{type_name(kind.value_type)}>"
        case StructType():
            return f"struct<{','.join(f'{field.name}:{type_name(field.type)}' for field in kind.fields)}>"


def type_outline(kind: DataType) -> str:
    """A type without the fields of its structs, which are columns of their own, such as ``array<struct>``."""
    match kind:
        case StructType():
            return "struct"
        case ArrayType():
            return f"array<{type_outline(kind.element_type)}>"
        case MapType():
            return f"map<{type_outline(kind.key_type)},{type_outline(kind.value_type)}>"
        case PrimitiveType():
            return type_name(kind)


def format_column(path: tuple[str, ...]) -> str:
    """Write a path as a dotted column, with backticks round parts that need them."""
    return ".".join(part if re.fullmatch(r"\w+", part) else f"`{part.replace('`', '``')}`" for part in path)


def parse_column(text: str) -> tuple[str, ...]:
    """Split a dotted column into its parts; backticks quote a part and are doubled inside it.

    Raises:
        ValueError: The text is empty, has an empty part or an open backtick.
    """
    parts = re.findall(r"`((?:[^`]|``)*)`(?:\.|\Z)|([^.`]+)(?:\.|\Z)", text)
    names = tuple(quoted.replace("``", "`") or plain for quoted, plain in parts)
    if not names or sum(len(q) + 2 * bool(q) + len(p) for q, p in parts) + len(parts) - 1 != len(text):
        raise ValueError(f"not a column: {text!r}")
    return names


def to_arrow(kind: DataType) -> pa.DataType:
    """A type in Arrow: timestamps in microseconds, variants as their two binaries, void as null."""
    match kind:
        case PrimitiveType("decimal"):
            return pa.decimal128(kind.precision, kind.scale)
        case PrimitiveType():
            return _ARROW[kind.name]
        case ArrayType():
            return pa.list_(pa.field("element", to_arrow(kind.element_type), kind.contains_null))
        case MapType():
            item = pa.field("value", to_arrow(kind.value_type), kind.value_contains_null)
            return pa.map_(pa.field("key", to_arrow(kind.key_type), nullable=False), item)
        case StructType():
            return pa.struct([_arrow_field(field) for field in kind.fields])


_ARROW: Final[dict[str, pa.DataType]] = {
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


def _arrow_field(field: StructField) -> pa.Field:
    return pa.field(field.name, to_arrow(field.type), field.nullable)


def _parse_field(value: JsonValue) -> StructField:
    match value:
        case {"name": str(name), "type": kind, **rest}:
            metadata = rest.get("metadata") or {}
            if not isinstance(metadata, dict):
                raise InvalidType(f"the metadata of field {name!r} is not an object")
            return StructField(name, parse_type(kind), bool(rest.get("nullable", True)), metadata)
        case _:
            raise InvalidType(f"{json.dumps(value)[:200]} is not a field (it needs name and type)")


def _parse_primitive(name: str) -> PrimitiveType:
    known = _ALIASES.get(name, name)
    if known in _PRIMITIVES:
        return PrimitiveType(known)
    if name == "decimal":
        return PrimitiveType("decimal", 10, 0)
    if (found := _DECIMAL.match(name)) is not None:
        precision, scale = int(found[1]), int(found[2])
        if 1 <= precision <= 38 and scale <= precision:
            return PrimitiveType("decimal", precision, scale)
        raise InvalidType(f"{name} is out of range (precision 1 to 38, scale at most the precision)")
    if name.startswith(("char(", "varchar(")):
        return PrimitiveType("string")
    if (unsupported := _UNSUPPORTED.match(name)) is not None:
        feature = "intervalType" if unsupported[2] else feature_of_type(unsupported[1]) or name
        raise UnsupportedFeature(
            f"The schema uses the type {name} ({feature}), which this program does not read. "
            "Read the table with a client that implements it.",
            features=[feature],
            operation="read the schema",
        )
    raise InvalidType(f"the type {name!r} is not known to the protocol")


def _walk(kind: DataType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], StructField]]:
    match kind:
        case StructType():
            for field in kind.fields:
                yield (*path, field.name), field
                yield from _walk(field.type, (*path, field.name))
        case ArrayType():
            yield from _walk(kind.element_type, (*path, "element"))
        case MapType():
            yield from _walk(kind.key_type, (*path, "key"))
            yield from _walk(kind.value_type, (*path, "value"))
        case PrimitiveType():
            return


def _to_wire(kind: DataType) -> JsonValue:
    match kind:
        case PrimitiveType():
            return type_name(kind)
        case ArrayType():
            return {"type": "array", "elementType": _to_wire(kind.element_type), "containsNull": kind.contains_null}
        case MapType():
            return {
                "type": "map",
                "keyType": _to_wire(kind.key_type),
                "valueType": _to_wire(kind.value_type),
                "valueContainsNull": kind.value_contains_null,
            }
        case StructType():
            fields: list[JsonValue] = [
                {
                    "name": field.name,
                    "type": _to_wire(field.type),
                    "nullable": field.nullable,
                    "metadata": field.metadata,
                }
                for field in kind.fields
            ]
            return {"type": "struct", "fields": fields}


def _bad(reason: str) -> CorruptTable:
    return CorruptTable(
        f"The table's schemaString cannot be used: {reason}. The metaData action that set it is broken; "
        "an earlier version may still be readable."
    )
