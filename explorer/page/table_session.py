"""The window of one table: its page, its first reading, Spark before anyone asks for rows, and newer versions."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from functools import partial
from typing import Any, ClassVar, Final

from explorer.activity.event import Event
from explorer.core.errors import Cancelled, ExplorerError, RequestError
from explorer.debug import log_failure
from explorer.page.act.form import ActDesk
from explorer.page.address import Address, address_of
from explorer.page.entry import OPENS_ROWS, Entry, OnShow, right_of_message, right_of_tab
from explorer.page.host import Host, Identity
from explorer.page.opening import PROGRESS, Steps, Wait, early_page, reading_line
from explorer.page.pages import Rendered, notice, problem_page, table_page, waiting_page
from explorer.page.palette import PaletteContext
from explorer.page.render import render
from explorer.page.session import CHECKING, DRAWING, PATIENCE, WAITING, PageRequest, Session
from explorer.page.strip import Screen
from explorer.page.tab_spec import export_files
from explorer.page.tables import RightOfWay, TableReading, Tables
from explorer.page.tabs import begin_work, export_named, handlers, tab_named
from explorer.page.version_watch import Changed, Lost, Newer, TableBack, TableReplaced, VersionWatch
from explorer.page.window import Handler, Message, NewWindow, WindowWork
from explorer.rights import Right
from explorer.storage.silence import waiting_line
from explorer.views import TableFacts, TableView
from explorer.views.act.desk.state import Ready
from explorer.views.problems import Problem, lost_problem, problem_of, replaced_problem
from explorer.views.rows.spark_work import SparkStart

_log = logging.getLogger(__name__)
_PAGES = RightOfWay()
# So many times as long for what comes with the page itself, before a part of it is shown instead.
_AT_FIRST: Final = 1.6
_CHECK_EVERY: Final = 3_000
_REPORT_EVERY: Final = 400
# Messages about the rows on show, besides exports and pins.
_ROWS_TAKEN: Final = frozenset({"rows-turn", "changes-share", "differences-share", "story-share"})
# Seconds that a page waits for rows that are on their way, before it is shown without them.
_ROWS_AWAITED: Final = 0.15


class TableSession(Session):
    """It is the `explorer.page.window.Window` that the tabs' messages see.

    Args:
        tables: The tables that can be shown.
        host: Shows the page.
        query, theme, screen, entry, later: As for `Session`.
        early_spark: Start Spark in the background when a person asks for what will need it.
    """

    kind: ClassVar[str] = "table"

    def __init__(
        self,
        tables: Tables,
        host: Host,
        query: str,
        theme: str,
        *,
        screen: Screen | None = None,
        entry: Entry | None = None,
        early_spark: bool = False,
        later: bool = False,
    ) -> None:
        self.identity: Identity = host.identity
        self._tables = tables
        self._work = begin_work(NewWindow(tables, host.identity.name or host.person, host.identity, self.redraw))
        self._watch = VersionWatch()
        self._visible = True
        self._checking = False
        # What to say above the next page; ends with a request.
        self._news: Problem | None = None
        # The reading whose early page is on show.
        self._reading: TableReading | None = None
        # The table whose log was read again for its audit, at the wish of this window.
        self._audited: TableFacts | None = None
        self._judging = False
        self._early_spark = early_spark
        self._spark = SparkStart(self._spark_changed)
        # The last rows that a tab opened by itself, and the last plan that was shown, as the record has them; of such
        # rows, those that are not on the disk yet.
        self._recorded: tuple[object, ...] = ()
        self._being_recorded: set[tuple[object, ...]] = set()
        self._recording = threading.Lock()
        # The request whose page is being made and has opened its rows; None without one.
        self._ahead: int | None = None
        self._recorded_plan = ""
        super().__init__(host, query, theme, screen=screen, entry=entry, later=later)

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of the page and of its tabs."""
        return {
            "download": self._download,
            "visible": self._set_visible,
            "stop-reading": self._stop_reading,
            "read-on": self.show_same,
            "stop-waiting": self._stop_waiting,
            "wake-spark": self._wake_spark,
            **handlers(self),
        }

    def palette_context(self) -> PaletteContext:
        """Return the table's page."""
        tables, shown = self._tables, self.shown
        address = address_of(self.query)
        # While the page of another table is made, what is shown is not the table of the address: its names are not kept
        # under that address, where others may see them.
        is_of_address = address.table == address_of(self.drawn).table
        view = None if shown.is_early or not is_of_address else shown.view
        return PaletteContext(
            tables.palette_names, address, view, tables.allow_commits, has_home=not tables.picks_files
        )

    def fits(self, query: str) -> bool:
        """Return whether a query names a table."""
        return bool(address_of(query).table)

    def opened(self) -> None:
        """Look at the table now and then."""
        self.host.every(_CHECK_EVERY, self.check_table)
        self.host.every(_REPORT_EVERY, self._report)

    def closed(self) -> None:
        """Stop what Spark reads for the window."""
        self._work.stop_reading()
        self._spark.close()

    def asked(self) -> None:
        """Forget what was said of the table."""
        self._watch.forget()
        self._news = None

    # --- the window, as its messages see it

    @property
    def view(self) -> TableView | None:
        """The table, version and tab that are shown; None if there is no table to show."""
        return self.shown.view

    @property
    def work(self) -> WindowWork:
        """The window's running work."""
        return self._work

    def _admit(self, handler: Handler, message: Message) -> None:
        """Handle a message as any page; while other rows take their place, nothing is done with those on show."""
        export = message.text("list") if message.kind == "download" else ""
        takes_rows = message.kind in _ROWS_TAKEN or (message.kind == "pin" and message.text("pin") in ("rows", "row"))
        if (takes_rows or right_of_message("download", export) is Right.ROWS) and self._ahead in self._making:
            raise RequestError("Other rows are about to be shown. Try again once they are.", field="list")
        super()._admit(handler, message)

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
            self.host.send(part)
        self.answer(message)

    # --- its page, on a thread

    def first(self) -> Steps[tuple[Rendered, bool]]:
        """Make the page to begin with; what comes with it is seen before the scripts are loaded."""
        future = self.threads(self.wanted).submit(self.render, self.wanted)
        yield Wait((future,), PATIENCE * _AT_FIRST)
        if future.done():
            return future.result(), True
        address = address_of(self.query)
        early = DRAWING.submit(self._first_part, address)
        yield Wait((future, early), PATIENCE)
        if not early.done() or early.result() is None:
            yield Wait((future,), PATIENCE)
        if future.done():
            return future.result(), True
        part = early.result() if early.done() else None
        if part is None:
            return waiting_page(address, may_commit=self._tables.allow_commits), False
        self._reading = self._reading_of(address)
        return part, False

    def render(self, request: PageRequest) -> Rendered:
        """Make the page of a table."""
        try:
            address = Address.parse(request.query)
        except ExplorerError as error:
            return problem_page(address_of(request.query), error, may_commit=self._tables.allow_commits)
        try:
            with _PAGES.page():
                return table_page(
                    self._tables,
                    address,
                    request.theme,
                    self._work,
                    request.screen,
                    wait=False,
                    by_person=request.by_person,
                    permit=partial(self._permit, address),
                    # A result of another window is taken over by the page, where it is still kept.
                    begin=partial(self._open_ahead, request, address),
                    shows_values=lambda facts: self.entry.may(Right.ROWS, OnShow(address.table, facts.location)),
                    is_wanted=partial(self.wants, request),
                )
        except Cancelled as error:
            reading = self._tables.reading(address.table)
            early = None if reading is None else self._early(request.query, reading)
            return early or problem_page(address, error, may_commit=self._tables.allow_commits)

    def _permit(self, address: Address, facts: TableFacts) -> None:
        """Raise `NotAllowed` for what the person may not see: a tab, another table's values, a search's result."""
        shown = OnShow(address.table, facts.location)
        if address.other or address.result:
            self.entry.require(Right.ROWS, shown)
        decides = self._tables.approvals is not None and not address.act and address.step == "fill"
        self.entry.require(right_of_tab(address.tab, address.step, decides=decides), shown)

    def threads(self, request: PageRequest) -> Executor:
        """Return the threads that draw; a page that waits for a table that others read waits apart."""
        try:
            return WAITING if self._tables.is_being_read(address_of(request.query).table) else DRAWING
        except ExplorerError:
            return DRAWING  # the page itself says what is wrong with the address

    def about_to_draw(self, rendered: Rendered) -> None:
        """Put the news above the page, unless it has a notice of its own."""
        self._reading = None
        if self._news is not None and not rendered.regions.get("notice"):
            rendered.regions["notice"] = notice(self._news)

    def arrived(self, rendered: Rendered) -> None:
        """Begin what the page will need, and read the log for the rules that have no answer in it."""
        if self._ahead not in self._making:
            self._ahead = None
        if self._early_spark and self.by_person and rendered.needs_spark:
            self._spark.begin()
        if rendered.view is not None and not rendered.is_early:
            self._open_tab(Address.parse(self.query))
        facts = None if self.view is None else self.view.facts
        if facts is None or self._judging:
            return
        if not facts.is_judged:
            self._judge(facts.judge)
        elif rendered.audit is not facts.cached_audit():
            self.draw_again()
        elif facts is not self._audited and facts.awaits_log:
            self._audited = facts
            self._judge(partial(_judge_again, facts))

    def _open_tab(self, address: Address) -> None:
        """Begin what a tab on show needs, once that is recorded; a redrawn page is not another reading of rows."""
        shown = self.on_show()
        if address.tab in OPENS_ROWS:
            if not self.entry.may(Right.ROWS, shown):
                return
            reading = _reading(address, shown)
            recorded = self._record_reading(address, shown)
            if recorded is not None:
                self.when_recorded(recorded, self.newest, partial(self._open_recorded, reading))
            if reading in self._being_recorded:
                return  # the tab is opened when that is on the disk
        self._record_plan(shown)
        if self.view is not None and address.tab in OPENS_ROWS:
            self.begin(partial(tab_named(address.tab).opened, self.view, address, self._work))

    def _open_ahead(self, request: PageRequest, address: Address, view: TableView) -> int:
        """Begin on a thread what a tab needs before it is drawn, once that is recorded, and wait a moment for it.

        Returns:
            1 if it is there, which was told as a change of what is to be shown; otherwise 0.
        """
        shown = OnShow(address.table, view.facts.location, view.version)
        # A result of another window is taken over when the page is drawn, where it is still kept.
        if not request.by_person or address.result or address.tab not in OPENS_ROWS:
            return 0
        if not self.entry.may(Right.ROWS, shown) or not self._is_recorded(request, address, shown):
            return 0
        self._ahead = request.number
        told = tab_named(address.tab).opened(view, address, self._work)
        return int(told is not None and told.wait(_ROWS_AWAITED))

    def _is_recorded(self, request: PageRequest, address: Address, shown: OnShow) -> bool:
        """Record on a thread that a tab reads rows; return false if it is not to be opened ahead.

        Another page may be wanted by the time that it is on the disk, or it takes longer than a page waits.
        """
        reading, recorded = _reading(address, shown), self._record_reading(address, shown)
        if recorded is None:
            return reading not in self._being_recorded
        wait([recorded], _ROWS_AWAITED)
        if not recorded.done() or recorded.exception() is not None or not self.wants(request):
            # What is wrong is said on the loop, where the tab is opened too if it turns out well.
            self.when_recorded(recorded, self.newest, partial(self._open_recorded, reading))
            return False
        self._being_recorded.discard(reading)
        return True

    def _record_reading(self, address: Address, shown: OnShow) -> Future[Any] | None:
        """Begin to record that a tab reads rows; return None where that was begun before, or nothing is recorded."""
        reading = _reading(address, shown)
        with self._recording:
            if reading == self._recorded or (address.tab == "row" and not address.row):
                return None
            event = Event(kind="rows", what=address.tab, table=shown.name, version=shown.version)
            recorded, self._recorded = self.entry.record(event), reading
            if recorded is not None:
                self._being_recorded.add(reading)
            return recorded

    def _open_recorded(self, reading: tuple[object, ...], recorded: Future[Any]) -> None:
        """Open a tab whose opening was recorded, unless something else is on show by now."""
        self._being_recorded.discard(reading)
        if recorded.exception() is not None and self._recorded == reading:
            self._recorded = ()  # the next page tries again
        recorded.result()
        address = Address.parse(self.query)
        if self.view is not None and not self.shown.is_early and _reading(address, self.on_show()) == reading:
            self._open_tab(address)

    def _record_plan(self, shown: OnShow) -> None:
        """Record a plan that the person is shown."""
        state = self._work.of(ActDesk).state
        if not isinstance(state, Ready) or not state.draft.shown or state.draft.plan.digest == self._recorded_plan:
            return
        plan, kind = state.draft.plan, state.draft.question.kind
        self._recorded_plan = plan.digest
        event = Event(kind="plan", what=kind, table=shown.name, version=plan.read_version, digest=plan.digest)
        if (recorded := self.entry.record(event)) is not None:
            self.when_recorded(recorded, self.newest, lambda done: done.result())

    def on_show(self) -> OnShow:
        """Return what the window shows, for the entry."""
        view = self.shown.view if self.is_open else None
        name = address_of(self.query).table
        return OnShow(name) if view is None else OnShow(name, view.facts.location, view.version)

    def _judge(self, work: Callable[[], object]) -> None:
        """Find out what the page does not show yet, then draw it again; one such work at a time."""
        self._judging = True
        self.tasks.watch(CHECKING, self.newest, work, self._judged)

    def _judged(self, done: Future[object]) -> None:
        self._judging = False
        done.result()
        self.draw_again()

    # --- while its log is read

    def _stop_reading(self, message: Message) -> None:
        # Each window that waits for it gets the page that says so.
        self._tables.stop_reading(address_of(self.query).table)
        self.answer(message)

    def _report(self) -> None:
        """While a page is awaited because the log of its table is read: draw the newest part, say how far it is."""
        if self.awaited is None or time.monotonic() - self.awaited[1] < PATIENCE:
            return
        query = self.awaited[0]
        self._show_silence(address_of(query))
        reading = self._reading_of(address_of(query))
        if reading is None or reading.stopped:
            return
        if reading is not self._reading:
            self._reading = reading
            early = partial(self._early, query, reading)
            self.tasks.compute(DRAWING, self.newest, early, partial(self._show_early, reading))
        elif self.shown.is_early and (facts := reading.newest()) is not None:
            self.drawing.send_again("lead")
            self.drawing.patch({PROGRESS: reading_line(facts, reading)}, 0)

    def _show_silence(self, address: Address) -> None:
        """Say that the store of the table does not answer, where nothing of the table is known yet."""
        if self.shown.view is not None:
            return
        try:
            line = waiting_line(self._tables.location(address.table))
        except ExplorerError:
            return  # the page itself says what is wrong with the address
        if line:
            self.drawing.patch({"lead": render("silent", line=line)}, 0)

    def _stop_waiting(self, message: Message) -> None:
        """Leave the page that is awaited; what was asked of the store is given up later."""
        error = Cancelled("The wait for the store was ended. Try again when it answers.", operation="open the table")
        page = problem_page(address_of(self.query), error, may_commit=self._tables.allow_commits)
        self.draw_instead(page, message.number)

    def _reading_of(self, address: Address) -> TableReading | None:
        try:
            return self._tables.reading(address.table)
        except ExplorerError:
            return None  # the page itself says what is wrong with the address

    def _first_part(self, address: Address) -> Rendered | None:
        """Return what is known early of a table whose log takes long to read; None if nothing is, or on an error."""
        reading = self._reading_of(address)
        if reading is None:
            return None
        try:
            return self._early(self.query, reading)
        except ExplorerError:
            return None  # what is wrong with the table is said by its page

    def _early(self, query: str, reading: TableReading) -> Rendered | None:
        facts, address = reading.newest(), address_of(query)
        if facts is None:
            return None
        with reading.early.page():
            may_commit = self._tables.allow_commits
            return early_page(address, facts, reading, self.theme, self.screen, may_commit=may_commit)

    def _show_early(self, reading: TableReading, rendered: Rendered | None) -> None:
        if rendered is not None and self.awaited is not None and reading is self._reading:
            self.drawing.draw(rendered, 0)

    # --- Spark, before anyone asks for rows

    def _wake_spark(self, _message: Message) -> None:
        """Start Spark, as a form was touched whose answer needs it; nothing answers this."""
        if self._early_spark:
            self._spark.begin()

    def _spark_changed(self, state: Mapping[str, str]) -> None:
        """Say how far the start is; when it has ended, what the page says of it is drawn again."""
        if state["state"] == "starting":
            self.tasks.later(
                lambda: self.drawing.patch({"spark": render("spark", engine=state)}, self.newest), self.newest
            )
        else:
            self.redraw()

    # --- whether the table has a newer version

    def _set_visible(self, message: Message) -> None:
        """Read no log while the window is out of sight, and read it as soon as the window is seen again."""
        self._visible = message.is_set("visible")
        self.check_table()

    def check_table(self) -> None:
        """See what became of the table; the shown version stays, a newer one is offered."""
        if not (self._visible and self.drawing.complete) or self._checking:
            return
        try:
            address = Address.parse(self.query)
        except ExplorerError:
            return  # the page says what is wrong with its address, and no check changes that
        self._checking = True
        facts = partial(self._tables.facts, address.table)
        self.tasks.watch(CHECKING, self.newest, facts, partial(self._table_checked, self.query))

    def _table_checked(self, query: str, done: Future[TableFacts]) -> None:
        self._checking = False
        # While another page is on its way, what is on show is not the page of the address, and the next check sees it.
        if query == self.query and self.awaited is None:
            shown, error = None if self.view is None else self.view.facts, done.exception()
            self._follow(self._watch.news(shown, error if isinstance(error, Exception) else done.result()))

    def _follow(self, news: object) -> None:
        """Draw what follows from a check."""
        match news:
            case Lost(error):
                self._say_lost(error)
            case TableBack() | Changed():
                self.draw_again()
            case TableReplaced(before, newest):
                query = Address.parse(self.query).to(version=None, compared=None)
                self._move(query, "the table was replaced")
                self._news = replaced_problem(before, newest)
            case Newer(newest):
                # The shown version stays in the address; its offer and stale plans follow from the newer one.
                assert self.view is not None, "only a table on show has a newer version"
                address = Address.parse(self.query)
                self._move(address.to(version=address.version or self.view.version), f"New: v{newest}")

    def _move(self, query: str, say: str) -> None:
        self.drawing.patch({}, self.newest, query, say=say)
        self.show(query, self.newest)

    def _say_lost(self, error: Exception) -> None:
        """Say why the table on show cannot be read any more."""
        if not isinstance(error, ExplorerError):
            log_failure(_log, f"a check of the table of {self.query or '?'} failed", error)
        problem = lost_problem(error) if isinstance(error, ExplorerError) else problem_of(error)
        self.drawing.patch({"notice": notice(problem, retry=True)}, self.newest)


def _reading(address: Address, shown: OnShow) -> tuple[object, ...]:
    """Return what tells one reading of rows from another, for the record."""
    return shown, address.tab, address.compared, address.where, address.masked, address.row, address.keys


def _judge_again(facts: TableFacts) -> None:
    """Read the log again for the rules that trust nothing that is kept of it, and ask all rules once more."""

    def watch(_done: int, _total: int) -> None:
        _PAGES.give_way()

    facts.prepare_audit(watch)
    facts.judge()
