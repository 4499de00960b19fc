"""Where the files below a folder really are: the one answer for the store, for Spark, and for deletions.

Invariants: a name is followed through every link, and its real path is compared with the allowed places, before it is
used; a folder is compared again once another folder has its name; nothing is deleted through a link. A user who may
write into an allowed folder can put a link in the place of a file or a folder after that comparison. So what was opened
is compared once more, by the path that the system itself names for it (on Linux), and files are made and deleted in
folders that are open.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from explorer.core.errors import NotAllowed
from explorer.storage.roots import AllowedRoots

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class RealFiles:
    """The files below a folder.

    Args:
        root: The folder; absolute and resolved.
        allowed: The places that may be read; None allows every place.
    """

    def __init__(self, root: str, allowed: AllowedRoots | None) -> None:
        self._root, self._allowed = root, allowed
        # Real path of each folder that was checked, and which folder of the file system it was.
        self._folders: dict[str, tuple[int, int, str]] = {}

    @property
    def are_limited(self) -> bool:
        """Whether only some places may be read."""
        return self._allowed is not None

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

    def opened(self, path: str, key: str, flags: int) -> int:
        """Open what is at a path that this object returned, and return the handle.

        Raises:
            NotAllowed: A link took the place of the file, or of a folder on the way to it, and leads out.
            OSError: It cannot be opened.
        """
        handle = os.open(path, flags)
        try:
            if self._allowed is not None and (real := path_of_handle(handle)) is not None:
                self._refuse_outside(key, inside=self._allowed.hold(real))
        except BaseException:
            os.close(handle)
            raise
        return handle

    def unlink(self, key: str) -> None:
        """Delete a file, or a link itself; no link is followed on the way to it.

        Raises:
            NotAllowed: A folder on the way is a link, or the key climbs out of the folder.
            OSError: The file cannot be deleted.
        """
        self._named(key)
        *folders, name = key.split("/")
        handle = self.opened(self._root, key, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for folder in folders:
                outer, handle = handle, _opened(folder, handle, key)
                os.close(outer)
            os.unlink(name, dir_fd=handle)
        finally:
            os.close(handle)

    def _named(self, key: str) -> str:
        """Return the path of a key, which may hold links."""
        if ".." in key and ".." in key.split("/"):
            raise NotAllowed(f"The path {key!r} climbs out of the table's folder.", location=key)
        if "\0" in key:
            raise FileNotFoundError(errno.ENOENT, "no file has a NUL character in its name", key)
        return f"{self._root}/{key}"

    def _real_folder(self, folder: str, key: str) -> str:
        try:
            status = os.stat(folder)
        except OSError:
            real = os.path.realpath(folder)
            self._check(real, key)
            return real
        known = self._folders.get(folder)
        if known is not None and known[:2] == (status.st_dev, status.st_ino):
            return known[2]
        real = os.path.realpath(folder)
        self._check(real, key)
        self._folders[folder] = (status.st_dev, status.st_ino, real)
        return real

    def _check(self, real: str, key: str) -> None:
        self._refuse_outside(key, inside=self._allowed is None or self._allowed.allow(real))

    def _refuse_outside(self, key: str, *, inside: bool) -> None:
        if not inside:
            raise NotAllowed(
                f"The file {key!r} is outside the folders this program was given: a link leads out of them. To read "
                "it, also give the folder that the link leads to.",
                location=key,
            )


def path_of_handle(handle: int) -> str | None:
    """Return the path, without links, of what is open; None where the system does not name it."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        return None


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
