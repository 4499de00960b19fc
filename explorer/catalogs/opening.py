"""Tables by their address in a catalog: where the files are, whether this program may read them, and with what.

A catalog gives a location, and the location is opened only where this program may go. In an object store that is any
location if no roots were given; else the table's address must be in a root of the catalog, or its location in another
root. A folder of this machine must be in a root or in one of the catalog's folders (``UNITY_CATALOG_FOLDERS``), always:
a catalog that names ``file:///etc`` opens nothing. Locations in memory, with credentials, or with an unknown scheme are
refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from explorer.catalogs.address import CatalogAddress, parse_address, parse_table
from explorer.catalogs.client import CatalogClient
from explorer.catalogs.entry import CatalogEntry, read_entry
from explorer.catalogs.managed_commits import ManagedCommits
from explorer.catalogs.settings import FOLDERS_VARIABLE, CatalogSettings, settings_from
from explorer.catalogs.temporary_credentials import TableCredentials
from explorer.core.errors import NotAllowed, RequestError
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from explorer.storage.roots import AllowedRoots, Roots, is_catalog_address, is_url, places_of
from explorer.storage.schemes import known_scheme, spellings

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/")
_FILE: Final = re.compile(r"file:/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OpenedTable:
    """A table that was found in a catalog.

    Attributes:
        entry: What the catalog says of it.
        store: The store of its files.
        commits: The catalog of its commits; None if the table's own log orders them.
        roots: The places that may be read for it; None allows every place.
    """

    entry: CatalogEntry
    store: LogStore
    commits: ManagedCommits | None
    roots: AllowedRoots | None


def open_catalog_table(
    location: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
    roots: Roots | None = None,
    read_only: bool = False,
    settings: CatalogSettings | None = None,
) -> OpenedTable:
    """Find a table in its catalog, and open the store of its files.

    Args:
        location: ``uc://catalog.schema.table``.
        storage_options: Options of the object store, besides the credentials that the catalog gives.
        roots: Places that may be read, and addresses in the catalog whose tables may be; None for all.
        read_only: Ask for credentials that only read.
        settings: The catalog; None for the one that the environment names.

    Raises:
        TableNotFound: There is no such table.
        NotAllowed: The table, or the place where the catalog says it is, is outside the places that may be read.
        RequestError: The address is not one, no catalog is set, or the table is not a Delta table.
        CatalogError: The catalog refused, failed, or did not answer.
    """
    address = parse_table(location)
    client = client_of(settings or settings_from())
    readable = readable_places(address, roots)
    entry = read_entry(client, address)
    said = f"The catalog says that {entry.address} is"
    allowed = readable.around(entry.location, client.settings, said)
    options = dict(storage_options or {})
    if is_url(entry.location):
        options |= _with_credentials(client, address, entry, writes=not read_only)
    store = open_store(entry.location, options, allowed)
    commits = ManagedCommits(client, address, entry) if entry.manages_commits else None
    return OpenedTable(entry, store, commits, allowed)


@cache
def client_of(settings: CatalogSettings) -> CatalogClient:
    """Return the calls of a catalog: one client for each, so that connections and sign-ins are shared."""
    return CatalogClient(settings)


@dataclass(frozen=True, slots=True)
class ReadablePlaces:
    """What may be read for one address in a catalog.

    Attributes:
        address: The table.
        places: Folders and URLs that were given.
        inside: Whether the address itself is in what was given.
        anywhere: Whether nothing was given, so that every object store may be read.
    """

    address: CatalogAddress
    places: tuple[str, ...]
    inside: bool
    anywhere: bool

    def around(self, location: str, settings: CatalogSettings, said: str) -> AllowedRoots | None:
        """Return the places that may be read for the table at a location; None for every place.

        Args:
            settings: The catalog, whose folders are on this machine.
            said: The beginning of a sentence that the location ends: who says that the table is there.

        Raises:
            NotAllowed: The location is outside them.
            RequestError: This program opens no such location.
        """
        scheme = known_scheme(location) if _SCHEME.match(location) is None or "://" in location else None
        if _FILE.match(location):
            scheme = known_scheme("file:///")
        if scheme is None or not scheme.persistent or "\0" in location:
            raise RequestError(
                f"{said} at {location}, which this program cannot open. It opens {spellings(persistent=True)}.",
                location=location,
            )
        if not is_url(location):
            folders = AllowedRoots([*self.places, *settings.folders])
            if not folders.allow(location):
                raise NotAllowed(
                    f"{said} in {location}, a folder that this program was not given. If it may be read, give the "
                    f"folder as a root, or set {FOLDERS_VARIABLE} to it.",
                    location=location,
                )
            return folders
        if self.anywhere:
            return None
        if not self.inside and not AllowedRoots(self.places).allow(location):
            raise NotAllowed(
                f"{self.address.url} is outside the addresses this program was given, and {location} outside its "
                "places.",
                location=location,
            )
        return AllowedRoots([*self.places, location])


def readable_places(address: CatalogAddress, roots: Roots | None) -> ReadablePlaces:
    """Return what may be read for an address.

    Args:
        roots: Places that may be read, and addresses in the catalog whose tables may be; None for all.

    Raises:
        NotAllowed: The address is outside them, and so is every other place.
    """
    given = None if roots is None else places_of(roots)
    inside = given is None or any(_holds(root, address) for root in given)
    others = tuple(place for place in given or () if not is_catalog_address(place))
    if not inside and not others:
        raise NotAllowed(f"{address.url} is outside the addresses this program was given.", location=address.url)
    return ReadablePlaces(address, others, inside=inside, anywhere=given is None)


def _holds(root: str, address: CatalogAddress) -> bool:
    """Return whether a root is an address of the catalog above a table, or the table's own."""
    if not is_catalog_address(root):
        return False
    parts = parse_address(root).parts
    return address.parts[: len(parts)] == parts


def _with_credentials(
    client: CatalogClient, address: CatalogAddress, entry: CatalogEntry, *, writes: bool
) -> dict[str, Any]:
    """Return the options with the catalog's credentials; none if it gives none, and those of the environment count."""
    provider = TableCredentials(client, address, entry, writes=writes)
    return {"credential_provider": provider} if provider.vended().values else {}
