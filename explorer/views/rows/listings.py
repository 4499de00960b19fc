"""Rows as lists: those of a version with their places, and those that changed, with the kind of change.

Marks are in columns whose names no column of the table has.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.changed_rows.change_preview import CHANGE_COLUMNS
from explorer.core.protocol.arrow.python_dates import with_python_dates
from explorer.views.listing import Listing, ListingColumn

_MASKED = "~"
_CHANGES = {
    "insert": ("+", "added", "insert"),
    "delete": ("\u2212", "removed", "delete"),
    "update_preimage": ("\u0394", "changed", "update, before"),
    "update_postimage": ("\u0394", "changed", "update, after"),
}


def rows_listing(name: str, rows: pa.Table, places: pa.Table) -> Listing:
    """Return rows as a list, each with its file and its place in it.

    Args:
        name: Name of the list.
        rows: The table's columns.
        places: A row for each: path, row, masked.
    """
    rows = _in_python(rows)
    sign, tone, file, row = _free(rows, "mark", "tone", "file", "row")
    masked = places.column("masked")
    marks = {
        sign: pc.if_else(masked, _MASKED, ""),
        tone: pc.if_else(masked, "remasked", ""),
        file: places.column("path"),
        row: places.column("row"),
    }
    columns = [*_columns(rows), ListingColumn(file, "file", "name"), ListingColumn(row, "row", "number")]
    if pc.any(masked).as_py():
        columns.insert(0, ListingColumn(sign, "", "sign", tone=tone))
    return Listing(name, tuple(columns), _joined(rows, marks), _searched(rows), page_size=max(1, rows.num_rows))


def changes_listing(name: str, rows: pa.Table) -> Listing:
    """Return changes as a list: the sign of each, its version and time, then the table's columns.

    Args:
        name: Name of the list.
        rows: The table's columns, then those of the change feed.
    """
    own = _in_python(rows.select(rows.column_names[: -len(CHANGE_COLUMNS)]))
    kinds, versions, times = rows.columns[-len(CHANGE_COLUMNS) :]
    sign, tone, change, version, time = _free(own, "sign", "tone", "change", "version", "time")
    words = [_CHANGES.get(kind, ("", "", kind)) for kind in kinds.to_pylist()]
    marks = {
        sign: pa.array([word[0] for word in words], pa.string()),
        tone: pa.array([word[1] for word in words], pa.string()),
        change: pa.array([word[2] for word in words], pa.string()),
        version: versions,
        time: times,
    }
    columns = (
        ListingColumn(sign, "", "sign", tone=tone),
        ListingColumn(change, "change", "text"),
        ListingColumn(version, "version", "version"),
        *_columns(own),
        ListingColumn(time, "committed", "time"),
    )
    return Listing(name, columns, _joined(own, marks), (change, *_searched(own)))


def _in_python(rows: pa.Table) -> pa.Table:
    """Return the rows with dates and times as texts where Python has no such date."""
    columns = [with_python_dates(column) for column in rows.columns]
    return pa.Table.from_arrays(columns, names=rows.column_names)


def _free(rows: pa.Table, *names: str) -> list[str]:
    """Return the names, with underscores in front where the table has a column of one."""
    taken = set(rows.column_names)
    free = []
    for name in names:
        while name in taken:
            name = f"_{name}"  # noqa: PLW2901  # it grows until it is free
        free.append(name)
    return free


def _joined(rows: pa.Table, marks: dict[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    for name, column in marks.items():
        rows = rows.append_column(name, column)
    return rows


def _columns(rows: pa.Table) -> list[ListingColumn]:
    return [
        ListingColumn(name, fmt.plain(name, 120), _kind(kind), "null")
        for name, kind in zip(rows.schema.names, rows.schema.types, strict=True)
    ]


def _kind(kind: pa.DataType) -> str:
    if _is_opaque(kind):
        return "mono"
    return "amount" if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) else "text"


def _searched(rows: pa.Table) -> tuple[str, ...]:
    return tuple(name for name, kind in zip(rows.schema.names, rows.schema.types, strict=True) if not _is_opaque(kind))


def _is_opaque(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind))
