"""One browser window: it asks for addresses, and is sent what changed.

The work of a page runs on a thread, so no other window waits for a long log; only the newest request is
answered. The person sees every error as a notice, and the server's log records it with the request.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import panel as pn
from bokeh.document import Document

from explorer.core.errors import Cancelled, ExplorerError, RequestError
from explorer.debug import log_failure
from explorer.storage.served_roots import TableRef
from explorer.views import TableFacts, TableView
from explorer.views.problems import Problem, lost_problem, problem_of, replaced_problem
from explorer.views.rows.spark_work import SparkStart
from explorer.web.address import Address
from explorer.web.export import export_files
from explorer.web.figure_pane import FigurePane
from explorer.web.home.reading import HomeReading
from explorer.web.home.tables import home_morning, home_page, home_rows, progress_line, standings
from explorer.web.identity import Identity
from explorer.web.opening.early_page import PROGRESS, early_page, reading_line
from explorer.web.opening.steps import Steps, Stepwise, Wait
from explorer.web.page import Page
from explorer.web.pages import Rendered, notice, problem_page, table_page, waiting_page
from explorer.web.render import render
from explorer.web.served_tables import Catalog, TableSummary
from explorer.web.strip import Screen
from explorer.web.table_reading import RightOfWay, TableReading
from explorer.web.tabs import begin_work, export_named, handlers
from explorer.web.window import Handler, Message
from explorer.web.window_work import NewWindow, WindowWork

__all__ = ["Session", "show_failure"]

_log = logging.getLogger(__name__)
# Threads of their own for each kind of work: pages that wait for a table, or a long export, keep nothing else waiting.
_DRAWING = ThreadPoolExecutor(max_workers=16, thread_name_prefix="explorer-page")
_WAITING = ThreadPoolExecutor(max_workers=64, thread_name_prefix="explorer-wait")
_LOOKING = ThreadPoolExecutor(max_workers=4, thread_name_prefix="explorer-look")
_WORKING = ThreadPoolExecutor(max_workers=16, thread_name_prefix="explorer-work")
_PAGES = RightOfWay()
_PATIENCE = 0.6
# So many times as long for what comes with the page itself, before a part of it is shown instead.
_AT_FIRST = 1.6
_FEW_TABLES = 40
_LOOK_EVERY = 3_000
_REPORT_EVERY = 400
_CHART_HEIGHT = 210
_sessions: WeakKeyDictionary[Document, Session] = WeakKeyDictionary()
Result = TypeVar("Result")


class Session:
    """The server's side of one window; it is the `explorer.web.window.Window` that the tabs' messages see.

    Args:
        catalog: The served tables.
        query: The query string the window was opened with.
        theme: ``light`` or ``dark``, as far as the request says.
        person: Who looks at it; empty if not known.
        identity: Who that is, as the server knows it; a name that it knows counts before ``person``.
        page: The bridge to the browser; a new one unless given.
        screen: The size of the window, if an earlier page of it said so.
        since: When the person looked at the list of tables last; None if not known.
        early_spark: Start Spark in the background when a person asks for what will need it.
        later: Make the first page when `prepare` is awaited and `open` is called, and not at once.

    Attributes:
        mark: Names this session in the page that was made for it.
        identity: As given.
        by_person: As for `explorer.web.window.Window`.
        shown: The page that is shown, once there is one.
        complete: Whether that page lacks nothing.
    """

    def __init__(
        self,
        catalog: Catalog,
        query: str,
        theme: str,
        person: str = "",
        *,
        identity: Identity | None = None,
        page: Page | None = None,
        screen: Screen | None = None,
        since: datetime | None = None,
        early_spark: bool = False,
        later: bool = False,
    ) -> None:
        self.query = query
        self.by_person = False
        self.identity = identity or Identity()
        self.mark = secrets.token_hex(8)
        self._since = since
        self.screen = screen or Screen()
        self.theme = theme
        self.kind = _kind(query)
        self.page: Page = page or Page(width=0, height=0)  # type: ignore[no-untyped-call]  # param
        self.page.on_msg(self._receive)
        self._catalog = catalog
        # Work that is begun below, for the first page too, may ask for another drawing at once, from its thread.
        self._document: Document | None = pn.state.curdoc
        self._newest = 0
        self._work = begin_work(NewWindow(catalog, self.identity.name or person, self.identity, self.redraw))
        self._turns = count(1)
        self._drawn = 0
        self._visible = True
        self._looking = False
        # Why the table on show cannot be read any more, and what to say above the next page; both end with a request.
        self._lost = ""
        self._news: Problem | None = None
        self._found: TableFacts | None = None
        self._reading = HomeReading(catalog, self._read_some)
        # Since when the page of which query is awaited, and the reading whose early page is on show.
        self._awaited: tuple[str, float] | None = None
        self._table_reading: TableReading | None = None
        # The table whose log was read again for its audit, at the wish of this window.
        self._audited: TableFacts | None = None
        self._judging = False
        self._early_spark = early_spark
        self._spark = SparkStart(self._spark_changed)
        self._listed: list[TableRef] = []
        self._all_read = True
        self._handlers: Mapping[str, Handler] = {
            "hello": self._hello,
            "go": self._go,
            "theme": self._set_theme,
            "screen": self._set_screen,
            "download": self._download,
            "visible": self._set_visible,
            "stop-reading": self._stop_reading,
            "read-on": self._read_on,
            "seen": self._mark_seen,
            "wake-spark": self._wake_spark,
            **handlers(self),
        }
        self._answered = False
        self._opening = Stepwise(self._first())
        if not later:
            self.open()

    async def prepare(self) -> None:
        """Wait until the first page is there, or what is known soon; the server answers other windows meanwhile."""
        await self._opening.awaited()

    def open(self) -> None:
        """Show the first page to the browser."""
        self.shown, self.complete = self._opening.waited()
        self._answered = True
        # What the page was made with; a browser that says hello has seen nothing else.
        self._made = self.shown
        self._sent = dict(self.shown.regions)
        self.chart = FigurePane(self.shown.chart, _CHART_HEIGHT)
        if self._document is not None:
            self._live_in(self._document)

    def _live_in(self, document: Document) -> None:
        _sessions[document] = self
        pn.state.on_session_destroyed(self._close)
        if self.kind == "table":
            pn.state.add_periodic_callback(self._look, period=_LOOK_EVERY)
            pn.state.add_periodic_callback(self._report, period=_REPORT_EVERY)

    def _close(self, _context: object) -> None:
        self._work.stop_reading()
        self._reading.stop()
        self._spark.close()
        self._document = None

    # --- the window, as its messages see it

    @property
    def view(self) -> TableView | None:
        """The table, version and tab that are shown; None if there is no table to show."""
        return self.shown.view

    @property
    def work(self) -> WindowWork:
        """The window's running work."""
        return self._work

    def answer(self, message: Message, regions: Mapping[str, str] | None = None, *, query: str = "") -> None:
        """Say that a message has arrived, with the parts of the page and the address that follow from it."""
        self._patch(regions or {}, message.number, query)

    def redraw(self) -> None:
        """Draw the page again; from any thread."""
        self._later(self._draw_again, self._newest)

    def begin(self, work: Callable[[], object]) -> None:
        """Do long work on a thread; the work itself reports its result, and what it raises is shown."""

        def ended(done: Future[object]) -> None:
            if done.exception() is not None:
                self._later(done.result, self._newest)

        _WORKING.submit(work).add_done_callback(ended)

    def compute(self, message: Message, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Compute something on a thread, and continue with it on the server's loop; the answer may be an error."""
        self._compute(_WORKING, message.number, work, then)

    def tell(self, error: Exception, number: int = 0) -> None:
        """Show an error above the page's content; an unexpected one is logged with the request."""
        unforeseen = not isinstance(error, ExplorerError)
        if unforeseen:
            log_failure(_log, f"request {number} for {self.query or '?'} failed", error)
        self._patch({"notice": notice(problem_of(error), retry=unforeseen)}, number)

    # --- what the window asks for

    def _receive(self, event: Any) -> None:
        message = Message.read(event.data)
        handler = self._handlers.get(message.kind) if message is not None else None
        if message is not None and handler is not None:
            self._guarded(partial(handler, message), message.number)

    def _hello(self, message: Message) -> None:
        self.theme = _theme(message)
        drawn_for, self.screen = self.screen, _screen(message) or self.screen
        same = message.text("theme") == message.text("shown") and message.text("query", _LONGEST) == self.query
        # What was drawn before the browser listened is lost, and its parts must be sent again.
        lost = self.shown is not self._made or self._sent != self._made.regions
        self.shown, self._sent = self._made, dict(self._made.regions)
        if message.text("mark") != self.mark:
            # The browser was slow to open its socket: the session that made its page is gone, and what that one had
            # drawn is not known. Only the chart came along with this one.
            self.shown, self._sent, lost = replace(self._made, regions={}, timeline=None), {}, True
        if self.complete and not lost and same and self.screen.like(drawn_for):
            self.answer(message)
            self._go_on()
        else:
            self._go(message)

    def _go(self, message: Message) -> None:
        self.by_person = message.is_set("asked")
        self._show(message.text("query", _LONGEST), message.number)

    def _set_theme(self, message: Message) -> None:
        self.theme = _theme(message)
        self._show_same(message)

    def _set_screen(self, message: Message) -> None:
        self.screen = _screen(message) or self.screen
        self._show_same(message)

    def _show_same(self, message: Message) -> None:
        """Draw the page again for a message; the browser's address may lack a question that was just asked."""
        self._show(self.query, message.number)

    def _show(self, query: str, number: int) -> None:
        self.query, self._lost, self._news = query, "", None
        self._newest = max(self._newest, number)
        if _kind(query) != self.kind:
            # The two kinds of page have different skeletons.
            self.page.send({"kind": "reload"})
            return
        arrived = partial(self._arrived, number, next(self._turns))
        self._awaited = query, time.monotonic()
        self._compute(
            self._threads(query),
            number,
            partial(self._render, query, self.theme, self.screen, by_person=self.by_person),
            arrived,
        )

    def _draw_again(self) -> None:
        self._show(self.query, self._newest)

    def _download(self, message: Message) -> None:
        view = self.view
        if view is None:
            raise RequestError("There is nothing to export on this page.", field="list")
        name, address = message.text("list"), Address.parse(self.query)
        export, format_ = export_named(name), message.text("format")

        def made() -> list[dict[str, Any]]:
            return list(export_files(export(view, address, self._work), f"{name}-{message.number}", format_))

        self.compute(message, made, partial(self._send_file, message))

    def _send_file(self, message: Message, parts: Sequence[dict[str, Any]]) -> None:
        for part in parts:
            self.page.send(part)
        self.answer(message)

    # --- the list of tables, as it is read

    def _read_some(self, summaries: Sequence[TableSummary]) -> None:
        """Show what was read, in its place; at the end everything once more, as order and counts depend on it."""
        self._later(partial(self._show_read, summaries), self._newest)

    def _show_read(self, summaries: Sequence[TableSummary]) -> None:
        if self.kind != "home":
            return
        progress = self._reading.progress
        if progress.running:
            address, known = _address(self.query), self._reading.rows(self._listed)
            rows = home_rows(summaries, self.shown.rows, self._since)
            around = {
                "home-progress": progress_line(progress),
                "home-standings": standings(address, known),
                "home-morning": home_morning(address, known, self._since),
            }
            # What these are parts of is sent again when the reading ends, though it then reads as it did at first.
            self._sent.pop("lead", None)
            self._patch(rows | around, self._newest)
        else:
            self._draw_again()

    def _stop_reading(self, message: Message) -> None:
        if self.kind == "table":
            # Who waits for it gets the page that says so.
            self._catalog.stop_reading(_address(self.query).table)
            self.answer(message)
        else:
            self._reading.stop()
            self._show_same(message)

    def _read_on(self, message: Message) -> None:
        self._reading.read_on()
        self._show_same(message)

    def _mark_seen(self, message: Message) -> None:
        """Count new commits from now on; the browser keeps the time for the next visit."""
        self._since = datetime.now(UTC)
        self._show_same(message)

    # --- a table, while its log is read

    def _report(self) -> None:
        """While a page is awaited because the log of its table is read: draw the newest part, say how far it is."""
        if self._awaited is None or time.monotonic() - self._awaited[1] < _PATIENCE:
            return
        query = self._awaited[0]
        reading = self._read_of(_address(query))
        if reading is None or reading.stopped:
            return
        if reading is not self._table_reading:
            self._table_reading = reading
            early = partial(self._early, query, reading)
            self._compute(_DRAWING, self._newest, early, partial(self._show_early, reading))
        elif self.shown.is_early and (facts := reading.newest()) is not None:
            self._sent.pop("lead", None)
            self._patch({PROGRESS: reading_line(facts, reading)}, 0)

    def _threads(self, query: str) -> Executor:
        """The threads that draw the page of a query; one that waits for a table that others read waits apart."""
        try:
            return _WAITING if self._catalog.is_being_read(_address(query).table) else _DRAWING
        except ExplorerError:
            return _DRAWING  # the page itself says what is wrong with the address

    def _read_of(self, address: Address) -> TableReading | None:
        try:
            return self._catalog.reading(address.table)
        except ExplorerError:
            return None  # the page itself says what is wrong with the address

    def _early(self, query: str, reading: TableReading) -> Rendered | None:
        facts, address = reading.newest(), _address(query)
        if facts is None:
            return None
        with reading.early.page():
            may_commit = self._catalog.allow_commits
            return early_page(address, facts, reading, self.theme, self.screen, may_commit=may_commit)

    def _show_early(self, reading: TableReading, rendered: Rendered | None) -> None:
        if rendered is not None and self._awaited is not None and reading is self._table_reading:
            self._draw(rendered, 0)

    # --- Spark, before anyone asks for rows

    def _wake_spark(self, _message: Message) -> None:
        """Someone touched a form whose answer needs Spark; nothing answers this."""
        if self._early_spark:
            self._spark.begin()

    def _go_on(self) -> None:
        """Begin what the page that is shown will need, and read the log for the rules that have no answer in it."""
        if self._early_spark and self.by_person and self.shown.needs_spark:
            self._spark.begin()
        facts = None if self.view is None else self.view.facts
        if facts is None or self._judging:
            return
        if not facts.is_judged:
            self._judge(facts.judge)
        elif self.shown.audit is not facts.audit_at_hand():
            self._draw_again()
        elif facts is not self._audited and facts.awaits_log:
            self._audited = facts
            self._judge(partial(_judge_again, facts))

    def _judge(self, work: Callable[[], object]) -> None:
        """Find out what the page does not show yet, then draw it again; one such work at a time."""
        self._judging = True

        def judged(done: Future[object]) -> None:
            self._later(partial(self._judged, done), self._newest)

        _LOOKING.submit(work).add_done_callback(judged)

    def _judged(self, done: Future[object]) -> None:
        self._judging = False
        done.result()
        self._draw_again()

    def _spark_changed(self, state: Mapping[str, str]) -> None:
        """Say how far the start is; when it has ended, what the page says of it is drawn again."""
        if state["state"] == "starting":
            self._later(lambda: self._patch({"spark": render("spark", engine=state)}, self._newest), self._newest)
        else:
            self.redraw()

    # --- whether the table has a newer version

    def _set_visible(self, message: Message) -> None:
        """A window that nobody sees does not read the log; it reads it as soon as it is seen again."""
        self._visible = message.is_set("visible")
        self._look()

    def _look(self) -> None:
        """See what became of the table; the shown version stays, a newer one is offered."""
        if not (self._visible and self.complete and self.kind == "table") or self._looking:
            return
        try:
            address = Address.parse(self.query)
        except ExplorerError:
            return  # the page says what is wrong with its address, and no look changes that
        self._looking = True
        facts = partial(self._catalog.facts, address.table)
        _LOOKING.submit(facts).add_done_callback(partial(self._looked, self.query))

    def _looked(self, query: str, done: Future[TableFacts]) -> None:
        self._looking = False
        if query == self.query:
            self._later(partial(self._follow, done), self._newest)

    def _follow(self, done: Future[TableFacts]) -> None:
        """Draw what follows from a look: a newer version, another table in its place, none, or one that is back."""
        if self._awaited is not None:
            return  # what is on show is not the page of the address; that one is on its way, and the next look sees it
        view, error = self.view, done.exception()
        if isinstance(error, Exception):
            self._say_lost(error)
        elif view is None:
            # The page says why there is nothing to show; a table that is there again may have it.
            if done.result() is not self._found:
                self._found = done.result()
                self._draw_again()
        elif self._lost:
            self._draw_again()
        elif done.result() is not view.facts:
            self._follow_facts(view, done.result())

    def _follow_facts(self, view: TableView, facts: TableFacts) -> None:
        before = view.facts
        if not facts.follows(before):
            query = Address.parse(self.query).to(version=None, compared=None)
            self._patch({}, self._newest, query, say="the table was replaced")
            self._show(query, self._newest)
            self._news = replaced_problem(before.last, facts.last)
        elif facts.last > before.last:
            # The shown version stays in the address; its offer and stale plans follow from the newer one.
            address = Address.parse(self.query)
            query = address.to(version=address.version or view.version)
            self._patch({}, self._newest, query, say=f"v{facts.last} landed")
            self._show(query, self._newest)
        else:
            self._draw_again()

    def _say_lost(self, error: Exception) -> None:
        """Say once why the table on show cannot be read any more; a page without a table says it itself."""
        why = f"{type(error).__name__}: {error}"
        if self.view is None or why == self._lost:
            return
        self._lost = why
        if not isinstance(error, ExplorerError):
            log_failure(_log, f"a look at the table of {self.query or '?'} failed", error)
        problem = lost_problem(error) if isinstance(error, ExplorerError) else problem_of(error)
        self._patch({"notice": notice(problem, retry=True)}, self._newest)

    # --- what the window is sent

    def _arrived(self, number: int, turn: int, rendered: Rendered) -> None:
        # Of two drawings for one request the one that began later holds, whichever is ready first.
        if number < self._newest or turn < self._drawn:
            return
        self._drawn, self._awaited, self._table_reading = turn, None, None
        if self._news is not None and not rendered.regions.get("notice"):
            rendered.regions["notice"] = notice(self._news)
        self._draw(rendered, number)
        if rendered.pending:
            # Rows that were shown while this page was drawn are in it as they were before.
            rows = [row for row in self._reading.rows(self._listed) if row.row_id in rendered.pending]
            if known := [row for row in rows if not row.pending]:
                self._show_read(known)
        self._go_on()

    def _draw(self, rendered: Rendered, number: int) -> None:
        """Send what differs from what the window shows."""
        changed = {id_: html for id_, html in rendered.regions.items() if self._sent.get(id_) != html}
        before, self.shown, self.complete = self.shown, rendered, not rendered.is_early
        self._sent |= changed
        message = {"kind": "patch", "regions": changed, "hidden": rendered.hidden, "number": number}
        with _together(self._document):
            self.chart.draw(rendered.chart, same_data=before.chart_key == rendered.chart_key)
            strip = None if rendered.timeline is None else rendered.timeline.message(before.timeline)
            self.page.send(message | {"title": rendered.title} | ({} if strip is None else {"strip": strip}))

    def _patch(self, regions: Mapping[str, str], number: int, query: str = "", say: str = "") -> None:
        self._sent |= regions
        message = {"kind": "patch", "regions": dict(regions), "hidden": {}, "number": number}
        self.page.send(message | {name: text for name, text in (("query", query), ("say", say)) if text})

    # --- threads

    def _compute(
        self, threads: Executor, number: int, work: Callable[[], Result], then: Callable[[Result], None]
    ) -> None:
        def computed(done: Future[Result]) -> None:
            if self._document is None:
                self._work.stop_reading()  # the window was closed before this could begin
            self._later(lambda: then(done.result()), number)

        threads.submit(work).add_done_callback(computed)

    def _later(self, then: Callable[[], object], number: int) -> None:
        """Do something on the server's loop, if the window is still there; from any thread."""
        if self._document is not None:
            self._document.add_next_tick_callback(partial(self._guarded, then, number))

    def _guarded(self, then: Callable[[], object], number: int) -> None:
        try:
            then()
        except Exception as error:  # noqa: BLE001  # shown and logged: a request must never end in silence
            self.tell(error, number)

    # --- on a worker's thread

    def _first(self) -> Steps[tuple[Rendered, bool]]:
        """The page to answer the request with: all of it if it is there soon, else what is known soon."""
        future = self._threads(self.query).submit(self._render, self.query, self.theme, self.screen)
        is_table = self.kind == "table"
        yield Wait((future,), _PATIENCE * (_AT_FIRST if is_table else 1))
        if future.done():
            return self._whole(future.result())
        address = _address(self.query)
        if not is_table:
            return self._home(address, patience=0), False
        # What comes with the page is seen before the scripts are loaded, and what comes later is not.
        early = _DRAWING.submit(self._first_part, address)
        yield Wait((future, early), _PATIENCE)
        if not early.done() or early.result() is None:
            yield Wait((future,), _PATIENCE)
        if future.done():
            return self._whole(future.result())
        part = early.result() if early.done() else None
        if part is None:
            return waiting_page(address, may_commit=self._catalog.allow_commits), False
        self._table_reading = self._read_of(address)
        return part, False

    def _whole(self, rendered: Rendered) -> tuple[Rendered, bool]:
        # What is read before the browser listens would be lost: it asks again.
        return rendered, self._all_read

    def _first_part(self, address: Address) -> Rendered | None:
        """What is known soon of a table whose log takes long to read; None where there is nothing, or an error."""
        reading = self._read_of(address)
        if reading is None:
            return None
        try:
            return self._early(self.query, reading)
        except ExplorerError:
            return None  # what is wrong with the table is said by its page

    def _render(self, query: str, theme: str, screen: Screen, *, by_person: bool = False) -> Rendered:
        try:
            address = Address.parse(query)
        except ExplorerError as error:
            return problem_page(_address(query), error, may_commit=self._catalog.allow_commits)
        if not address.table:
            return self._home(address, patience=_PATIENCE / 2)
        try:
            with _PAGES.page():
                return table_page(self._catalog, address, theme, self._work, screen, wait=False, by_person=by_person)
        except Cancelled as error:
            reading = self._catalog.reading(address.table)
            early = None if reading is None else self._early(query, reading)
            return early or problem_page(address, error, may_commit=self._catalog.allow_commits)

    def _visible_first(self, refs: Sequence[TableRef]) -> list[TableRef]:
        """Tables, those before the others whose rows the window shows."""
        shown = self.shown.rows if self._answered else ()
        return sorted(refs, key=lambda ref: TableSummary(ref).row_id not in shown)

    def _home(self, address: Address, *, patience: float) -> Rendered:
        """The list of tables: names at once, and what is known of them; the rest comes as it is read.

        Of many tables none is read before the names are sent.
        """
        try:
            refs = self._listed = self._catalog.refs()
            if self._answered or len(refs) <= _FEW_TABLES:
                self._reading.begin(self._visible_first(refs), patience=patience)
            progress, rows = self._reading.progress, self._reading.rows(refs)
            self._all_read = not any(row.pending for row in rows) and not progress.running
            return home_page(self._catalog, address, rows, progress, self._since)
        except Exception as error:  # noqa: BLE001  # shown and logged: a page must never stay blank
            rendered = problem_page(address, error, may_commit=self._catalog.allow_commits)
            return Rendered({key: rendered.regions[key] for key in ("bar", "lead", "notice")}, {}, rendered.title)


_LONGEST = 1_000_000


def show_failure(error: Exception) -> None:
    """Log an error that no handler caught, and show it in the window it arose for (Panel's exception handler)."""
    document = pn.state.curdoc
    session = _sessions.get(document) if document is not None else None
    if session is None:
        log_failure(_log, "a callback failed", error)
    else:
        session.tell(error)


@contextmanager
def _together(document: Document | None) -> Iterator[None]:
    """Send what is changed inside when all of it is there, in its order.

    This is Bokeh's own hold and not Panel's, which writes to the socket beside the session and can lose what it wrote
    while another message was on its way.
    """
    if document is None:
        yield
        return
    document.hold("combine")
    try:
        yield
    finally:
        document.unhold()


def _judge_again(facts: TableFacts) -> None:
    """Read the log again for the rules that trust nothing that is kept of it, and ask all rules once more."""

    def watch(_done: int, _total: int) -> None:
        _PAGES.give_way()

    facts.prepare_audit(watch)
    facts.judge()


def _theme(message: Message) -> str:
    return "dark" if message.text("theme") == "dark" else "light"


def _screen(message: Message) -> Screen | None:
    width, height = message.amount("width"), message.amount("height")
    return Screen(min(width, 8_000), min(height, 8_000)) if width and height else None


def _kind(query: str) -> str:
    return "table" if _address(query).table else "home"


def _address(query: str) -> Address:
    """The address of a query; of one that cannot be read, only its table."""
    try:
        return Address.parse(query)
    except ExplorerError:
        return Address.of_table(query)
