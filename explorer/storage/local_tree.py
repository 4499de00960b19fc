"""All files of a folder as a table, without following links."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import int64s, mask, strings
from explorer.storage.real_files import RealFiles


def local_files(root: str, files: RealFiles, check_cancelled: Callable[[], None]) -> pa.Table:
    """List the files of a folder; see `explorer.core.protocol.log_store.LogStore.list_files`.

    Args:
        root: The folder, resolved.
        check_cancelled: Called for each file; what it raises ends the listing.

    Raises:
        OSError: A folder cannot be listed.
    """
    tree = _Tree(root, files, check_cancelled)
    pending = [""]
    while pending:
        pending += tree.read(pending.pop())
    return tree.table()


def file_table(paths: list[str], sizes: list[int], times: list[int]) -> pa.Table:
    """Return the columns of a listing."""
    return pa.table({"path": strings(paths), "size": int64s(sizes), "modified": int64s(times)})


class _Tree:
    def __init__(self, root: str, files: RealFiles, check_cancelled: Callable[[], None]) -> None:
        self._root, self._files, self._check_cancelled = root, files, check_cancelled
        self._paths: list[str] = []
        self._sizes: list[int] = []
        self._times: list[int] = []
        self._twice: set[str] = set()

    def read(self, folder: str) -> list[str]:
        """Add the files of a folder (its key with a slash, or nothing), and return the folders inside."""
        inside: list[str] = []
        try:
            handle = self._files.opened(f"{self._root}/{folder}", folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return inside  # it is being deleted
        try:
            with os.scandir(handle) as entries:
                for entry in entries:
                    self._check_cancelled()
                    key = folder + entry.name
                    if entry.is_symlink():
                        self._twice.add(os.path.realpath(f"{self._root}/{key}"))
                    elif entry.is_dir(follow_symlinks=False):
                        inside.append(f"{key}/")
                    elif entry.is_file(follow_symlinks=False) and (key.isascii() or _is_text(key)):
                        self._take(key, entry)
        finally:
            os.close(handle)
        return inside

    def table(self) -> pa.Table:
        """Return the listing, without the files that a link leads to."""
        files = file_table(self._paths, self._sizes, self._times)
        if any(f"{self._root}/".startswith(f"{place.rstrip('/')}/") for place in self._twice):
            return files.slice(0, 0)  # a link leads back: every file has two names
        inside = f"{self._root}/"
        ends = tuple(place.removeprefix(inside) for place in self._twice if place.startswith(inside))
        if not ends:
            return files
        return files.filter(mask(np.array([not _lies_in(path, ends) for path in self._paths], bool)))

    def _take(self, key: str, entry: os.DirEntry[str]) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        self._paths.append(key)
        self._sizes.append(status.st_size)
        self._times.append(status.st_mtime_ns // 1_000_000)


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def _lies_in(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
