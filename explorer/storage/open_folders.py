"""Folders that stay open while several of their files are read, so that each folder is checked only once."""

from __future__ import annotations

import errno
import os
from types import TracebackType
from typing import Final

from explorer.storage.real_files import RealFiles

_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)


class OpenFolders:
    """The folders of the files that are opened; a context manager that closes them."""

    def __init__(self, files: RealFiles) -> None:
        self._files = files
        self._handles: dict[str, int] = {}

    def __enter__(self) -> OpenFolders:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the folders."""
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()

    def opened(self, key: str, flags: int) -> int:
        """Open a file, and return its handle; errors as `RealFiles.path` and `RealFiles.opened`."""
        folder, _, name = key.rpartition("/")
        if not self._files.are_limited or not folder or not name or ".." in key or "\0" in key:
            return self._files.opened(self._files.path(key), key, flags)
        try:
            return os.open(name, flags | _NO_LINK, dir_fd=self._folder(folder))
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        return self._files.opened(self._files.path(key), key, flags)  # a link may lead to an allowed place

    def _folder(self, folder: str) -> int:
        handle = self._handles.get(folder)
        if handle is None:
            handle = self._handles[folder] = self._files.opened(self._files.path(folder), folder, _FOLDER)
        return handle
