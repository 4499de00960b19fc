"""The types of a schema, and their JSON in ``schemaString``.

Protocol section: Schema Serialization Format. Invariants: unknown field metadata is preserved (SCHEMA-007); a type that
this program does not know is refused by name. In a schema such a type closes its column alone: the others are read,
`parse_columns` names the column, and nothing is written to the table.
"""

from __future__ import annotations

import contextlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Final, Generic, TypeAlias, TypeVar, assert_never
from weakref import WeakValueDictionary

import msgspec

from explorer.core.errors import CorruptTable, UnsupportedFeature
from explorer.core.protocol import limits
from explorer.core.protocol.json_values import JsonObject, JsonValue, encode_json, exact_number, plain_number
from explorer.core.protocol.limits import check_json_values, check_nesting, too_deep
from explorer.core.protocol.schema.field_metadata import FIELD_ID, PHYSICAL_NAME
from explorer.core.protocol.table_features import feature_of_type


class InvalidType(ValueError):
    """A text or a JSON value is not a type; the message is the reason alone, as part of a sentence."""


class UnknownType(InvalidType):
    """A name is not that of a type that this program knows."""


class UnreadColumn(msgspec.Struct, frozen=True):
    """A column of the top level that is not read, its type as the schema has it, and the reason."""

    name: str
    type: str
    reason: str

    @property
    def message(self) -> str:
        """A warning for readers of the table."""
        return f"The column {self.name} is not read and not shown. {self.reason} Use an engine that supports its type."


class PrimitiveType(msgspec.Struct, frozen=True, gc=False):
    """A type without parts; a decimal has its precision and scale."""

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
        return str(self.metadata.get(PHYSICAL_NAME, self.name)) if self.metadata else self.name

    @property
    def field_id(self) -> int | None:
        """Column-mapping id, or None.

        Raises:
            CorruptTable: It is not an integer.
        """
        match self.metadata.get(FIELD_ID):
            case None:
                return None
            case bool():
                pass
            case int() | float() | str() as value:
                with contextlib.suppress(ValueError, OverflowError):
                    number = int(plain_number(value) if isinstance(value, str) else value)
                    if isinstance(value, str) or number == value:
                        return number
        raise CorruptTable(
            f"The {FIELD_ID} of the column {self.name!r} is not an integer. A faulty client wrote it. Write its "
            "metadata again.",
            column=self.name,
        )


class StructType(msgspec.Struct, frozen=True, dict=True, weakref=True):
    """An ordered set of fields; a table's schema is one."""

    fields: tuple[StructField, ...] = ()

    def field(self, name: str) -> StructField | None:
        """Return the field of that name, an exact match first and else ignoring case (SCHEMA-010)."""
        exact, folded = self._by_name
        return exact.get(name) or folded.get(name.lower())

    @cached_property
    def _by_name(self) -> tuple[dict[str, StructField], dict[str, StructField]]:
        """The fields by name, exact and ignoring case; of several of one name the first."""
        backwards = self.fields[::-1]
        return {field.name: field for field in backwards}, {field.name.lower(): field for field in backwards}

    def to_json(self) -> str:
        """Encode the schema as a ``schemaString``."""
        value = visit(self, _Wire())
        try:
            return encode_json(value).decode()
        except UnicodeEncodeError:
            # An unpaired surrogate: the text is refused where it is written, and is shown until then.
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


DataType = PrimitiveType | ArrayType | MapType | StructType

PrimitiveValue: TypeAlias = bool | int | float | Decimal | str | bytes | date | datetime
"""A value of a primitive type in Python; a ``timestamp`` has a zone, a ``timestamp_ntz`` has none."""

VOID: Final = PrimitiveType("void")
"""The type of a column with nulls only, which no file stores."""

_T = TypeVar("_T")


class TypeVisitor(ABC, Generic[_T]):
    """Converts a type, its parts first; see `visit`."""

    @abstractmethod
    def primitive(self, kind: PrimitiveType) -> _T:
        """Return the result for a type without parts."""

    @abstractmethod
    def array(self, kind: ArrayType, element: _T) -> _T:
        """Return the result for an array, from that of its element."""

    @abstractmethod
    def map(self, kind: MapType, key: _T, value: _T) -> _T:
        """Return the result for a map, from those of its key and its value."""

    @abstractmethod
    def struct(self, kind: StructType, types: Sequence[_T]) -> _T:
        """Return the result for a struct, from those of the types of its fields, in their order."""


