"""Counts in the words of guards and errors: a number agrees with its noun."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return ``1 file`` or ``1,234 files``.

    Args:
        number: How many.
        noun: Of what, and what is said of one: ``file is``.
        nouns: The same of several, if it does not only end in an s.
    """
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"
