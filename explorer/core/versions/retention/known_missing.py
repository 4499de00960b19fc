"""Files that are known to be missing without looking again: deleted by this program, or not there when it looked.

No commit records a vacuum of this program, so the log alone calls the versions that lost their files readable. One
`KnownMissing` serves all objects of a table. Invariants: a file is known to be missing only because it was deleted
here, or was looked for; a later look that sees it, as after a restore from a backup, takes it off again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Set

import msgspec

__all__ = ["KnownFiles", "KnownMissing"]

_Facts = tuple[frozenset[str], frozenset[int], int]


class KnownFiles(msgspec.Struct, frozen=True):
    """What is known at one moment.

    Attributes:
        missing: Decoded locations, relative to the table's root or absolute, at which there is no file.
        feed: The versions of which a file of recorded changes is missing.
        checked_to: The newest version of which every file was looked for, with all earlier ones; -1 for none.
        revision: Counts what was learned, so that an answer from an earlier moment can be recognized.
    """

    missing: frozenset[str] = frozenset()
    feed: frozenset[int] = frozenset()
    checked_to: int = -1
    revision: int = 0


class KnownMissing:
    """The missing files of one table; several threads may report at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = KnownFiles()

    @property
    def now(self) -> KnownFiles:
        """What is known."""
        return self._now

    def deleted(self, paths: Iterable[str], feed: Iterable[int] = ()) -> None:
        """Learn that files were deleted.

        Args:
            paths: Their decoded locations.
            feed: The versions whose recorded changes are in some of them.
        """
        gone, versions = frozenset(paths), frozenset(feed)
        self._learn(lambda known: (known.missing | gone, known.feed | versions, known.checked_to))

    def looked_for(self, locations: Iterable[str], missing: Set[str]) -> None:
        """Learn which of some locations have no file."""
        seen = frozenset(locations) - missing
        self._learn(lambda known: ((known.missing - seen) | missing, known.feed, known.checked_to))

    def looked_for_all(self, missing: Set[str], version: int, feed: Iterable[int] | None = None) -> None:
        """Learn which of all files that a version and earlier ones need are missing.

        Args:
            missing: Their decoded locations.
            version: The version.
            feed: The versions of which a file of recorded changes is missing; None if these were not looked for.
        """
        told = None if feed is None else frozenset(feed)
        self._learn(lambda known: (frozenset(missing), known.feed if told is None else told, version))

    def _learn(self, said: Callable[[KnownFiles], _Facts]) -> None:
        with self._lock:
            before = self._now
            found = said(before)
            if found != (before.missing, before.feed, before.checked_to):
                self._now = KnownFiles(*found, before.revision + 1)
