"""The folder of the log -> its files by kind, listed again where one seems to be missing.

Protocol section: Delta Log Entries. Invariants: a name is recognized as `explorer.core.log.log_path` does it; a
listing that shows a gap between commits, or a file that names a version beyond them, is checked by another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from explorer.core.log.checkpoint_files import complete_checkpoints
from explorer.core.log.log_path import LOG_FOLDER, STAGED_FOLDER, LogFileKind, LogPath, parse_log_name
from explorer.core.log.named_versions import NamedVersion, newest_named
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.log_store import ListedObjects, LogStore

__all__ = ["ListedLog", "list_files", "list_staged", "sorted_files"]

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
        if self.named is not None:
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

    def named_by_staged(self, store: LogStore) -> NamedVersion | None:
        """Return a newer version than the recorded ones, if staged commits show it; most logs have none to list."""
        if self.objects.folders is not None and _STAGED_NAME not in self.objects.folders:
            return None
        return newest_named(list_staged(store), self.recorded)

    @cached_property
    def named(self) -> NamedVersion | None:
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
