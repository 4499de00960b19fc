"""Many expressions joined into one by an operator, such as conditions by AND.

Invariant: the tree is balanced. Joined one after the other, a hundred expressions nest a hundred deep, and a Spark
Connect server refuses a message that nests deeper than a hundred levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["joined"]

T = TypeVar("T")


def joined(parts: Sequence[T], join: Callable[[T, T], T]) -> T:
    """Join expressions in their order.

    Args:
        parts: At least one expression.
        join: Makes one of two; associative.

    Returns:
        One expression, nested no deeper than the logarithm of how many there are.
    """
    while len(parts) > 1:
        pairs = [join(one, other) for one, other in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*pairs, *parts[len(pairs) * 2 :]]
    return parts[0]
