"""The parts of a card: any public object in short, as text that nothing has escaped yet.

Invariants: a list is cut with the number of what is left; every text is as the table has it, and what draws a card
escapes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from explorer import formatting as fmt

__all__ = ["MOST", "TONES", "Card", "Facts", "Rows", "first_rows", "stated"]

MOST: Final = 8
"""Rows that a card shows."""
TONES: Final = {"error": "danger", "warning": "warning", "info": "info"}
"""The tone of each severity of a finding."""
Facts: TypeAlias = tuple[tuple[str, str], ...]
"""Names and texts."""
_WIDEST: Final = 64


@dataclass(frozen=True, slots=True)
class Rows:
    """A few rows: the headings, the cells as text, and how many rows are not among them."""

    headings: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Card:
    """An object in short.

    Attributes:
        title: What it is, in a line.
        facts: Names and texts.
        rows: A list, cut.
        tone: ``""``, ``ok``, ``info``, ``warning`` or ``danger``.
    """

    title: str
    facts: Facts = ()
    rows: Rows | None = None
    tone: str = ""

    def plain(self) -> str:
        """Return the same as text for a terminal."""
        width = max((len(name) for name, _ in self.facts), default=0)
        lines = [fmt.plain(self.title), *(f"  {name:<{width}}  {fmt.plain(text)}" for name, text in self.facts)]
        if self.rows is not None:
            cells = [self.rows.headings, *([fmt.shorten(cell, _WIDEST) for cell in row] for row in self.rows.cells)]
            widths = [max(len(row[place]) for row in cells) for place in range(len(self.rows.headings))]
            lines += ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
            lines += [f"  and {self.rows.more:,} more"] if self.rows.more else []
        return "\n".join(lines)


def first_rows(headings: tuple[str, ...], cells: Sequence[tuple[str, ...]]) -> Rows:
    """Return the first rows of a list, and how many are not among them."""
    return Rows(headings, tuple(cells[:MOST]), max(len(cells) - MOST, 0))


def stated(facts: Iterable[tuple[str, str]]) -> Facts:
    """Return the facts that have a text."""
    return tuple(fact for fact in facts if fact[1])
