"""How an address names a row: by the values of its key columns, by its ID, or by its place in a file; and its key.

Invariants: a text that names no row is refused with an example; the columns of a key are the person's choice, and
otherwise a stated one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from explorer.core.errors import RequestError
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType, format_column, type_name
from explorer.core.protocol.schema.edit import first_names
from explorer.core.protocol.schema.field_metadata import IDENTITY_PREFIX
from explorer.core.protocol.sql.constants import constant_text

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot

_EXAMPLE: Final = '{"id": 7}, or 7 for a row ID, or ["part-1.parquet", 0] for a place in a file'
_KEY_TYPES: Final = ("string", "long", "integer", "short", "byte", "decimal")
_LOOKED_AT: Final = 40
_PLACES: Final = 1 << 62
# The statistics of more files take too long to look at while rows are drawn.
_MOST_FILES: Final = 1_000
_INTEGERS: Final = ("long", "integer", "short", "byte")


@dataclass(frozen=True, slots=True)
class RowPlace:
    """The place of a row: the decoded path of its file, and its number there, from 0."""

    path: str
    row: int


RowReference: TypeAlias = Mapping[str, Any] | int | RowPlace
"""Key columns with their values as JSON has them, the ID of a row, or its place."""


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """The columns by which rows are followed.

    Attributes:
        columns: Their names; empty where none can be a key.
        why: Why these, for people.
    """

    columns: tuple[str, ...]
    why: str


def parsed_row(text: str) -> RowReference:
    """Read how an address names a row.

    Raises:
        RequestError: It names none.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    match value:
        case dict() if value:
            return value
        case int() if not isinstance(value, bool):
            return value
        case [str(path), int(row)] if 0 <= row < _PLACES and not isinstance(row, bool):
            return RowPlace(path, row)
    raise RequestError(f"row={text[:80]} names no row. It can be, for example, {_EXAMPLE}.", field="row")


def row_text(key: Mapping[str, Any]) -> str:
    """Return the text by which an address names a row by values, as PyArrow gives them."""
    return json.dumps({name: _plain(value) for name, value in key.items()}, ensure_ascii=False, separators=(",", ":"))


def place_text(path: str, row: int) -> str:
    """Return the text by which an address names a row by its place."""
    return json.dumps([path, row], ensure_ascii=False, separators=(",", ":"))


def typed_key(snapshot: Snapshot, key: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a key in the types of a version's columns.

    Args:
        snapshot: The version whose columns they are.
        key: Values as JSON has them.

    Raises:
        RequestError: There is no such column, or its values cannot be such a value.
    """
    return {name: typed_value(_field(snapshot, name), value) for name, value in key.items()}


def typed_value(field: StructField, value: Any) -> Any:
    """Return a value of JSON, or one that was typed as text, in the type of a column.

    Raises:
        RequestError: The column cannot hold it.
    """
    kind = field.type.name if isinstance(field.type, PrimitiveType) else ""
    try:
        return None if value is None else _of_kind(kind, value)
    except (ValueError, TypeError, InvalidOperation) as error:
        raise RequestError(
            f"{str(value)[:80]!r} is not a value of the column {field.name!r}, which is {type_name(field.type)}.",
            column=field.name,
            field="row",
        ) from error


def key_choice(snapshot: Snapshot, chosen: Sequence[str]) -> KeyChoice:
    """Return the key columns of a version: those that were chosen, or else the first that may be unique.

    Raises:
        RequestError: A column that was chosen does not exist, or is named twice.
    """
    if chosen:
        for place, name in enumerate(chosen):
            _field(snapshot, name)
            if name in chosen[:place]:
                raise RequestError(f"The key column {name!r} is named twice.", field="rk")
        return KeyChoice(tuple(chosen), "chosen by you")
    fields = snapshot.schema.fields
    identity = tuple(field.name for field in fields if any(key.startswith(IDENTITY_PREFIX) for key in field.metadata))
    if identity:
        return KeyChoice(identity[:1], "an identity column")
    for field in fields[:_LOOKED_AT]:
        if isinstance(field.type, PrimitiveType) and field.type.name in _KEY_TYPES and _may_be_unique(snapshot, field):
            return KeyChoice((field.name,), "the first column that can be a key by type and statistics")
    return KeyChoice((), "no column can be a key by type and statistics")


def condition_of(key: Mapping[str, Any], schema: StructType) -> str:
    """Return SQL that is true for the rows of a key; empty where a value has no constant.

    Args:
        key: Values as PyArrow gives them.
        schema: Has the columns of the key.
    """
    parts = []
    for name, value in key.items():
        field, column = schema.field(name), format_column((name,))
        if value is None:
            parts.append(f"{column} IS NULL")
            continue
        primitive = None if field is None or not isinstance(field.type, PrimitiveType) else field.type
        constant = None if primitive is None else constant_text(value, primitive)
        if constant is None:
            return ""
        parts.append(f"{column} = {constant}")
    return " AND ".join(parts)


def _field(snapshot: Snapshot, name: str) -> StructField:
    field = snapshot.schema.field(name)
    if field is None:
        names = first_names(each.name for each in snapshot.schema.fields)
        raise RequestError(
            f"There is no column {name!r} at version {snapshot.version}. Columns: {names}.", column=name, field="rk"
        )
    return field


def _may_be_unique(snapshot: Snapshot, field: StructField) -> bool:
    """Whether statistics rule out that no value is there twice: no nulls, and no file of one value for several rows."""
    if field.name in snapshot.partition_columns:
        return False
    if snapshot.num_files > _MOST_FILES:
        return True
    try:
        ranges = snapshot.column_ranges(format_column((field.name,)))
    except RequestError:
        return True
    facts = zip(*(ranges.column(name).to_pylist() for name in ("min", "max", "null_count", "num_records")), strict=True)
    return not any(nulls or (low is not None and low == high and (rows or 0) > 1) for low, high, nulls, rows in facts)


def _of_kind(kind: str, value: Any) -> Any:
    text = value if isinstance(value, str) else None
    match kind:
        case "string" if text is not None:
            return text
        case "boolean":
            return value if isinstance(value, bool) else _truth(str(value))
        case _ if kind in _INTEGERS and not isinstance(value, bool | float):
            return int(value)
        case "decimal" if not isinstance(value, bool):
            return Decimal(str(value))
        case "float" | "double" if not isinstance(value, bool):
            return float(value)
        case "date" if text is not None:
            return date.fromisoformat(text)
        case "timestamp" | "timestamp_ntz" if text is not None:
            return datetime.fromisoformat(text)
        case "binary" if text is not None:
            return bytes.fromhex(text.removeprefix("0x"))
    raise ValueError


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if value == value and abs(value) != float("inf") else str(value)  # noqa: PLR0124  # not NaN
        case date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case _:
            return str(value)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError
    return text.lower() == "true"
