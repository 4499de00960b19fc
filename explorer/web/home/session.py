"""The window of the list of tables: names at once, and what is known of the tables as they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Final

from explorer.page.address import Address, address_of
from explorer.page.host import Host
from explorer.page.opening import Steps, Wait
from explorer.page.pages import Rendered, problem_page
from explorer.page.session import DRAWING, PATIENCE, PageRequest, Session
from explorer.page.strip import Screen
from explorer.page.window import Handler, Message
from explorer.storage.served_roots import TableRef
from explorer.web.home.tables import HomeReading, home_morning, home_page, home_rows, progress_line, statuses
from explorer.web.served_tables import Catalog, TableSummary

_FEW_TABLES: Final = 40


class HomeSession(Session):
    """Reads the tables of the list, those that the window shows before the others.

    Args:
        catalog: The served tables.
        host: Shows the page.
        query, theme, screen, later: As for `Session`.
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
        since: datetime | None = None,
        later: bool = False,
    ) -> None:
        self._catalog, self._since = catalog, since
        self._reading = HomeReading(catalog, self._read_some)
        self._listed: list[TableRef] = []
        self._all_read = True
        super().__init__(host, query, theme, screen=screen, later=later)

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of the list."""
        return {"stop-reading": self._stop_reading, "read-on": self._read_on, "seen": self._mark_seen}

    def fits(self, query: str) -> bool:
        """Return whether a query names no table."""
        return not address_of(query).table

    def closed(self) -> None:
        """Stop reading tables for the window."""
        self._reading.stop()

    # --- the page, on a thread

    def first(self) -> Steps[tuple[Rendered, bool]]:
        """Make the list to begin with."""
        future = DRAWING.submit(self.render, self.wanted)
        yield Wait((future,), PATIENCE)
        if future.done():
            # What is read before the browser listens would be lost: it asks again.
            return future.result(), self._all_read
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
            refs = self._listed = self._catalog.refs()
            if self.is_open or len(refs) <= _FEW_TABLES:
                self._reading.begin(self._visible_first(refs), patience=patience)
            progress, rows = self._reading.progress, self._reading.rows(refs)
            self._all_read = not any(row.pending for row in rows) and not progress.running
            return home_page(self._catalog, address, rows, progress, self._since)
        except Exception as error:  # noqa: BLE001  # shown and logged: a page must never stay blank
            rendered = problem_page(address, error, may_commit=self._catalog.allow_commits)
            return Rendered({key: rendered.regions[key] for key in ("bar", "lead", "notice")}, {}, rendered.title)

    def _visible_first(self, refs: Sequence[TableRef]) -> list[TableRef]:
        """Tables, those before the others whose rows the window shows."""
        shown = self.shown.rows if self.is_open else ()
        return sorted(refs, key=lambda ref: TableSummary(ref).row_id not in shown)

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
        self._reading.read_on()
        self.show_same(message)

    def _mark_seen(self, message: Message) -> None:
        """Count new commits from now on; the browser keeps the time for the next visit."""
        self._since = datetime.now(UTC)
        self.show_same(message)
