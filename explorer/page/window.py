"""The interface between a tab and its window, so that no tab knows the session: messages, and the running work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from explorer.page.host import Identity
from explorer.page.tables import Tables
from explorer.report.signature import SigningKey
from explorer.views import TableView


class TabWork(Protocol):
    """The work of one tab in one window."""

    def stop_reading(self) -> None:
        """Stop what Spark reads for it; a commit is never stopped by this."""


Work = TypeVar("Work", bound=TabWork)


@dataclass(frozen=True, slots=True)
class NewWindow:
    """What the work of a tab starts from.

    Attributes:
        tables: The tables that can be shown.
        person: Name of the viewer; empty if not known.
        identity: Who that is, as the server knows it, and what that person may do.
        changed: To be called, on any thread, when what is to be shown has changed.
    """

    tables: Tables
    person: str
    identity: Identity
    changed: Callable[[], None]


class WindowWork:
    """The work of a window.

    Args:
        works: The work of its tabs, at most one of each type.
        key: Signs what is handed on; None where the host has none.
        picks_files: Files can be selected, for code that works with them.
        other_names: Returns names of tables to compare with; None where there is but one table.

    Attributes:
        key, picks_files, other_names: As given.
        signer: Whom it belongs to, as a report names it.
    """

    def __init__(
        self,
        works: Iterable[TabWork],
        key: SigningKey | None = None,
        *,
        picks_files: bool = False,
        other_names: Callable[[], tuple[str, ...] | None] = lambda: None,
    ) -> None:
        self.key = key
        self.picks_files = picks_files
        self.other_names = other_names
        self.signer = None if key is None else key.signer
        self._works: dict[type[TabWork], TabWork] = {type(work): work for work in works}

    def of(self, kind: type[Work]) -> Work:
        """Return the work of a type, which a tab of the registry has begun."""
        work = self._works[kind]
        assert isinstance(work, kind)
        return work

    def stop_reading(self, *kinds: type[TabWork]) -> None:
        """Stop what Spark reads: for the tabs with these types of work, or for all of them."""
        for kind, work in self._works.items():
            if not kinds or kind in kinds:
                work.stop_reading()


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
        """Return whether a field exists and is not empty."""
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
