"""What is kept of tables between processes: one file a table in a folder of the user's own.

A file is a run of sections, each an Arrow stream with a CRC-32 of its own, then their directory as JSON, then the
directory's length, CRC-32 and a mark. It is mapped into memory: only requested parts are read. Invariants: a file
appears completely or not at all, with any number of writers; the folder is for its owner alone (mode 0700, files 0600);
no storage option, user, password or query of a URL gets into it; the least recently used files go when there are too
many bytes; whatever cannot be read, or not written, counts as not kept, and a debug line says so.
"""

from __future__ import annotations

import logging
import mmap
import os
import stat
import struct
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlsplit, urlunsplit

import msgspec
import pyarrow as pa

from explorer.core.errors import ExplorerError
from explorer.core.log.log_path import LogPath
from explorer.storage.atomic_write import atomic_write
from explorer.storage.own_folder import make_own_folder
from explorer.storage.schemes import known_scheme
from explorer.variables import CACHE_VARIABLE

_FORMAT: Final = 5
_SUFFIX: Final = f".v{_FORMAT}.index"
# Of any version of this program, and what one that was stopped left behind.
_ANY_SUFFIX: Final = (".index", ".tmp")
_MARK: Final = b"DTXI"
_END: Final = struct.Struct("<QI4s")
_WRITTEN_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_ALIGNED: Final = 64
_MOST_BYTES: Final = 1 << 30
_WORTH_COMMITS: Final = 64
_WORTH_BYTES: Final = 1 << 20
# Clocks of file systems tick a few times a second at worst: what was written this shortly before may be written again
# with the same time.
_SETTLED: Final = 2.0
_HARMLESS: Final = (OSError, pa.ArrowException, ExplorerError, ValueError)

_LOGGER: Final = logging.getLogger(__name__)


class _IndexSection(msgspec.Struct, frozen=True):
    """Where a table is in the file, in bytes, and the CRC-32 of these."""

    name: str
    offset: int
    length: int
    crc: int


class _Directory(msgspec.Struct, frozen=True):
    """What a file holds: the table's location, the program that wrote it, and its sections."""

    location: str
    program: str
    sections: tuple[_IndexSection, ...]


_DIRECTORY: Final = msgspec.json.Decoder(_Directory)


class IndexFile(msgspec.Struct, frozen=True):
    """One file of the folder, for people: the table's location, its size in bytes, and when it was last used (ms since
    the epoch). The location is None where the file is broken or of another version of the program."""

    location: str | None
    size: int
    used: int


class _Index:
    """What is kept of one table: see `explorer.core.log.index_cache.CachedIndex`."""

    def __init__(self, content: pa.Buffer, directory: _Directory, path: Path) -> None:
        self._content, self._path = content, path
        self._sections = {section.name: section for section in directory.sections}

    def table(self, name: str) -> pa.Table | None:
        """Return one of its tables; None if it is damaged."""
        section = self._sections.get(name)
        if section is None:
            return None
        data = self._content.slice(section.offset, section.length)
        if zlib.crc32(data) != section.crc:
            _LOGGER.debug("The index %s is broken in its part %r; the log is read instead.", self._path, name)
            return None
        return pa.ipc.open_stream(data).read_all()


