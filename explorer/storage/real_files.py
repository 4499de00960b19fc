"""Where the files below a folder really are: the one answer for the store, for Spark, and for deletions.

Invariants: a name is followed through every link, and its real path is compared with the allowed places, before it is
used; a folder is compared again once another folder has its name; nothing is deleted through a link. Between the
comparison and the use, a user who may write into an allowed folder can still put a link in a file's place: only the
permissions of the folders prevent that.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from explorer.core.errors import NotAllowed
from explorer.storage.roots import AllowedRoots

__all__ = ["RealFiles"]

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class RealFiles:
    """The files below a folder.

    Args:
        root: The folder; absolute and resolved.
        allowed: The places that may be read; None allows every place.
    """

    def __init__(self, root: str, allowed: AllowedRoots | None) -> None:
        self._root, self._allowed = root, allowed
        # Real path of each folder that was looked at, and which folder of the file system it was.
        self._folders: dict[str, tuple[int, int, str]] = {}

    def path(self, key: str) -> str:
        """Return the path by which a file is read: without links where only some places are allowed.

        Raises:
            NotAllowed: The key climbs out of the folder, or a link leads out of the allowed places.
            FileNotFoundError: No file can have such a name.
        """
        return self._named(key) if self._allowed is None else self.real_path(key)

    def real_path(self, key: str) -> str:
        """Return the path of a file without any link in it; errors as `path`."""
        path = self.path_of_name(key)
        if not os.path.islink(path):
            return path
        real = os.path.realpath(path)
        self._check(real, key)
        return real

    def path_of_name(self, key: str) -> str:
        """Return where a name is: the folder's real path, and the name, which may be a link; errors as `path`."""
        folder, _, name = self._named(key).rpartition("/")
        return f"{self._real_folder(folder, key)}/{name}"

    def unlink(self, key: str) -> None:
        """Delete a file, or a link itself; no link is followed on the way to it.

        Raises:
            NotAllowed: A folder on the way is a link, or the key climbs out of the folder.
            OSError: The file cannot be deleted.
        """
        self._named(key)
        *folders, name = key.split("/")
        handle = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for folder in folders:
                outer, handle = handle, _opened(folder, handle, key)
                os.close(outer)
            os.unlink(name, dir_fd=handle)
        finally:
            os.close(handle)

    def _named(self, key: str) -> str:
        """The path of a key, which may hold links."""
        if ".." in key and ".." in key.split("/"):
            raise NotAllowed(f"The path {key!r} climbs out of the table's folder.", location=key)
        if "\0" in key:
            raise FileNotFoundError(errno.ENOENT, "no file has a NUL character in its name", key)
        return f"{self._root}/{key}"

    def _real_folder(self, folder: str, key: str) -> str:
        try:
            found = os.stat(folder)
        except OSError:
            real = os.path.realpath(folder)
            self._check(real, key)
            return real
        known = self._folders.get(folder)
        if known is not None and known[:2] == (found.st_dev, found.st_ino):
            return known[2]
        real = os.path.realpath(folder)
        self._check(real, key)
        self._folders[folder] = (found.st_dev, found.st_ino, real)
        return real

    def _check(self, real: str, key: str) -> None:
        if self._allowed is not None and not self._allowed.allow(real):
            raise NotAllowed(
                f"The file {key!r} is outside the folders this program was given: a link leads out of them. To read "
                "it, give the folder that the link leads to as well.",
                location=key,
            )


def _opened(folder: str, inside: int, key: str) -> int:
    """Open a folder inside an open one; a link is refused."""
    try:
        return os.open(folder, _FOLDER, dir_fd=inside)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(folder, inside):
            raise NotAllowed(
                f"The file {key!r} is not deleted: the folder {folder!r} on the way to it is a link. Delete the file "
                "where it is stored.",
                location=key,
            ) from error
        raise


def _is_link(name: str, inside: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=inside, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False
