"""How much the tests try: a small dose on every run, the whole dose under ``make prove``."""

import os
from collections.abc import Sequence
from typing import Final, TypeVar

__all__ = ["IN_WHOLE_DOSE", "WHOLE_DOSE", "some_of"]

_T = TypeVar("_T")

WHOLE_DOSE: Final = os.environ.get("HYPOTHESIS_PROFILE") == "prove"
IN_WHOLE_DOSE: Final = "part of the whole dose"
"""With this the reason begins why a test is skipped that only the whole dose runs."""


def some_of(items: Sequence[_T], most: int) -> list[_T]:
    """All of them in the whole dose; else so many at even distances, always the same, the first and the last included;
    one is the first.

    Args:
        items: What could be tried.
        most: How many of them every run tries, at least 1.
    """
    if WHOLE_DOSE or len(items) <= most:
        return list(items)
    return [items[round(place * (len(items) - 1) / max(most - 1, 1))] for place in range(most)]
