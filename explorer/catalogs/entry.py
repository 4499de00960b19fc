"""What a catalog says of a table: owner, comment, type, properties, and where its files are."""

from __future__ import annotations

from typing import Final

import msgspec

from explorer.catalogs.address import CatalogAddress
from explorer.catalogs.client import CatalogClient
from explorer.catalogs.contract import LoadedTable, TableInfo
from explorer.core.errors import CatalogError, RequestError, UnsupportedFeature
from explorer.core.protocol.table_features import CATALOG_FEATURES
from explorer.core.protocol.table_properties.registry import FEATURE_PREFIX

_NOT_HERE: Final = "UnsupportedTableFormatException"


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A table in a catalog; times are ms since the epoch, and None is what the catalog does not say.

    Attributes:
        address: ``uc://catalog.schema.table``.
        server: The address of the catalog's server.
        table_id: The catalog's identifier of the table.
        table_type: ``MANAGED``, ``EXTERNAL``, or another type of the contract.
        location: Where its files are.
        manages_commits: Whether the catalog manages its commits.
        owner, comment, created, created_by, updated, updated_by: As the catalog has them.
        properties: The catalog's properties, among them those of the table.
    """

    address: str
    server: str
    table_id: str
    table_type: str | None
    location: str
    manages_commits: bool
    owner: str | None = None
    comment: str | None = None
    created: int | None = None
    created_by: str | None = None
    updated: int | None = None
    updated_by: str | None = None
    properties: dict[str, str] = {}


def read_entry(client: CatalogClient, address: CatalogAddress) -> CatalogEntry:
    """Return a table: by the Delta API where the server has one for it, and by the older call.

    Raises:
        TableNotFound: There is no such table.
        RequestError: It is not a Delta table.
        UnsupportedFeature: The catalog manages its commits, and the server gives them out in no way known here.
        CatalogError: The server refused, failed, or did not answer.
    """
    loaded = _loaded(client, address)
    try:
        info: TableInfo | None = client.table_info(address)
    except CatalogError:
        # It tells the owner and the comment; without it the rest is still known.
        if loaded is None:
            raise
        info = None
    if loaded is not None:
        return _of_delta(client, address, loaded, info)
    assert info is not None
    return _of_info(client, address, info)


def _loaded(client: CatalogClient, address: CatalogAddress) -> LoadedTable | None:
    """Return the table by the Delta API; None if the server has none, or not for this table."""
    if not client.loads_tables(address.catalog):
        return None
    try:
        return client.load_table(address)
    except CatalogError as error:
        if error.reason == _NOT_HERE or error.status == 501:
            return None
        raise


def _of_delta(
    client: CatalogClient, address: CatalogAddress, loaded: LoadedTable, info: TableInfo | None
) -> CatalogEntry:
    metadata = loaded.metadata
    return CatalogEntry(
        address=address.url,
        server=client.settings.url,
        table_id=metadata.table_uuid,
        table_type=metadata.table_type,
        location=metadata.location,
        manages_commits=is_managed(metadata.properties),
        owner=None if info is None else info.owner,
        comment=None if info is None else info.comment,
        created=metadata.created_time,
        created_by=None if info is None else info.created_by,
        updated=metadata.updated_time,
        updated_by=None if info is None else info.updated_by,
        properties=metadata.properties,
    )


def _of_info(client: CatalogClient, address: CatalogAddress, info: TableInfo) -> CatalogEntry:
    if info.data_source_format not in {None, "DELTA"} or not info.storage_location:
        kind = info.data_source_format or info.table_type or "object without files"
        raise RequestError(
            f"{address.url} is not a Delta table: the catalog lists it as {kind}. Use an engine that reads that.",
            location=address.url,
            found=kind,
        )
    properties = info.properties or {}
    if is_managed(properties):
        raise UnsupportedFeature(
            f"A catalog manages the commits of {address.url}, and the server at {client.settings.url} has no Delta API "
            f"by which this program reads them (/delta/v1): {_missing(client, address)}. Use another version of the "
            "server, or an engine that knows this one.",
            features=sorted(CATALOG_FEATURES.intersection(_features(properties))),
            operation="read",
        )
    return CatalogEntry(
        address=address.url,
        server=client.settings.url,
        table_id=info.table_id or "",
        table_type=info.table_type,
        location=info.storage_location,
        manages_commits=False,
        owner=info.owner,
        comment=info.comment,
        created=info.created_at,
        created_by=info.created_by,
        updated=info.updated_at,
        updated_by=info.updated_by,
        properties=properties,
    )


def _missing(client: CatalogClient, address: CatalogAddress) -> str:
    return client.delta_api(address.catalog).missing or f"it answers that it does not serve this table ({_NOT_HERE})"


def is_managed(properties: dict[str, str]) -> bool:
    """Return whether the properties of a table show that the catalog manages its commits."""
    return not CATALOG_FEATURES.isdisjoint(_features(properties))


def _features(properties: dict[str, str]) -> set[str]:
    return {key.removeprefix(FEATURE_PREFIX) for key in properties if key.startswith(FEATURE_PREFIX)}
