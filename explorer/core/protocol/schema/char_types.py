"""CHAR and VARCHAR: strings with a length that stands beside the type, in the metadata of the field.

Protocol section: Schema Serialization Format (field metadata ``__CHAR_VARCHAR_TYPE_STRING``, SCHEMA-021). Invariants:
in the schema the type is ``string``; a length only grows, and goes at last.
"""

from __future__ import annotations

import re
from typing import Any, Final

from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, PrimitiveType, StructType, type_name

__all__ = ["CHAR_KEY", "char_type_text", "is_char_type", "lengthens"]

CHAR_KEY: Final = "__CHAR_VARCHAR_TYPE_STRING"
_CHAR: Final = re.compile(r"(char|varchar)\((\d+)\)\Z")
_SQL_NAMES: Final = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def is_char_type(text: object) -> bool:
    """True for ``char(n)`` and ``varchar(n)``."""
    return isinstance(text, str) and _CHAR.match(text) is not None


def char_type_text(value: Any, parsed: DataType) -> str | None:
    """What stands in a field's metadata for its type; None if no CHAR or VARCHAR is in it.

    Args:
        value: The type as decoded JSON.
        parsed: The same, parsed, in which all of them are strings.
    """
    return _text(value, parsed) if _has_char(value) else None


def lengthens(before: str, after: str) -> bool:
    """True if a column may go from one CHAR or VARCHAR to another, or to ``string``, whatever its values."""
    old, new = _CHAR.match(before), _CHAR.match(after)
    if old is None:
        return False
    if new is None:
        return after == "string"
    return int(new[2]) >= int(old[2]) and new[1] == "varchar"


def _has_char(value: Any) -> bool:
    if not isinstance(value, dict):
        return is_char_type(value)
    inner = [value.get(name) for name in ("elementType", "keyType", "valueType")]
    return any(_has_char(item) for item in inner) or any(_has_char(item["type"]) for item in value.get("fields", ()))


def _text(value: Any, parsed: DataType) -> str:
    match parsed:
        case PrimitiveType():
            return str(value) if is_char_type(value) else _SQL_NAMES.get(parsed.name, type_name(parsed))
        case ArrayType():
            return f"array<{_text(value['elementType'], parsed.element_type)}>"
        case MapType():
            return f"map<{_text(value['keyType'], parsed.key_type)},{_text(value['valueType'], parsed.value_type)}>"
        case StructType():
            pairs = zip(value["fields"], parsed.fields, strict=True)
            fields = [f"{field.name}:{_text(item['type'], field.type)}" for item, field in pairs]
            return f"struct<{','.join(fields)}>"
