"""What earlier versions and the change data feed lose with deleted data files, and why each file may go.

Protocol sections: VACUUM, Add CDC File (Reader Requirements). Invariants: a version counts as lost only if all its
files are there now; a file inside the table is the same under its key and under its absolute path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from explorer.core.errors import CorruptTable
from explorer.core.log.commit import Commit
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import decode_path, is_absolute
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.lifetimes import NEVER, Lifetimes
from explorer.core.versions.retention.missing_files import MissingFiles, data_locations

__all__ = ["VacuumEffects", "vacuum_effects", "versions_in_words"]

_SHADOW: Final = "Hadoop's checksum of a deleted file"
_NOBODY: Final = "no action of the log names it"


class VacuumEffects(msgspec.Struct, frozen=True):
    """The consequences of deleting some files.

    Attributes:
        reasons: Why each of them may go, in their order.
        lost: Versions that can be read now but not afterwards, ascending.
        untold: Versions whose changes can no longer be read afterwards, ascending.
    """

    reasons: tuple[str, ...]
    lost: tuple[int, ...]
    untold: tuple[int, ...]


def vacuum_effects(
    root: str, history: History, with_changes: Iterable[Commit], listed: Sequence[str], gone: Sequence[str]
) -> VacuumEffects:
    """Find out the consequences of deleting files.

    Args:
        root: The table's root as a decoded location.
        history: The recorded commits.
        with_changes: The commits among them that have change files.
        listed: Keys of everything stored.
        gone: Keys of what would be deleted.

    """
    inside = f"{root.rstrip('/')}/"
    life, deleted, there = history.lifetimes, frozenset(gone), frozenset(listed)
    needed = data_locations(life)
    before = {place for place in needed if place not in there and not is_absolute(place)}
    after = {place for place in needed if place.removeprefix(inside) in deleted}
    counts = MissingFiles(life, before).count, MissingFiles(life, before | after).count
    lost = np.flatnonzero((counts[0] == 0) & (counts[1] > 0)) + life.readable_from
    changes = {
        decode_path(file.path).removeprefix(inside): commit.version
        for commit in with_changes
        for file in commit.change_files()
    }
    removed = _removals(life, inside)
    reasons = tuple(_reason(key, removed, changes, deleted) for key in gone)
    untold = {changes[key] for key in deleted & changes.keys()}
    untold |= _inferred(history, inside, deleted, frozenset(changes.values()))
    return VacuumEffects(reasons, tuple(lost.tolist()), tuple(sorted(untold)))


def versions_in_words(versions: Sequence[int]) -> str:
    """Versions, ascending, as in ``Versions 0 to 3, 5 and 7 to 9``."""
    spans: list[tuple[int, int]] = []
    for version in versions:
        if spans and spans[-1][1] == version - 1:
            spans[-1] = spans[-1][0], version
        else:
            spans.append((version, version))
    texts = [str(first) if first == last else f"{first} to {last}" for first, last in spans]
    joined = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    return f"{'Version' if len(versions) == 1 else 'Versions'} {joined}"


def _removals(life: Lifetimes, inside: str) -> dict[str, int]:
    """For the key of each file and each file of vectors that was removed, the last version that did so."""
    rows = np.flatnonzero(life.removed != NEVER)
    versions = life.removed[rows].tolist()
    paths = life.take(rows, ["path"]).column(0).to_pylist()
    files, ids = life.vector_files
    places = [location(vector) for vector in ids]
    vectors = (places[number] if number >= 0 else None for number in files[rows].tolist())
    found: dict[str, int] = {}
    for path, vector, version in zip(paths, vectors, versions, strict=True):
        for place in (path, vector):
            if place is not None:
                key = place.removeprefix(inside)
                found[key] = max(version, found.get(key, version))
    return found


def _reason(key: str, removed: dict[str, int], changes: dict[str, int], deleted: frozenset[str]) -> str:
    if key in removed:
        return f"not needed since version {removed[key]}"
    folder, slash, name = key.rpartition("/")
    if name.endswith(".crc") and f"{folder}{slash}{name[1:-4]}" in deleted:
        return _SHADOW
    return f"changes that version {changes[key]} recorded" if key in changes else _NOBODY


def _inferred(history: History, inside: str, deleted: frozenset[str], recorded: frozenset[int]) -> set[int]:
    """Versions with the feed on and without change files, of which an added or removed file is deleted."""
    life = history.lifetimes
    rows = np.flatnonzero(life.removed != NEVER)
    paths = life.take(rows, ["path"]).column(0).to_pylist()
    gone = rows[[path.removeprefix(inside) in deleted for path in paths]]
    came, went = gone[life.data_change[gone]], gone[life.removed_data_change[gone]]
    versions = {*life.added[came].tolist(), *life.removed[went].tolist()} - recorded
    return {version for version in versions if version >= life.first and _feed_was_on(history, version)}


def _feed_was_on(history: History, version: int) -> bool:
    metadata = history.metadata_at(version)
    try:
        return metadata is not None and CHANGE_DATA_FEED.of(metadata.configuration)
    except CorruptTable:
        return False