def visit(kind: DataType, visitor: TypeVisitor[_T]) -> _T:
    """Convert a type with a visitor, from the innermost parts outwards."""
    match kind:
        case PrimitiveType():
            return visitor.primitive(kind)
        case ArrayType():
            return visitor.array(kind, visit(kind.element_type, visitor))
        case MapType():
            return visitor.map(kind, visit(kind.key_type, visitor), visit(kind.value_type, visitor))
        case StructType():
            return visitor.struct(kind, [visit(field.type, visitor) for field in kind.fields])


_PRIMITIVES: Final = {
    name: PrimitiveType(name)
    for name in (
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
    )
}
KNOWN_TYPES: Final = _PRIMITIVES.keys() | {"decimal", "null", "struct", "array", "map"}
"""Names of types that need nothing of clients except the protocol and its features; some have parameters."""
_OF_VOID: Final = (
    "Its type has void where no file can store it: inside an array or a map, or as the only fields of a struct."
)
_OF_PARTITIONS: Final = "It is a partition column, and no partition value can have its type."
_ALIASES: Final = {"null": "void", "bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte"}
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)\Z")
_COLUMN_PART = re.compile(r"(?:`((?:[^`]|``)*)`|[^.`]+)(?:\.|\Z)")
_UNSUPPORTED: Final = re.compile(
    r"(geometry|geography|time|timestamp_nanos|timestamp_ntz_nanos|timestamp_ns)\b.*"
    r"|(interval) (?:(?:year|month)|(?:day|hour|minute|second)"
    r"|year to month|day to (?:hour|minute|second)|hour to (?:minute|second)|minute to second)\Z"
)


def is_invalid_decimal(name: str) -> bool:
    """Return whether the name of a type is that of a decimal with digits that no decimal has."""
    if not name.startswith("decimal("):
        return False
    match = _DECIMAL.match(name)
    return match is None or int(match[1]) > 38 or int(match[2]) > int(match[1])


_PARSED: Final[WeakValueDictionary[str, StructType]] = WeakValueDictionary()


def parse_schema(text: str) -> StructType:
    """Parse a ``schemaString``; columns that `parse_columns` does not read are left out.

    Raises:
        CorruptTable: The text is not a JSON struct type.
        UnsupportedFeature: It uses a type this program does not read, in every column, or where
            `explorer.core.protocol.limits.STRICT_TYPES` is set.
        LimitExceeded: It is nested too deeply, or has too many values.
    """
    return parse_columns(text)[0]


def parse_columns(text: str) -> tuple[StructType, tuple[UnreadColumn, ...]]:
    """Parse a ``schemaString`` like `parse_schema`: its columns, and those that are not read because of their types.

    The same text gives the same schema while that is in use: a page asks often for one that may have many columns.
    """
    check_json_values(text, "The table's schemaString")
    known = _PARSED.get(text)
    if known is not None:
        return known, ()
    try:
        value = json.loads(text, parse_float=exact_number, parse_constant=Decimal)
    except ValueError as error:
        raise _bad(f"it is not JSON ({error})") from error
    except RecursionError as error:
        raise too_deep("The table's schemaString") from error
    check_nesting(value, "The table's schemaString")
    if not isinstance(value, dict) or value.get("type") != "struct" or not isinstance(value.get("fields"), list):
        _parse_strictly(value)
        raise _bad("its top level is not a struct")
    fields, unread = list[StructField](), list[UnreadColumn]()
    for field in value["fields"]:
        try:
            fields.append(_parse_field(field))
        except (UnsupportedFeature, UnknownType) as error:
            kind = field["type"] if isinstance(field["type"], str) else json.dumps(field["type"])
            unread.append(UnreadColumn(field["name"], kind, _reason(error)))
        except InvalidType as error:
            raise _bad(str(error)) from error
    if unread and (not fields or limits.STRICT_TYPES):
        _parse_strictly(value)
    schema = StructType(tuple(fields))
    if not unread:
        _PARSED[text] = schema
    return schema, tuple(unread)


