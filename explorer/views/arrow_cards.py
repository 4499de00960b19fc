"""An Arrow table in short: its first rows as people read them, every column with its type, every number with its unit.

Invariants: the columns of this program's own tables (files, history) have the units that their documentation states;
of any other table only the types are known, and nothing else is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from explorer import formatting as fmt
from explorer.core.protocol.times import from_milliseconds
from explorer.views.card import Card, Rows

__all__ = ["arrow_card"]

_ROWS: Final = 8
_COLUMNS: Final = 12
_OURS: Final = (
    frozenset({"path", "size", "modification_time"}),
    frozenset({"version", "timestamp", "operation", "num_files_added"}),
)
_BYTES: Final = frozenset({"size", "num_bytes", "bytes_added", "bytes_removed", "size_in_bytes", "dv_size_in_bytes"})
_TIMES: Final = frozenset({"modification_time", "deletion_time"})


def arrow_card(table: pa.Table) -> Card:
    """Return the first rows of a table, with how many rows and columns there are."""
    ours = any(names <= set(table.column_names) for names in _OURS)
    fields = list(table.schema)[:_COLUMNS]
    units = {field.name: _unit(field, ours=ours) for field in fields}
    shown = table.select([field.name for field in fields]) if _unlike(table) else table
    cells = tuple(
        tuple(_text(value, units[field.name]) for field, value in zip(fields, row, strict=False))
        for row in _first_rows(shown)
    )
    rows = Rows(tuple(_heading(field, units) for field in fields), cells, max(table.num_rows - _ROWS, 0))
    more = table.num_columns - len(fields)
    title = f"{fmt.plural(table.num_rows, 'row')}, {fmt.plural(table.num_columns, 'column')}"
    return Card(title, (("not shown", fmt.plural(more, "column")),) if more else (), rows)


def _unlike(table: pa.Table) -> bool:
    """Return whether no two columns have the same name, so that they can be chosen by it."""
    names: list[str] = table.column_names
    return len(set(names)) == len(names)


def _first_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [column.slice(0, _ROWS).to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def _heading(field: pa.Field, units: Mapping[str, str]) -> str:
    return f"{field.name} ({units[field.name] or fmt.shorten(str(field.type), 40)})"


def _unit(field: pa.Field, *, ours: bool) -> str:
    """Return the unit of the values, if known."""
    if pa.types.is_timestamp(field.type):
        return "UTC" if field.type.tz in ("UTC", "+00:00") else field.type.tz or "no time zone"
    if not ours:
        return ""
    if field.name in _TIMES:
        return "UTC"
    return "bytes" if field.name in _BYTES else ""


def _text(value: Any, unit: str) -> str:
    match value:
        case None:
            return fmt.value_text(None)
        case int() if unit == "bytes":
            return fmt.size(value)
        case int() if unit == "UTC":
            return fmt.moment(from_milliseconds(value))
        case bool() | float():
            return fmt.value_text(value)
        case int():
            return f"{value:,}"
        case _:
            return fmt.shorten(fmt.value_text(value), 80)
