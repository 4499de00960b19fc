"""One window: it asks for addresses, and is sent what changed; its work runs on threads and returns to the host's loop.

The work of a page runs on a thread, so no other window waits for a long log; only the newest request is answered. The
person sees every error as a notice, and the log records it with the request.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, ClassVar, Final, Literal, TypeVar

from explorer.activity.event import Event
from explorer.core.errors import ExplorerError
from explorer.debug import log_failure
from explorer.page.address import address_of
from explorer.page.drawing import Drawing
from explorer.page.entry import ROWS_OPENED, Entry, OnShow, OpenEntry, right_of_message
from explorer.page.host import Host
from explorer.page.opening import Steps, Stepwise
from explorer.page.pages import Rendered, notice
from explorer.page.palette import LONGEST_TEXT, PaletteContext, palette
from explorer.page.strip import Screen
from explorer.page.window import Handler, Message
from explorer.rights import Right
from explorer.turns import Line, in_line
from explorer.views.problems import problem_of

_log = logging.getLogger(__name__)
_LONGEST_QUERY: Final = 1_000_000
PATIENCE: Final = 0.6
"""Seconds that a page is waited for before a part of it is shown instead."""
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page that is asked for.

    Attributes:
        query: Its address.
        theme: ``light`` or ``dark``.
        screen: The window's size.
        by_person: The person asked for it on a page that was open; see `explorer.page.window.Window`.
        number: The newest request when it was asked for.
    """

    query: str
    theme: str
    screen: Screen
    by_person: bool = False
    number: int = 0


