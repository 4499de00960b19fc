"""A host without a screen: it keeps what would go to the page's script, and its loop turns when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from explorer.page.host import Identity

__all__ = ["PageHost"]


class PageHost:
    """One place that shows one page: an `explorer.page.host.Host`.

    Attributes:
        heard: The messages to the page's script, in their order.
        repeated: What the page wants to be called again and again, by its milliseconds.
    """

    def __init__(self, identity: Identity | None = None, person: str = "") -> None:
        self.identity, self.person = identity or Identity(), person
        self.is_open = True
        self.heard: list[dict[str, Any]] = []
        self.repeated: dict[int, Callable[[], None]] = {}
        self._turns: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._closing: list[Callable[[], None]] = []
        self._receive: Callable[[object], None] | None = None

    def hear(self, receive: Callable[[object], None]) -> None:
        """Give messages to a function."""
        self._receive = receive

    def send(self, message: Mapping[str, Any]) -> None:
        """Keep a message."""
        self.heard.append(dict(message))

    def later(self, call: Callable[[], None]) -> None:
        """Call a function at the next turn."""
        if self.is_open:
            self._turns.put(call)

    def every(self, milliseconds: int, call: Callable[[], None]) -> None:
        """Keep a function for a test to call."""
        self.repeated[milliseconds] = call

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call a function when the page is closed."""
        self._closing.append(call)

    def say(self, data: object) -> None:
        """Say something as the page's script."""
        assert self._receive is not None
        self._receive(data)

    def turn(self) -> None:
        """Take a turn of the loop: all that waits for one, and nothing that it asks for."""
        calls = []
        try:
            while True:
                calls.append(self._turns.get_nowait())
        except Empty:
            pass
        for call in calls if self.is_open else ():
            call()

    @property
    def has_calls(self) -> bool:
        """Whether something waits for a turn of the loop."""
        return not self._turns.empty()

    def close(self) -> None:
        """Close the page."""
        self.is_open = False
        for call in self._closing:
            call()
