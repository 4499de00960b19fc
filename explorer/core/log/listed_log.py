"""The folder of the log -> its files by kind, complete checkpoints, and versions that files name but do not contain.

Protocol sections: Delta Log Entries, Checkpoints (classic, multi-part, UUID-named), Last Checkpoint File, Log
Compaction Files, Staged commits. Invariants: names are recognized by `explorer.core.log.log_path`; a listing that shows
a gap between commits, or a file that names a version beyond them, is checked by another. A checkpoint in parts counts
only with all of them (CKPT-003); of several at one version the last in the order of preference comes last (CKPT-005).
Only a commit or a complete checkpoint makes a version; any other file that names a newer one shows that it existed, so
the newest version that can be rebuilt may not be the newest that existed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final

import msgspec

from explorer.core.log.log_path import LAST_CHECKPOINT, LOG_FOLDER, STAGED_FOLDER, LogFileKind, LogPath, parse_log_name
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.log_store import ListedObjects, LogStore


class MissingVersion(msgspec.Struct, frozen=True):
    """A version that has no commit and no complete checkpoint, though files of the log name it or a later one.

    Attributes:
        version: The newest version that they show to have existed.
        files: Their keys, ascending by the version that they name.
    """

    version: int
    files: tuple[str, ...]

    def and_also(self, other: MissingVersion | None) -> MissingVersion:
        """Return both together."""
        if other is None:
            return self
        first, second = sorted((self, other), key=lambda each: each.version)
        return MissingVersion(second.version, tuple(dict.fromkeys((*first.files, *second.files))))

    def beyond(self, version: int) -> MissingVersion | None:
        """Return the same if the newest recorded version is this one; None if that is as new."""
        return self if self.version > version else None


def newest_named(paths: Iterable[LogPath], recorded: int) -> MissingVersion | None:
    """Return the newest version that files of the log show to have existed beyond the recorded ones, if any."""
    shown = ((_shown(path), path.path) for path in paths)
    newer = sorted(each for each in shown if each[0] > recorded)
    return MissingVersion(newer[-1][0], tuple(path for _, path in newer)) if newer else None


def named_by_hint(version: int | None) -> MissingVersion | None:
    """Return the version of the checkpoint that the hint names."""
    return None if version is None else MissingVersion(version, (LAST_CHECKPOINT,))


def _shown(path: LogPath) -> int:
    """Return the newest version that a file shows to have existed."""
    if path.kind is LogFileKind.STAGED_COMMIT:
        return path.version - 1
    return path.last_version if path.kind is LogFileKind.COMPACTION else path.version


_PREFERENCE: Final = {
    LogFileKind.MULTI_PART_CHECKPOINT: 0,
    LogFileKind.CLASSIC_CHECKPOINT: 1,
    LogFileKind.UUID_CHECKPOINT: 2,
}


class CompleteCheckpoint(msgspec.Struct, frozen=True):
    """A complete checkpoint: its version and its file, or its parts in order."""

    version: int
    parts: tuple[LogPath, ...]

    @property
    def kind(self) -> LogFileKind:
        """Classic, multi-part or UUID-named."""
        return self.parts[0].kind


def complete_checkpoints(files: Iterable[LogPath]) -> Iterable[CompleteCheckpoint]:
    """Complete checkpoints in the order of version; of several at one version the last is preferred (CKPT-005)."""

    def identity(path: LogPath) -> tuple[int, int, int, str]:
        return path.version, _PREFERENCE[path.kind], path.parts, path.uuid

    checkpoints = [path for path in files if path.kind in _PREFERENCE]
    for (version, _, parts, _), group in groupby(
        sorted(checkpoints, key=lambda p: (*identity(p), p.part)), key=identity
    ):
        members = tuple({path.part: path for path in group}.values())
        if not parts or len(members) == parts:
            yield CompleteCheckpoint(version, members)


_LISTINGS: Final = 10
_STAGED_NAME: Final = STAGED_FOLDER.rpartition("/")[2]


@dataclass(frozen=True)
class ListedLog:
    """Files of the log: commits and checksums of the usual names, and other files of the protocol."""

    objects: ListedObjects
    commits: VersionFiles
    checksums: VersionFiles
    others: list[LogPath]

    @cached_property
    def seems_to_lack(self) -> bool:
        """Whether a commit seems to be missing."""
        if self.missing_version is not None:
            return True
        unusual = {path.version for path in self.others if path.kind is LogFileKind.COMMIT}
        if not unusual:
            return not self.commits.is_gapless
        versions = unusual.union(self.commits)
        return len(versions) <= max(versions) - min(versions)

    @cached_property
    def recorded(self) -> int:
        """The newest version that has a commit or a complete checkpoint; -1 if there is none."""
        unusual = (path.version for path in self.others if path.kind is LogFileKind.COMMIT)
        complete = (checkpoint.version for checkpoint in complete_checkpoints(self.others))
        return max((self.commits.latest, *unusual, *complete))

    def named_by_staged(self, store: LogStore) -> MissingVersion | None:
        """Return a newer version than the recorded ones, if staged commits show it; most logs have none to list."""
        if self.objects.folders is not None and _STAGED_NAME not in self.objects.folders:
            return None
        return newest_named(list_staged(store), self.recorded)

    @cached_property
    def missing_version(self) -> MissingVersion | None:
        """A newer version than the newest recorded one, if other files name one."""
        newest = max((max(path.version, path.last_version) for path in self.others), default=-1)
        if max(newest, self.checksums.latest) <= self.commits.latest:
            return None
        others = (path for path in self.others if path.kind is not LogFileKind.STAGED_COMMIT)
        recorded = self.recorded
        return newest_named([*others, *self.checksums.since(recorded + 1).paths], recorded)


def list_staged(store: LogStore, start: str = "") -> Iterator[LogPath]:
    """List the staged commits whose name is at or after a name."""
    listed = ListedObjects.of(STAGED_FOLDER, store.list_from(STAGED_FOLDER, start))
    for row in listed.rows():
        path = parse_log_name(*row)
        if path is not None and path.kind is LogFileKind.STAGED_COMMIT:
            yield path


def list_files(store: LogStore, start: str) -> ListedLog:
    """List the log's folder from a name on.

    A folder that is written to while it is listed may show a commit and not the one before it, on disks as in the pages
    of an object store. Where a commit seems to be missing the folder is listed again: the second listing has the file
    that the first missed.
    """
    listed = _recognised(store, start)
    for _ in range(_LISTINGS):
        if not listed.seems_to_lack:
            break
        again = _recognised(store, start)
        if again.objects.names == listed.objects.names:
            break
        listed = again
    return listed


def _recognised(store: LogStore, start: str) -> ListedLog:
    return sorted_files(ListedObjects.of(LOG_FOLDER, store.list_from(LOG_FOLDER, start)))


def sorted_files(objects: ListedObjects) -> ListedLog:
    """Sort listed names by their kind in the protocol."""
    commits, checksums, others = VersionFiles.recognised(objects)
    named = (parse_log_name(*row) for row in objects.take(others).rows())
    return ListedLog(objects, commits, checksums, [path for path in named if path is not None])
