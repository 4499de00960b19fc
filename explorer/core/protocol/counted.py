"""Counts in the texts of guards and errors: a number agrees with its noun."""

from __future__ import annotations


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return ``1 file`` or ``1,234 files``.

    Args:
        noun: The noun, and a verb in the singular: ``file is``.
        nouns: The plural, if it does not only end in an s.
    """
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def all_of(number: int, noun: str, does: str, do: str) -> str:
    """Return ``There are no files.``, ``The one file exists.`` or ``All 1,234 files exist.``."""
    match number:
        case 0:
            return f"There are no {noun}s."
        case 1:
            return f"The one {noun} {does}."
        case _:
            return f"All {number:,} {noun}s {do}."
