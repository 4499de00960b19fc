"""What a page asks of what shows it: a browser's window with its server, or the output of a notebook's cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from explorer.page.identity import Identity

__all__ = ["Host"]


class Host(Protocol):
    """One place that shows one page.

    Attributes:
        identity: The person, as the host knows it, and what that person may do.
        person: The name that the person gave; empty if not known. A name of the identity counts before it.
    """

    identity: Identity
    person: str

    @property
    def is_open(self) -> bool:
        """Whether the page can still be shown."""

    def hear(self, receive: Callable[[object], None]) -> None:
        """Give every message of the page's script to a function, on the loop."""

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the page's script; called on the loop."""

    def later(self, call: Callable[[], None]) -> None:
        """Call a function on the loop, from any thread; not at all once the page is closed."""

    def every(self, milliseconds: int, call: Callable[[], None]) -> None:
        """Call a function on the loop again and again, as long as the page is open."""

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call a function when the page is closed."""
