"""The calls of a catalog that this program makes: listings, tables, credentials, commits.

Invariants: a listing ends: a page token that comes twice, too many pages, or too many empty pages in a row are an
error; what a server offers is asked for again after a while, and after it failed, as a server can be replaced by a
newer one while this program runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from explorer.catalogs.address import CatalogAddress
from explorer.catalogs.contract import (
    CatalogConfig,
    CatalogList,
    ListedTables,
    LoadedTable,
    NamedObject,
    NewTableRequest,
    SchemaList,
    StagingTable,
    StorageCredentials,
    TableInfo,
    TableUpdate,
    TemporaryCredentials,
)
from explorer.catalogs.http_session import HttpSession
from explorer.catalogs.refusals import wrong_answer
from explorer.catalogs.settings import CatalogSettings
from explorer.core.errors import CatalogError, TableNotFound

PROTOCOL_VERSIONS: Final = "1.0"
MOST_PAGES: Final = 10_000
MOST_EMPTY: Final = 200
"""Empty pages in a row: a catalog may leave out what a person may not see after it has cut the pages."""
_LONGEST_TOKEN: Final = 8_192
"""Characters of a page token, which is sent back in an address."""
_CONFIG: Final = "/delta/v1/config"
_LOAD: Final = "GET /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}"
_UPDATE: Final = "POST /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}"
_CREATE: Final = "POST /v1/catalogs/{catalog}/schemas/{schema}/tables"
_STAGE: Final = "POST /v1/catalogs/{catalog}/schemas/{schema}/staging-tables"
_PAGE: Final = 1_000
_TABLES_PAGE: Final = 50
_ASK_AGAIN: Final = 60.0
"""Seconds after which a server without the Delta API is asked again."""
_AGREED: Final = 600.0
"""Seconds after which a server with one is asked again."""
_T = TypeVar("_T")
_Page = TypeVar("_Page", CatalogList, SchemaList, ListedTables)


@dataclass(frozen=True, slots=True)
class DeltaApi:
    """What a server offers for a catalog.

    Attributes:
        endpoints: The signatures of its calls; none if it has no Delta API that this program knows.
        missing: Why there are none, as the end of a sentence about the server.
    """

    endpoints: tuple[str, ...] = ()
    missing: str = ""


class CatalogClient:
    """The calls of one catalog server; threads may share it.

    Args:
        settings: Where it is, and how to sign in.
    """

    def __init__(self, settings: CatalogSettings) -> None:
        self.settings = settings
        self._http = HttpSession(settings)
        self._offers: dict[str, tuple[float, DeltaApi]] = {}

    def delta_api(self, catalog: str) -> DeltaApi:
        """Return what the server's Delta API offers for a catalog.

        Raises:
            CatalogError: The server refused, failed, or did not answer.
            TableNotFound: There is no such catalog.
        """
        until, offer = self._offers.get(catalog, (0.0, DeltaApi()))
        if time.monotonic() >= until:
            offer = self._offer(catalog)
            self._offers[catalog] = time.monotonic() + (_AGREED if offer.endpoints else _ASK_AGAIN), offer
        return offer

    def _offer(self, catalog: str) -> DeltaApi:
        query = {"catalog": catalog, "protocol-versions": PROTOCOL_VERSIONS}
        try:
            config = self._get(_CONFIG, CatalogConfig, query)
        except CatalogError as error:
            # A server without it, or of other versions alone, is treated as one of the older calls.
            if error.status not in {400, 404, 405, 501}:
                raise
            return DeltaApi(missing=f"it answers GET {_CONFIG} with {error.status}")
        if config.protocol_version.partition(".")[0] != PROTOCOL_VERSIONS.partition(".")[0]:
            known = f"this program knows {PROTOCOL_VERSIONS}"
            return DeltaApi(missing=f"its Delta API is of version {config.protocol_version[:20]}, and {known}")
        if _LOAD not in config.endpoints:
            return DeltaApi(missing=f"its Delta API lacks {_LOAD}")
        return DeltaApi(config.endpoints)

    def loads_tables(self, catalog: str) -> bool:
        """Return whether the server's Delta API loads tables of a catalog."""
        return _LOAD in self.delta_api(catalog).endpoints

    def updates_tables(self, catalog: str) -> bool:
        """Return whether the server's Delta API takes commits to tables of a catalog."""
        return _UPDATE in self.delta_api(catalog).endpoints

    def creates_tables(self, catalog: str) -> bool:
        """Return whether the server's Delta API creates tables in a catalog."""
        return {_CREATE, _STAGE}.issubset(self.delta_api(catalog).endpoints)

    def catalogs(self) -> Iterator[NamedObject]:
        """Yield the catalogs, page by page."""
        return self._pages("/catalogs", CatalogList, lambda page: page.catalogs, {"max_results": str(_PAGE)})

    def schemas(self, catalog: str) -> Iterator[NamedObject]:
        """Yield the schemas of a catalog, page by page."""
        query = {"catalog_name": catalog, "max_results": str(_PAGE)}
        return self._pages("/schemas", SchemaList, lambda page: page.schemas, query)

    def tables(self, catalog: str, schema: str) -> Iterator[TableInfo]:
        """Yield the tables of a schema, page by page."""
        return self._pages("/tables", ListedTables, lambda page: page.tables, _tables_of(catalog, schema))

    def check_schema(self, catalog: str, schema: str) -> None:
        """Ask for the first tables of a schema, and for no more.

        Raises:
            TableNotFound: There is no such schema.
            CatalogError: The server refused, failed, or did not answer.
        """
        self._get("/tables", ListedTables, {**_tables_of(catalog, schema), "max_results": "1"})

    def table_info(self, address: CatalogAddress) -> TableInfo:
        """Return a table by the older call, which also names its owner and comment.

        Raises:
            TableNotFound: There is no such table.
            CatalogError: The server refused, failed, or did not answer.
        """
        with _named(address):
            return self._get(f"/tables/{quote('.'.join(address.parts), safe='')}", TableInfo)

    def load_table(self, address: CatalogAddress) -> LoadedTable:
        """Return a table with the commits that the catalog ratified, by the Delta API.

        Raises:
            TableNotFound: There is no such table.
            CatalogError: The server refused, failed, or did not answer; with the reason
                ``UnsupportedTableFormatException`` if only the older calls serve this table.
        """
        with _named(address):
            return self._get(_table_path(address), LoadedTable)

    def update_table(self, address: CatalogAddress, update: TableUpdate) -> LoadedTable:
        """Change a table, and return it as it is then.

        Raises:
            TableNotFound: There is no such table.
            CatalogError: The server refused, failed, or did not answer.
        """
        path = _table_path(address)
        with _named(address), self._asking_again():
            return self._decoded(self._http.post(path, update), LoadedTable, f"POST {path}")

    def stage_table(self, address: CatalogAddress) -> StagingTable:
        """Have the catalog give a table that is to be created an identifier and a place.

        Raises:
            TableNotFound: There is no such schema.
            CatalogError: The server refused, failed, or did not answer; with status 409 if the name is taken.
        """
        path = f"{_schema_path(address)}/staging-tables"
        with _named(address), self._asking_again():
            return self._decoded(self._http.post(path, {"name": address.table}), StagingTable, f"POST {path}")

    def staging_credentials(self, table_id: str) -> StorageCredentials:
        """Return temporary credentials for the files of a table that is to be created."""
        return self._get(f"/delta/v1/staging-tables/{quote(table_id, safe='')}/credentials", StorageCredentials)

    def create_table(self, address: CatalogAddress, request: NewTableRequest) -> LoadedTable:
        """Give a table its name in the catalog, and return it.

        Raises:
            TableNotFound: There is no such schema, or the place was not given for this table.
            CatalogError: The server refused, failed, or did not answer; with status 409 if the name is taken.
        """
        path = f"{_schema_path(address)}/tables"
        with _named(address), self._asking_again():
            return self._decoded(self._http.post(path, request), LoadedTable, f"POST {path}")

    def credentials(self, address: CatalogAddress, operation: str) -> StorageCredentials:
        """Return temporary credentials for the files of a table, by the Delta API.

        Args:
            operation: ``READ`` or ``READ_WRITE``.
        """
        return self._get(f"{_table_path(address)}/credentials", StorageCredentials, {"operation": operation})

    def temporary_credentials(self, table_id: str, operation: str) -> TemporaryCredentials:
        """Return temporary credentials for the files of a table, by the older call; arguments as of `credentials`."""
        path = "/temporary-table-credentials"
        answer = self._http.post(path, {"table_id": table_id, "operation": operation})
        return self._decoded(answer, TemporaryCredentials, f"POST {path}")

    def _pages(
        self, path: str, kind: type[_Page], items: Callable[[_Page], tuple[_T, ...]], query: dict[str, str]
    ) -> Iterator[_T]:
        request, seen, empty = f"GET {path}", set[str](), 0
        token: str | None = None
        for _ in range(MOST_PAGES):
            page = self._get(path, kind, query if token is None else {**query, "page_token": token})
            entries = items(page)
            yield from entries
            token, empty = page.next_page_token, 0 if entries else empty + 1
            if not token:
                return
            if token in seen:
                raise wrong_answer(self.settings, request, "it names the same next page twice")
            if len(token) > _LONGEST_TOKEN:
                raise wrong_answer(self.settings, request, f"it has a page token above {_LONGEST_TOKEN:,} characters")
            if empty == MOST_EMPTY:
                raise wrong_answer(self.settings, request, f"it has {MOST_EMPTY:,} empty pages in a row, and more")
            seen.add(token)
        raise wrong_answer(self.settings, request, f"it has more than {MOST_PAGES:,} pages")

    def _get(self, path: str, kind: type[_T], query: dict[str, str] | None = None) -> _T:
        with self._asking_again():
            return self._decoded(self._http.get(path, query), kind, f"GET {path}")

    @contextmanager
    def _asking_again(self) -> Iterator[None]:
        """Forget what the server offers after an answer that is none of the contract: it may be another one now."""
        try:
            yield
        except CatalogError as error:
            if error.status is None or error.status >= 500 or (error.status in {404, 405} and not error.reason):
                self._offers.clear()
            raise

    def _decoded(self, answer: bytes, kind: type[_T], request: str) -> _T:
        try:
            return msgspec.json.decode(answer, type=kind)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise wrong_answer(self.settings, request, str(error)) from error


@contextmanager
def _named(address: CatalogAddress) -> Iterator[None]:
    """Name the table in the error that there is none."""
    try:
        yield
    except TableNotFound as error:
        raise error.with_facts(location=address.url) from error


def _tables_of(catalog: str, schema: str) -> dict[str, str]:
    return {"catalog_name": catalog, "schema_name": schema, "max_results": str(_TABLES_PAGE)}


def _schema_path(address: CatalogAddress) -> str:
    catalog, schema = (quote(part, safe="") for part in address.parts[:2])
    return f"/delta/v1/catalogs/{catalog}/schemas/{schema}"


def _table_path(address: CatalogAddress) -> str:
    return f"{_schema_path(address)}/tables/{quote(address.table, safe='')}"