class Session(ABC):
    """The program's side of one window.

    Args:
        host: Shows the page.
        query: The query string the window was opened with.
        theme: ``light`` or ``dark``, as far as the host knows it.
        screen: The size of the window, if an earlier page of it said so.
        entry: Is asked before a message is handled.
        later: Make the first page when `prepare` is awaited and `open` is called, and not at once.

    Attributes:
        kind: ``table`` or ``home``: the two have different skeletons.
        mark: Names this session in the page that was made for it.
        query, theme, screen: As given, until a message says otherwise.
        by_person: The person asked for the address on a page that was open; see `explorer.page.window.Window`.
        drawing: What is shown, once there is a page.
        drawn: The query of the page that is shown; another one while the page of ``query`` is being made.
    """

    kind: ClassVar[str]
    drawing: Drawing

    def __init__(
        self,
        host: Host,
        query: str,
        theme: str,
        *,
        screen: Screen | None = None,
        entry: Entry | None = None,
        later: bool = False,
    ) -> None:
        self.entry = entry or OpenEntry()
        self.host, self.query, self.theme = host, query, theme
        self.drawn = query
        self.screen = screen or Screen()
        self.by_person = False
        self.mark = secrets.token_hex(8)
        self.tasks = Tasks(host, self.tell, self.closed, self.entry.line)
        self.newest = 0
        self._turns = count(1)
        self._drawn = 0
        # How often what is to be shown has changed, how much of it is shown, and the requests whose pages are made.
        self._changes = self._shown_changes = 0
        self._making: list[int] = []
        self._counting = threading.Lock()
        self._typed = 0
        self._waiting: deque[tuple[Handler, Message]] = deque()
        self._is_recording = False
        self._handlers: Mapping[str, Handler] = {
            "hello": self._hello,
            "go": self._go,
            "theme": self._set_theme,
            "screen": self._set_screen,
            "palette": self._ask_palette,
            **self.handlers(),
        }
        # Since when the page of which query is awaited.
        self.awaited: tuple[str, float] | None = None
        self._opening = Stepwise(self.first())
        host.hear(self._receive)
        host.when_closed(self.closed)
        if not later:
            self.open()

    # --- what the two kinds differ in

    @abstractmethod
    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of the messages of this kind of page alone."""

    @abstractmethod
    def first(self) -> Steps[tuple[Rendered, bool]]:
        """Make the page to begin with: all if it is there soon, else what is known; and whether it is all."""

    @abstractmethod
    def render(self, request: PageRequest) -> Rendered:
        """Make a page, on a thread; every error is a page, too."""

    @abstractmethod
    def threads(self, request: PageRequest) -> Executor:
        """Return the threads that make a page."""

    @abstractmethod
    def fits(self, query: str) -> bool:
        """Return whether the page of a query is of this kind."""

    @abstractmethod
    def palette_context(self) -> PaletteContext:
        """Return the page from which the palette is asked."""

    def opened(self) -> None:  # noqa: B027  # not every kind needs it
        """Begin what goes on while the page is open."""

    def closed(self) -> None:  # noqa: B027  # not every kind needs it
        """End what goes on, as the window is closed; also if it began after that."""

    def asked(self) -> None:  # noqa: B027  # not every kind needs it
        """Take notice that the person asked for a page."""

    def arrived(self, rendered: Rendered) -> None:  # noqa: B027  # not every kind needs it
        """Take notice that a page was sent, or that the one that came with the window is complete."""

    def about_to_draw(self, rendered: Rendered) -> None:  # noqa: B027  # not every kind needs it
        """Add to a page what has become known of it since it was asked for."""

    # --- its beginning

    async def prepare(self) -> None:
        """Wait until the first page is there, or what is known soon; the loop goes on meanwhile."""
        await self._opening.awaited()

    def open(self) -> None:
        """Show the first page to the browser."""
        made, complete = self._opening.waited()
        # It holds the first page, and with it the table as it was then, which may be versions ago soon.
        del self._opening
        self.drawing = Drawing(self.host, made, complete=complete)
        self.opened()

    @property
    def wanted(self) -> PageRequest:
        """What the window wants to show."""
        return PageRequest(self.query, self.theme, self.screen, self.by_person, self.newest)

    def wants(self, request: PageRequest) -> bool:
        """Return whether the page of a request may still be shown."""
        return self.host.is_open and request.query == self.query and request.number >= self.newest

    @property
    def shown(self) -> Rendered:
        """The page that is shown."""
        return self.drawing.shown

    @property
    def is_open(self) -> bool:
        """Whether there is a page yet."""
        return hasattr(self, "drawing")

    # --- for the messages of tabs

    def answer(self, message: Message, regions: Mapping[str, str] | None = None, *, query: str = "") -> None:
        """Say that a message has arrived, with the parts of the page and the address that follow from it."""
        self.drawing.patch(regions or {}, message.number, query)

    def redraw(self) -> None:
        """Draw the page again, as what is to be shown has changed; from any thread.

        A page that is being made is waited for: it may show the change.
        """
        with self._counting:
            self._changes += 1
        self.tasks.later(self._catch_up, self.newest)

    def begin(self, work: Callable[[], object]) -> None:
        """Do long work on a thread; the work itself reports its result, and what it raises is shown."""
        self.tasks.begin(work, self.newest)

    def compute(self, message: Message, work: Callable[[], ResultT], then: Callable[[ResultT], None]) -> None:
        """Compute something on a thread, and continue with it on the loop; the answer may be an error."""
        counted = self.entry.export(work) if message.kind == "download" else work
        self.tasks.compute(WORKING, message.number, counted, then)

    def tell(self, error: Exception, number: int = 0) -> None:
        """Show an error above the page's content; an unexpected one is logged with the request."""
        unforeseen = not isinstance(error, ExplorerError)
        if unforeseen:
            log_failure(_log, f"request {number} for {self.query or '?'} failed", error)
        self.drawing.patch({"notice": notice(problem_of(error), retry=unforeseen)}, number)

    # --- what the window asks for

    def show(self, query: str, number: int) -> None:
        """Make the page of a query on a thread, and send it as the answer of a request."""
        self.query = query
        self.newest = max(self.newest, number)
        self.asked()
        if not self.fits(query):
            # The two kinds of page have different skeletons.
            self.host.send({"kind": "reload"})
            return
        self.awaited = query, time.monotonic()
        self._making.append(number)
        request, made = self.wanted, partial(self._made, number, next(self._turns), query, self._changes)
        self.tasks.watch(self.threads(request), number, partial(self.render, request), made)

    def draw_again(self) -> None:
        """Make the page that is shown again."""
        self.show(self.query, self.newest)

    def show_same(self, message: Message) -> None:
        """Draw the page again for a message; the browser's address may lack a question that was just asked."""
        self.show(self.query, message.number)

    def _receive(self, data: object) -> None:
        message = Message.read(data)
        handler = self._handlers.get(message.kind) if message is not None else None
        if message is not None and handler is not None:
            self._waiting.append((handler, message))
            self._handle_waiting()

    def _handle_waiting(self) -> None:
        """Handle what came, in its order; while something must be recorded before it is done, the rest waits."""
        while self._waiting and not self._is_recording:
            handler, message = self._waiting.popleft()
            self.tasks.guarded(partial(self._admit, handler, message), message.number)

    def _admit(self, handler: Handler, message: Message) -> None:
        """Handle a message that the person may send, once it is recorded."""
        export = message.text("list") if message.kind == "download" else ""
        right, shown = right_of_message(message.kind, export), self.on_show()
        if right is None:
            self.entry.refuse_unknown(export or message.kind)
        else:
            self.entry.require(right, shown)
        # Of an unknown export nothing is done, and its name is a text of the browser's choice: its handler refuses it.
        if right is not None and (export or message.kind in ROWS_OPENED):
            kind: Literal["export", "rows"] = "export" if export else "rows"
            what = export or message.kind
            event = Event(kind=kind, what=what, table=shown.name, version=shown.version)
            if (recorded := self.entry.record(event)) is not None:
                self._is_recording = True
                handle = partial(self._handle_recorded, handler, message, shown, right)
                self.when_recorded(recorded, message.number, handle)
                return
        handler(message)

    def _handle_recorded(
        self, handler: Handler, message: Message, shown: OnShow, right: Right, recorded: Future[Any]
    ) -> None:
        """Handle a message that was recorded, and what came after it."""
        self._is_recording = False

        def handle() -> None:
            recorded.result()
            if (now := self.on_show()) != shown:
                self.entry.require(right, now)
            handler(message)

        self.tasks.guarded(handle, message.number)
        self._handle_waiting()

    def when_recorded(self, recorded: Future[Any], number: int, then: Callable[[Future[Any]], None]) -> None:
        """Go on, on the loop, when it is known whether something is recorded."""
        recorded.add_done_callback(lambda done: self.tasks.later(partial(then, done), number))

    def on_show(self) -> OnShow:
        """Return what the window shows, for the entry."""
        return OnShow()

    def _hello(self, message: Message) -> None:
        self.theme = theme_of(message)
        drawn_for, self.screen = self.screen, screen_of(message) or self.screen
        same = message.text("theme") == message.text("shown") and message.text("query", _LONGEST_QUERY) == self.query
        lost = self.drawing.begin_again(known=message.text("mark") == self.mark)
        if self.drawing.complete and not lost and same and self.screen.like(drawn_for):
            self.answer(message)
            self.arrived(self.shown)
        else:
            self._go(message)

    def _go(self, message: Message) -> None:
        self.by_person = message.is_set("asked")
        self.show(message.text("query", _LONGEST_QUERY), message.number)

    def _set_theme(self, message: Message) -> None:
        self.theme = theme_of(message)
        self.show_same(message)

    def _set_screen(self, message: Message) -> None:
        self.screen = screen_of(message) or self.screen
        self.show_same(message)

    def _ask_palette(self, message: Message) -> None:
        """Say what a text of the palette leads to; of two texts the one that was typed last is answered last."""
        self._typed = max(self._typed, message.number)
        context, text = self.palette_context(), message.text("text", LONGEST_TEXT)
        work = partial(palette, context, text, message.fields.get("recents"))

        def shown(html: str) -> None:
            self.answer(message, {"palette-results": html} if message.number == self._typed else {})

        self.compute(message, work, shown)

    def _made(self, number: int, turn: int, query: str, changes: int, done: Future[Rendered]) -> None:
        """Show a page that was begun after so many changes; it may have seen one more, of its own rows."""
        self._making.remove(number)
        try:
            rendered = done.result()
            self._arrived(number, turn, query, changes + rendered.changes, rendered)
        except Exception:
            # It is said, and made again for what changed since, but not for itself.
            self._shown_changes = max(self._shown_changes, changes)
            raise
        finally:
            self._catch_up()

    def _catch_up(self) -> None:
        """Draw the page again if something has changed that it does not show, unless a newer one is being made."""
        is_made = any(number >= self.newest for number in self._making)
        if not is_made and self._shown_changes < self._changes:
            self.draw_again()

    def draw_instead(self, rendered: Rendered, number: int) -> None:
        """Show a page in place of those that are being made: what has changed until now does not bring them back."""
        self.newest, self.awaited, self._shown_changes = max(self.newest, number), None, self._changes
        self.drawing.draw(rendered, number)

    def _arrived(self, number: int, turn: int, query: str, changes: int, rendered: Rendered) -> None:
        # Of two drawings for one request the one that began later holds, whichever is ready first.
        if number < self.newest or turn < self._drawn:
            return
        if rendered.refusal is not None and self.by_person and self._goes_on(query):
            # What was typed is wrong, and the page on which it was typed is right.
            self.query, self.awaited = self.drawn, None
            is_shown = self.shown.view is not None and self.shown.view.version == rendered.refusal.nearest
            address = None if is_shown else address_of(self.drawn)
            self.drawing.patch({"notice": notice(rendered.refusal, address=address)}, number, self.drawn)
            return
        self._drawn, self.drawn, self.awaited = turn, query, None
        self._shown_changes = changes
        self.about_to_draw(rendered)
        self.drawing.draw(rendered, number)
        self.arrived(rendered)

    def _goes_on(self, query: str) -> bool:
        """Return whether the page on show is another one of the table of a query."""
        same_table = address_of(query).table == address_of(self.drawn).table
        return same_table and query != self.drawn and self.shown.view is not None and not self.shown.is_early


