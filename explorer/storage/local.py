"""A `LogStore` on the local file system.

It talks to the operating system itself: reading ten thousand small commits this way takes a third of the time of any
client in between, any file name can be read, and a commit is made durable before it is reported to exist.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from explorer.core.errors import StorageError
from explorer.core.protocol.arrow.arrays import fresh_buffer
from explorer.core.protocol.limits import check_file
from explorer.core.protocol.log_store import (
    BEHIND,
    JoinedObjects,
    ListedObjects,
    LogStore,
    ObjectMeta,
    joined_objects,
    no_objects,
)
from explorer.storage.atomic_write import atomic_write
from explorer.storage.local_tree import local_files
from explorer.storage.open_folders import OpenFolders
from explorer.storage.real_files import RealFiles
from explorer.storage.roots import AllowedRoots, Opener, folder_of

# Most commits fit: one call reads the file and shows that it has ended.
_READ_SIZE: Final = 1 << 16
# A pipe in the place of a file would otherwise keep its reader waiting for a writer.
_READ_ONLY: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY
# To stat a file, not to read it: that needs no permission.
_UNREAD: Final = getattr(os, "O_PATH", _READ_ONLY)
# Where Linux names the open files of this process.
_HANDLES: Final = "/proc/self/fd"
_BREAK: Final = ord("\n")
# How many files are listed before their facts become columns, while these are in the processor's cache.
_STATS: Final = 1 << 8
# How many names of a folder are cached at most, so that it need not be listed again.
_MOST_NAMES: Final = 1 << 17
# Nanoseconds in which a folder may change more than once without another time.
_TICK: Final = 2_000_000_000


def open_folder(location: str, options: Mapping[str, Any], opener: Opener, roots: AllowedRoots | None) -> LocalLogStore:
    """Open the store of a folder or of its ``file://`` URL; options mean nothing to it."""
    del options
    return LocalLogStore(Path(os.path.realpath(folder_of(location))), opener, roots)


