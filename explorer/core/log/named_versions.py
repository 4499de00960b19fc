"""Versions that files of the log name without containing them: the log had such a version, and may have lost it.

Protocol sections: Last Checkpoint File, Checkpoints, Log Compaction Files, Version Checksum File, Staged commits.
Invariants: only a commit or a complete checkpoint makes a version; any other file that names a newer one was written
after that version existed, so the newest version that can be rebuilt may not be the newest that existed. A staged
commit is a proposal for its version, and shows only that the version before it existed.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from explorer.core.log.log_path import LAST_CHECKPOINT, LogFileKind, LogPath

__all__ = ["NamedVersion", "named_by_hint", "newest_named"]


class NamedVersion(msgspec.Struct, frozen=True):
    """A version that has no commit and no complete checkpoint, though files of the log name it or a later one.

    Attributes:
        version: The newest version that they show to have existed.
        files: Their keys, ascending by the version that they name.
    """

    version: int
    files: tuple[str, ...]

    def and_also(self, other: NamedVersion | None) -> NamedVersion:
        """Return both together."""
        if other is None:
            return self
        first, second = sorted((self, other), key=lambda named: named.version)
        return NamedVersion(second.version, tuple(dict.fromkeys((*first.files, *second.files))))

    def beyond(self, version: int) -> NamedVersion | None:
        """Return the same if the newest recorded version is this one; None if that is as new."""
        return self if self.version > version else None


def newest_named(paths: Iterable[LogPath], recorded: int) -> NamedVersion | None:
    """Return the newest version that files of the log show to have existed beyond the recorded ones, if any.

    Args:
        paths: Files of the log, of any kind.
        recorded: The newest version that has a commit or a complete checkpoint.
    """
    shown = ((_shown(path), path.path) for path in paths)
    newer = sorted(each for each in shown if each[0] > recorded)
    return NamedVersion(newer[-1][0], tuple(path for _, path in newer)) if newer else None


def named_by_hint(version: int | None) -> NamedVersion | None:
    """Return the version of the checkpoint that the hint names."""
    return None if version is None else NamedVersion(version, (LAST_CHECKPOINT,))


def _shown(path: LogPath) -> int:
    """Return the newest version that a file shows to have existed."""
    if path.kind is LogFileKind.STAGED_COMMIT:
        return path.version - 1
    return path.last_version if path.kind is LogFileKind.COMPACTION else path.version
