"""The window of the list of tables: names as they are found, and what is known of the tables as they are read.

Invariant: of a long list only the tables on show are read, until the person asks for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Final

from explorer.page.address import Address, address_of
from explorer.page.entry import Entry
from explorer.page.host import Host
from explorer.page.opening import Steps, Wait
from explorer.page.pages import Rendered, problem_page
from explorer.page.session import DRAWING, PATIENCE, PageRequest, Session
from explorer.page.strip import Screen
from explorer.page.window import Handler, Message
from explorer.storage.served_roots import TableRef
from explorer.web.home.reading import HomeReading, Progress
from explorer.web.home.tables import (
    PAGE,
    home_morning,
    home_page,
    home_rows,
    list_page,
    progress_line,
    search_lines,
    statuses,
)
from explorer.web.served_tables import Catalog, TableSummary

_FEW_TABLES: Final = 40
_ALL_READ: Final = 500
"""Up to how many tables all are read, also those that are on other pages of the list."""
_LOOK_EVERY: Final = 2_000


class HomeSession(Session):
    """Reads the tables of the list, those that the window shows before the others.

    Args:
        catalog: The served tables.
        host: Shows the page.
        query, theme, screen, entry, later: As for `Session`.
        since: The last visit to the list of tables; None if not known.
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
        since: datetime | None = None,
        later: bool = False,
    ) -> None:
        self._catalog, self._since = catalog, since
        self._reading = HomeReading(catalog, self._read_some)
        self._listed: tuple[TableRef, ...] = ()
        self._reads_all = False
        self._is_complete = True
        self._unfollow = catalog.list.follow(self._list_changed)
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
        }

    def fits(self, query: str) -> bool:
        """Return whether a query names no table."""
        return not address_of(query).table

    def opened(self) -> None:
        """Search for tables again and again while the window is open."""
        self.host.every(_LOOK_EVERY, self._search_again_and_again)

    def closed(self) -> None:
        """Stop reading tables for the window."""
        self._reading.stop()
        self._unfollow()

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
        return self._home(address_of(request.query), patience=PATIENCE / 2)

    def threads(self, _request: PageRequest) -> Executor:
        """Return the threads that draw."""
        return DRAWING

    def arrived(self, rendered: Rendered) -> None:
        """Show rows that were read while the page was drawn: in it, they are as they were before."""
        rows = [row for row in self._reading.rows(self._listed) if row.row_id in rendered.pending]
        if known := [row for row in rows if not row.pending]:
            self._show_read(known)

    def _home(self, address: Address, *, patience: float) -> Rendered:
        """Return the list: names at once, and the known tables. Of many tables none is read before that."""
        try:
            self._catalog.list.begin(patience=patience)
            listing = self._catalog.list.listing()
            refs = self._listed = listing.refs
            if self.is_open or len(refs) <= _FEW_TABLES:
                self._reading.begin(self._wanted(address), patience=patience)
            progress, rows = self._progress(), self._reading.rows(refs)
            rendered = home_page(self._catalog, address, rows, progress, self._since, listing=listing)
            self._is_complete = not (rendered.pending or progress.running or listing.searching)
            return rendered
        except Exception as error:  # noqa: BLE001  # shown and logged: a page must never stay blank
            rendered = problem_page(address, error, may_commit=self._catalog.allow_commits)
            return Rendered({key: rendered.regions[key] for key in ("bar", "lead", "notice")}, {}, rendered.title)

    def _wanted(self, address: Address) -> list[TableRef]:
        """The tables to be read: those on show, and the others after them, unless they are many."""
        shown = [row.ref for row in list_page(address, self._reading.rows(self._listed), self._since).rows]
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
        self._catalog.list.begin()
        if self._catalog.list.listing().searching:
            self._show_search()

    def _show_list(self) -> None:
        """Show the tables that were found: a page that is full stays as it is until all are found."""
        if self._catalog.list.listing().searching and len(self.shown.rows) >= PAGE:
            self._show_search()
        else:
            self.draw_again()

    def _show_search(self) -> None:
        """Show how far the search is."""
        listing = self._catalog.list.listing()
        self._listed = listing.refs
        rows = self._reading.rows(listing.refs)
        self.drawing.send_again("lead")
        self.drawing.patch(search_lines(self._catalog, address_of(self.query), rows, listing), self.newest)

    def _stop_search(self, message: Message) -> None:
        self._catalog.list.stop()
        self.show_same(message)

    def _search_on(self, message: Message) -> None:
        self._catalog.list.go_on()
        self.show_same(message)

    def _search_again(self, message: Message) -> None:
        self._catalog.list.again()
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
        rows = home_rows(summaries, self.shown.rows, self._since)
        around = {
            "home-progress": progress_line(progress),
            "home-status": statuses(address, known),
            "home-morning": home_morning(address, known, self._since),
        }
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
        self._since = datetime.now(UTC)
        self.show_same(message)
