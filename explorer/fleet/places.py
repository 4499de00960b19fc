"""The tables at or below some places, one after another, as their folders are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from explorer.core.errors import ExplorerError, TableNotFound
from explorer.fleet.one_table import TableAudit
from explorer.storage.roots import is_catalog_address
from explorer.storage.served_root import GivenRoots, ServedRoot, given_roots
from explorer.storage.table_search.folder_tree import FolderTree
from explorer.storage.table_search.search import TableSearch, Unlisted
from explorer.storage.table_search.trees import open_tree


def places(
    roots: GivenRoots,
    storage_options: Mapping[str, Any] | None = None,
    *,
    searched: Callable[[int], None] | None = None,
) -> Iterator[ServedRoot | TableAudit]:
    """Yield the tables at or below some places, each once, and errors for folders that cannot be listed.

    Args:
        roots, storage_options: As of `explorer.fleet.audit`.
        searched: Called with the number of folders that were listed below a place, after each.
    """
    seen = set[tuple[str, str]]()
    for root in given_roots(roots, storage_options):
        for place in below(root, searched):
            location = place.location if isinstance(place, TableAudit) else place.place
            key = replace(root, place=location).key
            if key not in seen:
                seen.add(key)
                yield place


def below(root: ServedRoot, searched: Callable[[int], None] | None = None) -> Iterator[ServedRoot | TableAudit]:
    """Yield the tables at or below one place, and errors; an error alone if there is no table."""
    try:
        search = TableSearch(tree_of(root))
    except ExplorerError as refusal:
        yield TableAudit(root.place, error=refusal)
        return
    count = 0
    for each in search.steps(searched):
        if not isinstance(each, Unlisted):
            yield ServedRoot(search.tree.location(each), storage_options=root.storage_options)
        elif not _is_nothing(each):
            yield TableAudit(each.location, error=each.error)
        else:
            continue
        count += 1
    if not count:
        message = f"There is no Delta table in {root.place} or below it. Give a table, or a folder of tables."
        yield TableAudit(root.place, error=TableNotFound(message, location=root.place))


def tree_of(root: ServedRoot) -> FolderTree:
    """Return the folders below a place: of a catalog, or of a store."""
    if is_catalog_address(root.place):
        from explorer.catalogs.folders import open_tree as open_catalog_tree

        return open_catalog_tree(root)
    return open_tree(root)


def _is_nothing(folder: Unlisted) -> bool:
    """Return whether a root could not be listed because it is not there."""
    return not folder.below and isinstance(folder.error.__cause__, FileNotFoundError | NotADirectoryError)