class LocalLogStore:
    """Objects below a folder.

    Args:
        folder: The table's root; must be absolute and resolved.
        opener: Opens an absolute location that the log names.
        roots: The places that may be read; None allows every place.
    """

    def __init__(self, folder: Path, opener: Opener, roots: AllowedRoots | None = None) -> None:
        self._opener = opener
        self._folder = str(folder)
        self._root = folder.as_uri()
        self._roots = roots
        self._files = RealFiles(self._folder, roots)

    @property
    def root(self) -> str:
        """The root as a URL."""
        return self._root

    @property
    def folder(self) -> Path:
        """The root as a path."""
        return Path(self._folder)

    def list_from(self, folder: str, start: str = "") -> Iterable[ObjectMeta]:
        """List the files directly inside a folder from a name on, in name order."""
        path = self._files.path(folder)
        try:
            handle = self._files.opened(path, folder, _FOLDER)
        except (FileNotFoundError, NotADirectoryError):
            return no_objects(folder)
        except OSError as error:
            raise _failed("list", path, error) from error
        try:
            seen = os.fstat(handle)
            names = os.listdir(handle)
            listed = _stat_all(handle, folder, sorted([name for name in names if name >= start] if start else names))
        except OSError as error:
            raise _failed("list", path, error) from error
        finally:
            os.close(handle)
        if start and len(names) <= _MOST_NAMES and time.time_ns() - seen.st_mtime_ns > _TICK:
            listed.earlier = partial(self._stat_earlier, folder, names, start, seen)
        return listed

    def _stat_earlier(
        self, folder: str, names: Sequence[str], start: str, seen: os.stat_result
    ) -> ListedObjects | None:
        """Return the files of a folder before a name, by the names that it had; None if it has others now."""
        path = self._files.path(folder)
        try:
            handle = self._files.opened(path, folder, _FOLDER)
            try:
                if not _is_as_it_was(os.fstat(handle), seen):
                    return None
                return _stat_all(handle, folder, sorted([name for name in names if name < start]))
            finally:
                os.close(handle)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _failed("list", path, error) from error

    def list_tree(self) -> Iterable[str]:
        """List the keys of all files under the root, through links to folders as well."""
        pending, seen = [""], {os.path.realpath(self._folder)}
        while pending:
            folder = pending.pop()
            try:
                handle = self._files.opened(self._files.path(folder) if folder else self._folder, folder, _FOLDER)
                try:
                    with os.scandir(handle) as entries:
                        for entry in entries:
                            key = folder + entry.name
                            if not entry.is_dir():
                                yield key
                            elif not entry.is_symlink() or self._is_new(f"{self._folder}/{key}", seen):
                                pending.append(f"{key}/")
                finally:
                    os.close(handle)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _failed("list", f"{self._folder}/{folder}", error) from error

    def list_files(self, check_cancelled: Callable[[], None] = lambda: None) -> pa.Table:
        """List what is stored under the root itself."""
        try:
            return local_files(self._folder, self._files, check_cancelled)
        except OSError as error:
            raise _failed("list", error.filename or self._folder, error) from error

    def read(self, path: str) -> bytes:
        """Return a file's bytes."""
        return self.read_range(path, 0, -1)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``; -1 reads to the end."""
        try:
            handle = self._opened(path)
            try:
                size = os.fstat(handle).st_size - offset
                if length < 0:
                    check_file(path, size)
                wanted = size if length < 0 else min(length, size)
                return _read_all(handle, offset, wanted)
            finally:
                os.close(handle)
        except OSError as error:
            raise _translated("read", f"{self._folder}/{path}", error) from error

    def open_input(self, path: str) -> pa.NativeFile:
        """Open a file for reading at random."""
        try:
            handle = self._opened(path)
            try:
                mode = os.fstat(handle).st_mode
                if stat.S_ISDIR(mode):
                    raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file", path)
                if not stat.S_ISREG(mode):
                    raise _no_file(path)
                # By its number, as another file may have taken the name.
                named = f"{_HANDLES}/{handle}" if os.path.isdir(_HANDLES) else self._files.path(path)
                return pa.OSFile(named, "rb")
            finally:
                os.close(handle)
        except OSError as error:
            raise _translated("open", f"{self._folder}/{path}", error) from error

    def open_sized(self, path: str, size: int) -> pa.NativeFile:
        """Open a file for reading at random; its size is known once it is open."""
        del size
        return self.open_input(path)

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """Return several files' bytes."""
        with OpenFolders(self._files) as folders:
            return [self._read_whole(path, folders) for path in paths]

    def read_joined(self, paths: Sequence[str], sizes: Sequence[int]) -> JoinedObjects:
        """Return several files of lines, each read to where it belongs in the buffer."""
        data, ends, end = fresh_buffer(sum(sizes) + len(sizes) + BEHIND), list[int](), 0
        with data.data as room, OpenFolders(self._files) as folders:
            for path, size in zip(paths, sizes, strict=True):
                check_file(path, size)
                length = self._read_into(path, folders, room[end : end + size + 1])
                if length != size:
                    return joined_objects(self.read_many(paths))
                if length and room[end + length - 1] != _BREAK:
                    room[end + length] = _BREAK
                    length += 1
                end += length
                ends.append(end)
        return JoinedObjects(data, ends)

    def read_parts(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return parts of a file."""
        with self.open_input(path) as source:
            return [bytes(source.read_at(end - start, start)) for start, end in spans]

    def read_starts(self, paths: Sequence[str], lengths: Sequence[int]) -> list[bytes]:
        """Return the first bytes of several files."""
        with OpenFolders(self._files) as folders:
            return [self._read_start(path, folders, length) for path, length in zip(paths, lengths, strict=True)]

    def check_put_if_absent(self) -> None:
        """Do nothing: the operating system refuses a link to a name that is taken, and a file system without links."""

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Create a file atomically: write aside, flush to disk, link under its name, flush the folder."""
        self._put(path, data, os.link, durable=durable)

    def put(self, path: str, data: bytes) -> None:
        """Write a file atomically, in place of one of that name: write aside, flush, rename, flush the folder."""
        self._put(path, data, os.replace)

    def _put(self, path: str, data: bytes, name_it: Callable[[str, str], None], *, durable: bool = True) -> None:
        # A link in the place of the file is replaced, or makes the name taken; it is never written through.
        target = self._files.path_of_name(path)
        folder, _, name = target.rpartition("/")
        named = False
        try:
            self._make_folder(folder, path)
            handle = self._files.opened(folder, path, _FOLDER)
            try:
                with atomic_write(name, name_it, durable=durable, folder=handle) as file:
                    file.write(data)
                named = True
                if durable:
                    os.fsync(handle)
            finally:
                os.close(handle)
        except FileExistsError as error:
            raise _translated("write", target, error) from error
        except OSError as error:
            raise _failed("write", target, error, unwritten=not named) from error

    def head(self, path: str) -> ObjectMeta:
        """Return a file's size and modification time."""
        target = self._files.path(path)
        try:
            handle = self._files.opened(target, path, _UNREAD)
            try:
                status = os.fstat(handle)
            finally:
                os.close(handle)
            if stat.S_ISDIR(status.st_mode):
                # As in an object store, a folder is no object.
                raise FileNotFoundError(errno.ENOENT, "a folder has the name", path)
        except OSError as error:
            raise _translated("look at", target, error) from error
        return ObjectMeta(path, status.st_size, status.st_mtime_ns // 1_000_000, status.st_ctime_ns)

    def delete(self, path: str) -> None:
        """Delete a file; not through a link."""
        try:
            self._files.unlink(path)
        except OSError as error:
            raise _translated("delete", f"{self._folder}/{path}", error) from error

    def delete_many(self, paths: Sequence[str]) -> None:
        """Delete files; one that does not exist is no error."""
        for path in paths:
            with suppress(FileNotFoundError):
                self.delete(path)

    def elsewhere(self, location: str) -> tuple[LogStore, str]:
        """Return the store and key of an absolute location."""
        return self._opener(location)

    def local_path(self, path: str) -> str:
        """Return the real path of a file, which is inside the allowed places."""
        return self._files.real_path(path)

    @property
    def written_places(self) -> tuple[str, ...] | None:
        """The real folders in which files of the table may be made; None for every place."""
        return None if self._roots is None else self._roots.folders

    def _opened(self, path: str, folders: OpenFolders | None = None) -> int:
        """Open a file for reading; a folder is opened, too, and refused when it is read.

        Raises:
            OSError: It is a pipe, a socket or a device, or cannot be opened.
        """
        try:
            if folders is None:
                handle = self._files.opened(self._files.path(path), path, _READ_ONLY)
            else:
                handle = folders.opened(path, _READ_ONLY)
        except OSError as error:
            raise (_no_file(path) if error.errno == errno.ENXIO else error) from None
        mode = os.fstat(handle).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return handle
        os.close(handle)
        raise _no_file(path)

    def _read_whole(self, path: str, folders: OpenFolders) -> bytes:
        try:
            handle = self._opened(path, folders)
            try:
                data = os.read(handle, _READ_SIZE)
                if len(data) < _READ_SIZE:
                    return data
                size = os.fstat(handle).st_size
                check_file(path, size)
                # From the beginning again: that copies less than to put the rest behind what was read.
                return _read_all(handle, 0, size)
            finally:
                os.close(handle)
        except OSError as error:
            raise _translated("read", f"{self._folder}/{path}", error) from error

    def _read_into(self, path: str, folders: OpenFolders, room: memoryview) -> int:
        """Read a file from its beginning as far as there is room, and return how many bytes that were."""
        try:
            handle = self._opened(path, folders)
            try:
                return os.readv(handle, [room])
            finally:
                os.close(handle)
        except OSError as error:
            raise _translated("read", f"{self._folder}/{path}", error) from error

    def _read_start(self, path: str, folders: OpenFolders, length: int) -> bytes:
        try:
            handle = self._opened(path, folders)
            try:
                return os.read(handle, length)
            finally:
                os.close(handle)
        except OSError as error:
            raise _translated("read", f"{self._folder}/{path}", error) from error

    def _make_folder(self, folder: str, key: str) -> None:
        """Make a folder and those above it; each lasts only after the one above it is flushed."""
        if os.path.isdir(folder):
            return
        above, _, name = folder.rpartition("/")
        self._make_folder(above, key)
        handle = self._files.opened(above, key, _FOLDER)
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=handle)
            os.fsync(handle)
        finally:
            os.close(handle)

    def _is_new(self, link: str, seen: set[str]) -> bool:
        """Return True for a link to an allowed folder that was not listed yet: links can form circles."""
        real = os.path.realpath(link)
        if real in seen or (self._roots is not None and not self._roots.allow(real)):
            return False
        seen.add(real)
        return True


def _is_as_it_was(folder: os.stat_result, seen: os.stat_result) -> bool:
    """Return whether a folder has the same names as when it was listed: any other name changes its time."""
    return (folder.st_dev, folder.st_ino, folder.st_mtime_ns) == (seen.st_dev, seen.st_ino, seen.st_mtime_ns)


def _stat_all(handle: int, folder: str, names: list[str]) -> ListedObjects:
    """Return sizes and times of the files of an open folder; one that vanishes meanwhile is skipped."""
    listed, folders, seen = list[str](), set[str](), [np.empty((3, 0), np.int64)]
    for start in range(0, len(names), _STATS):
        there = names[start : start + _STATS]
        try:
            status = [os.stat(name, dir_fd=handle) for name in there]
        except FileNotFoundError:
            there, status = _still_there(handle, there)
        if not all(map(stat.S_ISREG, [each.st_mode for each in status])):
            folders.update(name for name, each in zip(there, status, strict=True) if stat.S_ISDIR(each.st_mode))
            files = [place for place, each in enumerate(status) if stat.S_ISREG(each.st_mode)]
            there, status = [there[place] for place in files], [status[place] for place in files]
        listed += there
        sizes = [each.st_size for each in status]
        modified = [each.st_mtime_ns // 1_000_000 for each in status]
        # The time of the last change of the inode: unlike the modification time, it cannot be set.
        changed = [each.st_ctime_ns for each in status]
        seen.append(np.array([sizes, modified, changed], np.int64))
    return ListedObjects(folder, listed, np.concatenate(seen, axis=1), folders=frozenset(folders))


def _still_there(handle: int, names: Sequence[str]) -> tuple[list[str], list[os.stat_result]]:
    status_by_name = dict[str, os.stat_result]()
    for name in names:
        with suppress(FileNotFoundError):
            status_by_name[name] = os.stat(name, dir_fd=handle)
    return list(status_by_name), list(status_by_name.values())


def _no_file(target: str) -> OSError:
    return PermissionError(errno.EACCES, "it is not a file, but a pipe, a socket, or a device", target)


def _read_all(handle: int, offset: int, wanted: int) -> bytes:
    data = os.pread(handle, wanted, offset) if wanted > 0 else b""
    if len(data) >= wanted:
        return data
    parts = [data]
    position = offset + len(data)
    while position < offset + wanted and (more := os.pread(handle, offset + wanted - position, position)):
        parts.append(more)
        position += len(more)
    return b"".join(parts)


def _translated(action: str, path: str, error: OSError) -> Exception:
    """Return the errors that the port promises stay builtin; all others become StorageError."""
    if isinstance(error, FileExistsError) or error.errno == errno.EEXIST:
        return FileExistsError(errno.EEXIST, "the name is taken", path)
    # A name that is longer than the file system takes is the name of no file.
    if isinstance(error, (FileNotFoundError, NotADirectoryError)) or error.errno == errno.ENAMETOOLONG:
        return FileNotFoundError(errno.ENOENT, "no such file", path)
    return _failed(action, path, error)


def _failed(action: str, path: str, error: OSError, *, unwritten: bool = False) -> StorageError:
    return StorageError(
        f"Cannot {action} {path}: {error.strerror or error}. Check the disk and the permissions.",
        path=path,
        unwritten=unwritten or None,
    )
