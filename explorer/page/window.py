"""What a tab's messages need from their window: an interface, so that no tab knows the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from explorer.page.identity import Identity
from explorer.page.window_work import WindowWork
from explorer.views import TableView

__all__ = ["Handler", "Message", "Window"]

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the browser: a kind, a number that identifies the answer, and unchecked fields."""

    kind: str
    number: int
    fields: Mapping[str, object]

    @classmethod
    def read(cls, data: object) -> Message | None:
        """Return the message that a browser sent; None if it is not a message."""
        if not isinstance(data, Mapping):
            return None
        number = data.get("number", 0)
        return cls(str(data.get("kind", "")), number if isinstance(number, int) else 0, data)

    def text(self, name: str, longest: int = 400) -> str:
        """Return a field as text, empty where there is none."""
        return str(self.fields.get(name, ""))[:longest]

    def amount(self, name: str) -> int:
        """Return a field that is a whole number from 0; 0 where there is none."""
        value = self.fields.get(name, 0)
        return value if isinstance(value, int) and value > 0 else 0

    def is_set(self, name: str) -> bool:
        """Whether a field exists and is not empty."""
        return bool(self.fields.get(name))


class Window(Protocol):
    """One browser window, as its messages see it; all of this on the server's loop, except `redraw`.

    Attributes:
        query: The window's address, as a query string.
        by_person: The person asked for it on a page that was open, so what it plans may begin. The address of a page
            that was just opened may come from a link of another site.
    """

    query: str
    by_person: bool

    @property
    def identity(self) -> Identity:
        """The person, and what that person may do."""

    @property
    def view(self) -> TableView | None:
        """The table, version and tab that are shown; None if there is no table to show."""

    @property
    def work(self) -> WindowWork:
        """The window's running work."""

    def answer(self, message: Message, regions: Mapping[str, str] | None = None, *, query: str = "") -> None:
        """Say that a message has arrived, with the parts of the page and the address that follow from it."""

    def redraw(self) -> None:
        """Draw the page again; from any thread."""

    def begin(self, work: Callable[[], object]) -> None:
        """Do long work on a thread; the work itself reports its result."""

    def compute(self, message: Message, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Compute something on a thread, and continue with it on the server's loop; the answer may be an error."""


Handler = Callable[[Message], None]
