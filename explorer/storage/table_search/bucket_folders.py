"""The folders of an object store below a root: the names between two slashes of its keys."""

from __future__ import annotations

from typing import Final

from explorer.core.log.log_path import LOG_FOLDER
from explorer.core.protocol.file_paths import encode_path
from explorer.storage.objects import ObjectLogStore
from explorer.storage.table_search.folder_tree import FolderContent


class BucketFolders:
    """A `FolderTree` of an object store.

    Args:
        store: The root's store.

    Attributes:
        at_once: How many requests may be under way.
    """

    at_once: Final = 64

    def __init__(self, store: ObjectLogStore) -> None:
        self._store = store

    @property
    def root(self) -> str:
        """The root as a URL."""
        return self._store.root

    def content(self, below: str) -> FolderContent:
        """List a folder."""
        # A root is often one table, whose files are many: a request is enough to know that.
        if not below and self._store.has_folder(LOG_FOLDER):
            return FolderContent(is_table=True)
        names = self._store.folders(below)
        if LOG_FOLDER in names:
            return FolderContent(is_table=True)
        return FolderContent(folders=tuple(names))

    def location(self, below: str) -> str:
        """Return the URL of a folder."""
        return f"{self.root}/{encode_path(below)}" if below else self.root

    def checked_location(self, below: str) -> str:
        """Return the same: a store has no links, and the path was checked."""
        return self.location(below)
