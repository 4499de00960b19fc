"""What became of a table while its page is on show: a newer version, another table in its place, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from explorer.views import TableFacts


@dataclass(frozen=True, slots=True)
class Lost:
    """The table cannot be read any more."""

    error: Exception


@dataclass(frozen=True, slots=True)
class TableBack:
    """The table can be read again."""


@dataclass(frozen=True, slots=True)
class TableReplaced:
    """Another table is in its place: the newest versions of both."""

    before: int
    newest: int


@dataclass(frozen=True, slots=True)
class Newer:
    """It has a newer version."""

    newest: int


@dataclass(frozen=True, slots=True)
class Changed:
    """The same versions, and something else of it is new."""


News: TypeAlias = Lost | TableBack | TableReplaced | Newer | Changed | None


class VersionWatch:
    """Compares each check of the table with the page; each cause is reported once."""

    def __init__(self) -> None:
        self._lost = ""
        self._seen: TableFacts | None = None

    def forget(self) -> None:
        """Begin anew: the person asked for a page."""
        self._lost = ""

    def news(self, shown: TableFacts | None, seen: TableFacts | Exception) -> News:
        """Return what is new.

        Args:
            shown: The facts on show; None if the page says why there is nothing to show.
            seen: The facts of a check of the table, or why it failed.
        """
        if isinstance(seen, Exception):
            return self._failed(shown, seen)
        if shown is None:
            # A table that is there again may have something to show.
            before, self._seen = self._seen, seen
            return None if seen is before else TableBack()
        if self._lost:
            return TableBack()
        if seen is shown:
            return None
        if not seen.follows(shown):
            return TableReplaced(shown.last, seen.last)
        return Newer(seen.last) if seen.last > shown.last else Changed()

    def _failed(self, shown: TableFacts | None, error: Exception) -> News:
        why = f"{type(error).__name__}: {error}"
        if shown is None or why == self._lost:
            return None  # a page without a table says it itself
        self._lost = why
        return Lost(error)