def storable_columns(schema: StructType) -> tuple[StructType, tuple[UnreadColumn, ...]]:
    """Return the columns that files can store, and those that no file can.

    All columns count as storable where that would leave none, and where
    `explorer.core.protocol.limits.STRICT_TYPES` is set.
    """
    readable = tuple(field for field in schema.fields if not has_misplaced_void(field.type))
    if not readable or len(readable) == len(schema.fields) or limits.STRICT_TYPES:
        return schema, ()
    closed = (field for field in schema.fields if has_misplaced_void(field.type))
    return StructType(readable), tuple(UnreadColumn(field.name, type_name(field.type), _OF_VOID) for field in closed)


def partition_columns_that_fit(schema: StructType, names: Sequence[str]) -> tuple[StructType, tuple[UnreadColumn, ...]]:
    """Return the columns without the partition columns whose types no partition value can have, and those columns.

    All columns fit where that would leave none, and where `explorer.core.protocol.limits.STRICT_TYPES` is set.
    """
    partitions = {name.lower() for name in names}
    closed = [
        field
        for field in schema.fields
        if field.name.lower() in partitions
        and (not isinstance(field.type, PrimitiveType) or field.type.name == "variant")
    ]
    if not closed or len(closed) == len(schema.fields) or limits.STRICT_TYPES:
        return schema, ()
    unread = tuple(UnreadColumn(field.name, type_name(field.type), _OF_PARTITIONS) for field in closed)
    return StructType(tuple(field for field in schema.fields if field not in closed)), unread


def has_misplaced_void(kind: DataType) -> bool:
    """Return whether void is where no file can store it: inside an array or a map, or as a struct's only fields."""
    match kind:
        case PrimitiveType():
            return False
        case ArrayType():
            return _contains_void(kind.element_type)
        case MapType():
            return _contains_void(kind.key_type) or _contains_void(kind.value_type)
        case StructType():
            inner = [field.type for field in kind.fields]
            return (bool(inner) and all(each == VOID for each in inner)) or any(map(has_misplaced_void, inner))
        case _:
            assert_never(kind)


def _contains_void(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_contains_void(field.type) for field in kind.fields)
        case PrimitiveType():
            return kind == VOID
        case _:
            return has_misplaced_void(kind)


def _parse_strictly(value: JsonValue) -> None:
    """Raise the fault of a schema as a whole; nothing where each type is known."""
    try:
        parse_type(value)
    except InvalidType as error:
        raise _bad(str(error)) from error


def _reason(error: Exception) -> str:
    """Return why a column is not read, as a sentence."""
    if isinstance(error, UnsupportedFeature):
        return f"Its type needs {', '.join(error.features or ())}, which this program does not read."
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


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
            return _PRIMITIVES[name]
        case {"type": str(name)} if name not in KNOWN_TYPES and name not in _ALIASES:
            raise UnknownType(f"the type {name[:200]!r} is not known to the protocol")
    raise InvalidType(f"{_shown(value)} is not a type")


def type_name(kind: DataType) -> str:
    """Return a type in readable form, for example ``struct<a:long,b:array<string>>``."""
    return _Name().primitive(kind) if isinstance(kind, PrimitiveType) else visit(kind, _Name())


def type_outline(kind: DataType) -> str:
    """Return a type without the fields of its structs, which are columns of their own, such as ``array<struct>``."""
    return _Outline().primitive(kind) if isinstance(kind, PrimitiveType) else visit(kind, _Outline())


_PLAIN: Final = re.compile(r"\w+")


def format_column(path: tuple[str, ...]) -> str:
    """Return a path as a dotted column, with backticks around parts that need them."""
    return _in_backticks(path[0]) if len(path) == 1 else ".".join(map(_in_backticks, path))


def _in_backticks(part: str) -> str:
    return part if _PLAIN.fullmatch(part) else f"`{part.replace('`', '``')}`"


