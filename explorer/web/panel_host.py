"""Panel as the host of a page: a component whose messages go over Bokeh's socket, and the loop of its document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import panel as pn
from bokeh.document import Document
from panel.custom import JSComponent
from tornado.ioloop import IOLoop

from explorer.page.host import Identity


class Bridge(JSComponent):
    """Hands messages on between the page's script and its session. It shows nothing itself."""

    # The script of the page waits for the model; see static/start.js.
    _esm: ClassVar[str] = (
        "export function render({ model }) { window.explorerHost.connect(model);"
        " return Object.assign(document.createElement('span'), { hidden: true }); }"
    )

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the browser."""
        self._send_msg(dict(message))


class PanelHost:
    """One browser window: a `explorer.page.host.Host`.

    Args:
        identity, person: As for `Host`.

    Attributes:
        bridge: The component to be placed in the page.
    """

    def __init__(self, identity: Identity, person: str = "") -> None:
        self.identity, self.person = identity, person
        self.bridge: Bridge = Bridge(width=0, height=0)  # type: ignore[no-untyped-call]  # param
        # Work that is begun for the first page may ask for another drawing at once, from its thread.
        self._document: Document | None = pn.state.curdoc
        self._loop = None if self._document is None else IOLoop.current()
        self._closing: list[Callable[[], None]] = []

    @property
    def is_open(self) -> bool:
        """Whether the window is there."""
        return self._document is not None

    def open(self) -> None:
        """Take notice of the window's end from now on."""
        if self._document is not None:
            pn.state.on_session_destroyed(self._close)

    def hear(self, receive: Callable[[object], None]) -> None:
        """Give the messages of the browser to a function."""
        self.bridge.on_msg(lambda event: receive(event.data))

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the browser."""
        self.bridge.send(message)

    def later(self, call: Callable[[], None]) -> None:
        """Call a function on the server's loop, from any thread."""
        if self._loop is not None:
            self._loop.add_callback(self._begin, call)

    def every(self, milliseconds: int, call: Callable[[], None]) -> None:
        """Call a function on the server's loop again and again."""
        if self._document is not None:
            pn.state.add_periodic_callback(call, period=milliseconds)

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call a function when the window is closed."""
        self._closing.append(call)

    def _begin(self, call: Callable[[], None]) -> None:
        # On the loop, as a window may be closed between the look and the call; a session ends before its hooks say so.
        document = self._document
        context = None if document is None else document.session_context
        if document is not None and context is not None and not context.destroyed:
            document.add_next_tick_callback(call)

    def _close(self, _context: object) -> None:
        self._document = None
        for call in self._closing:
            call()