class IndexFolder:
    """A folder of indexes: see `explorer.core.log.index_cache.IndexCache`.

    Args:
        folder: The folder; it is made when something is to be kept.
        program: The version of the program; others do not read what it keeps.
        most_bytes: How many bytes all files together may have.
        worth: From how many commits, or how many bytes of them, on something is kept.
        settled: How many seconds the newest file of a log on disk must be old for it to be kept.
    """

    def __init__(
        self,
        folder: Path,
        program: str,
        *,
        most_bytes: int = _MOST_BYTES,
        worth: tuple[int, int] = (_WORTH_COMMITS, _WORTH_BYTES),
        settled: float = _SETTLED,
    ) -> None:
        self._folder, self._program = folder, program
        self._most_bytes, self._worth, self._settled = most_bytes, worth, settled

    def wants(self, commits: int, size: int) -> bool:
        """Return whether that many commits, of so many bytes, take longer to read again than what is kept of them."""
        return commits >= self._worth[0] or size >= self._worth[1]

    def find(self, location: str) -> _Index | None:
        """Return the cache of the table at a location."""
        path = self._path(location)
        try:
            opened = self._opened(path)
        except FileNotFoundError:
            return None
        except _HARMLESS as error:
            _LOGGER.debug("The index %s cannot be used (%s); the log is read instead.", path, error)
            return None
        if opened is None or (opened[1].location, opened[1].program) != (_harmless(location), self._program):
            _LOGGER.debug("The index %s is broken or of another program; the log is read instead.", path)
            return None
        with suppress(OSError):
            os.utime(path)
        return _Index(opened[0], opened[1], path)

    def keep(self, location: str, covered: Sequence[LogPath], tables: Callable[[], Mapping[str, pa.Table]]) -> None:
        """Keep something of the table at a location, in place of what was kept before."""
        if not _lasts(location) or self._may_change(location, covered):
            return
        path = self._path(location)
        try:
            make_own_folder(self._folder)
            with atomic_write(str(path), durable=False, mode=0o600) as file:
                _write(file, tables(), _harmless(location), self._program, self._most_bytes)
            self._bound()
        except _HARMLESS as error:
            _LOGGER.debug("Nothing is kept of %s in %s: %s", _harmless(location), path, error)

    def drop(self, location: str) -> None:
        """Delete the cache of the table at a location."""
        with suppress(OSError):
            self._path(location).unlink()

    def files(self) -> list[IndexFile]:
        """Return the cached tables, the most recently used first."""
        return [self._described(path, status) for path, status in self._by_use()]

    def clear(self) -> list[IndexFile]:
        """Remove all that is kept, and return what it was.

        Raises:
            OSError: A file cannot be removed.
        """
        removed = []
        for path, status in self._by_use():
            removed.append(self._described(path, status))
            path.unlink(missing_ok=True)
        return removed

    @property
    def folder(self) -> Path:
        """The folder."""
        return self._folder

    def _path(self, location: str) -> Path:
        name = sha256(f"{self._program}\n{_harmless(location)}".encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{name[:40]}{_SUFFIX}"

    def _may_change(self, location: str, covered: Sequence[LogPath]) -> bool:
        """Return whether a file was written so recently that its time may be the same after the next write."""
        newest = max((path.etag for path in covered), default=0) if location.startswith("file:") else 0
        return time.time_ns() - newest < self._settled * 1e9

    def _bound(self) -> None:
        """Remove the least recently used files that are too much."""
        total = 0
        for path, status in self._by_use():
            total += status.st_size
            if total > self._most_bytes:
                path.unlink(missing_ok=True)

    def _by_use(self) -> list[tuple[Path, os.stat_result]]:
        """Return the files of the folder, the most recently used first."""
        files = []
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.name.endswith(_ANY_SUFFIX) and entry.is_file(follow_symlinks=False):
                        files.append((Path(entry.path), entry.stat(follow_symlinks=False)))
        return sorted(files, key=lambda each: each[1].st_mtime_ns, reverse=True)

    def _opened(self, path: Path) -> tuple[pa.Buffer, _Directory] | None:
        """Return the bytes of a file and its directory; None if that is broken."""
        # Opened once: another file that takes the name after the check is not read.
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & _WRITTEN_BY_OTHERS):
                raise PermissionError("another user owns the file, or may write to it")
            content = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return _directory(content)

    def _described(self, path: Path, status: os.stat_result) -> IndexFile:
        opened = None
        with suppress(*_HARMLESS):
            opened = self._opened(path)
        readable = opened is not None and opened[1].program == self._program and path.name.endswith(_SUFFIX)
        location = opened[1].location if opened is not None and readable else None
        return IndexFile(location, status.st_size, status.st_mtime_ns // 1_000_000)


def user_indexes(program: str) -> IndexFolder | None:
    """Return the indexes of the user who runs this program, None if they are switched off."""
    chosen = os.environ.get(CACHE_VARIABLE, "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return IndexFolder(Path(chosen).expanduser(), program)
    from platformdirs import user_cache_path

    return IndexFolder(user_cache_path("delta-table-explorer", appauthor=False), program)


def _write(file: IO[bytes], tables: Mapping[str, pa.Table], location: str, program: str, most_bytes: int) -> None:
    """Write a file of the folder.

    Raises:
        ValueError: The tables are too large to be kept.
    """
    if sum(table.nbytes for table in tables.values()) > most_bytes:
        raise ValueError("it would be larger than all that may be kept")
    sections = []
    position = 0
    for name, table in tables.items():
        sink = _Summing(file)
        with pa.ipc.new_stream(pa.PythonFile(sink, "w"), table.schema) as stream:
            stream.write_table(table.combine_chunks())
        sections.append(_IndexSection(name, position, sink.length, sink.crc))
        padding = -sink.length % _ALIGNED
        file.write(bytes(padding))
        position += sink.length + padding
    directory = msgspec.json.encode(_Directory(location, program, tuple(sections)))
    file.write(directory)
    file.write(_END.pack(len(directory), zlib.crc32(directory), _MARK))


class _Summing:
    """What Arrow writes to: the file, with the length and the CRC-32 of what it got."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.length, self.crc = 0, 0

    def write(self, data: Any) -> int:
        """Write some bytes."""
        view = memoryview(data)
        self.crc = zlib.crc32(view, self.crc)
        self.length += view.nbytes
        return self._file.write(view)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        """Do nothing: the opener closes the file."""

    def readable(self) -> bool:
        """Return that it is only written to."""
        return False

    def writable(self) -> bool:
        """Return that it is only written to."""
        return True

    def seekable(self) -> bool:
        """Return that it is written from its beginning to its end."""
        return False


def _directory(content: pa.Buffer) -> tuple[pa.Buffer, _Directory] | None:
    """Return the directory at the end of a file; None if it is broken."""
    end = content.size - _END.size
    if end < 0:
        return None
    length, crc, mark = _END.unpack(content.slice(end).to_pybytes())
    if mark != _MARK or length > end:
        return None
    text = content.slice(end - length, length)
    if zlib.crc32(text) != crc:
        return None
    directory = _DIRECTORY.decode(text)
    return (content, directory) if all(_inside(section, end - length) for section in directory.sections) else None


def _inside(section: _IndexSection, end: int) -> bool:
    return 0 <= section.offset <= section.offset + section.length <= end


def _harmless(location: str) -> str:
    """Return a location without user, password, query and fragment."""
    parts = urlsplit(location)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _lasts(location: str) -> bool:
    """Return whether the tables of a storage outlive the process."""
    scheme = known_scheme(location)
    return scheme is not None and scheme.persistent
