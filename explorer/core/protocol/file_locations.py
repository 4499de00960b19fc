"""The store of a file that the log names, and its key there.

Protocol sections: Add File, Remove File, Deletion Vectors, Sidecar Files (``path``). Every reader of a table's files,
Spark included, takes the location from here and the file from its store, so a file that the store refuses is never
read. Invariant: a path that is absolute, or has ``..`` in it, goes through `LogStore.elsewhere`, which compares it with
the allowed locations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote, urlsplit

from explorer.core.errors import CorruptTable
from explorer.core.protocol.file_paths import is_absolute_location
from explorer.core.protocol.log_store import LogStore

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/")


class FileLocations:
    """The locations of many files of one table: the store of each folder is opened once."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._opened: dict[str, LogStore] = {}

    def place_of(self, path: str) -> tuple[LogStore, str]:
        """Return the result of `place_of`."""
        return self.store_at(self.location_of(path)) if leaves_table(path) else (self._store, path)

    def location_of(self, path: str) -> str:
        """Return the location of a file of the table, as `location_of` does."""
        return location_of(self._store.root, path)

    def store_at(self, location: str) -> tuple[LogStore, str]:
        """Return the same for an absolute location."""
        folder, _, name = location.rpartition("/")
        known = self._opened.get(folder)
        if known is None:
            known, name = self._store.elsewhere(location)
            self._opened[folder] = known
        return known, name


def place_of(store: LogStore, path: str) -> tuple[LogStore, str]:
    """Return the store with a file, and the file's key in it.

    Args:
        path: The file's decoded path: relative to the table, or absolute.

    Raises:
        NotAllowed: The path leads out of the locations that may be read.
        RequestError: Its scheme is not known.
    """
    return store.elsewhere(location_of(store.root, path)) if leaves_table(path) else (store, path)


def leaves_table(path: str) -> bool:
    """Return whether a decoded path may lead out of the table's root: absolute, or with ``..`` in it."""
    return is_absolute_location(path) or (".." in path and ".." in path.split("/"))


def location_of(root: str, path: str) -> str:
    """Return the location of a file: an absolute path on this machine, or a URL.

    Args:
        root: Canonical URL of the table, ``file:///abs/orders`` or ``s3://bucket/orders``.
        path: The file's decoded path: relative to the table, or absolute (``/a/b``, ``s3://bucket/key``).
    """
    if path.startswith("/") or "://" in path:
        return path
    if _SCHEME.match(path):
        scheme, _, rest = path.partition(":")
        return f"{scheme}:///{rest.lstrip('/')}"
    split = urlsplit(root)
    if split.scheme in ("file", ""):
        return unquote(split.path).rstrip("/") + "/" + path
    return f"{split.scheme}://{split.netloc}{unquote(split.path).rstrip('/')}/{path}"


def next_step_for_missing(names: Iterable[str]) -> str:
    """Return the next step for missing data files, as a sentence; those of a shallow clone are its source's.

    Args:
        names: Some of them, as the log names them or decoded.
    """
    step = "choose a version whose files still exist, or restore them from a backup."
    if any(map(is_absolute_location, names)):
        return (
            "A shallow clone shares files with its source, by absolute paths. If this table is one, clone the source "
            f"again from a version that still has its files. Otherwise {step}"
        )
    return f"{step[0].upper()}{step[1:]}"


def sizeless(path: str) -> CorruptTable:
    """Return the error for a file whose size the log does not have.

    Args:
        path: The file, as the log names it.
    """
    return CorruptTable(
        f"The log has no size for the file {path}, and the protocol requires one. delta-spark reads no rows of it, and "
        "other clients refuse the table. Restore a version before the file, then have its writer add it with its size.",
        path=path,
    )
