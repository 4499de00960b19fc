"""The list of tables as HTML: sorted, filtered, a page at a time, each table with its worst finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from explorer import formatting as fmt
from explorer.page.address import STATUSES, Address
from explorer.page.findings import tone
from explorer.page.pages import Rendered, bar
from explorer.web.home.activity import activity
from explorer.web.home.morning import morning, new_commits
from explorer.web.home.reading import Progress
from explorer.web.html import render, render_blocks
from explorer.web.served_tables import SPARK_DAYS, Catalog, TableSummary
from explorer.web.table_list import TableListing

_HEALTH = ("danger", "warning", "info", "ok")
PAGE = 100
"""How many tables are on a page of the list."""
_UNLISTED = 5
_MOST_UNLISTED = 200
SortValue: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the list: a table, its worst finding as a chip (tone, words, the claim, how many more), new commits."""

    row: TableSummary
    tone: str = ""
    label: str = ""
    said: str = ""
    more: int = 0
    new: int = 0


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the list.

    Attributes:
        rows: Its tables.
        matched: How many tables match the address.
        page, pages: Its number, from 1, and how many there are.
        sort, descending: The order.
    """

    rows: tuple[TableSummary, ...]
    matched: int
    page: int
    pages: int
    sort: str
    descending: bool

    @property
    def first_row(self) -> int:
        """The place of its first table among those that match, from 1."""
        return (self.page - 1) * PAGE + 1


def list_page(address: Address, summaries: Sequence[TableSummary], since: datetime | None = None) -> ListPage:
    """Return the page of the list that an address asks for."""
    key = address.sort.removeprefix("-") or "name"
    descending = address.sort.startswith("-")
    named = (row for row in _named(address, summaries) if address.status in ("", row.status))
    matches = _sorted(list(named), key, since, descending=descending)
    pages = max(1, -(-len(matches) // PAGE))
    page = min(address.page_number, pages)
    return ListPage(tuple(matches[(page - 1) * PAGE : page * PAGE]), len(matches), page, pages, key, descending)


def home_page(
    catalog: Catalog,
    address: Address,
    summaries: Sequence[TableSummary],
    progress: Progress | None = None,
    since: datetime | None = None,
    *,
    listing: TableListing = TableListing(),  # noqa: B008  # it is frozen
) -> Rendered:
    """Return the list of tables.

    Args:
        catalog: The served tables.
        address: What to show.
        summaries: The tables, as far as they are known.
        progress: How far reading them is; None if all are read.
        since: The last visit; None if not known.
        listing: How far the search for them is.
    """
    if address.show == "activity":
        return _activity_page(catalog, address, summaries, progress)
    shown = list_page(address, summaries, since)
    values = _status_values(address, summaries) | {
        "list": shown,
        "rows": [_row(row, since) for row in shown.rows],
        "morning": morning(summaries, since),
        "spark_days": SPARK_DAYS,
        "roots": catalog.roots.locations,
        "notes": [root.note for root in catalog.roots.named if root.note],
        "listing": listing,
        "unlisted": listing.unlisted[:_UNLISTED],
        "more_unlisted": listing.unlisted[_UNLISTED:_MOST_UNLISTED],
        "progress": progress,
    }
    regions = {"bar": bar(address, "", may_commit=catalog.allow_commits), "notice": ""}
    ids = frozenset(row.row_id for row in shown.rows)
    pending = frozenset(row.row_id for row in shown.rows if row.pending)
    return Rendered(regions | render_blocks("home", **values), rows=ids, pending=pending)


def _activity_page(
    catalog: Catalog, address: Address, summaries: Sequence[TableSummary], progress: Progress | None
) -> Rendered:
    entries = None if catalog.record is None else catalog.record.read()
    cut = catalog.record is not None and entries is not None and catalog.record.is_cut(entries)
    record = activity(address, summaries, entries, cut=cut)
    blocks = render_blocks("activity", address=address, record=record, progress=progress)
    around = {"bar": bar(address, "", may_commit=catalog.allow_commits), "notice": ""}
    return Rendered(around | blocks, title="Activity \u00b7 Delta Table Explorer")


def home_rows(
    summaries: Iterable[TableSummary], shown: Container[str], since: datetime | None = None
) -> dict[str, str]:
    """Return the rows of tables whose ids are shown, as HTML by the row's id."""
    return {row.row_id: render("home-row", item=_row(row, since)) for row in summaries if row.row_id in shown}


def home_morning(address: Address, summaries: Sequence[TableSummary], since: datetime | None) -> str:
    """Return the head of the list of tables, as HTML."""
    return render("home-morning", address=address, morning=morning(summaries, since))


def statuses(address: Address, summaries: Sequence[TableSummary]) -> str:
    """Return the links to the tables of each status, with their counts, as HTML."""
    return render("home-status", **_status_values(address, summaries))


def progress_line(progress: Progress) -> str:
    """Return how far reading is, as HTML; nothing in its first second, and nothing when all tables are read."""
    return render("home-progress", progress=progress)


def search_lines(
    catalog: Catalog, address: Address, summaries: Sequence[TableSummary], listing: TableListing
) -> dict[str, str]:
    """Return the parts of the list that count while tables are searched for, as HTML by the id of the element."""
    values = _status_values(address, summaries) | {
        "listing": listing,
        "list": list_page(address, summaries),
        "roots": catalog.roots.locations,
    }
    return {name: render(name, **values) for name in ("home-search", "home-count", "home-status")}


def _status_values(address: Address, summaries: Sequence[TableSummary]) -> dict[str, object]:
    named = _named(address, summaries)
    counted = Counter(row.status for row in named)
    return {
        "address": address,
        "total": len(summaries),
        "counts": {status: counted[status] for status in STATUSES if status},
        "named": len(named),
    }


def _named(address: Address, summaries: Sequence[TableSummary]) -> list[TableSummary]:
    wanted = address.find.casefold()
    return [row for row in summaries if wanted in row.ref.name.casefold()] if wanted else list(summaries)


def _row(row: TableSummary, since: datetime | None) -> _Row:
    new = new_commits(row, since) or 0
    if not row.findings:
        return _Row(row, new=new)
    worst, more = row.findings[0], len(row.findings) - 1
    text = worst.title + (f", and {fmt.plural(more, 'more finding')}" if more else "")
    return _Row(row, tone(worst), worst.label, text, more, new)


def _sorted(rows: list[TableSummary], key: str, since: datetime | None, *, descending: bool) -> list[TableSummary]:
    """Return the rows by a value; those without one come last in either order."""
    valued = [(new_commits(row, since) if key == "new" else _sort_value(row, key), row) for row in rows]
    known = [(value, row) for value, row in valued if value is not None]
    unknown = [row for value, row in valued if value is None]
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [*(row for _, row in known), *unknown]


def _sort_value(row: TableSummary, key: str) -> SortValue:
    match key:
        case "health":
            # A table that cannot be read comes before those with findings as bad; of these, the one with more findings.
            first = 10_000 if row.problem is not None else min(len(row.findings), 1_000)
            return None if row.pending else 100_000 * _HEALTH.index(row.health) - first
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
