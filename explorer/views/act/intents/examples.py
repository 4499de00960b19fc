"""Conditions as examples in empty fields: with a column that the table has, and a constant of its type."""

from __future__ import annotations

from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, format_column
from explorer.core.versions.snapshot import Snapshot

_NUMBERS: Final = frozenset({"byte", "short", "integer", "long", "float", "double"})
_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_LONGEST: Final = 60


def example_bound(snapshot: Snapshot, prefix: str = "") -> str:
    """Return a condition that bounds a column: ``amount > 0``, ``day >= '2026-01-01'``.

    Args:
        snapshot: The table.
        prefix: What comes before the column's name, such as ``source.``.
    """
    field = _preferred(snapshot, ("number", "time"))
    return "TRUE" if field is None else _condition(field, prefix, equals=False)


def example_match(snapshot: Snapshot) -> str:
    """Return a condition that picks some rows by the first column: ``customer_id = 417``, ``name = 'Ada'``."""
    field = next(iter(snapshot.schema.fields), None)
    return "TRUE" if field is None else _condition(field, "", equals=True)


def example_name(snapshot: Snapshot) -> str:
    """Return a name for a constraint on the column of `example_bound`."""
    field = _preferred(snapshot, ("number", "time"))
    plain = field is not None and field.name.isidentifier() and _kind(field) == "number"
    return f"positive_{field.name}"[:_LONGEST] if field is not None and plain else "rule_1"


def _preferred(snapshot: Snapshot, kinds: tuple[str, ...]) -> StructField | None:
    """Return the last column of the first of these kinds that there is, as keys come first; else the first column."""
    fields = snapshot.schema.fields
    for kind in kinds:
        of_kind = [field for field in fields if _kind(field) == kind]
        if of_kind:
            return of_kind[-1]
    return fields[0] if fields else None


def _kind(field: StructField) -> str:
    name = field.type.name if isinstance(field.type, PrimitiveType) else ""
    if name in _NUMBERS or name.startswith("decimal"):
        return "number"
    return "time" if name in _TIMES else "text" if name == "string" else ""


def _condition(field: StructField, prefix: str, *, equals: bool) -> str:
    column = prefix + fmt.plain(format_column((field.name,)), _LONGEST)
    match _kind(field):
        case "number":
            return f"{column} = 417" if equals else f"{column} > 0"
        case "time":
            return f"{column} >= '2026-01-01'"
        case "text" if equals:
            return f"{column} = 'a value'"
        case _:
            return f"{column} IS NOT NULL"
