"""Names of files in ``_delta_log``: file name <-> `LogPath`.

Protocol sections: Delta Log Entries, Checkpoints (classic, multi-part, UUID-named), Log Compaction Files, Version
Checksum File, Staged commits. Invariants: a name is recognized only in full (LOG-003, LOG-004); any width of
digits is read (D-36), twenty are written; everything else in the folder is ignored, and so is a number beyond 64
bits, which no client takes for a version.
"""

from __future__ import annotations

import enum
import re
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

LOG_FOLDER: Final = "_delta_log"
LAST_CHECKPOINT: Final = "_delta_log/_last_checkpoint"
SIDECAR_FOLDER: Final = "_delta_log/_sidecars"
STAGED_FOLDER: Final = "_delta_log/_staged_commits"
NEWEST_VERSION: Final = (1 << 63) - 1
"""The largest number that a version may have."""


class LogFileKind(enum.Enum):
    """The kind of a file of the log."""

    COMMIT = "commit"
    STAGED_COMMIT = "staged commit"
    CLASSIC_CHECKPOINT = "classic checkpoint"
    MULTI_PART_CHECKPOINT = "multi-part checkpoint"
    UUID_CHECKPOINT = "v2 checkpoint"
    COMPACTION = "log compaction"
    CHECKSUM = "version checksum"


class LogPath(msgspec.Struct, frozen=True, gc=False):
    """One recognized file of the log.

    Attributes:
        name: File name without folder.
        kind: Its kind.
        version: The version it describes; for a compaction, the first.
        part: Part number from 1, for a multi-part checkpoint.
        parts: Number of parts, for a multi-part checkpoint.
        last_version: Last version of a compaction.
        uuid: The unique part of a UUID-named checkpoint or staged commit.
        size: Size in bytes as listed.
        modified: Modification time as listed, ms since the epoch.
        etag: A number that changes when the file is written again, 0 if the store has none.
    """

    name: str
    kind: LogFileKind
    version: int
    part: int = 0
    parts: int = 0
    last_version: int = 0
    uuid: str = ""
    size: int = 0
    modified: int = 0
    etag: int = 0

    @property
    def path(self) -> str:
        """The key under the table's root."""
        folder = STAGED_FOLDER if self.kind is LogFileKind.STAGED_COMMIT else LOG_FOLDER
        return f"{folder}/{self.name}"


_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_IS_COMMIT = LogFileKind.COMMIT
_COMMIT = re.compile(r"([0-9]+)\.json\Z")
_OTHER = re.compile(
    rf"(?P<version>[0-9]+)\.(?:"
    rf"(?P<classic>checkpoint\.parquet)"
    rf"|checkpoint\.(?P<part>[0-9]{{10}})\.(?P<parts>[0-9]{{10}})\.parquet"
    rf"|checkpoint\.(?P<uuid>{_UUID})\.(?:json|parquet)"
    rf"|(?P<last>[0-9]+)\.compacted\.json"
    rf"|(?P<crc>crc)"
    rf"|(?P<staged>{_UUID})\.json"
    rf")\Z",
    re.ASCII,
)


def parse_log_name(name: str, size: int = 0, modified: int = 0, etag: int = 0) -> LogPath | None:
    """Recognize a file name of the log, or return None for anything the protocol does not name.

    Args:
        size: Size in bytes, passed to the result.
        modified: Modification time in ms since the epoch, passed to the result.
    """
    if len(name) == 25 and name[:2] + name[20:] == "00.json" and name.isascii() and (digits := name[:20]).isdigit():
        # By position takes half as long as by name, and there is one for every version.
        return LogPath(name, _IS_COMMIT, int(digits), 0, 0, 0, "", size, modified, etag)
    if not name[:1].isdigit():
        return None
    listed = partial(LogPath, name, size=size, modified=modified, etag=etag)
    if (commit := _COMMIT.match(name)) is not None:
        return listed(LogFileKind.COMMIT, int(commit[1])) if _is_version(commit[1]) else None
    other = _OTHER.match(name)
    if other is None or not _is_version(other["version"]):
        return None
    version = int(other["version"])
    if other["classic"]:
        return listed(LogFileKind.CLASSIC_CHECKPOINT, version)
    if other["part"]:
        part, parts = int(other["part"]), int(other["parts"])
        if not 1 <= part <= parts:
            return None
        kind = LogFileKind.MULTI_PART_CHECKPOINT
        return listed(kind, version, part=part, parts=parts)
    if other["uuid"]:
        kind = LogFileKind.UUID_CHECKPOINT
        return listed(kind, version, uuid=other["uuid"])
    if other["last"]:
        last = int(other["last"])
        if last <= version or last > NEWEST_VERSION:
            return None
        return LogPath(
            name, LogFileKind.COMPACTION, version, last_version=last, size=size, modified=modified, etag=etag
        )
    if other["staged"]:
        kind = LogFileKind.STAGED_COMMIT
        return listed(kind, version, uuid=other["staged"])
    return listed(LogFileKind.CHECKSUM, version)


def _is_version(digits: str) -> bool:
    return int(digits) <= NEWEST_VERSION


def commit_name(version: int) -> str:
    """Return key of the commit file of a version (LOG-001)."""
    return f"{LOG_FOLDER}/{version:020d}.json"


def checkpoint_name(version: int, uuid: UUID | None = None, extension: str = "parquet") -> str:
    """Return key of the checkpoint of a version in one file: classic, or named by a UUID (CKPT-001, V2CKPT-002)."""
    middle = "" if uuid is None else f".{uuid}"
    return f"{LOG_FOLDER}/{version:020d}.checkpoint{middle}.{extension}"


def replaced_name(path: str) -> str:
    """Return the key under which a replaced log file is preserved; no reader recognizes it."""
    return f"{path}.replaced"


def checksum_name(version: int) -> str:
    """Return key of the checksum file of a version (CRC-001)."""
    return f"{LOG_FOLDER}/{version:020d}.crc"


def compaction_name(first: int, last: int) -> str:
    """Return key of the log compaction file of a range of versions (COMPACT-001)."""
    return f"{LOG_FOLDER}/{first:020d}.{last:020d}.compacted.json"
