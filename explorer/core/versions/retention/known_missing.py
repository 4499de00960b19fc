"""Files that are known to be missing without another check: deleted by this program, or missing at an earlier check.

No commit records a vacuum of this program, so by the log alone the versions that lost their files are readable. One
`KnownMissing` serves all objects of a table. Invariants: a file is known to be missing only because it was deleted
here, or was checked; a later check that finds it, as after a restore from a backup, clears it again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Set

import msgspec

__all__ = ["KnownMissing", "MissingFacts"]

_Facts = tuple[frozenset[str], frozenset[int], int]


class MissingFacts(msgspec.Struct, frozen=True):
    """The facts known at one moment.

    Attributes:
        missing: Decoded locations, relative to the table's root or absolute, at which there is no file.
        feed: The versions of which a file of recorded changes is missing.
        checked_to: The newest version whose files were all checked, with all earlier ones; -1 for none.
        revision: Counts the changes, so that a result from an earlier moment can be recognized.
    """

    missing: frozenset[str] = frozenset()
    feed: frozenset[int] = frozenset()
    checked_to: int = -1
    revision: int = 0


class KnownMissing:
    """The missing files of one table; several threads may report at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = MissingFacts()

    @property
    def now(self) -> MissingFacts:
        """The facts known now."""
        return self._now

    def deleted(self, paths: Iterable[str], feed: Iterable[int] = ()) -> None:
        """Record that files were deleted.

        Args:
            paths: Their decoded locations.
        """
        missing, versions = frozenset(paths), frozenset(feed)
        self._learn(lambda known: (known.missing | missing, known.feed | versions, known.checked_to))

    def record_checked(self, locations: Iterable[str], missing: Set[str]) -> None:
        """Record which of some checked locations have no file."""
        present = frozenset(locations) - missing
        self._learn(lambda known: ((known.missing - present) | missing, known.feed, known.checked_to))

    def record_all_checked(self, missing: Set[str], version: int, feed: Iterable[int] | None = None) -> None:
        """Record which of all files that a version and earlier ones need are missing.

        Args:
            missing: Their decoded locations.
            feed: The versions of which a file of recorded changes is missing; None if these were not checked.
        """
        missing_feed = None if feed is None else frozenset(feed)
        self._learn(lambda known: (frozenset(missing), known.feed if missing_feed is None else missing_feed, version))

    def _learn(self, update: Callable[[MissingFacts], _Facts]) -> None:
        with self._lock:
            before = self._now
            facts = update(before)
            if facts != (before.missing, before.feed, before.checked_to):
                self._now = MissingFacts(*facts, before.revision + 1)
