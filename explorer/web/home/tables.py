"""The list of tables as HTML: sorted, filtered, grouped, a page at a time, each table with its worst finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from explorer import formatting as fmt
from explorer.page.address import Address
from explorer.page.approvals import Approvals
from explorer.page.findings import tone
from explorer.page.pages import Rendered, bar
from explorer.views.many_tables.choice import FACETS
from explorer.views.many_tables.record import KeptRecord
from explorer.web.home.activity import activity
from explorer.web.home.filtering import Filtered, filtered, value_label, value_title
from explorer.web.home.morning import morning, new_commits
from explorer.web.home.reading import Progress
from explorer.web.home.requests import home_requests
from explorer.web.html import render, render_blocks
from explorer.web.notice_board import SNOOZES
from explorer.web.served_tables import SPARK_DAYS, Catalog, TableSummary
from explorer.web.table_list import TableListing

_HEALTH = ("danger", "warning", "info", "ok")
PAGE = 100
"""How many tables are on a page of the list."""
_UNLISTED = 5
_MOST_UNLISTED = 200
_FOUND_IN = 3
_NO_PLACE = "\uffff"
SortValue: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the list: a table, its worst finding as a chip (tone, words, the claim, how many more), new commits.

    ``matching_columns`` names columns for which it is listed, ``more_matching`` how many more there are. ``pinned`` is
    whether a person keeps it on top, ``alone`` whether its folder is in the heading of its group.
    """

    row: TableSummary
    tone: str = ""
    label: str = ""
    said: str = ""
    more: int = 0
    new: int = 0
    matching_columns: tuple[str, ...] = ()
    more_matching: int = 0
    pinned: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class TableGroup:
    """Rows of a page that belong together: what they share, how many such tables match, and the rows."""

    title: str
    kind: str
    count: int
    rows: tuple[_Row, ...]


