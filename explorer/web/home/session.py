"""The window of the list of tables: names as they are found, and what is known of the tables as they are read.

Invariant: of a long list only the tables on show are read, until the person asks for the others.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Final
from urllib.parse import unquote

from explorer.activity.event import Event
from explorer.core.errors import ExplorerError, NotAllowed, RequestError
from explorer.page.address import Address, address_of
from explorer.page.entry import Entry, OnShow
from explorer.page.host import Host, KnownBy
from explorer.page.opening import Steps, Wait
from explorer.page.pages import Rendered, notice, problem_page
from explorer.page.palette import PaletteContext
from explorer.page.session import DRAWING, PATIENCE, WORKING, PageRequest, Session
from explorer.page.strip import Screen
from explorer.page.window import Handler, Message
from explorer.rights import Right
from explorer.storage.served_roots import TableRef
from explorer.views.many_tables.record import KeptRecord
from explorer.views.problems import problem_of
from explorer.web.home.filtering import filtered
from explorer.web.home.reading import HomeReading, Progress
from explorer.web.home.tables import (
    PAGE,
    ListView,
    around_list,
    home_page,
    home_rows,
    list_page,
    notices_part,
    progress_line,
    search_lines,
)
from explorer.web.home.timeline import LANES, lane_card, timeline_page
from explorer.web.notice_board import ACKNOWLEDGE
from explorer.web.served_tables import Catalog, TableSummary

_FEW_TABLES: Final = 40
_ALL_READ: Final = 500
"""Up to how many tables all are read, also those that are on other pages of the list."""
_LOOK_EVERY: Final = 2_000
_NOTICES_EVERY: Final = 10_000
_OFTEN: Final = 0.35
"""Seconds between two drawings of what depends on all tables, for each so many hundreds of them longer."""
_LONGEST: Final = 4_000
_MOST_NAMES: Final = 40


class HomeSession(Session):
    """Reads the tables of the list, those that the window shows before the others.

    Args:
        catalog: The served tables.
        host: Shows the page.
        query, theme, screen, entry, later: As for `Session`.
        list_view: How the person has the list: since the last visit, with what on top.
    """

    kind: ClassVar[str] = "home"

    def __init__(
        self,
        catalog: Catalog,
        host: Host,
        query: str,
        theme: str,
        *,
        screen: Screen | None = None,
        entry: Entry | None = None,
        list_view: ListView | None = None,
        later: bool = False,
    ) -> None:
        self._catalog = catalog
        known = host.identity.known_by is not KnownBy.LOCAL
        self._list_view = replace(list_view or ListView(kept=KeptRecord()), known=known)
        self._notices = ""
        self._drawn_at = 0.0
        self._reading = HomeReading(catalog, self._read_some)
        self._listed: tuple[TableRef, ...] = ()
        self._reads_all = False
        self._is_complete = True
        self._visit = catalog.visits.begin(catalog.list)
        self._visit.follow(self._list_changed)
        super().__init__(host, query, theme, screen=screen, entry=entry, later=later)

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of the list."""
        return {
            "stop-reading": self._stop_reading,
            "read-on": self._read_on,
            "seen": self._mark_seen,
            "stop-search": self._stop_search,
            "search-on": self._search_on,
            "search-again": self._search_again,
            "pin-table": self._pin,
            "lane-card": self._tell_commits,
            "notice": self._deal_with_notice,
        }

    def palette_context(self) -> PaletteContext:
        """Return the list of tables."""
        catalog = self._catalog
        return PaletteContext(catalog.palette_names, address_of(self.query), None, catalog.allow_commits, has_home=True)

    def fits(self, query: str) -> bool:
        """Return whether a query names no table."""
        return not address_of(query).table

    def opened(self) -> None:
        """Search for tables again and again while the window is open."""
        self._visit.attend()
        self.host.every(_LOOK_EVERY, self._search_again_and_again)
        self.host.every(_NOTICES_EVERY, self._look_for_notices)

    def closed(self) -> None:
        """Stop reading tables for the window."""
        self._reading.stop()
        self._visit.leave()

    # --- the page, on a thread

    def first(self) -> Steps[tuple[Rendered, bool]]:
        """Make the list to begin with."""
        future = DRAWING.submit(self.render, self.wanted)
        yield Wait((future,), PATIENCE)
        if future.done():
            # What is read before the browser listens would be lost: it asks again.
            return future.result(), self._is_complete
        return self._home(address_of(self.query), patience=0), False

    def render(self, request: PageRequest) -> Rendered:
        """Make the list of an address."""
        try:
            address = Address.parse(request.query)
        except ExplorerError as error:
            rendered = self._home(address_of(request.query), patience=PATIENCE / 2)
            return replace(rendered, regions=rendered.regions | {"notice": notice(problem_of(error))})
        return self._home(address, patience=PATIENCE / 2)

    def threads(self, _request: PageRequest) -> Executor:
        """Return the threads that draw."""
        return DRAWING

    def arrived(self, rendered: Rendered) -> None:
        """Show rows that were read while the page was drawn: in it, they are as they were before."""
        self._notices = ""
        rows = [row for row in self._reading.rows(self._listed) if row.row_id in rendered.pending]
        if known := [row for row in rows if not row.pending]:
            self._show_read(known)

    def _home(self, address: Address, *, patience: float) -> Rendered:
        """Return the list: names at once, and the known tables. Of many tables none is read before that."""
        try:
            self._visit.begin(patience=patience)
            listing = self._visit.listing()
            refs = self._listed = listing.refs
            if self.is_open or len(refs) <= _FEW_TABLES:
                self._reading.begin(self._wanted(address), patience=patience)
            progress, rows = self._progress(), self._reading.rows(refs)
            if address.show == "timeline":
                rendered = timeline_page(self._catalog, address, rows, progress, self._list_view, listing=listing)
            else:
                since, list_view = self._list_view.since, self._list_view
                rendered = home_page(
                    self._catalog, address, rows, progress, since, listing=listing, list_view=list_view
                )
            self._drawn_at = time.monotonic()
            self._is_complete = not (rendered.pending or progress.running or listing.searching)
            return rendered
        except Exception as error:  # noqa: BLE001  # shown and logged: a page must never stay blank
            rendered = problem_page(address, error, may_commit=self._catalog.allow_commits)
            return Rendered({key: rendered.regions[key] for key in ("bar", "lead", "notice")}, {}, rendered.title)

    def _wanted(self, address: Address) -> list[TableRef]:
        """The tables to be read: those on show, and the others after them, unless they are many."""
        rows = filtered(address, self._reading.rows(self._listed), self._list_view.kept).rows
        if address.show == "timeline":
            shown = [row.ref for row in rows[(address.page_number - 1) * LANES :][:LANES]]
        else:
            shown = [row.ref for row in list_page(address, rows, self._list_view).rows]
        if len(self._listed) > _ALL_READ and not self._reads_all:
            return shown
        names = {ref.name for ref in shown}
        return [*shown, *(ref for ref in self._listed if ref.name not in names)]

    def _progress(self) -> Progress:
        """How far reading is; once it has ended, of all tables."""
        progress = self._reading.progress
        if progress.running:
            return progress
        read = sum(not row.pending for row in self._reading.rows(self._listed))
        return Progress(read, len(self._listed))

    # --- as tables are found

    def _list_changed(self) -> None:
        """Show another list; from a thread of its search."""
        if self.is_open:
            self.tasks.later(self._show_list, self.newest)

    def _search_again_and_again(self) -> None:
        """Search again if it is time, and show how far a search is, also one that finds nothing for long."""
        self._visit.begin()
        if self._visit.listing().searching:
            self._show_search()

    def _show_list(self) -> None:
        """Show the tables that were found: a page that is full stays as it is until all are found."""
        if self._visit.listing().searching and len(self.shown.rows) >= PAGE:
            self._show_search()
        else:
            self.draw_again()

    def _show_search(self) -> None:
        """Show how far the search is."""
        listing = self._visit.listing()
        self._listed = listing.refs
        rows = self._reading.rows(listing.refs)
        self.drawing.send_again("lead")
        self.drawing.patch(
            search_lines(self._catalog, address_of(self.query), rows, listing, self._list_view), self.newest
        )

    def _stop_search(self, message: Message) -> None:
        self._visit.stop()
        self.show_same(message)

    def _search_on(self, message: Message) -> None:
        self._visit.go_on()
        self.show_same(message)

    def _search_again(self, message: Message) -> None:
        self._visit.again()
        self.show_same(message)

    # --- as the tables are read

    def _read_some(self, summaries: Sequence[TableSummary]) -> None:
        """Show what was read, in its place; at the end everything once more, as order and counts depend on it."""
        self.tasks.later(partial(self._show_read, summaries), self.newest)

    def _show_read(self, summaries: Sequence[TableSummary]) -> None:
        progress = self._reading.progress
        if not progress.running:
            self.draw_again()
            return
        address, known = address_of(self.query), self._reading.rows(self._listed)
        around = {"home-progress": progress_line(progress)}
        if time.monotonic() - self._drawn_at > _OFTEN * (1 + len(self._listed) / _ALL_READ):
            # Of many tables this takes longer than reading some: not after each of them.
            self._drawn_at = time.monotonic()
            if address.show == "timeline":
                self.draw_again()
                return
            around |= around_list(address, filtered(address, known, self._list_view.kept), self._list_view.since)
        rows = home_rows(summaries, self.shown.rows, self._list_view.since, address=address, list_view=self._list_view)
        # What these are parts of is sent again when the reading ends, though it then reads as it did at first.
        self.drawing.send_again("lead")
        self.drawing.patch(rows | around, self.newest)

    def _stop_reading(self, message: Message) -> None:
        self._reading.stop()
        self.show_same(message)

    def _read_on(self, message: Message) -> None:
        self._reads_all = True
        self._reading.read_on()
        self.show_same(message)

    def _mark_seen(self, message: Message) -> None:
        """Count new commits from now on; the browser keeps the time for the next visit."""
        self._list_view = replace(self._list_view, since=datetime.now(UTC))
        self.show_same(message)

    def _pin(self, message: Message) -> None:
        """Show the tables on top that the browser keeps there."""
        self._list_view = replace(self._list_view, pins=names_in(message.text("pins", _LONGEST)))
        self.show_same(message)

    def _deal_with_notice(self, message: Message) -> None:
        """Acknowledge or snooze a notice, once that it is about to be is in the record."""
        board, host = self._catalog.notices, self.host
        if board is None or not self._list_view.known:
            raise NotAllowed("The server does not know who you are. Sign in, or run: delta-explorer notices")
        name, choice = message.text("notice"), message.text("choice")
        reason = message.text("reason", _LONGEST)

        def dealt() -> None:
            line = board.find(name)
            self.entry.require(Right.NOTICES, OnShow(line.name))
            if not line.may:
                raise NotAllowed("You may not deal with this notice.")
            what = choice if choice == ACKNOWLEDGE else "snooze"
            if not reason.strip():
                raise RequestError("A reason is missing. Say why, for others to read.", field="reason")
            version = line.posted.notice.version
            event = Event(kind="notice", what=what, table=line.name, version=version, detail=line.posted.id)
            if (recorded := self.entry.record(event)) is not None:
                recorded.result()
            board.deal(line, choice, by=host.identity.name or host.person, reason=reason)

        self.compute(message, dealt, lambda _: self.show_same(message))

    def _look_for_notices(self) -> None:
        """Show the notices if they are others than before; a form that a person fills in is left alone otherwise."""
        if self._catalog.notices is None or address_of(self.query).show:
            return

        def shown(html: str) -> None:
            drawn = self.shown.regions.get("lead", "")
            if html != self._notices if self._notices else html.strip() not in drawn:
                self.drawing.send_again("lead")
                self.drawing.patch({"home-notices": html}, self.newest)
            self._notices = html

        work = partial(notices_part, self._catalog, known=self._list_view.known)
        self.tasks.compute(WORKING, self.newest, work, shown)

    def _tell_commits(self, message: Message) -> None:
        """Tell the commits of a mark on the timeline."""
        name, first, last = unquote(message.text("name")), message.amount("first"), message.amount("last")

        def card_html() -> str:
            return lane_card(self._catalog.facts(name), name, first, last)

        self.compute(message, card_html, lambda html: self.answer(message, {"lane-card": html}))


def names_in(text: str) -> tuple[str, ...]:
    """Return names of tables in a text: each quoted, with a space between them."""
    return tuple(dict.fromkeys(unquote(name) for name in text[:_LONGEST].split()))[:_MOST_NAMES]
