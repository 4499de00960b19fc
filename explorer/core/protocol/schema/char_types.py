"""CHAR and VARCHAR: strings with a length, which the metadata of the field records beside the type.

Protocol section: Schema Serialization Format (field metadata ``__CHAR_VARCHAR_TYPE_STRING``, SCHEMA-021). Invariants:
in the schema the type is ``string``; a length only grows, or is removed.
"""

from __future__ import annotations

import re
from typing import Final

from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.schema.data_types import parse_type, type_name

__all__ = ["char_type_text", "is_char_type", "lengthens"]

_CHAR: Final = re.compile(r"(char|varchar)\((\d+)\)\Z")
_SQL_NAMES: Final = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def is_char_type(text: object) -> bool:
    """True for ``char(n)`` and ``varchar(n)``."""
    return isinstance(text, str) and _CHAR.match(text) is not None


def char_type_text(value: JsonValue) -> str | None:
    """The text in a field's metadata for its type; None if no CHAR or VARCHAR is in it.

    Args:
        value: A type as decoded JSON, one that `explorer.core.protocol.schema.data_types.parse_type` takes.
    """
    return _text(value) if _has_char(value) else None


def lengthens(before: str, after: str) -> bool:
    """True if a column may go from one CHAR or VARCHAR to another, or to ``string``, whatever its values."""
    old, new = _CHAR.match(before), _CHAR.match(after)
    if old is None:
        return False
    if new is None:
        return after == "string"
    return int(new[2]) >= int(old[2]) and new[1] == "varchar"


def _has_char(value: JsonValue) -> bool:
    match value:
        case {"elementType": element}:
            return _has_char(element)
        case {"keyType": key, "valueType": item}:
            return _has_char(key) or _has_char(item)
        case {"fields": [*fields]}:
            return any(_has_char(field["type"]) for field in fields if isinstance(field, dict))
        case _:
            return is_char_type(value)


def _text(value: JsonValue) -> str:
    match value:
        case {"elementType": element}:
            return f"array<{_text(element)}>"
        case {"keyType": key, "valueType": item}:
            return f"map<{_text(key)},{_text(item)}>"
        case {"fields": [*fields]}:
            members = [f"{field['name']}:{_text(field['type'])}" for field in fields if isinstance(field, dict)]
            return f"struct<{','.join(members)}>"
        case _ if is_char_type(value):
            return str(value)
        case _:
            name = type_name(parse_type(value))
            return _SQL_NAMES.get(name, name)
