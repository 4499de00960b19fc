"""The list of tables: sorted, filtered, each with its health or the reason why it cannot be read."""

from __future__ import annotations

from typing import TypeAlias

from explorer.web.address import Address
from explorer.web.pages import Rendered, bar
from explorer.web.render import render_blocks
from explorer.web.served_tables import Catalog, TableSummary

__all__ = ["home_page"]

_HEALTH = ("danger", "warning", "info", "ok")
SortValue: TypeAlias = str | int | float | None


def home_page(catalog: Catalog, address: Address, summaries: list[TableSummary]) -> Rendered:
    """Return the list of tables."""
    key = address.sort.removeprefix("-") or "name"
    descending = address.sort.startswith("-")
    found = [row for row in summaries if address.find.casefold() in row.ref.name.casefold()]
    values = {
        "rows": _sorted(found, key, descending=descending),
        "total": len(summaries),
        "address": address,
        "sort": key,
        "descending": descending,
        "roots": catalog.roots.locations,
        "counts": {health: sum(row.health == health for row in summaries) for health in _HEALTH},
    }
    shown = {"bar": bar(address, "", may_commit=catalog.allow_commits), "notice": ""}
    return Rendered(shown | render_blocks("home", **values))


def _sorted(rows: list[TableSummary], key: str, *, descending: bool) -> list[TableSummary]:
    """The rows by a value; those without one come last in either order."""
    known = [(value, row) for row in rows if (value := _sort_value(row, key)) is not None]
    unknown = [row for row in rows if _sort_value(row, key) is None]
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [*(row for _, row in known), *unknown]


def _sort_value(row: TableSummary, key: str) -> SortValue:
    match key:
        case "health":
            return _HEALTH.index(row.health)
        case "operation":
            return row.operation or None
        case "version":
            return row.version
        case "timestamp":
            return None if row.timestamp is None else row.timestamp.timestamp()
        case "rows":
            return row.rows
        case "size":
            return row.size
        case _:
            return row.ref.name.casefold()
