"""The folders of this machine below a root; a link is followed if it stays under the root and leads to no folder above.

Invariant: a path leads through few links, so folders that link to each other are listed a bounded number of times.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from explorer.core.errors import ExplorerError, NotAllowed, StorageError
from explorer.core.log.log_path import LOG_FOLDER
from explorer.storage.roots import resolved_folder
from explorer.storage.served_root import ServedRoot
from explorer.storage.table_search.folder_tree import FolderContent

_MOST_LINKS: Final = 3


class LocalFolders:
    """A `FolderTree` of this machine.

    Args:
        root: A folder, or its ``file:`` URL; it need not exist.

    Attributes:
        at_once: One: a disk is quick, and the order of the tables is then always the same.

    Raises:
        RequestError: The root names no folder.
    """

    at_once: Final = 1

    def __init__(self, root: ServedRoot) -> None:
        self._folder = resolved_folder(root.place)

    @property
    def root(self) -> str:
        """The folder, resolved."""
        return str(self._folder)

    def content(self, below: str) -> FolderContent:
        """List a folder, in the order of the names."""
        folder = self._folder / below
        try:
            if (folder / LOG_FOLDER).is_dir():
                return FolderContent(is_table=True)
            with os.scandir(folder) as entries:
                folders = sorted((entry for entry in entries if _is_folder(entry)), key=lambda entry: entry.name)
        except OSError as error:
            is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            advice = "Restore the folder" if is_missing else "Let the user that runs this program read it"
            raise StorageError(
                f"The folder {folder} cannot be listed: {error.strerror or error}. Tables below it are not listed. "
                f"{advice}, or leave it out.",
                path=str(folder),
            ) from error
        names, failures = list[str](), list[tuple[str, ExplorerError]]()
        above = self._above(folder) if any(entry.is_symlink() for entry in folders) else _Above()
        for entry in folders:
            if entry.is_symlink() and not self._leads_down(Path(entry.path), above):
                continue
            if entry.is_symlink() and above.links >= _MOST_LINKS:
                failures.append((entry.name, _too_many_links(entry.path)))
            else:
                names.append(entry.name)
        return FolderContent(folders=tuple(names), failures=tuple(failures))

    def location(self, below: str) -> str:
        """Return the path of a folder."""
        return str(self._folder / below)

    def checked_location(self, below: str) -> str:
        """Return the resolved path of a folder."""
        try:
            path = (self._folder / below).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise NotAllowed(f"{below!r} names no folder under {self._folder}.", location=below) from error
        if not path.is_relative_to(self._folder):
            raise NotAllowed(f"{below!r} leads out of {self._folder}.", location=below)
        return str(path)

    def _above(self, folder: Path) -> _Above:
        """Return what is on the way from the root to a folder, both included."""
        way = [folder, *folder.parents]
        way = way[: way.index(self._folder) + 1]
        links = sum(each.is_symlink() for each in way[:-1])
        return _Above(links, tuple({each.resolve() for each in way} if links else way))

    def _leads_down(self, link: Path, above: _Above) -> bool:
        """Return whether a link stays under the root and does not lead back to a folder above it."""
        target = link.resolve()
        inside = target.is_relative_to(self._folder)
        return inside and not any(each.is_relative_to(target) for each in above.folders)


@dataclass(frozen=True, slots=True)
class _Above:
    """The folders on the way to one, resolved, and how many of them are links."""

    links: int = 0
    folders: tuple[Path, ...] = ()


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _too_many_links(path: str) -> StorageError:
    return StorageError(
        f"The link {path} is not followed, as {_MOST_LINKS} links lead to it already. Tables behind it are not listed. "
        "Serve the folder that it leads to.",
        path=path,
    )
