"""Files of the log by version, as columns: a log has one for every version, and few callers need them one by one.

Protocol section: Delta Log Entries. Invariants: versions ascend; a `LogPath` is made at first need, and is the
one that `explorer.core.log.log_path.parse_log_name` makes.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from explorer.core.log.log_path import LOG_FOLDER, LogFileKind, LogPath
from explorer.core.protocol.arrow.arrays import Int64s, int64s, strings
from explorer.core.protocol.log_store import ListedObjects, seen_of

_DIGITS: Final = 20
# A version in twenty digits that surely fits into 64 bits; other names are parsed one by one.
_USUAL: Final = re.compile(r"00[0-9]{18}\.(?:(json)|crc)").fullmatch


class VersionFiles(Mapping[int, LogPath]):
    """Files of one kind, such as commits, by version in ascending order.

    Args:
        versions: Their versions, ascending.

    Attributes:
        versions: As given.
        latest: The newest version, -1 if there is none.
    """

    def __init__(
        self, versions: Int64s, objects: ListedObjects, kind: LogFileKind, paths: Sequence[LogPath] | None = None
    ) -> None:
        self.versions, self._objects, self._kind, self._paths = versions, objects, kind, paths
        self._first = int(versions[0]) if len(versions) else 0
        self.latest = int(versions[-1]) if len(versions) else -1

    @classmethod
    def of(cls, files: Mapping[int, LogPath]) -> VersionFiles:
        """Return the same files, whose versions ascend."""
        if isinstance(files, VersionFiles):
            return files
        paths = list(files.values())
        objects = ListedObjects("", [path.name for path in paths], seen_of(paths))
        return cls(np.fromiter(files, np.int64, len(files)), objects, LogFileKind.COMMIT, paths)

    @classmethod
    def recognised(cls, objects: ListedObjects) -> tuple[VersionFiles, VersionFiles, list[int]]:
        """Return the commits and the checksums with usual names in a listing, and the indexes of its other files."""
        commits, checksums, others = list[int](), list[int](), list[int]()
        for place, name in enumerate(objects.names):
            match = _USUAL(name)
            (others if match is None else commits if match.lastindex else checksums).append(place)
        return cls._at(objects, commits, LogFileKind.COMMIT), cls._at(objects, checksums, LogFileKind.CHECKSUM), others

    @classmethod
    def _at(cls, objects: ListedObjects, rows: list[int], kind: LogFileKind) -> VersionFiles:
        files = objects.take(rows)
        return cls(_versions(files.names), files, kind)

    def __len__(self) -> int:
        return len(self.versions)

    def __iter__(self) -> Iterator[int]:
        return map(int, self.versions)

    def __reversed__(self) -> Iterator[int]:
        return map(int, self.versions[::-1])

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self._index(version) is not None

    def __getitem__(self, version: int) -> LogPath:
        place = self._index(version)
        if place is None:
            raise KeyError(version)
        if self._paths is not None:
            return self._paths[place]
        return self._path(int(version), *self._objects.row(place))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} files)"

    def items(self) -> ItemsView[int, LogPath]:
        """Return each version with its file."""
        return _Pairs(self)

    @property
    def paths(self) -> Sequence[LogPath]:
        """All files."""
        if self._paths is None:
            rows = zip(self.versions.tolist(), self._objects.rows(), strict=True)
            self._paths = [self._path(version, *row) for version, row in rows]
        return self._paths

    @property
    def file_keys(self) -> list[str]:
        """Key of each under the table's root."""
        if self._paths is not None:
            return [path.path for path in self._paths]
        return [f"{LOG_FOLDER}/{name}" for name in self._objects.names]

    @property
    def sizes(self) -> Int64s:
        """Bytes of each as listed."""
        return self._objects.sizes

    @property
    def modified(self) -> Int64s:
        """Modification time of each as listed, ms since the epoch."""
        return self._objects.modified

    @property
    def is_gapless(self) -> bool:
        """Whether no version is missing between the first and the latest."""
        return self.latest - self._first + 1 == len(self) or not len(self)

    def since(self, version: int) -> VersionFiles:
        """Return those from a version on."""
        return self.part(range(int(np.searchsorted(self.versions, version)), len(self)))

    def oldest(self, count: int) -> VersionFiles:
        """Return the oldest ``count`` of them."""
        return self.part(range(min(count, len(self))))

    def with_newer(self, newer: VersionFiles) -> VersionFiles:
        """Return these and newer files, of which some may be among these."""
        if not len(newer):
            return self
        older = self.oldest(int(np.searchsorted(self.versions, int(newer.versions[0]))))
        if newer._kind is not older._kind or older._paths is not None or newer._paths is not None:
            return VersionFiles.of(dict(sorted({**self, **newer}.items())))
        versions = np.concatenate([older.versions, newer.versions])
        return VersionFiles(versions, older._objects.with_more(newer._objects), self._kind)

    def table(self) -> pa.Table:
        """Return the listing of the files: name, size in bytes, modified (ms since the epoch), etag."""
        objects = self._objects
        return pa.table(
            {
                "name": strings(objects.names),
                "size": int64s(objects.sizes),
                "modified": int64s(objects.modified),
                "etag": int64s(objects.etags),
            }
        )

    def part(self, chosen: range) -> VersionFiles:
        """Return those at some positions, which ascend."""
        if len(chosen) == len(self):
            return self
        paths = None if self._paths is None else self._paths[chosen.start : chosen.stop]
        objects = self._objects.part(chosen.start, chosen.stop)
        return VersionFiles(self.versions[chosen.start : chosen.stop], objects, self._kind, paths)

    def _index(self, version: int) -> int | None:
        if not 0 <= version - self._first <= self.latest - self._first:
            return None
        if self.is_gapless:
            return version - self._first
        place = int(np.searchsorted(self.versions, version))
        return place if self.versions[place] == version else None

    def _path(self, version: int, name: str, size: int, modified: int, etag: int) -> LogPath:
        # By position takes half as long as by name, and there may be one for every version.
        return LogPath(name, self._kind, version, 0, 0, 0, "", size, modified, etag)


def _versions(names: Sequence[str]) -> Int64s:
    """Return the versions that names begin with; they ascend."""
    if not names:
        return np.zeros(0, np.int64)
    first, last = int(names[0][:_DIGITS]), int(names[-1][:_DIGITS])
    if last - first + 1 == len(names):
        # As many as there are numbers from the first to the last: none is missing.
        return np.arange(first, last + 1)
    return np.array([int(name[:_DIGITS]) for name in names], np.int64)


class _Pairs(ItemsView[int, LogPath]):
    """All versions with their files, which are made at once."""

    def __init__(self, files: VersionFiles) -> None:
        super().__init__(files)
        self._files = files

    def __iter__(self) -> Iterator[tuple[int, LogPath]]:
        return zip(self._files, self._files.paths, strict=True)
