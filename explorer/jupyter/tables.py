"""A page of a list as an HTML table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from explorer.credentials import safe_path
from explorer.jupyter.markup import empty_tag, joined, tag
from explorer.views.listing import Listing, ListingColumn, ListingPage

__all__ = ["Ticks", "listing_table"]

_LONG = 40
_TAIL = 22
_TONES = {"added": "added", "removed": "removed", "remasked": "re-masked", "changed": "changed"}


@dataclass(frozen=True, slots=True)
class Ticks:
    """A box in front of each file: the name of the list, and the paths of the selected files."""

    name: str
    selected: frozenset[str]


def listing_table(listing: Listing, page: ListingPage, label: str, ticks: Ticks | None = None) -> Markup:
    """Return a page of a list as a table; a tooltip shows the whole of a value that does not fit.

    Args:
        listing: The list.
        page: Its page.
        label: What the table holds, for screen readers.
        ticks: Of a list of files, which are selected; None where nothing can be selected.
    """
    first = None if ticks is None else tag("th", scope="col", class_="dte-tick")
    head = tag("tr", first, *(tag("th", c.title, scope="col", class_=_class(c)) for c in listing.columns))
    body = joined(
        tag("tr", _tick(ticks, place, row), *(_cell(column, row) for column in listing.columns))
        for place, row in enumerate(page.rows)
    )
    name = None if ticks is None else ticks.name
    table = tag("table", tag("thead", head), tag("tbody", body), aria_label=label, data_list=name)
    return tag("div", table, class_="dte-list")


def _tick(ticks: Ticks | None, place: int, row: dict[str, Any]) -> Markup | None:
    if ticks is None:
        return None
    checked = "" if row["path"] in ticks.selected else None
    named = {"data_row": place, "aria_label": f"select {safe_path(row['path'])}"}
    return tag("td", empty_tag("input", type="checkbox", checked=checked, **named), class_="dte-tick")


def _cell(column: ListingColumn, row: dict[str, Any]) -> Markup:
    value = row[column.key]
    text = column.text(value)
    if value is None:
        return tag("td", text, class_=" ".join(filter(None, (_class(column), "dte-none"))))
    match column.kind:
        case "sign":
            tone = row[column.tone]
            return tag("td", text, class_=f"dte-{tone}" if tone in _TONES else None, title=_TONES.get(tone))
        case "path":
            return tag("td", _ends(column.end(value)), class_="dte-mono dte-path", title=column.whole(value))
        case "mono":
            return tag("td", text, class_="dte-mono", title=column.whole(value))
        case "name":
            return tag("td", text, class_="dte-mono dte-muted", title=value)
        case "text":
            return tag("td", text, title=column.whole(value) if len(text) > _LONG else None)
        case _:
            return tag("td", text, class_=_class(column))


def _ends(path: str) -> Markup:
    """A path that gives way in its middle where there is no room for it."""
    ends = tag("span", path[:-_TAIL]), tag("span", path[-_TAIL:])
    return tag("span", *ends, class_="dte-mid")


def _class(column: ListingColumn) -> str | None:
    return "dte-number" if column.numeric else None
