"""What a search needs of a storage: the content of one folder at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from explorer.core.errors import ExplorerError


@dataclass(frozen=True, slots=True)
class FolderContent:
    """What is directly in a folder.

    Attributes:
        is_table: The folder is a table; nothing else is said of it then.
        folders: The names of the folders in it, which may be tables.
        tables: The names of the tables in it that need no listing of their own, as a catalog lists them.
        failures: Names in it that cannot be followed, and why.
    """

    is_table: bool = False
    folders: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    failures: tuple[tuple[str, ExplorerError], ...] = ()


class FolderTree(Protocol):
    """The folders below a root; its methods may be called from any thread.

    Attributes:
        root: The root, as texts name it and `explorer.open_table` takes it.
        at_once: How many folders may be listed at a time.
    """

    @property
    def root(self) -> str: ...

    @property
    def at_once(self) -> int: ...

    def content(self, below: str) -> FolderContent:
        """List a folder.

        Args:
            below: Its path below the root, decoded, parts separated by slashes; empty for the root itself.

        Raises:
            ExplorerError: It cannot be listed, in the words of its storage.
        """

    def location(self, below: str) -> str:
        """Return where a folder or table is, as `explorer.open_table` takes it, whether it exists or not.

        Raises:
            NotAllowed: It is outside the root, as a link leads out.
        """
