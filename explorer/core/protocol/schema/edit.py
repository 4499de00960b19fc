"""Editing a schema: find, replace, insert, move or remove a column at any depth.

Protocol sections: Schema Serialization Format, Column Mapping. Invariants: a schema is never changed in place; nested
paths go through ``element``, ``key`` and ``value`` (CM-014); names match in any case and are written in the schema's
own spelling (SCHEMA-010); columns that an edit does not name stay unchanged, unknown field metadata too (META-009).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice
from typing import Final

import msgspec

from explorer.core.errors import ExplorerError, InvalidIntent
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    format_column,
    parse_column,
    parse_schema,
)
from explorer.core.protocol.schema.field_metadata import IDENTITY_HIGH_WATER_MARK, IDENTITY_PREFIX
from explorer.core.protocol.schema.nested_types import Path, walk, with_parts

_AFTER: Final = re.compile(r"after\s+(.+)\Z", re.IGNORECASE | re.DOTALL)
_POSITIONS: Final = ("first", "last", "after NAME", "a position from 0")


class Column(msgspec.Struct, frozen=True):
    """The column at a path.

    Attributes:
        path: The path in the schema's spelling.
        type: The type there.
        nullable: Whether it may be null.
        field: The struct field; None for the element of an array, and the key or value of a map.
        owner: Path of the struct field that is, or contains, this type.
    """

    path: Path
    type: DataType
    nullable: bool
    field: StructField | None
    owner: Path

    @property
    def name(self) -> str:
        """The dotted name."""
        return format_column(self.path)


def column_path(text: str, field: str = "column") -> Path:
    """Split a dotted column of an intent into its parts.

    Raises:
        InvalidIntent: It is not a column.
    """
    try:
        return parse_column(text)
    except ValueError as error:
        raise InvalidIntent(
            f"{text!r} is not a column: write a dotted path, with parts in backticks where they contain dots.",
            field=field,
        ) from error


def find_column(schema: StructType, column: str | Path, field: str = "column") -> Column:
    """Return a column by its dotted name or its path.

    Raises:
        InvalidIntent: There is none; ``allowed`` lists the nearest ones.
    """
    wanted = column_path(column, field) if isinstance(column, str) else column
    column_there = Column((), schema, False, None, ())
    for part in wanted:
        step = _step(column_there, part)
        if step is None:
            raise _unknown(schema, wanted, field)
        column_there = step
    return column_there


def struct_field(schema: StructType, column: str) -> tuple[Column, StructField]:
    """Return a column that is a field of a struct.

    Raises:
        InvalidIntent: There is none, or it is the element of an array, or the key or value of a map.
    """
    place = find_column(schema, column)
    if place.field is None:
        raise InvalidIntent(
            f"{place.name} is inside an array or a map, so it is not a column of its own: only fields of a struct can "
            "be changed in this way.",
            field="column",
        )
    return place, place.field


def children(schema: StructType, parent: Path, field: str = "column") -> tuple[StructField, ...]:
    """Return the fields of the struct at a path, of the schema itself at the empty one.

    Raises:
        InvalidIntent: There is no struct.
    """
    kind = find_column(schema, parent, field).type
    if not isinstance(kind, StructType):
        raise InvalidIntent(
            f"{format_column(parent)} is not a struct, so it has no columns inside. Inside an array, name the part "
            "element; inside a map, key or value.",
            field=field,
        )
    return kind.fields


def edit_fields(
    schema: StructType, parent: Path, change: Callable[[tuple[StructField, ...]], Sequence[StructField]]
) -> StructType:
    """Change the fields of the struct at a path, which must be in the schema's spelling and lead to a struct."""

    def changed(kind: DataType) -> DataType:
        assert isinstance(kind, StructType)
        return StructType(tuple(change(kind.fields)))

    return _struct(_edited(schema, parent, changed))


def replace_field(schema: StructType, path: Path, change: Callable[[StructField], StructField]) -> StructType:
    """Change the field at a path in the schema's spelling."""
    name = path[-1]
    return edit_fields(
        schema, path[:-1], lambda fields: [change(field) if field.name == name else field for field in fields]
    )


def replace_type(schema: StructType, path: Path, kind: DataType) -> StructType:
    """Put another type at a path in the schema's spelling: that of a field, an element, a key or a value."""
    return _struct(_edited(schema, path, lambda _: kind))


def position(at: str | int | None, names: Sequence[str]) -> int:
    """Return the index of a position among siblings.

    Args:
        at: ``first``, ``last``, ``after NAME`` or an index from 0; None is last.
        names: The siblings in their order.

    Raises:
        InvalidIntent: It is none of these, or there is no such sibling.
    """
    if isinstance(at, bool):
        raise _no_position(at, names)
    if at is None or isinstance(at, int):
        index = len(names) if at is None else at
        if not 0 <= index <= len(names):
            raise _no_position(at, names)
        return index
    text = at.strip()
    if text.lower() in ("first", "last"):
        return 0 if text.lower() == "first" else len(names)
    after = _AFTER.match(text)
    index = -1 if after is None else _index(after[1], names)
    if index < 0:
        raise _no_position(at, names)
    return index + 1


