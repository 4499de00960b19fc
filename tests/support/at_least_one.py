"""Loops that assert: a test that looks at nothing has shown nothing."""

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["at_least_one"]

_T = TypeVar("_T")


def at_least_one(items: Iterable[_T]) -> list[_T]:
    """The items, of which there is at least one: ``for row in at_least_one(rows)``.

    Raises:
        AssertionError: There is none.
    """
    found = list(items)
    assert found, "a loop that asserts has nothing to look at"
    return found
