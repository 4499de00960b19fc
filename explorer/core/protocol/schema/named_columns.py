"""Names of columns in an error: the first of them, and those similar to a mistyped name.

Invariants: an error stays readable however wide the table is, and costs time in proportion to its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice
from typing import Final

__all__ = ["choices", "first_names", "similar_names"]

_MOST_NAMED: Final = 40
_MOST_COMPARED: Final = 500


def first_names(names: Iterable[str]) -> str:
    """Return the first names, with commas, and the number of the others: ``a, b and 9,998 more``."""
    rest = iter(names)
    shown = ", ".join(islice(rest, _MOST_NAMED))
    more = sum(1 for _ in rest)
    return f"{shown} and {more:,} more" if more else shown


def choices(names: Iterable[str]) -> list[str] | None:
    """Return the names that a program can choose from; None where they are too many for an error."""
    first = list(islice(names, _MOST_NAMED + 1))
    return first if len(first) <= _MOST_NAMED else None


def similar_names(wanted: str, names: Sequence[str], most: int = 3) -> list[str]:
    """Return the names most like a mistyped one, the most similar first.

    Of many names, only those are compared whose beginning and end agree longest with it.
    """
    if len(names) > _MOST_COMPARED:
        names = nlargest(_MOST_COMPARED, names, key=lambda name: _agreement(wanted, name))
    return get_close_matches(wanted, names, most)


def _agreement(wanted: str, name: str) -> int:
    """Return how many letters agree at the beginning and at the end."""
    return _shared(wanted, name) + _shared(wanted[::-1], name[::-1])


def _shared(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