def position_text(index: int, names: Sequence[str]) -> str:
    """Return a position as the reference writes it into ``operationParameters``."""
    return f"AFTER {names[index - 1]}" if index else "FIRST"


def with_schema(metadata: Metadata, schema: StructType) -> Metadata:
    """Return the metadata with another schema; the rest of it stays (META-009)."""
    return msgspec.structs.replace(metadata, schema_string=schema.to_json())


def schema_without_marks(text: str | None) -> str | None:
    """Return a schema's text without identity marks, which writing rows moves; an unreadable one stays as it is."""
    if text is None or IDENTITY_PREFIX not in text:
        return text
    try:
        schema = parse_schema(text)
    except ExplorerError:
        return text
    fields = []
    for field in schema.fields:
        metadata = {key: value for key, value in field.metadata.items() if key != IDENTITY_HIGH_WATER_MARK}
        fields.append(msgspec.structs.replace(field, metadata=metadata))
    return StructType(tuple(fields)).to_json()


def _step(here: Column, part: str) -> Column | None:
    match here.type:
        case StructType():
            field = here.type.field(part)
            if field is None:
                return None
            path = (*here.path, field.name)
            return Column(path, field.type, field.nullable, field, path)
        case ArrayType() if part.lower() == "element":
            return Column((*here.path, "element"), here.type.element_type, here.type.contains_null, None, here.owner)
        case MapType() if part.lower() == "key":
            return Column((*here.path, "key"), here.type.key_type, False, None, here.owner)
        case MapType() if part.lower() == "value":
            return Column((*here.path, "value"), here.type.value_type, here.type.value_contains_null, None, here.owner)
        case _:
            return None


def _edited(kind: DataType, path: Path, change: Callable[[DataType], DataType]) -> DataType:
    if not path:
        return change(kind)
    assert not isinstance(kind, PrimitiveType), f"{path[0]} cannot be inside {kind.name}"
    return with_parts(kind, lambda name, part: _edited(part, path[1:], change) if name == path[0] else part)


def _struct(kind: DataType) -> StructType:
    assert isinstance(kind, StructType)
    return kind


def _index(text: str, names: Sequence[str]) -> int:
    """Return the index of a name, plain or in backticks, an exact match first, else ignoring case; -1 if missing."""
    quoted = re.fullmatch(r"`((?:[^`]|``)*)`", text)
    wanted = text if text in names or quoted is None else quoted[1].replace("``", "`")
    if wanted in names:
        return list(names).index(wanted)
    return next((place for place, name in enumerate(names) if name.lower() == wanted.lower()), -1)


def _unknown(schema: StructType, wanted: Path, field: str) -> InvalidIntent:
    known = [format_column(path) for path, _ in walk(schema)]
    near = similar_names(format_column(wanted), known)
    hint = f" Did you mean {near[0]}?" if near else ""
    shown = first_names(format_column((field.name,)) for field in schema.fields)
    return InvalidIntent(
        f"There is no column {format_column(wanted)}.{hint} Columns: {shown}.",
        field=field,
        allowed=near or choices(known),
        nearest=near[0] if near else None,
    )


def _no_position(at: object, names: Sequence[str]) -> InvalidIntent:
    return InvalidIntent(
        f"{at!r} is not a position. Write one of {', '.join(_POSITIONS)}; the existing columns are: "
        f"{first_names(names) or 'none'}.",
        field="at",
        allowed=choices(["first", "last", *(f"after {name}" for name in names)]),
    )


_MOST_NAMED: Final = 40
_MOST_COMPARED: Final = 500


def first_names(names: Iterable[str]) -> str:
    """Return the first names, with commas, and the number of the others: ``a, b and 9,998 more``."""
    rest = iter(names)
    shown = ", ".join(islice(rest, _MOST_NAMED))
    more = sum(1 for _ in rest)
    return f"{shown} and {more:,} more" if more else shown


def choices(names: Iterable[str]) -> list[str] | None:
    """Return the names that a program can choose from; None where they are too many for an error."""
    first = list(islice(names, _MOST_NAMED + 1))
    return first if len(first) <= _MOST_NAMED else None


def similar_names(wanted: str, names: Sequence[str], most: int = 3) -> list[str]:
    """Return the names most like a mistyped one, the most similar first.

    Of many names, only those are compared whose beginning and end agree longest with it.
    """
    if len(names) > _MOST_COMPARED:
        names = nlargest(_MOST_COMPARED, names, key=lambda name: _agreement(wanted, name))
    return get_close_matches(wanted, names, most)


def _agreement(wanted: str, name: str) -> int:
    """Return how many letters agree at the beginning and at the end."""
    return _shared(wanted, name) + _shared(wanted[::-1], name[::-1])


def _shared(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