@dataclass(frozen=True, slots=True)
class ListView:
    """How a person has the list.

    Attributes:
        since: The last visit; None if not known.
        pins: Names of the tables that are kept on top.
        recent: Names of the tables that were opened last, the last first.
        kept: Keeps the record of the tables' traits.
        known: The server knows who the person is.
        approvals: The requests for approval; None where no change needs a second person.
    """

    since: datetime | None = None
    pins: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    kept: KeptRecord | None = None
    known: bool = False
    approvals: Approvals | None = None


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the list.

    Attributes:
        rows: Its tables.
        matched: How many tables match the address.
        page, pages: Its number, from 1, and how many there are.
        sort, descending: The order.
        groups: How many tables that match are in each group, by its key; empty where the list is not grouped.
    """

    rows: tuple[TableSummary, ...]
    matched: int
    page: int
    pages: int
    sort: str
    descending: bool
    groups: dict[str, int]

    @property
    def first_row(self) -> int:
        """The place of its first table among those that match, from 1."""
        return (self.page - 1) * PAGE + 1


def list_page(
    address: Address, matching: Sequence[TableSummary], list_view: ListView = ListView()
) -> ListPage:  # it is frozen
    """Return the page of the list that an address asks for.

    Args:
        address: The order, the groups, the page.
        matching: The tables that match it.
        list_view: How the person has the list.
    """
    key = address.sort.removeprefix("-") or "name"
    descending = address.sort.startswith("-")
    matches = _sorted(list(matching), key, list_view.since, descending=descending)
    groups = _counted_groups(address, matches, list_view) if key == "name" and address.grouping != "none" else {}
    if groups:
        matches.sort(key=lambda row: _place_of(address, row, list_view), reverse=descending)
    if list_view.pins:
        matches.sort(key=lambda row: row.ref.name not in list_view.pins)
    pages = max(1, -(-len(matches) // PAGE))
    page = min(address.page_number, pages)
    rows = tuple(matches[(page - 1) * PAGE : page * PAGE])
    return ListPage(rows, len(matches), page, pages, key, descending, groups)


def home_page(
    catalog: Catalog,
    address: Address,
    summaries: Sequence[TableSummary],
    progress: Progress | None = None,
    since: datetime | None = None,
    *,
    listing: TableListing = TableListing(),  # noqa: B008  # it is frozen
    list_view: ListView | None = None,
) -> Rendered:
    """Return the list of tables.

    Args:
        catalog: The served tables.
        address: What to show.
        summaries: The tables, as far as they are known.
        progress: How far reading them is; None if all are read.
        since: The last visit; None if not known.
        listing: How far the search for them is.
        list_view: How the person has the list; with ``since`` alone unless given.
    """
    if address.show == "activity":
        return _activity_page(catalog, address, summaries, progress)
    list_view = list_view or ListView(since)
    filtered_tables = filtered(address, summaries, list_view.kept)
    page = list_page(address, filtered_tables.rows, list_view)
    names = {row.ref.name for row in summaries}
    values = filter_values(address, filtered_tables) | {
        "list": page,
        "groups": _groups(address, page, list_view),
        "recent": [name for name in list_view.recent if name in names],
        "morning": morning(filtered_tables.rows, since, outside=filtered_tables.needing_outside),
        "requests": home_requests(list_view.approvals),
        "spark_days": SPARK_DAYS,
        "roots": catalog.roots.locations,
        "notes": [root.note for root in catalog.roots.named if root.note],
        "listing": listing,
        "unlisted": listing.unlisted[:_UNLISTED],
        "more_unlisted": listing.unlisted[_UNLISTED:_MOST_UNLISTED],
        "progress": progress,
        "board": None if catalog.notices is None else catalog.notices.board(),
        "snoozes": SNOOZES,
        "known": list_view.known,
    }
    regions = {"bar": bar(address, "", may_commit=catalog.allow_commits), "notice": ""}
    ids = frozenset(row.row_id for row in page.rows)
    pending = frozenset(row.row_id for row in page.rows if row.pending)
    return Rendered(regions | render_blocks("home", **values), rows=ids, pending=pending)


def _activity_page(
    catalog: Catalog, address: Address, summaries: Sequence[TableSummary], progress: Progress | None
) -> Rendered:
    entries = None if catalog.record is None else catalog.record.read()
    cut = catalog.record is not None and entries is not None and catalog.record.is_cut(entries)
    record = activity(address, summaries, entries, cut=cut)
    state = catalog.server_state()
    blocks = render_blocks("activity", address=address, record=record, progress=progress, server_state=state)
    around = {"bar": bar(address, "", may_commit=catalog.allow_commits), "notice": ""}
    return Rendered(around | blocks, title="Activity \u00b7 Delta Table Explorer")


def notices_part(catalog: Catalog, *, known: bool) -> str:
    """Return the notices as HTML; nothing where there are none."""
    if catalog.notices is None:
        return ""
    return render("home-notices", board=catalog.notices.board(), snoozes=SNOOZES, known=known)


def home_rows(
    summaries: Iterable[TableSummary],
    ids: Container[str],
    since: datetime | None = None,
    *,
    address: Address = Address(),  # noqa: B008  # it is frozen
    list_view: ListView | None = None,
) -> dict[str, str]:
    """Return the rows of tables whose ids are shown, as HTML by the row's id."""
    list_view = list_view or ListView(since)
    rows = (row for row in summaries if row.row_id in ids)
    return {row.row_id: render("home-row", item=_row(row, address, list_view), address=address) for row in rows}


def around_list(address: Address, filtered_tables: Filtered, since: datetime | None) -> dict[str, str]:
    """Return what is around the list and follows from the tables that were read, as HTML by the id of the element."""
    values = filter_values(address, filtered_tables)
    head = morning(filtered_tables.rows, since, outside=filtered_tables.needing_outside)
    return {
        "home-status": render("home-status", **values),
        "home-facets": render("home-facets", **values),
        "home-morning": render("home-morning", address=address, morning=head),
    }


