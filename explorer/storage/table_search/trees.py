"""A root -> its folders, by its storage."""

from __future__ import annotations

from explorer.storage.locate import open_store
from explorer.storage.objects import ObjectLogStore
from explorer.storage.other_schemes import check_address
from explorer.storage.roots import check_plain
from explorer.storage.schemes import scheme_of
from explorer.storage.served_root import ServedRoot
from explorer.storage.table_search.bucket_folders import BucketFolders
from explorer.storage.table_search.folder_tree import FolderContent, FolderTree


class LoneTable:
    """The `FolderTree` of a root that can only be a table, as its storage lists no folders.

    Args:
        root: The table's location.
    """

    at_once = 1

    def __init__(self, root: str) -> None:
        self.root = root

    def content(self, below: str) -> FolderContent:
        """Take the root for a table; opening it shows whether it exists."""
        return FolderContent(is_table=not below)

    def location(self, below: str) -> str:
        """Return the URL of a place below the table."""
        return f"{self.root}/{below}" if below else self.root

    checked_location = location


def open_tree(root: ServedRoot) -> FolderTree:
    """Return the folders below a root. Nothing is listed yet.

    Raises:
        RequestError: The root names no place, its URL's scheme is not known, or its options do not fit its store.
    """
    check_plain(root.place)
    check_address(root.place)
    scheme = scheme_of(root.place)
    if scheme.folders is not None:
        return scheme.folders(root)
    store = open_store(root.place, root.storage_options)
    return BucketFolders(store) if isinstance(store, ObjectLogStore) else LoneTable(store.root)