def theme_of(message: Message) -> str:
    """Return the theme that a message names: ``light`` unless it is ``dark``."""
    return "dark" if message.text("theme") == "dark" else "light"


def screen_of(message: Message) -> Screen | None:
    """Return the size of the window that a message names; None if it names none."""
    width, height = message.amount("width"), message.amount("height")
    return Screen(min(width, 8_000), min(height, 8_000)) if width and height else None


# Threads of their own for each kind of work: pages that wait for a table, or a long export, keep nothing else waiting.
DRAWING: Final = ThreadPoolExecutor(max_workers=16, thread_name_prefix="explorer-page")
WAITING: Final = ThreadPoolExecutor(max_workers=64, thread_name_prefix="explorer-wait")
CHECKING: Final = ThreadPoolExecutor(max_workers=4, thread_name_prefix="explorer-check")
WORKING: Final = ThreadPoolExecutor(max_workers=48, thread_name_prefix="explorer-work")


class Tasks:
    """Carries results of threads to the loop of a window.

    Args:
        host: Has the loop.
        tell: Takes, on the loop, what was raised, and the number of the request for which it was.
        orphaned: Called when work has ended whose window was closed meanwhile.
        line: In which what the window begins waits for Spark; None where it does not wait.
    """

    def __init__(
        self,
        host: Host,
        tell: Callable[[Exception, int], None],
        orphaned: Callable[[], None],
        line: Line | None = None,
    ) -> None:
        self._host, self._tell, self._orphaned, self._line = host, tell, orphaned, line

    def compute(
        self, threads: Executor, number: int, work: Callable[[], ResultT], then: Callable[[ResultT], object]
    ) -> None:
        """Compute something on a thread, and continue with it on the loop.

        Args:
            threads: Where.
            number: The request that it answers.
            work: Computes it.
            then: Takes the result.
        """
        self.watch(threads, number, work, lambda done: then(done.result()))

    def watch(
        self, threads: Executor, number: int, work: Callable[[], ResultT], then: Callable[[Future[ResultT]], object]
    ) -> None:
        """Do the same, and continue even if the work fails; ``then`` decides what an error means."""

        def ended(done: Future[ResultT]) -> None:
            if not self._host.is_open:
                self._orphaned()
            self.later(partial(then, done), number)

        threads.submit(self._in_line, work).add_done_callback(ended)

    def begin(self, work: Callable[[], object], number: int) -> None:
        """Do long work that reports its own result; only what it raises comes back."""

        def ended(done: Future[object]) -> None:
            if done.exception() is not None:
                self.later(done.result, number)

        WORKING.submit(self._in_line, work).add_done_callback(ended)

    def later(self, then: Callable[[], object], number: int) -> None:
        """Do something on the loop, if the window is still there; from any thread."""
        self._host.later(partial(self.guarded, then, number))

    def guarded(self, then: Callable[[], object], number: int) -> None:
        """Do something at once, and say what it raises: a request must never end in silence."""
        try:
            self._in_line(then)
        except Exception as error:  # noqa: BLE001  # shown and logged
            self._tell(error, number)

    def _in_line(self, work: Callable[[], ResultT]) -> ResultT:
        """Do something as the person's own work."""
        with in_line(self._line):
            return work()
