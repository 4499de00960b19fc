"""Columns of a wide table, looked for by a part of their name.

Invariants: however many columns there are, a choice offers no more of them than a person reads.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["MOST_OFFERED", "MOST_SUGGESTED", "ColumnMatches", "column_matches"]

MOST_OFFERED: Final = 200
"""Columns that a choice lists; where there are more, they are searched."""
MOST_SUGGESTED: Final = 40
"""Columns that a search lists."""


@dataclass(frozen=True, slots=True)
class ColumnMatches:
    """Columns whose names contain a text.

    Attributes:
        text: The text.
        names: The first of them.
        total: How many there are.
    """

    text: str
    names: tuple[str, ...]
    total: int


def column_matches(names: Iterable[str], text: str) -> ColumnMatches:
    """Return the columns whose names contain a text, in any case: the one of that name first, then those that begin
    with it, then the others, each in the order given.

    Args:
        names: Dotted names.
        text: A part of a name; empty for all of them.
    """
    wanted = text.casefold().strip()
    folded = ((name, name.casefold()) for name in names)
    matching = [(_rank(key, wanted), place, name) for place, (name, key) in enumerate(folded) if wanted in key]
    best = heapq.nsmallest(MOST_SUGGESTED, matching)
    return ColumnMatches(text.strip(), tuple(name for _, _, name in best), len(matching))


def _rank(key: str, wanted: str) -> int:
    return 0 if key == wanted else 1 if key.startswith(wanted) else 2
