"""Which tables are served: those under the roots given at the start, and no others.

A table's name is the name of its root and its path below, ``sales/eu/orders``. A name is resolved, symlinks and all,
and must then still be under its root: ``..``, an escaping symlink, an absolute path, a drive letter are all refused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from explorer.core.errors import NotAllowed, TableNotFound
from explorer.storage.roots import Roots, check_plain, is_url, places_of, resolved_folder

_DEPTH = 6
_MOST = 5_000
_LOG = "_delta_log"
_NAMED = 3


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table under a root: its served name, where it is, and the root that it must stay under."""

    name: str
    location: str
    root: str

    @property
    def folder(self) -> str:
        """The served name without its last part."""
        return self.name.rpartition("/")[0]

    @property
    def title(self) -> str:
        """The last part of the served name."""
        return self.name.rpartition("/")[2]


class ServedRoots:
    """The served roots.

    Args:
        roots: Directories (or ``file://`` URLs of them), or URLs of tables in a store that is not a file system; or one
            of these.
        most: How many tables are listed under a directory; None for all of them.

    Attributes:
        cut: Directories with more tables than were listed the last time.
        unreadable: Folders that could not be read the last time, and why.

    Raises:
        TableNotFound: A root does not exist.
        RequestError: A root names no place.
    """

    def __init__(self, roots: Roots, *, most: int | None = _MOST) -> None:
        self._most = sys.maxsize if most is None else most
        self.cut: tuple[str, ...] = ()
        self.unreadable: tuple[tuple[str, str], ...] = ()
        self._folders: dict[str, Path] = {}
        self._remote: dict[str, str] = {}
        for root in places_of(roots):
            self._add(root)

    @property
    def locations(self) -> tuple[str, ...]:
        """The roots, resolved, in the order given."""
        return (*map(str, self._folders.values()), *self._remote.values())

    def tables(self) -> Iterator[TableRef]:
        """Yield the tables by name; after the last, ``cut`` and ``unreadable`` say what was left out."""
        cut: list[str] = []
        unreadable: list[tuple[str, str]] = []

        def failed(path: Path, error: OSError) -> None:
            unreadable.append((str(path), error.strerror or str(error)))

        for name, folder in self._folders.items():
            for count, path in enumerate(table_folders(folder, unreadable=failed)):
                if count >= self._most:
                    cut.append(str(folder))
                    break
                below = path.relative_to(folder).as_posix()
                yield TableRef(name if below == "." else f"{name}/{below}", str(path), str(folder))
        for name, location in self._remote.items():
            yield TableRef(name, location, location)
        self.cut, self.unreadable = tuple(cut), tuple(unreadable)

    def locate(self, name: str) -> TableRef:
        """Return the table of a served name; opening it shows whether it exists.

        Raises:
            NotAllowed: The name leads outside the served roots.
        """
        if name in self._remote:
            return TableRef(name, self._remote[name], self._remote[name])
        first, _, below = name.partition("/")
        folder = self._folders.get(first)
        if folder is None or "\x00" in name or "\\" in below or ".." in below.split("/") or below.startswith("/"):
            raise self._refused(name)
        try:
            path = (folder / below).resolve()
        except (OSError, RuntimeError) as error:
            raise self._refused(name) from error
        if not path.is_relative_to(folder):
            raise self._refused(name)
        return TableRef(name.rstrip("/"), str(path), str(folder))

    def _refused(self, name: str) -> NotAllowed:
        roots = [*self._folders, *self._remote]
        named = ", ".join(roots[:_NAMED]) + (" and others" if len(roots) > _NAMED else "")
        return NotAllowed(
            f"{name!r} is not in a served folder. A table's name starts with the name of its served folder: {named}.",
            location=name,
        )

    def _add(self, root: str) -> None:
        check_plain(root)
        if is_url(root):
            parts = urlsplit(root)
            self._remote[self._free(parts.path.rstrip("/").rpartition("/")[2] or parts.netloc)] = root
            return
        folder = resolved_folder(root)
        if not folder.is_dir():
            raise TableNotFound(
                f"The root {root} is not a folder. Give a folder that holds Delta tables.", location=root
            )
        self._folders[self._free(folder.name or "root")] = folder

    def _free(self, name: str) -> str:
        taken = {*self._folders, *self._remote}
        return (
            name if name not in taken else next(f"{name}~{n}" for n in range(2, 10_000) if f"{name}~{n}" not in taken)
        )


def table_folders(
    root: Path, *, depth: int = _DEPTH, unreadable: Callable[[Path, OSError], None] | None = None
) -> Iterator[Path]:
    """Yield the folders of tables at or below a folder, by name; folders inside a table are skipped.

    Args:
        root: The folder, resolved; a link that leads out of it is not followed.
        unreadable: Called with each folder that cannot be read, and why; such a folder is skipped.
    """
    yield from _below(root, root, depth, unreadable or (lambda _path, _error: None))


def _below(folder: Path, root: Path, depth: int, unreadable: Callable[[Path, OSError], None]) -> Iterator[Path]:
    try:
        if (folder / _LOG).is_dir():
            yield folder
            return
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name) if depth > 0 else []
    except OSError as error:
        unreadable(folder, error)
        return
    for entry in entries:
        if entry.name.startswith((".", "_")) or not _is_folder(entry):
            continue
        path = Path(entry.path)
        if entry.is_symlink() and not _leads_down(path, folder, root):
            continue
        yield from _below(path, root, depth - 1, unreadable)


def _leads_down(link: Path, folder: Path, root: Path) -> bool:
    """Return whether a link stays under the root and does not lead back to a folder above it."""
    target = link.resolve()
    return target.is_relative_to(root) and not folder.resolve().is_relative_to(target)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
