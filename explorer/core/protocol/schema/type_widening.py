"""Type changes recorded in a schema, and those that a reader can apply.

Protocol section: Type Widening. Invariants: every recorded change is checked before the table is read (TYPEWIDEN-002);
only changes that lose no value are supported (TYPEWIDEN-003).
"""

from __future__ import annotations

from typing import Final

import msgspec

from explorer.core.errors import CorruptTable, UnsupportedFeature
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.schema.data_types import (
    DataType,
    InvalidType,
    PrimitiveType,
    StructField,
    StructType,
    format_column,
    parse_type,
    type_name,
)
from explorer.core.protocol.schema.field_metadata import TYPE_CHANGES
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_features import missing_features

_WIDTHS: Final = {"byte": 1, "short": 2, "integer": 4, "long": 8}
_DIGITS: Final = {"byte": 3, "short": 5, "integer": 10, "long": 20}
"""Digits before the point that a decimal must have for every value of an integer type.

The protocol requires ten from bytes and shorts too; the reference implementation writes these changes with fewer.
"""
_FEWEST_DIGITS: Final = 10


class _TypeChange(msgspec.Struct, frozen=True, rename="camel"):
    """One change as the metadata of a field records it (section Type Change Metadata)."""

    from_type: JsonValue
    to_type: JsonValue


def check_type_changes(schema: StructType, protocol: Protocol) -> None:
    """Check the changes that the schema's fields record; without the feature they have no effect.

    Raises:
        UnsupportedFeature: A change is not one that readers can apply.
        CorruptTable: A record of a change cannot be read.
    """
    if missing_features(["typeWidening"], protocol):
        return
    for path, field in walk(schema):
        for before, after in _changes(field, format_column(path)):
            if not widens(before, after):
                change = f"{type_name(before)} to {type_name(after)}"
                raise UnsupportedFeature(
                    f"Column {format_column(path)} was changed from {change}, a change that readers cannot apply "
                    "to older files. Rewrite the files with the table's own engine.",
                    features=[f"type change {change}"],
                    operation="read",
                    column=format_column(path),
                )


def recorded_changes(field: StructField) -> list[JsonValue]:
    """Return the changes that the field's metadata records, decoded but not checked; none where it has no list."""
    recorded = field.metadata.get(TYPE_CHANGES)
    return recorded if isinstance(recorded, list) else []


def unlisted_changes(field: StructField) -> list[str]:
    """Return the recorded changes of a field that lose no value but are not in the protocol's list, as text."""
    changes = []
    for change in recorded_changes(field):
        match change:
            case {"fromType": "byte" | "short" as before, "toType": str() as after} if _is_narrow(parse_type(after)):
                changes.append(f"{before} to {after}")
    return changes


def _is_narrow(kind: DataType) -> bool:
    """Return whether a type is a decimal with fewer digits before the point than the protocol requires."""
    match kind:
        case PrimitiveType(name="decimal", precision=precision, scale=scale):
            return precision - scale < _FEWEST_DIGITS
        case _:
            return False


def widens(before: DataType, after: DataType) -> bool:
    """Return whether every value of one type is a value of the other, by the protocol's list of changes."""
    if not isinstance(before, PrimitiveType) or not isinstance(after, PrimitiveType):
        return False
    if before == after:
        return True
    match before.name, after.name:
        case (("byte" | "short" | "integer" | "long"), ("short" | "integer" | "long")):
            return _WIDTHS[before.name] < _WIDTHS[after.name]
        case (("byte" | "short" | "integer" | "float"), "double"):
            return True
        case "date", "timestamp_ntz":
            return True
        case "decimal", "decimal":
            return before.scale <= after.scale and before.precision - before.scale <= after.precision - after.scale
        case (("byte" | "short" | "integer" | "long"), "decimal"):
            return after.precision - after.scale >= _DIGITS[before.name]
    return False


def _changes(field: StructField, column: str) -> list[tuple[DataType, DataType]]:
    try:
        recorded = msgspec.convert(field.metadata.get(TYPE_CHANGES, []), list[_TypeChange])
        return [(parse_type(change.from_type), parse_type(change.to_type)) for change in recorded]
    except (msgspec.ValidationError, InvalidType, UnsupportedFeature) as error:
        raise CorruptTable(
            f"The {TYPE_CHANGES} of column {column} cannot be read ({error}), so the types of its older files are not "
            "known. The metaData action that set it is damaged.",
            column=column,
        ) from error
