"""The running work of one window: the work of each tab that has any, found by its type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from explorer.page.identity import Identity
from explorer.page.tables.tables import Tables
from explorer.report.signature import SigningKey

__all__ = ["NewWindow", "TabWork", "WindowWork"]


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
        person: The name of who looks at it; empty if not known.
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

    Attributes:
        key, picks_files: As given.
        signer: Whom it belongs to, as a report names it.
    """

    def __init__(self, works: Iterable[TabWork], key: SigningKey | None = None, *, picks_files: bool = False) -> None:
        self.key = key
        self.picks_files = picks_files
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