def progress_line(progress: Progress) -> str:
    """Return how far reading is, as HTML; nothing in its first second, and nothing when all tables are read."""
    return render("home-progress", progress=progress)


def search_lines(
    catalog: Catalog, address: Address, summaries: Sequence[TableSummary], listing: TableListing, list_view: ListView
) -> dict[str, str]:
    """Return the parts of the list that count while tables are searched for, as HTML by the id of the element."""
    filtered_tables = filtered(address, summaries, list_view.kept)
    values = filter_values(address, filtered_tables) | {
        "listing": listing,
        "list": list_page(address, filtered_tables.rows, list_view),
        "roots": catalog.roots.locations,
    }
    return {name: render(name, **values) for name in ("home-search", "home-count", "home-status")}


def filter_values(address: Address, filtered_tables: Filtered) -> dict[str, object]:
    """Return the values of the templates of filters."""
    return {
        "address": address,
        "total": filtered_tables.total,
        "counts": filtered_tables.counts,
        "named": filtered_tables.named,
        "found": filtered_tables,
        "facet_titles": FACETS,
        "value_label": value_label,
        "value_title": value_title,
    }


def _groups(address: Address, page: ListPage, list_view: ListView) -> list[TableGroup]:
    """Return the rows of a page in their groups: pinned ones, then those of each place, or all others."""
    parts: list[tuple[str, str, list[_Row]]] = []
    for row in page.rows:
        pinned = row.ref.name in list_view.pins
        key = _place_of(address, row, list_view)[0] if page.groups and not pinned else ""
        kind = "pinned" if pinned else "place" if page.groups else ""
        if not parts or parts[-1][:2] != (kind, key):
            parts.append((kind, key, []))
        alone = kind == "place" and address.grouping == ""
        parts[-1][2].append(_row(row, address, list_view, alone=alone))
    pins = sum(row.ref.name in list_view.pins for row in page.rows)
    counts = page.groups | {"": pins}
    titles = {"catalog": "in no catalog", "owner": "without a known owner"}
    return [
        TableGroup(
            "" if key == _NO_PLACE else key, titles.get(address.grouping, "") if key == _NO_PLACE else kind,
            counts.get(key, 0), tuple(rows),
        )
        for kind, key, rows in parts
    ]  # fmt: skip


def _counted_groups(address: Address, matches: Iterable[TableSummary], list_view: ListView) -> dict[str, int]:
    return dict(Counter(_place_of(address, row, list_view)[0] for row in matches if row.ref.name not in list_view.pins))


def _place_of(address: Address, row: TableSummary, _list_view: ListView) -> tuple[str, str]:
    """Return the group of a row, and its place in it."""
    if address.grouping == "":
        return row.ref.folder, row.ref.title.casefold()
    named = row.traits.catalog if address.grouping == "catalog" else row.traits.owner
    return named or _NO_PLACE, row.ref.name.casefold()


def _row(row: TableSummary, address: Address, list_view: ListView, *, alone: bool | None = None) -> _Row:
    new, pinned = new_commits(row, list_view.since) or 0, row.ref.name in list_view.pins
    wanted = address.column.casefold()
    named = [name for name, _ in row.traits.columns if wanted in name.casefold()] if wanted else []
    if alone is None:
        alone = not pinned and address.grouping == "" and address.sort in ("", "name", "-name")
    plain = _Row(
        row,
        new=new,
        pinned=pinned,
        alone=alone,
        matching_columns=tuple(named[:_FOUND_IN]),
        more_matching=max(len(named) - _FOUND_IN, 0),
    )
    if not row.findings:
        return plain
    worst, more = row.findings[0], len(row.findings) - 1
    text = worst.title + (f", and {fmt.plural(more, 'more finding')}" if more else "")
    return replace(plain, tone=tone(worst), label=worst.label, said=text, more=more)


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
