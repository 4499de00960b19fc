"""One view of a widget: its host (the widget's comm, and the kernel's loop), and the session of its page.

The address of the page and the traits of the widget follow each other.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

from explorer.page.address import Address
from explorer.page.drawing import first_figures, window_values
from explorer.page.host import Identity
from explorer.page.pages import Rendered
from explorer.page.render import environment
from explorer.page.strip import Screen
from explorer.page.table_session import TableSession
from explorer.page.tables import Tables


class NotebookHost:
    """A `explorer.page.host.Host`.

    A kernel hears messages and runs cells on one loop: while a cell runs, the page waits. Where there is no loop, as in
    a plain Python program, what is to be called later is called at once, one call at a time.

    Args:
        view: Names the view in the messages.
        send: Sends a message to every view of the widget.
        identity, person: As for `Host`.
    """

    def __init__(
        self, view: str, send: Callable[[dict[str, Any]], object], identity: Identity, person: str = ""
    ) -> None:
        self.identity, self.person = identity, person
        self.is_open = True
        self._view, self._send = view, send
        self._receive: Callable[[object], None] | None = None
        self._one_at_a_time = threading.RLock()
        self._closing: list[Callable[[], object]] = []
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop of the kernel; None where there is none."""
        return self._loop

    def hear(self, receive: Callable[[object], None]) -> None:
        """Give the messages of the view to a function."""
        self._receive = receive

    def take(self, message: object) -> None:
        """Take a message of the view."""
        with self._one_at_a_time:
            if self.is_open and self._receive is not None:
                self._receive(message)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the view."""
        if self.is_open:
            self._send({**message, "view": self._view})

    def later(self, call: Callable[[], object]) -> None:
        """Call a function on the loop, from any thread."""
        if self._loop is None:
            self._called(call)
        elif self.is_open and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._called, call)

    def every(self, milliseconds: int, call: Callable[[], object]) -> None:
        """Call a function on the loop again and again."""
        if (loop := self._loop) is None:
            return

        def again() -> None:
            if self.is_open:
                loop.call_later(milliseconds / 1000, again)  # first: a call that fails does not end it
                call()

        loop.call_later(milliseconds / 1000, again)

    def when_closed(self, call: Callable[[], object]) -> None:
        """Call a function when the view is closed."""
        self._closing.append(call)

    def close(self) -> None:
        """Take notice that the view is gone."""
        if self.is_open:
            self.is_open = False
            for call in self._closing:
                call()

    def _called(self, call: Callable[[], object]) -> None:
        with self._one_at_a_time:
            if self.is_open:
                call()


class WidgetWindow(TableSession):
    """The session of one view.

    Args:
        tables, query, theme, screen: As for `TableSession`.
        host: The view.
        shows: Called with each page of the address, before it is sent.
    """

    def __init__(
        self,
        tables: Tables,
        host: NotebookHost,
        query: str,
        *,
        theme: str,
        screen: Screen | None,
        shows: Callable[[WidgetWindow, Rendered], None],
    ) -> None:
        self._shows = shows
        self.view_host = host
        super().__init__(tables, host, query, theme, screen=screen, early_spark=True, later=True)

    async def begin_page(self) -> None:
        """Make the first page, and send it; the kernel's loop goes on meanwhile."""
        await self.prepare()
        self.send_page()

    def send_page(self) -> None:
        """Send the first page; what is not there yet is waited for."""
        self.open()
        shown = self.shown
        self.host.send(
            {
                "kind": "window",
                "html": environment("explorer.jupyter")
                .get_template("window.html")
                .render(window_values(shown, self.kind)),
                "figures": first_figures(shown),
                "query": self.query,
                "mark": self.mark,
                "theme": self.theme,
            }
        )

    def about_to_draw(self, rendered: Rendered) -> None:
        """Let the traits follow the page, before it is shown."""
        self._shows(self, rendered)
        super().about_to_draw(rendered)

    def move(self, **changes: object) -> None:
        """Go to the same address with some fields changed."""
        query = Address.parse(self.query).to(**changes)
        if query != self.query:
            self.drawing.patch({}, self.newest, query)
            self.show(query, self.newest)