def parse_column(text: str) -> tuple[str, ...]:
    """Split a dotted column into its parts; backticks quote a part, which may be empty, and are doubled inside it.

    Raises:
        ValueError: The text is empty, has an empty part without backticks, or an open backtick.
    """
    parts = list(_COLUMN_PART.finditer(text))
    ends = [0, *(part.end() for part in parts)]
    if not parts or text.endswith(".") or ends != [*(part.start() for part in parts), len(text)]:
        raise ValueError(f"not a column: {text!r}")
    return tuple(part[0].removesuffix(".") if part[1] is None else part[1].replace("``", "`") for part in parts)


def _parse_field(value: JsonValue) -> StructField:
    if not isinstance(value, dict) or not isinstance(name := value.get("name"), str) or "type" not in value:
        raise InvalidType(f"{_shown(value)} is not a field (it needs name and type)")
    metadata = value.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise InvalidType(f"the metadata of field {name!r} is not an object")
    return StructField(name, parse_type(value["type"]), bool(value.get("nullable", True)), metadata)


def _parse_primitive(name: str) -> PrimitiveType:
    known = _PRIMITIVES.get(_ALIASES.get(name, name))
    if known is not None:
        return known
    if name == "decimal":
        return PrimitiveType("decimal", 10, 0)
    if (match := _DECIMAL.match(name)) is not None:
        precision, scale = int(match[1]), int(match[2])
        if 1 <= precision <= 38 and scale <= precision:
            return PrimitiveType("decimal", precision, scale)
        raise UnknownType(f"{name} is out of range (precision 1 to 38, scale at most the precision)")
    if name.startswith(("char(", "varchar(")):
        return PrimitiveType("string")
    if (unsupported := _UNSUPPORTED.match(name)) is not None:
        feature = "intervalType" if unsupported[2] else feature_of_type(unsupported[1]) or name
        raise UnsupportedFeature(
            f"The schema uses the type {name} ({feature}), which this program does not read. "
            "Read the table with a client that supports it.",
            features=[feature],
            operation="read the schema",
        )
    raise UnknownType(f"the type {name!r} is not known to the protocol")


class _Name(TypeVisitor[str]):
    def primitive(self, kind: PrimitiveType) -> str:
        return f"decimal({kind.precision},{kind.scale})" if kind.name == "decimal" else kind.name

    def array(self, kind: ArrayType, element: str) -> str:  # noqa: ARG002 - the name does not show nulls
        return f"array<{element}>"

    def map(self, kind: MapType, key: str, value: str) -> str:  # noqa: ARG002 - as above
        return f"map<{key},{value}>"

    def struct(self, kind: StructType, types: Sequence[str]) -> str:
        return f"struct<{','.join(f'{field.name}:{name}' for field, name in zip(kind.fields, types, strict=True))}>"


class _Outline(_Name):
    def struct(self, kind: StructType, types: Sequence[str]) -> str:  # noqa: ARG002 - the fields are left out
        return "struct"


def _shown(value: JsonValue) -> str:
    return json.dumps(value, default=str)[:200]


class _Wire(TypeVisitor[JsonValue]):
    def primitive(self, kind: PrimitiveType) -> JsonValue:
        return type_name(kind)

    def array(self, kind: ArrayType, element: JsonValue) -> JsonValue:
        return {"type": "array", "elementType": element, "containsNull": kind.contains_null}

    def map(self, kind: MapType, key: JsonValue, value: JsonValue) -> JsonValue:
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": kind.value_contains_null}

    def struct(self, kind: StructType, types: Sequence[JsonValue]) -> JsonValue:
        pairs = zip(kind.fields, types, strict=True)
        return {"type": "struct", "fields": [_wire_field(field, inner) for field, inner in pairs]}


def _wire_field(field: StructField, kind: JsonValue) -> JsonValue:
    return {"name": field.name, "type": kind, "nullable": field.nullable, "metadata": field.metadata}


def _bad(reason: str) -> CorruptTable:
    return CorruptTable(
        f"The table's schemaString cannot be used: {reason}. The metaData action that set it is damaged; "
        "an earlier version may still be readable."
    )
