"""What earlier versions and the change data feed lose with deleted data files, and why each file may go.

Protocol sections: VACUUM, Add CDC File (Reader Requirements). Invariants: a version counts as lost only if all its
files are there now; a file inside the table is the same under its key and under its absolute path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from explorer.core.errors import CorruptTable
from explorer.core.log.commit import Commit
from explorer.core.protocol.arrow.arrays import Int64s, Mask
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import canonical_key, is_absolute_location, stored_key
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.lifetimes import NEVER, Lifetimes
from explorer.core.versions.provenance import CommitRecord
from explorer.core.versions.retention.expiry import FOREVER
from explorer.core.versions.retention.missing_files import MissingFiles, data_locations
from explorer.core.versions.retention.readable_until import feed_readable_until

_SHADOW: Final = "Hadoop's checksum of a deleted file"
_UNNAMED: Final = "no action of the log names it"


class VacuumEffects(msgspec.Struct, frozen=True):
    """The consequences of deleting some files.

    Attributes:
        reasons: Why each of them may go, in their order.
        lost: Versions that can be read now but not afterwards, ascending.
        unreadable_changes: Versions whose changes can no longer be read afterwards, ascending.
    """

    reasons: tuple[str, ...]
    lost: tuple[int, ...]
    unreadable_changes: tuple[int, ...]


def vacuum_effects(
    root: str, history: History, with_changes: Iterable[Commit], listed: Sequence[str], deletable: Sequence[str]
) -> VacuumEffects:
    """Find out the consequences of deleting files.

    Args:
        root: The table's root as a decoded location.
    """
    life, deleted = history.lifetimes, frozenset(deletable)
    now = _Files(root, frozenset(listed))
    afterwards = _Files(root, now.there, deleted)
    needed = data_locations(life)
    before, after = ({place for place in needed if files.lacks(place)} for files in (now, afterwards))
    counts = MissingFiles(life, before).count, MissingFiles(life, after).count
    lost = np.flatnonzero((counts[0] == 0) & (counts[1] > 0)) + life.readable_from
    changes = {
        stored_key(canonical_key(file.path), root): commit.version
        for commit in with_changes
        for file in commit.change_files()
    }
    removed = _removals(life, root)
    reasons = tuple(_reason(key, removed, changes, deleted) for key in deletable)
    recorded: dict[int, list[str]] = {}
    for key, version in changes.items():
        recorded.setdefault(version, []).append(key)
    unreadable_before, unreadable_after = (_unreadable_changes(history, files, recorded) for files in (now, afterwards))
    unreadable_changes = np.setdiff1d(unreadable_after, unreadable_before)
    return VacuumEffects(reasons, tuple(lost.tolist()), tuple(unreadable_changes.tolist()))


def versions_in_words(versions: Sequence[int]) -> str:
    """Return ascending versions as in ``Versions 0 to 3, 5 and 7 to 9``."""
    spans: list[tuple[int, int]] = []
    for version in versions:
        if spans and spans[-1][1] == version - 1:
            spans[-1] = spans[-1][0], version
        else:
            spans.append((version, version))
    texts = [str(first) if first == last else f"{first} to {last}" for first, last in spans]
    joined = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    return f"{'Version' if len(versions) == 1 else 'Versions'} {joined}"


def _removals(life: Lifetimes, root: str) -> dict[str, int]:
    """Return the last version that removed each file and each file of vectors, by key."""
    rows = np.flatnonzero(life.removed != NEVER)
    versions = life.removed[rows].tolist()
    paths = life.take(rows, ["path"]).column(0).to_pylist()
    files, ids = life.vector_files
    places = [location(vector) for vector in ids]
    vectors = (places[number] if number >= 0 else None for number in files[rows].tolist())
    removals: dict[str, int] = {}
    for path, vector, version in zip(paths, vectors, versions, strict=True):
        for place in (path, vector):
            if place is not None:
                key = stored_key(place, root)
                removals[key] = max(version, removals.get(key, version))
    return removals


def _reason(key: str, removed: dict[str, int], changes: dict[str, int], deleted: frozenset[str]) -> str:
    if key in removed:
        return f"not needed since version {removed[key]}"
    folder, slash, name = key.rpartition("/")
    if name.endswith(".crc") and f"{folder}{slash}{name[1:-4]}" in deleted:
        return _SHADOW
    return f"changes that version {changes[key]} recorded" if key in changes else _UNNAMED


def _unreadable_changes(history: History, files: _Files, recorded: Mapping[int, Sequence[str]]) -> Int64s:
    """Return the versions whose changes cannot be read where only some files are there, ascending.

    Args:
        recorded: The keys of the change files of each version that has some.
    """
    life = history.lifetimes
    never = np.full(len(life.added), FOREVER)

    def of_record(record: CommitRecord) -> tuple[int, bool]:
        return FOREVER, any(files.lacks(key) for key in recorded.get(record.version, ()))

    try:
        feed = feed_readable_until(history, never, files.instances(life), of_record)
    except CorruptTable:  # whether the feed is on cannot be determined, so it cannot be read
        return np.zeros(0, np.int64)
    return feed.versions[feed.lost]


class _Files(msgspec.Struct, frozen=True):
    """The files that can be read: all that is stored, except some.

    Attributes:
        root: The table's root as a decoded location.
        there: Keys of what is stored.
        deleted: Keys among them that do not count.
    """

    root: str
    there: frozenset[str]
    deleted: frozenset[str] = frozenset()

    def lacks(self, place: str) -> bool:
        """Return whether a file is not there; one outside the table counts as there."""
        key = stored_key(place, self.root)
        return key in self.deleted or not (key in self.there or key.startswith("../") or is_absolute_location(key))

    def instances(self, life: Lifetimes) -> Mask:
        """Return the instances that lack their data file or their file of deletion vectors."""
        paths = life.take(np.arange(len(life.added)), ["path"]).column(0).to_pylist()
        files, ids = life.vector_files
        places = [location(vector) for vector in ids]
        # One place more than there are vectors, for the instances that have none.
        vectors = np.array([*(place is not None and self.lacks(place) for place in places), False])
        lacking: Mask = np.fromiter(map(self.lacks, paths), bool, len(paths)) | vectors[files]
        return lacking
