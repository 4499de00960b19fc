"""The timeline of all tables as HTML: a lane a table, the axis, the days before, and the tables that need attention.

Invariant: it is a table with the same facts in words and numbers; its script draws what the rows carry alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from explorer import formatting as fmt
from explorer.auditing.words import duration
from explorer.core.errors import RequestError
from explorer.core.protocol.times import from_milliseconds
from explorer.page.address import Address
from explorer.page.pages import Rendered, bar, notice
from explorer.views.many_tables.lanes import FORM, OPTIMIZE, VACUUM, Day, Lane, lanes, overview
from explorer.views.many_tables.time_range import DAY, HOUR, SPANS, TimeRange, time_range
from explorer.views.problems import problem_of
from explorer.views.table.facts import TableFacts
from explorer.web.home.filtering import NEEDING, filtered
from explorer.web.home.morning import morning
from explorer.web.home.reading import Progress
from explorer.web.home.tables import ListView, filter_values
from explorer.web.html import render, render_blocks
from explorer.web.served_tables import Catalog, TableSummary
from explorer.web.table_list import TableListing

LANES: Final = 1_000
"""How many lanes are on a page."""
_DAYS: Final = 60
_NEEDS: Final = 8
_NAMED: Final = 5
_KINDS: Final = ((FORM, "schema, properties or protocol changed"), (OPTIMIZE, "OPTIMIZE"), (VACUUM, "VACUUM"))
_ORDERS: Final = ("name", "need", "last", "lost", "silent")


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A row: the table, its lane, and what the lane shows in words.

    Attributes:
        lane: None where the commits are not known.
        words: Of silences, maintenance, and what is to come.
        quiet: The silences as the script reads them.
        due: When the first next step stops working, as a share of the axis; None if that is not on it.
        due_words: What that is.
        begins: The row is the first of its folder.
    """

    row: TableSummary
    lane: Lane | None
    words: tuple[str, ...] = ()
    quiet: str = ""
    due: float | None = None
    due_words: str = ""
    begins: bool = False


@dataclass(frozen=True, slots=True)
class TimelineOverview:
    """The days before, when they begin, in words too, and the part of them that is shown, as shares of all of them.

    ``dates`` are the days at which each of their quarters begins.
    """

    days: tuple[Day, ...]
    start: int
    end: int
    first: float
    last: float
    since: str
    dates: tuple[str, ...]


