"""Catalogs and schemas as folders: what a search for tables below ``uc://``, ``uc://catalog`` or a schema lists.

Invariants: a table is listed only if the catalog says that it is a Delta table with files; the names are those of the
catalog, so nothing has to be opened to list them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from explorer.catalogs.address import CatalogAddress, is_name, parse_address
from explorer.catalogs.client import CatalogClient
from explorer.catalogs.opening import client_of
from explorer.catalogs.settings import settings_from
from explorer.core.errors import ExplorerError, NotAllowed, RequestError
from explorer.storage.roots import is_catalog_address
from explorer.storage.served_root import GivenRoots, ServedRoot, given_roots
from explorer.storage.served_roots import MOST_TABLES, ServedRoots
from explorer.storage.table_search.folder_tree import FolderContent, FolderTree
from explorer.storage.table_search.trees import open_tree as open_stored_tree

_HIDDEN: Final = ("_", ".")
_ALL: Final = "catalogs"
"""The name of a root that is all of a server's catalogs."""
_LONGEST: Final = 100


class CatalogFolders:
    """The `FolderTree` below an address in a catalog.

    Args:
        address: The root's address.
        client: The calls of the catalog.
    """

    at_once = 8

    def __init__(self, address: CatalogAddress, client: CatalogClient) -> None:
        self._address, self._client = address, client
        self.root = address.url

    def content(self, below: str) -> FolderContent:
        """List the catalogs, the schemas of one, or the Delta tables of a schema."""
        parts = self._at(below).parts
        match parts:
            case ():
                return _folders(each.name for each in self._client.catalogs())
            case (catalog,):
                return _folders(each.name for each in self._client.schemas(catalog))
            case (catalog, schema):
                listed = self._client.tables(catalog, schema)
                names = [each.name for each in listed if each.data_source_format == "DELTA" and each.storage_location]
                tables, failures = _parted(names)
                return FolderContent(tables=tuple(tables), failures=tuple(failures))
            case _:
                return FolderContent(is_table=True)

    def location(self, below: str) -> str:
        """Return the address of a place below the root."""
        return self._at(below).url

    def checked_location(self, below: str) -> str:
        """Return the same; an address has no links.

        Raises:
            NotAllowed: No address is that deep, or a part is no name.
        """
        try:
            return parse_address(self.location(below)).url
        except RequestError as error:
            raise NotAllowed(f"{below!r} is not a place in {self.root}.", location=below) from error

    def _at(self, below: str) -> CatalogAddress:
        return CatalogAddress((*self._address.parts, *filter(None, below.split("/"))))


def open_tree(root: ServedRoot) -> FolderTree:
    """Return the folders below a root: of a catalog, or of a store. Nothing is listed yet.

    Raises:
        RequestError: The root names no place, or its options do not fit its store.
    """
    if is_catalog_address(root.place):
        return CatalogFolders(parse_address(root.place), client_of(settings_from()))
    return open_stored_tree(root)


def served_roots(roots: GivenRoots, *, most: int | None = MOST_TABLES) -> ServedRoots:
    """Return served roots, addresses in a catalog among them; arguments and errors as of `ServedRoots`."""
    given = [replace(root, name=_ALL) if _is_all(root.place) and not root.name else root for root in given_roots(roots)]
    return ServedRoots(given, most=most, opened=open_tree)


def _is_all(place: str) -> bool:
    """Return whether a root is all of a server's catalogs."""
    return is_catalog_address(place) and not parse_address(place).parts


def _folders(names: Iterable[str]) -> FolderContent:
    """Return folders; a search skips names like those of a store's own folders, so such ones are stated."""
    listed, failures = _parted(names)
    hidden = [(name, _unsearched(name)) for name in listed if name.startswith(_HIDDEN)]
    return FolderContent(folders=tuple(listed), failures=(*failures, *hidden))


def _parted(names: Iterable[str]) -> tuple[list[str], list[tuple[str, ExplorerError]]]:
    """Return the names that addresses can hold, and an error for each other: it would lead to another place."""
    listed, failures = list[str](), list[tuple[str, ExplorerError]]()
    for name in names:
        if is_name(name):
            listed.append(name)
        else:
            failures.append((name, _unusable(name)))
    return listed, failures


def _unusable(name: str) -> ExplorerError:
    return RequestError(
        f"{name[:_LONGEST]!r} is not listed: no name in a catalog is empty, or has a slash, a blank or a control "
        "character. Rename it in the catalog.",
        location=name,
    )


def _unsearched(name: str) -> ExplorerError:
    return RequestError(
        f"{name!r} begins like a folder that no table is in, and is not searched. Serve it as a root of its own.",
        location=name,
    )
