"""Clients that lose something, in words: those whose newest known release does first, each client counted once.

Protocol section: Table Features. Invariants: a wrong answer comes before a refusal; a release is named with the last
one that the loss holds for, as a later one may have no loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from explorer.core.protocol.counted import counted

__all__ = ["losses_in_words", "releases_in_words"]

_WORDS: Final = {
    "wrong": ("gets wrong results", "get wrong results"),
    "no": ("loses access", "lose access"),
    "unknown": ("is unknown", "are unknown"),
}
"""What becomes of a client, the worst first, of one and of several."""
_KINDS: Final = tuple(_WORDS)


def losses_in_words(losses: Iterable[tuple[str, str, bool]]) -> str:
    """Return how many clients lose what; empty for none.

    Args:
        losses: Client, access afterwards (``wrong``, ``no`` or ``unknown``), and whether this is so of its newest known
            release.
    """
    now: dict[str, str] = {}
    older: dict[str, None] = {}
    for client, after, newest in losses:
        if newest:
            now[client] = min(after, now.get(client, after), key=_KINDS.index)
        else:
            older[client] = None
    counts = Counter(now.values())
    kinds = [(counts[kind], words[counts[kind] > 1]) for kind, words in _WORDS.items() if counts[kind]]
    more = len(older.keys() - now.keys())
    if not kinds:
        return f"older releases of {counted(more, 'client')} are affected" if more else ""
    (first, what), *rest = kinds
    stated = ", ".join([f"{counted(first, 'client')} {what}", *(f"{number:,} {words}" for number, words in rest)])
    their = "its newest release" if len(now) == 1 else "their newest releases"
    also = f"; older releases of {counted(more, 'more client')} are affected" if more else ""
    return f"{stated} in {their}{also}"


def releases_in_words(first: str, last: str, *, newest: bool) -> str:
    """Return ``0.18.0``, ``0.18.0 to 0.25.5``, or the same with a note that it reaches the newest known release.

    Args:
        first, last: The first and the last known release.
        newest: The last one is the newest that is known.
    """
    known = first if last in ("", first) else f"{first} to {last}"
    return f"{known} (newest known)" if newest else known
