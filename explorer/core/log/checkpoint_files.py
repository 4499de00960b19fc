"""The files of checkpoints -> complete checkpoints.

Protocol section: Checkpoints (classic, multi-part, UUID-named). Invariants: a checkpoint in parts counts only with all
of them (CKPT-003); of several at one version the last in the order of preference comes last (CKPT-005).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Final

import msgspec

from explorer.core.log.log_path import LogFileKind, LogPath

__all__ = ["CompleteCheckpoint", "complete_checkpoints"]

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
