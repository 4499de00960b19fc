"""CHAR and VARCHAR: strings with a length, which is in the metadata of the field.

Protocol section: Schema Serialization Format (field metadata ``__CHAR_VARCHAR_TYPE_STRING``, SCHEMA-021). Invariants:
in the schema the type is ``string``; a length only grows, or is removed. The text is that of the full type of a
column, so it also contains types inside arrays, maps and structs. Engines read each CHAR value padded with spaces to
its length, whatever the file has, and compare it so; a VARCHAR value is read and compared as it is stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    parse_type,
    type_name,
)
from explorer.core.protocol.schema.field_metadata import CHAR_VARCHAR

Step: TypeAlias = tuple[str, str]
"""A step into a value: ``("field", name)``, ``("element", "")``, ``("key", "")`` or ``("value", "")``."""
TextLength: TypeAlias = tuple[tuple[Step, ...], int]
"""The steps to a text inside a value, and its maximum number of characters."""

_CHAR: Final = re.compile(r"(char|varchar)\((\d+)\)\Z")
_OPENS: Final = re.compile(r"\s*(array|map|struct)\s*<", re.IGNORECASE)
_CLOSES: Final = re.compile(r"\s*>")
_COMMA: Final = re.compile(r"\s*,")
# Blanks belong to one part alone: with several, the time would grow with the third power of their number.
_FIELD: Final = re.compile(r"\s*+(?:`((?:[^`]|``)*)`|([^\s`:<>,](?:[^`:<>,]*[^\s`:<>,])?))\s*+:")
_MARKS: Final = re.compile(r"`(?:[^`]|``)*`|[<>(),]")
_ANY_CHAR: Final = re.compile(r"\b(?:char|character|varchar)\s*\(", re.IGNORECASE)
_WORDS: Final = {"char": True, "character": True, "varchar": False}
"""The words for a string with a length, and whether its values are padded."""
_LONGEST: Final = 1 << 20
"""The most characters to which a value is padded; no engine writes longer CHAR columns."""
_PLAIN: Final = re.compile(r"\s*([^\s<>,()]+(?:\s+[^\s<>,()]+)*)\s*(?:\(([^()]*)\))?")
_SQL_NAMES: Final = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def is_char_type(text: object) -> bool:
    """Return whether a text is ``char(n)`` or ``varchar(n)``."""
    return isinstance(text, str) and _CHAR.match(text) is not None


def char_type_text(value: JsonValue) -> str | None:
    """Return the text in a field's metadata for its type; None if no CHAR or VARCHAR is in it.

    Args:
        value: A type as decoded JSON, one that `explorer.core.protocol.schema.data_types.parse_type` accepts.
    """
    return _text(value) if _has_char(value) else None


def marked(schema: StructType, text: str) -> StructType:
    """Return the schema with its CHAR and VARCHAR types in the metadata of the columns, where the schema has them.

    Args:
        schema: As `explorer.core.protocol.schema.data_types.parse_schema` reads it: as strings.
        text: Its ``schemaString``.
    """
    if _ANY_CHAR.search(text) is None:
        return schema
    spelt = {field["name"]: char_type_text(field["type"]) for field in json.loads(text)["fields"]}
    return StructType(tuple(_marked(field, spelt.get(field.name)) for field in schema.fields))


def _marked(field: StructField, text: str | None) -> StructField:
    if text is None or CHAR_VARCHAR in field.metadata:
        return field
    return StructField(field.name, field.type, field.nullable, {**field.metadata, CHAR_VARCHAR: text})


def lengthens(before: str, after: str) -> bool:
    """Return whether a column may go from one CHAR or VARCHAR to another, or to ``string``, whatever its values."""
    old, new = _CHAR.match(before), _CHAR.match(after)
    if old is None:
        return False
    if new is None:
        return after == "string"
    return int(new[2]) >= int(old[2]) and new[1] == "varchar"


def text_lengths(text: str, kind: DataType) -> tuple[TextLength, ...]:
    """Return how long the texts of a value may be, by the text in a field's metadata for its type.

    Args:
        text: The full type as SQL, in any case: ``struct<code:char(2),names:array<varchar(10)>>``.
        kind: The type in the schema, where each of these is a string. A field of a struct is matched by name;
            where one was renamed since and none added or dropped, by position.

    Raises:
        ValueError: The text cannot be read, or is of another type than the schema's.
    """
    return tuple((steps, length) for steps, length, _ in _read(text, kind))


def padded_lengths(field: StructField) -> tuple[TextLength, ...]:
    """Return the number of characters to which the CHAR values of a column are padded by readers.

    There are none for a column whose length text cannot be read, or whose values would fill the memory: these are
    read as they are stored.

    Args:
        field: A column of the top level: engines pad no others.
    """
    text = field.metadata.get(CHAR_VARCHAR)
    if not isinstance(text, str):
        return ()
    try:
        lengths = _read(text, field.type)
        return tuple((steps, length) for steps, length, padded in lengths if padded and length <= _LONGEST)
    except ValueError:
        return ()


def is_padded(schema: StructType, path: Sequence[str]) -> bool:
    """Return whether the values of a column or of a nested field are CHAR values."""
    field = next((field for field in schema.fields if field.name == path[0]), None)
    steps = tuple(("field", name) for name in path[1:])
    return field is not None and any(padded == steps for padded, _ in padded_lengths(field))


_Text: TypeAlias = tuple[tuple[Step, ...], int, bool]
"""A text inside a value: the steps to it, its length, and whether it is padded to it."""


def _read(text: str, kind: DataType) -> list[_Text]:
    lengths, end = _Lengths(text).read(kind, 0)
    if text[end:].strip():
        raise ValueError(f"{text[end:].strip()!r} follows the type")
    return lengths


class _Lengths:
    """Reads the text of a type along with the type, from an offset on: the lengths inside, and the offset after it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self, kind: DataType, place: int) -> tuple[list[_Text], int]:
        """Return the lengths of the type at an offset, and where it ends."""
        if (opened := _OPENS.match(self._text, place)) is None:
            return self._plain(kind, place)
        match kind, opened[1].lower():
            case ArrayType(), "array":
                return self._parts([("element", kind.element_type)], opened.end())
            case MapType(), "map":
                return self._parts([("key", kind.key_type), ("value", kind.value_type)], opened.end())
            case StructType(), "struct":
                return self._struct(kind, opened.end())
        raise ValueError(f"{self._text[place:].strip()!r} is another type in the schema")

    def _plain(self, kind: DataType, place: int) -> tuple[list[_Text], int]:
        if (word := _PLAIN.match(self._text, place)) is None:
            raise ValueError(f"{self._text[place:].strip()!r} is not a type")
        if word[1].lower() not in _WORDS:
            return [], word.end()
        if word[2] is None or not word[2].strip().isdecimal():
            raise ValueError(f"{word[0].strip()!r} has no length")
        if type_name(kind) != "string":
            raise ValueError(f"{word[0].strip()!r} is another type in the schema")
        return [((), int(word[2]), _WORDS[word[1].lower()])], word.end()

    def _parts(self, parts: Sequence[tuple[str, DataType]], place: int) -> tuple[list[_Text], int]:
        lengths = list[_Text]()
        for number, (step, kind) in enumerate(parts):
            inside, place = self.read(kind, self._after(_COMMA, place) if number else place)
            lengths += _stepped((step, ""), inside)
        return lengths, self._after(_CLOSES, place)

    def _struct(self, kind: StructType, place: int) -> tuple[list[_Text], int]:
        lengths, end, spelt = list[_Text](), place, list(self._fields(place))
        by_name = {field.name.lower(): field for field in kind.fields}
        known = [by_name.get(name.lower()) for name, _ in spelt]
        if None in known and len(spelt) == len(kind.fields):
            known = list(kind.fields)
        for field, (name, start) in zip(known, spelt, strict=True):
            if field is not None:
                inside, end = self.read(field.type, start)
                lengths += _stepped(("field", field.name), inside)
            elif _ANY_CHAR.search(self._text, start, end := self._end(start)):
                raise ValueError(f"the schema has no field {name!r}")
        return lengths, self._after(_CLOSES, end)

    def _fields(self, place: int) -> Iterator[tuple[str, int]]:
        """Yield the name of each field of a struct, and where its type begins."""
        while _CLOSES.match(self._text, place) is None:
            if (named := _FIELD.match(self._text, place)) is None:
                raise ValueError(f"{self._text[place:].strip()!r} is not a field")
            yield (named[2] if named[1] is None else named[1].replace("``", "`")), named.end()
            place = self._end(named.end())
            place = place if self._text[place] == ">" else place + 1

    def _end(self, place: int) -> int:
        """Return where the type at an offset ends, whatever it is: at the comma or the bracket after it."""
        depth = 0
        for mark in _MARKS.finditer(self._text, place):
            if not depth and mark[0] in ",>":
                return mark.start()
            depth += (mark[0] in "<(") - (mark[0] in ">)")
        raise ValueError("a struct is not closed")

    def _after(self, expected: re.Pattern[str], place: int) -> int:
        if (match := expected.match(self._text, place)) is None:
            raise ValueError(f"{self._text[place:].strip()!r} does not continue a type")
        return match.end()


def _stepped(step: Step, texts: list[_Text]) -> Iterator[_Text]:
    return (((step, *steps), length, padded) for steps, length, padded in texts)


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
