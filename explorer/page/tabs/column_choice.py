"""The choice of a column: a list of them, or where there are many a search that lists some.

Invariants: a page holds no more names than a person reads; the chosen column is in the address either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.page.address import Address
from explorer.page.render import render
from explorer.page.window import Handler, Message, Window
from explorer.views import TableView
from explorer.views.listing import MOST_OFFERED, column_matches

__all__ = ["column_choice", "column_search"]

_LETTERS = 48
_LONGEST_TEXT = 1_000


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Columns whose names contain a text: each with a short name, and how many there are."""

    text: str
    columns: tuple[tuple[str, str], ...]
    total: int


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns to choose from.

    Attributes:
        names: All of them; none where they are searched.
        total: How many there are.
        example: The first of them.
        matches: Those that are like the column of the address, where that is none of them.
    """

    names: tuple[str, ...]
    total: int
    example: str
    matches: Suggestions | None = None


def column_choice(names: Sequence[str], unknown: str) -> ColumnChoice:
    """Return the choice among columns.

    Args:
        names: Their names.
        unknown: The name in the address, where none has it.
    """
    example = names[0] if names else ""
    if len(names) <= MOST_OFFERED:
        return ColumnChoice(tuple(names), len(names), example)
    return ColumnChoice((), len(names), example, _suggestions(names, unknown) if unknown else None)


def column_search(names: Callable[[TableView], Sequence[str]]) -> Callable[[Window], Mapping[str, Handler]]:
    """Return the messages of a tab whose columns can be searched.

    Args:
        names: The columns of a view.
    """
    return lambda window: {"find-column": _Search(window, names).find}


def _suggestions(names: Sequence[str], text: str) -> Suggestions:
    matches = column_matches(names, text)
    labels = fmt.shorten_apart(matches.names, _LETTERS)
    return Suggestions(matches.text, tuple(zip(matches.names, labels, strict=True)), matches.total)


class _Search:
    """The search of one window; only what was typed last is answered."""

    def __init__(self, window: Window, names: Callable[[TableView], Sequence[str]]) -> None:
        self._window, self._names, self._newest = window, names, 0

    def find(self, message: Message) -> None:
        """List the columns whose names contain what was typed."""
        view, number, text = self._window.view, message.number, message.text("text", _LONGEST_TEXT)
        self._newest = number
        if view is None:
            self._window.answer(message)
            return
        query = self._window.query
        address = Address.parse(query)

        def matching_regions() -> dict[str, str]:
            if number != self._newest:
                return {}
            return {
                "column-matches": render(
                    "column-matches", matches=_suggestions(self._names(view), text), address=address
                )
            }

        def show(regions: dict[str, str]) -> None:
            # A column that was chosen meanwhile ends the search.
            waits = number == self._newest and query == self._window.query
            self._window.answer(message, regions if waits else {})

        self._window.compute(message, matching_regions, show)