def timeline_page(
    catalog: Catalog,
    address: Address,
    summaries: Sequence[TableSummary],
    progress: Progress | None,
    list_view: ListView,
    *,
    listing: TableListing = TableListing(),  # noqa: B008  # it is frozen
    now: datetime | None = None,
) -> Rendered:
    """Return the timeline of the tables that an address asks for.

    Args:
        catalog: The served tables.
        address: The range, the filters, the order.
        summaries: The tables, as far as they are known.
        progress: How far reading them is.
        list_view: How the person has the list.
        listing: How far the search for tables is.
        now: The present; the clock's unless given.
    """
    now = now or datetime.now(UTC)
    axis, refusal = _axis(address.range, now, list_view.since)
    filtered_tables = filtered(address, summaries, list_view.kept, now)
    rows = lane_rows(address, filtered_tables.rows, axis)
    pages = max(1, -(-len(rows) // LANES))
    page = min(address.page_number, pages)
    on_page = rows[(page - 1) * LANES : page * LANES]
    values = filter_values(address, filtered_tables) | {
        "axis": axis,
        "range_words": _range_words(axis),
        "ranges": tuple(SPANS),
        "since": list_view.since,
        "hour": HOUR,
        "rows": on_page,
        "page": page,
        "pages": pages,
        "lanes": len(rows),
        "commits": sum(row.lane.commits for row in rows if row.lane is not None),
        "orders": _ORDERS,
        "overview": _overview(filtered_tables.rows, axis),
        "morning": morning(filtered_tables.rows, list_view.since, most=_NEEDS, outside=filtered_tables.needing_outside),
        "progress": progress,
        "listing": listing,
        "all_redated": _all_redated(on_page),
        "has_files": any(row.lane is not None and row.lane.unit == "files" for row in on_page),
    }
    regions = {"bar": bar(address, "", may_commit=catalog.allow_commits), "notice": refusal}
    title = "Timeline \u00b7 Delta Table Explorer"
    pending = frozenset(row.row.row_id for row in on_page if row.row.pending)
    return Rendered(regions | render_blocks("timeline", **values), title=title, pending=pending)


def lane_rows(address: Address, matching: Sequence[TableSummary], axis: TimeRange) -> list[LaneRow]:
    """Return the rows of the timeline, in the order that an address asks for."""
    known = [row for row in matching if row.lane is not None]
    drawn = dict(zip(map(id, known), lanes([row.lane for row in known if row.lane is not None], axis), strict=True))
    pairs = [(row, drawn.get(id(row))) for row in matching]
    key = address.sort.removeprefix("-") or "name"
    pairs.sort(key=lambda pair: (pair[0].ref.folder, pair[0].ref.title.casefold()))
    match key:
        case "need":
            pairs.sort(key=lambda pair: NEEDING.index(pair[0].status) if pair[0].status in NEEDING else len(NEEDING))
        case "last":
            pairs.sort(key=lambda pair: -(pair[1].last or 0) if pair[1] is not None else 0)
        case "lost":
            pairs.sort(key=lambda pair: -pair[1].removed if pair[1] is not None else 1)
        case "silent":
            pairs.sort(key=lambda pair: -(pair[1].silent or 0) if pair[1] is not None else 1)
    rows, folder = [], None
    for row, lane in pairs:
        begins = row.ref.folder != folder
        folder = row.ref.folder
        rows.append(_lane_row(row, lane, axis, begins=begins))
    return rows


def _all_redated(rows: Sequence[LaneRow]) -> bool:
    """Return whether several lanes are drawn, all at the times of their writers: this is said once."""
    drawn = [row for row in rows if row.lane is not None and row.lane.last is not None]
    return len(drawn) > 1 and all(row.row.redated for row in drawn)


def lane_card(facts: TableFacts, name: str, first: int, last: int) -> str:
    """Return the commits of a mark as HTML: each with what it did, who made it, and when.

    Args:
        facts: The table.
        name: Its served name.
        first, last: The versions of the mark.
    """
    records = facts.commits.records(first - 1, last, _NAMED)
    more = sum(first <= version <= last for version in facts.commits.versions.tolist()) - len(records)
    return render("lane-card", name=name, records=records, more=more, first=first, last=last)


def _lane_row(row: TableSummary, lane: Lane | None, axis: TimeRange, *, begins: bool) -> LaneRow:
    if lane is None:
        return LaneRow(row, None, begins=begins)
    words = [text for bit, text in _KINDS if lane.kinds & bit]
    if lane.silent is not None and lane.usual is not None:
        words.insert(0, f"no commit for {_span(lane.silent)}; usually one every {_span(lane.usual).removeprefix('1 ')}")
    elif lane.silences:
        words.insert(0, f"{fmt.plural(len(lane.silences), 'silence')} against its rhythm")
    if lane.expected is not None and lane.usual is not None:
        words.append(f"next commit expected within {_span(lane.usual)}")
    due = next((each for each in row.findings if each.deadline is not None and each.deadline >= axis.now), None)
    share = None
    if due is not None and due.deadline is not None and due.deadline < axis.until and axis.shows_now:
        share = axis.share(due.deadline)
        words.append(f"{due.title}, from {fmt.moment(from_milliseconds(due.deadline))}")
    quiet = " ".join(f"{first:.4f}-{last:.4f}" for first, last in lane.silences)
    return LaneRow(row, lane, tuple(words), quiet, share, due.label if due is not None and share else "", begins)


def _span(milliseconds: int) -> str:
    """Return a duration in its largest unit, rounded, at least a minute."""
    size = next((size for size in (DAY, HOUR) if milliseconds >= 2 * size), 60_000)
    return duration(max(1, round(milliseconds / size)) * size)


def _axis(text: str, now: datetime, since: datetime | None) -> tuple[TimeRange, str]:
    """Return the range that a text names; for a text that names none, the usual one and a notice that says so."""
    try:
        return time_range(text, now, since), ""
    except RequestError as error:
        return time_range("", now, since), notice(problem_of(error))


def _range_words(axis: TimeRange) -> str:
    first, last = fmt.moment(from_milliseconds(axis.start)), fmt.moment(from_milliseconds(axis.end))
    return f"{first} to {'now' if axis.end == axis.now else last}"


def _overview(rows: Sequence[TableSummary], axis: TimeRange) -> TimelineOverview:
    """Return the days before the end of the range, or before now if it is among them."""
    end = max(axis.now, axis.end) if axis.end > axis.now - _DAYS * DAY else axis.end
    start = end - end % DAY - (_DAYS - 1) * DAY
    days = overview((row.lane for row in rows if row.lane is not None), start, _DAYS)
    whole = _DAYS * DAY
    first, last = (min(max((time - start) / whole, 0.0), 1.0) for time in (axis.start, axis.end))
    dates = tuple(f"{from_milliseconds(start + whole * part // 4):%d %b}".lstrip("0") for part in range(4))
    since = f"{from_milliseconds(start):%d %b %Y}".lstrip("0")
    return TimelineOverview(tuple(days), start, start + whole, first, last, since, dates)
