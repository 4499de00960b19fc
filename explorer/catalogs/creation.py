"""A table that is to be created under a name in a catalog: where its files will be, and how it gets the name.

Without a location the catalog gives the table a place, says what its first version must hold, and manages its commits;
with one, the catalog only learns where the table is. Either way version 0 is written first, and the catalog is asked
for the name then. Invariants: nothing is written where this program may not go; the same plan again finishes what a
lost answer left open; a name that another table got meanwhile is a conflict, never taken for ours.

Protocol section: Catalog-managed tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar
from uuid import uuid4

import msgspec

from explorer.catalogs.address import parse_table
from explorer.catalogs.client import CatalogClient
from explorer.catalogs.contract import LoadedTable, NewTableRequest, RequiredProtocol, StagingTable
from explorer.catalogs.opening import client_of, readable_places
from explorer.catalogs.settings import settings_from
from explorer.catalogs.temporary_credentials import most_specific
from explorer.catalogs.updates import new_table_request
from explorer.core.errors import CatalogError, InvalidIntent, TableNotFound, UnsupportedFeature
from explorer.core.log.commit import decode_commit
from explorer.core.log.log_path import STAGED_FOLDER, commit_name
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.protocol_evolution import with_features
from explorer.core.protocol.table_features import FEATURES, READER_VERSION, WRITER_VERSION
from explorer.core.protocol.table_properties.registry import FREE_PREFIX, PREFIX, PROPERTIES
from explorer.core.transaction.commit_plan import CommitResult, Conflict
from explorer.core.transaction.context import NewPlace
from explorer.core.transaction.intents.property_settings import check_properties
from explorer.core.transaction.intents.records import CreateTable
from explorer.core.transaction.proposal import Proposal, Writing
from explorer.storage import open_store
from explorer.storage.roots import AllowedRoots, Roots, is_url

TableType = Literal["MANAGED", "EXTERNAL"]
_Refusal = TypeVar("_Refusal", CatalogError, TableNotFound)
_TRIES: Final = 2
_TAKEN: Final = 409
_BUSY: Final = 429
_UNDO: Final = "Drop {url} in its catalog, with an engine that is connected to it."
_AGAIN: Final = "delete those files and create the table again; in Python, commit the same plan again instead."
"""What to do about files that no name leads to."""


class NewTableInCatalog:
    """A name in a catalog that a table is to get.

    Args:
        location: ``uc://catalog.schema.table``.
        storage_options: Options of the object store, besides the credentials that the catalog gives.
        roots: Places that may be used, and addresses in the catalog under which tables may be; None for all.

    Raises:
        NotAllowed: The address is outside ``roots``.
        RequestError: The address is not one, or no catalog is set.
    """

    def __init__(self, location: str, storage_options: Mapping[str, Any] | None, roots: Roots | None) -> None:
        self.address = parse_table(location)
        self._client = client_of(settings_from())
        self._options = dict(storage_options or {})
        self._readable = readable_places(self.address, roots)
        self._staged: StagingTable | None = None
        self._asked: str | None = None

    def place(self, intent: CreateTable) -> tuple[NewPlace, CreateTable]:
        """Return the place of the table, and the intent with what the catalog demands of it.

        The catalog reserves the place of a table that it manages. The name stays free until the table is committed.

        Raises:
            InvalidIntent: The name is taken, or a property is not what the catalog demands.
            UnsupportedFeature: The server creates no tables, or demands what this program does not know.
            NotAllowed: The location is outside the places that may be used.
            TableNotFound: There is no such schema.
            CatalogError: The catalog refused, failed, or did not answer.
        """
        if not self._client.creates_tables(self.address.catalog):
            raise self._not_created()
        self._asked = intent.location
        if intent.location is not None:
            return self._outside(intent, intent.location)
        staged = self._staged = self._staged or self._reserved()
        return self._inside(staged), msgspec.structs.replace(intent, properties=_demanded(staged, intent.properties))

    def for_catalog(self, proposal: Proposal) -> Proposal:
        """Return the proposal of the table as one for a catalog: with the features that the catalog demands."""
        adapted = msgspec.structs.replace(proposal, undo=_UNDO.format(url=self.address.url))
        if self._staged is not None and self._asked is None and proposal.protocol is not None:
            protocol = with_features(proposal.protocol, _features(self._staged))
            adapted = msgspec.structs.replace(
                adapted, protocol=protocol, parameters={**proposal.parameters, "isManaged": "true"}
            )
        if (writing := proposal.writing) is not None:
            later = Writing(writing.write, lambda written: self.for_catalog(writing.complete(written)))
            adapted = msgspec.structs.replace(adapted, writing=later)
        return adapted

    def named(self, store: LogStore, result: CommitResult) -> CommitResult:
        """Give the table, whose version 0 is written, its name in the catalog; return the outcome.

        Raises:
            CatalogError: The catalog refused for good; the table has no name.
            TableNotFound: The schema was dropped meanwhile.
        """
        path = commit_name(0)
        kind: TableType = "MANAGED" if self._asked is None else "EXTERNAL"
        first = decode_commit(store.read(path), 0, path)
        request = new_table_request(self.address.table, store.root, kind, first)
        if self._staged is not None and kind == "MANAGED":
            request = msgspec.structs.replace(request, location=self._staged.location)
            _make_folder(store)
        named = msgspec.structs.replace(result, notes=(*result.notes, f"The table is {self.address.url} now."))
        for left in reversed(range(_TRIES)):
            try:
                self._client.create_table(self.address, request)
            except CatalogError as error:
                lost = error.status is None or error.status >= 500 or error.status == _BUSY
                match self._held(request):
                    case "ours":
                        return named
                    case "theirs":
                        return self._conflicted(result, store.root)
                    case "unknown" if lost:
                        return self._unknown(result, store.root)
                    case "free" if lost and left:
                        continue
                raise _unfinished(error, store.root) from error
            except TableNotFound as error:
                raise _unfinished(error, store.root) from error
            else:
                return named
        raise AssertionError("the last try returns or raises")

    def _not_created(self) -> UnsupportedFeature:
        missing = self._client.delta_api(self.address.catalog).missing or "its Delta API lacks the calls for it"
        return UnsupportedFeature(
            f"The catalog at {self._client.settings.url} creates no tables for this program: {missing}. Create "
            f"{self.address.url} with an engine that is connected to the catalog, such as Spark; it can be read and "
            "changed here then.",
            operation="create-table",
        )

    def _reserved(self) -> StagingTable:
        try:
            return self._client.stage_table(self.address)
        except CatalogError as error:
            if error.status == _TAKEN:
                raise self._taken() from error
            raise

    def _taken(self) -> InvalidIntent:
        return InvalidIntent(
            f"There is already a table {self.address.url}. Choose another name, or drop that table in its catalog.",
            field="kind",
            table=self.address.url,
        )

    def _outside(self, intent: CreateTable, location: str) -> tuple[NewPlace, CreateTable]:
        """Return the place of a table whose commits the catalog does not manage."""
        allowed = self._readable.around(location, self._client.settings, f"The files of {self.address.url} would be")
        self._client.check_schema(self.address.catalog, self.address.schema)
        if self._exists():
            raise self._taken()
        return NewPlace(open_store(location, self._options, allowed)), intent

    def _inside(self, staged: StagingTable) -> NewPlace:
        """Return the place that the catalog gave a table."""
        location, said = staged.location, f"The catalog says that the files of {self.address.url} will be"
        allowed = self._readable.around(location, self._client.settings, said)
        options = dict(self._options)
        if is_url(location):
            allowed = AllowedRoots([location])
            if most_specific(staged.storage_credentials, location).values:
                options["credential_provider"] = _StagingCredentials(self._client, staged)
        return NewPlace(open_store(location, options, allowed), by_catalog=True)

    def _exists(self) -> bool:
        try:
            self._client.table_info(self.address)
        except TableNotFound:
            return False
        return True

    def _held(self, request: NewTableRequest) -> Literal["ours", "theirs", "free", "unknown"]:
        """Look whose the name is."""
        try:
            loaded = self._client.load_table(self.address)
        except TableNotFound:
            return "free"
        except CatalogError:
            return "unknown"
        return "ours" if self._is_ours(loaded, request) else "theirs"

    def _is_ours(self, loaded: LoadedTable, request: NewTableRequest) -> bool:
        if self._staged is not None and request.table_type == "MANAGED":
            return loaded.metadata.table_uuid == self._staged.table_id
        return loaded.metadata.location.rstrip("/") == request.location.rstrip("/")

    def _conflicted(self, result: CommitResult, root: str) -> CommitResult:
        why = (
            f"Another writer created {self.address.url} first. No name leads to the files of this table at {root}. "
            "Look at the other table, and create this one under another name."
        )
        return msgspec.structs.replace(result, outcome="conflicted", version=None, conflict=Conflict(0, "name", why))

    def _unknown(self, result: CommitResult, root: str) -> CommitResult:
        note = (
            f"Version 0 is written at {root}, and the catalog does not say whether {self.address.url} is its name. "
            f"Once the catalog answers, see whether {self.address.url} opens. If it does not, "
            f"{_AGAIN}"
        )
        return msgspec.structs.replace(result, outcome="unknown", notes=(*result.notes, note))


class _StagingCredentials:
    """Gives the credentials for the files of a table that is to be created: a credential provider of obstore."""

    def __init__(self, client: CatalogClient, staged: StagingTable) -> None:
        self._client, self._staged = client, staged

    def __call__(self) -> dict[str, Any]:
        """Return fresh credentials, and until when they are used."""
        given = self._client.staging_credentials(self._staged.table_id).storage_credentials
        return most_specific(given, self._staged.location).for_store(datetime.now(UTC))


def _make_folder(store: LogStore) -> None:
    """Make the folder of staged commits on a disk: other writers, such as delta-spark, take it for granted there."""
    if store.local_path(STAGED_FOLDER) is None:
        return
    path = f"{STAGED_FOLDER}/.{uuid4()}"
    store.put_if_absent(path, b"", durable=False)
    store.delete(path)


def _demanded(staged: StagingTable, given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a table: those that the catalog demands, those given, and those that it suggests.

    Raises:
        InvalidIntent: One was given that is not what the catalog demands.
        UnsupportedFeature: It demands a feature or a property that this program does not know.
    """
    features = _features(staged)
    required = {key: value for key, value in staged.required_properties.items() if value is not None}
    unknown = [
        *(name for name in features if name not in FEATURES),
        *(key for key in required if not _is_known(key)),
        *_unknown_versions(staged.required_protocol),
    ]
    if unknown:
        raise UnsupportedFeature(
            f"For a table that it manages, the catalog requires what this program does not know: {', '.join(unknown)}. "
            "Create the table with an engine that is connected to the catalog, such as Spark.",
            features=unknown,
            operation="create-table",
        )
    checked = check_properties(given)
    for key, value in required.items():
        if checked.get(key, value) != value:
            raise InvalidIntent(
                f"The catalog demands {key} = {value} of a table that it manages. Leave the property out, or set it "
                "to that.",
                field=key,
                allowed=[value],
            )
    suggested = {
        key: value for key, value in staged.suggested_properties.items() if value is not None and _is_known(key)
    }
    return {**suggested, **checked, **required}


def _features(staged: StagingTable) -> list[str]:
    """Return the features that the catalog demands."""
    protocol = staged.required_protocol
    return list(dict.fromkeys((*protocol.reader_features, *protocol.writer_features)))


def _unknown_versions(protocol: RequiredProtocol) -> Iterator[str]:
    if protocol.min_reader_version > READER_VERSION:
        yield f"reader version {protocol.min_reader_version}"
    if protocol.min_writer_version > WRITER_VERSION:
        yield f"writer version {protocol.min_writer_version}"


def _is_known(key: str) -> bool:
    lowered = key.lower()
    return not lowered.startswith(PREFIX) or lowered.startswith(FREE_PREFIX) or lowered in PROPERTIES


def _unfinished(error: _Refusal, root: str) -> _Refusal:
    """Return a refusal with what it leaves behind."""
    return error.with_facts(
        message=f"{error.message} Version 0 is written at {root}, and no name leads to those files. Once this is "
        f"fixed, {_AGAIN}"
    )
