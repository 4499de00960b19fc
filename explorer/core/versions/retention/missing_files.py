"""Missing files: those known without another check, and the versions that need them.

No commit records a vacuum of this program, so by the log alone the versions that lost their files are readable. One
`KnownMissing` serves all objects of a table. Invariants: a file is known to be missing only because it was deleted
here, or was checked; a later check that finds it, as after a restore from a backup, clears it again. A missing data
file and a missing file of deletion vectors make a version unreadable the same way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Set
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from explorer.core.protocol.arrow.arrays import Int64s, Mask
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import decode_path, is_absolute_location
from explorer.core.protocol.log_store import LogStore

if TYPE_CHECKING:
    from explorer.core.versions.lifetimes.lifetimes import Lifetimes

MOST_NAMED: Final = 10
"""The most missing files of a version that are named."""

# Up to so many files are checked one by one; for more, the tree is listed.
_FEW: Final = 256


def data_locations(lifetimes: Lifetimes) -> list[str]:
    """Return the decoded locations of every file that a readable version needs: data and deletion vector files."""
    files, vectors = _needed(lifetimes)
    places = lifetimes.take(files, ["path"]).column(0).to_pylist()
    return [*dict.fromkeys(places), *dict.fromkeys(place for place in vectors if place is not None)]


def absent(store: LogStore, locations: Iterable[str]) -> frozenset[str]:
    """Return the decoded locations at which there is no file.

    Args:
        locations: Relative to the table's root, or absolute.

    Raises:
        NotAllowed: An absolute location is outside the locations that may be read.
        StorageError: The store failed.
    """
    root = decode_path(store.root).rstrip("/") + "/"
    relative: list[str] = []
    absolute: dict[str, str] = {}
    for path in locations:
        if is_absolute_location(path) or ".." in path:
            absolute[path] = path if is_absolute_location(path) else root + path
        else:
            relative.append(path)
    missing = {path for path, location in absolute.items() if not _exists(*_seat(store, root, location))}
    if len(relative) > _FEW:
        present = frozenset(store.list_tree())
        return frozenset(missing.union(path for path in relative if path not in present))
    return frozenset(missing.union(path for path in relative if not _exists(store, path)))


class MissingFiles:
    """The instances that lack their data file or their deletion vector, and their number by version.

    Attributes:
        instances: A mask of the instances that lack one of their files.
        count: The number of these in each readable version.
        named: By index of a version some of the files that it lacks.
    """

    def __init__(self, life: Lifetimes, missing: Set[str]) -> None:
        from explorer.core.versions.retention.expiry import readable_spans

        self._life, self._missing = life, missing
        self.count = np.zeros(life.last - life.readable_from + 1, np.int64)
        self.named: dict[int, tuple[str, ...]] = {}
        self.instances: Mask = np.zeros(len(life.added), bool)
        if not missing:
            return
        files, vectors = _needed(life)
        paths = life.take(files, ["path"]).column(0).to_pylist()
        is_missing = np.fromiter((path in missing for path in paths), bool, len(paths))
        of_path = np.zeros(int(life.path_ids.max(initial=-1)) + 1, bool)
        of_path[life.path_ids[files[is_missing]]] = True
        # One item more than there are vectors, for the instances that have none.
        of_vector = np.array([*(location in missing for location in vectors), False])
        self.instances = of_path[life.path_ids] | of_vector[life.vector_files[0]]
        start, stop, rows = readable_spans(life, self.instances)
        steps = np.bincount(start, minlength=len(self.count) + 1) - np.bincount(stop, minlength=len(self.count) + 1)
        self.count = np.cumsum(steps)[: len(self.count)]
        self._vectors = vectors
        self._name(start, stop, rows)

    def _name(self, start: Int64s, stop: Int64s, rows: Int64s) -> None:
        """Name some missing files of each version: of those added so far, the ones that stay longest.

        When the longest-lived are removed, so are all others: a handful from version to version is enough.
        """
        order = np.argsort(start, kind="stable")
        bounds = np.searchsorted(start[order], np.arange(len(self.count) + 1))
        longest: list[tuple[int, int]] = []
        chosen: dict[int, list[tuple[int, int]]] = {}
        for index in np.flatnonzero(self.count).tolist() if len(rows) else ():
            added = order[bounds[index] : bounds[index + 1]]
            if len(added) > MOST_NAMED:
                added = added[np.argpartition(-stop[added], MOST_NAMED)[:MOST_NAMED]]
            if len(added) or longest[-1][0] <= index:
                longest = [*longest, *((int(stop[item]), int(rows[item])) for item in added.tolist())]
                longest = sorted((item for item in longest if item[0] > index), reverse=True)[:MOST_NAMED]
            chosen[index] = longest
        names = self._names({row for items in chosen.values() for _, row in items})
        for index, items in chosen.items():
            files = dict.fromkeys(path for _, row in items for path in names[row])
            self.named[index] = tuple(files)[:MOST_NAMED]

    def _names(self, rows: Set[int]) -> dict[int, tuple[str, ...]]:
        """Return for each instance those of its files that are missing."""
        wanted = np.array(sorted(rows), np.int64)
        paths = self._life.take(wanted, ["path"]).column(0).to_pylist()
        vectors = self._life.vector_files[0][wanted].tolist()
        pairs = (
            (path, self._vectors[place] if place >= 0 else None) for path, place in zip(paths, vectors, strict=True)
        )
        files = (tuple(place for place in pair if place is not None and place in self._missing) for pair in pairs)
        return dict(zip(wanted.tolist(), files, strict=True))


def _needed(life: Lifetimes) -> tuple[Int64s, list[str | None]]:
    """Return a row for each path that a readable version needs, and the location of each file of deletion vectors."""
    from explorer.core.versions.retention.expiry import readable_spans

    _, _, rows = readable_spans(life, np.ones(len(life.added), bool))
    _, places = np.unique(life.path_ids[rows], return_index=True)
    files, ids = life.vector_files
    used = set(files[rows].tolist())
    vectors = [location(vector) if place in used else None for place, vector in enumerate(ids)]
    return rows[places], vectors


def _seat(store: LogStore, root: str, location: str) -> tuple[LogStore, str]:
    """Return store and key of an absolute location."""
    key = location.removeprefix(root)
    return (store, key) if key != location and ".." not in key.split("/") else store.elsewhere(location)


def _exists(store: LogStore, key: str) -> bool:
    try:
        store.head(key)
    except FileNotFoundError:
        return False
    return True


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
