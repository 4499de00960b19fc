"""What a search needs of a storage: the content of one folder at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from explorer.core.errors import ExplorerError


@dataclass(frozen=True, slots=True)
class FolderContent:
    """What is directly in a folder.

    Attributes:
        is_table: The folder is a table; nothing else is stated of it then.
        folders: The names of the folders in it, which may be tables.
        tables: The names of the tables in it that need no listing of their own, as a catalog lists them.
        failures: Names in it that are not followed, and why.
    """

    is_table: bool = False
    folders: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    failures: tuple[tuple[str, ExplorerError], ...] = ()


class FolderTree(Protocol):
    """The folders below a root; its methods may be called from any thread.

    A path below the root is decoded, its parts are separated by slashes, and that of the root itself is empty.
    """

    @property
    def root(self) -> str:
        """The root, as texts name it and `explorer.open_table` takes it."""

    @property
    def at_once(self) -> int:
        """How many folders may be listed at a time."""

    def content(self, below: str) -> FolderContent:
        """List a folder.

        Raises:
            ExplorerError: It cannot be listed, in the words of its storage.
        """

    def location(self, below: str) -> str:
        """Return where a folder or table is, as `explorer.open_table` takes it; nothing is looked up."""

    def checked_location(self, below: str) -> str:
        """Return the same with all links followed, whether it exists or not.

        Raises:
            NotAllowed: It is outside the root.
        """
