"""What the tests' own catalog knows, and how a request changes it: the contract's state machine, in memory."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from tests.support.catalogs import contract_shapes as shapes

MOST_UNPUBLISHED = 10
REQUIRED_FEATURES = ("catalogManaged", "v2Checkpoint", "vacuumProtocolCheck", "deletionVectors")
REQUIRED = {
    "delta.enableInCommitTimestamps": "true",
    "delta.checkpointPolicy": "v2",
    "delta.checkpoint.writeStatsAsJson": "true",
    "delta.checkpoint.writeStatsAsStruct": "true",
    "delta.enableDeletionVectors": "true",
}
SUGGESTED = {
    "delta.columnMapping.mode": "name",
    "delta.columnMapping.maxColumnId": None,
    "delta.enableRowTracking": "true",
    "delta.parquet.compression.codec": "zstd",
    "delta.ofALaterVersion": "true",
}
_SYNTHETIC = ("delta.feature.", "delta.minReaderVersion", "delta.minWriterVersion", "delta.lastUpdateVersion")


class RefusedError(Exception):
    """An answer that is an error of the contract."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


@dataclass
class CatalogTable:
    """A table in the catalog."""

    name: str
    uuid: str
    location: str
    table_type: str
    columns: dict[str, Any]
    properties: dict[str, str]
    comment: str | None = None
    partition_columns: list[str] = field(default_factory=list)
    owner: str | None = "ada"
    created: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    etag: int = 1
    latest: int = 0
    last_timestamp: int = 0
    published: int = 0
    commits: dict[int, shapes.Commit] = field(default_factory=dict)
    accepted: dict[int, str] = field(default_factory=dict)
    credentials: list[dict[str, Any]] = field(default_factory=list)
    format: str = "DELTA"

    @property
    def managed(self) -> bool:
        return self.properties.get("delta.feature.catalogManaged") == "supported"

    def document(self) -> dict[str, Any]:
        """Return the answer to loading it."""
        answer: dict[str, Any] = {
            "metadata": {
                "etag": f"etag-{self.etag}", "table-type": self.table_type, "table-uuid": self.uuid,
                "location": self.location, "created-time": self.created, "updated-time": self.created + self.etag,
                "columns": self.columns, "partition-columns": self.partition_columns, "properties": self.properties,
            },
        }  # fmt: skip
        if self.managed:
            waiting = [self.commits[version] for version in sorted(self.commits, reverse=True)]
            answer |= {"commits": msgspec.to_builtins(waiting), "latest-table-version": self.latest}
        return answer


class UnityState:
    """Catalogs, schemas and tables; requests that change a table come one after another.

    Args:
        folder: Where managed tables are.
    """

    def __init__(self, folder: Path, most_unpublished: int = MOST_UNPUBLISHED) -> None:
        self.root, self.most_unpublished = folder.as_uri(), most_unpublished
        self.lock = threading.RLock()
        self.catalogs: dict[str, dict[str, dict[str, CatalogTable]]] = {}
        self.staging: dict[str, str] = {}
        self.staging_credentials: list[dict[str, Any]] = []
        self.demanded: dict[str, Any] = {}

    def schema(self, catalog: str, schema: str) -> dict[str, CatalogTable]:
        if catalog not in self.catalogs:
            raise RefusedError(404, "NoSuchCatalogException", f"Catalog not found: {catalog}")
        if schema not in self.catalogs[catalog]:
            raise RefusedError(404, "NoSuchSchemaException", f"Schema not found: {catalog}.{schema}")
        return self.catalogs[catalog][schema]

    def table(self, catalog: str, schema: str, name: str) -> CatalogTable:
        found = self.schema(catalog, schema).get(name)
        if found is None:
            raise RefusedError(404, "NoSuchTableException", f"Table not found: {catalog}.{schema}.{name}")
        return found

    def stage(self, catalog: str, schema: str, request: shapes.CreateStagingTable) -> dict[str, Any]:
        """Give a new table its identifier and place."""
        if request.name in self.schema(catalog, schema):
            raise RefusedError(409, "AlreadyExistsException", f"Table already exists: {request.name}")
        uuid = str(uuid4())
        location = f"{self.root}/{uuid}"
        self.staging[location] = uuid
        return {
            "table-id": uuid,
            "table-type": "MANAGED",
            "location": location,
            "storage-credentials": self.staging_credentials,
            "suggested-properties": SUGGESTED,
            "required-protocol": {
                "min-reader-version": 3,
                "min-writer-version": 7,
                "reader-features": list(REQUIRED_FEATURES),
                "writer-features": [*REQUIRED_FEATURES, "inCommitTimestamp"],
            },
            "required-properties": {**REQUIRED, "io.unitycatalog.tableId": uuid, **self.demanded},
        }

    def create(self, catalog: str, schema: str, request: shapes.CreateTable) -> CatalogTable:
        """Make a table of a staged one, or of one that is somewhere."""
        tables = self.schema(catalog, schema)
        if request.name in tables:
            raise RefusedError(409, "AlreadyExistsException", f"Table already exists: {request.name}")
        uuid = self.staging.pop(request.location, None) if request.table_type == "MANAGED" else str(uuid4())
        if uuid is None:
            raise RefusedError(404, "NoSuchTableException", f"No staging table at {request.location}")
        if request.table_type == "MANAGED":
            self._check_contract(request.protocol, request.properties)
        self._check_first(request)
        table = CatalogTable(
            request.name, uuid, request.location, request.table_type,
            msgspec.to_builtins(request.columns), {**request.properties, **_derived(request.protocol)},
            comment=request.comment, partition_columns=request.partition_columns or [],
            last_timestamp=request.last_commit_timestamp_ms,
        )  # fmt: skip
        tables[request.name] = table
        return table

    def _check_first(self, request: shapes.CreateTable) -> None:
        """Check what the contract leaves to the client: version 0 is there, and is what was sent."""
        from tests.support.catalogs.managed_tables import folder_of

        if not request.location.startswith("file:"):
            return
        lines = (folder_of(request.location) / "_delta_log" / f"{0:020d}.json").read_bytes().splitlines()
        actions = {name: body for line in lines for name, body in json.loads(line).items()}
        info = actions["commitInfo"]
        assert info.get("inCommitTimestamp", info["timestamp"]) == request.last_commit_timestamp_ms
        assert actions["metaData"]["configuration"] == request.properties
        assert actions["protocol"].get("writerFeatures", []) == request.protocol.writer_features

    def update(self, table: CatalogTable, request: shapes.UpdateTable) -> None:
        """Do all of a request, or nothing."""
        with self.lock:
            kinds = [type(each) for each in (*request.requirements, *request.updates)]
            if len(set(kinds)) != len(kinds):
                raise RefusedError(400, "InvalidParameterValueException", "At most one of each kind.")
            self._check_requirements(table, request)
            updates: dict[type, Any] = {type(each): each for each in request.updates}
            if self._is_replay(table, updates.get(shapes.AddCommit)):
                return
            self._commit(table, updates.get(shapes.AddCommit), updates.get(shapes.SetLatestBackfilledVersion))
            if self._apply(table, updates):
                table.etag += 1

    def _check_requirements(self, table: CatalogTable, request: shapes.UpdateTable) -> None:
        uuids = [each for each in request.requirements if isinstance(each, shapes.AssertTableUuid)]
        if not uuids:
            raise RefusedError(400, "InvalidParameterValueException", "assert-table-uuid requirement is required.")
        if str(uuids[0].uuid) != table.uuid:
            raise RefusedError(409, "UpdateRequirementConflictException", "assert-table-uuid failed")
        for each in request.requirements:
            if isinstance(each, shapes.AssertEtag) and each.etag != f"etag-{table.etag}":
                raise RefusedError(409, "UpdateRequirementConflictException", "assert-etag failed")

    def _is_replay(self, table: CatalogTable, added: shapes.AddCommit | None) -> bool:
        if added is None or added.commit.version > table.latest:
            return False
        if table.accepted.get(added.commit.version) == added.commit.file_name:
            return True
        raise RefusedError(409, "CommitVersionConflictException", f"Version {added.commit.version} already accepted.")

    def _commit(
        self, table: CatalogTable, added: shapes.AddCommit | None, backfilled: shapes.SetLatestBackfilledVersion | None
    ) -> None:
        if (added or backfilled) and not table.managed:
            raise RefusedError(400, "InvalidParameterValueException", "A MANAGED table is required.")
        if backfilled is not None:
            self._backfill(table, backfilled.latest_published_version)
        if added is None:
            return
        commit = added.commit
        if commit.version != table.latest + 1:
            message = f"Commit version must be the next version after {table.latest}, but got {commit.version}"
            raise RefusedError(400, "InvalidParameterValueException", message)
        if len(table.commits) >= self.most_unpublished:
            raise RefusedError(429, "ResourceExhaustedException", f"Max number of commits reached: {table.uuid}")
        self._check_staged(table, commit)
        table.commits[commit.version] = commit
        table.accepted[commit.version] = commit.file_name
        table.latest, table.last_timestamp = commit.version, commit.timestamp

    def _check_staged(self, table: CatalogTable, commit: shapes.Commit) -> None:
        """Check what the contract leaves to the client: the file, its size, its time, its transaction."""
        path = _log(table) / "_staged_commits" / commit.file_name
        data = path.read_bytes()
        info = json.loads(data.splitlines()[0])["commitInfo"]
        assert len(data) == commit.file_size, "the size of the staged commit is another"
        assert info["inCommitTimestamp"] == commit.timestamp > table.last_timestamp, "the time does not rise"
        assert info["txnId"], "a commit needs a transaction identifier"
        assert commit.file_name.startswith(f"{commit.version:020d}."), "the name is of another version"

    def _backfill(self, table: CatalogTable, version: int) -> None:
        if version > table.latest:
            raise RefusedError(400, "InvalidParameterValueException", "It was not ratified.")
        for each in range(table.published + 1, version + 1):
            published = _log(table) / f"{each:020d}.json"
            assert published.exists(), f"version {each} was reported as published, and is not"
            staged = table.commits.pop(each, None)
            if staged is not None:
                content = (_log(table) / "_staged_commits" / staged.file_name).read_bytes()
                assert content == published.read_bytes(), f"version {each} was published with other contents"
        table.published = max(table.published, version)

    def _apply(self, table: CatalogTable, updates: dict[type, Any]) -> bool:
        """Apply changes of metadata; return whether there are any that change the etag."""
        changed = False
        for kind, update in updates.items():
            changed |= kind not in {shapes.AddCommit, shapes.SetLatestBackfilledVersion, shapes.SetDomainMetadata}
            match update:
                case shapes.SetProtocol():
                    kept = {k: v for k, v in table.properties.items() if not k.startswith("delta.feature.")}
                    table.properties = kept | _derived(update.protocol)
                    self._check_contract(update.protocol, table.properties)
                case shapes.SetColumns():
                    table.columns = msgspec.to_builtins(update.columns)
                case shapes.SetPartitionColumns():
                    table.partition_columns = update.partition_columns
                case shapes.SetProperties():
                    assert not any(key.startswith(_SYNTHETIC) for key in update.updates), "a derived key was sent"
                    table.properties = table.properties | update.updates
                case shapes.RemoveProperties():
                    table.properties = {k: v for k, v in table.properties.items() if k not in update.removals}
                case shapes.SetTableComment():
                    table.comment = update.comment
                case shapes.SetDomainMetadata():
                    changed |= update.updates.clustering is not None
                    self._set_domains(table, update.updates)
                case shapes.RemoveDomainMetadata():
                    if "delta.clustering" in update.domains:
                        table.properties.pop("delta.clusteringColumns", None)
        return changed

    def _set_domains(self, table: CatalogTable, domains: shapes.Domains) -> None:
        if domains.clustering is not None:
            table.properties["delta.clusteringColumns"] = json.dumps(domains.clustering.clustering_columns)
        if domains.row_tracking is not None:
            mark = str(domains.row_tracking.row_id_high_water_mark)
            table.properties["delta.rowTracking.rowIdHighWaterMark"] = mark

    def _check_contract(self, protocol: shapes.Protocol, properties: dict[str, str]) -> None:
        for name in REQUIRED_FEATURES:
            if name not in protocol.reader_features or name not in protocol.writer_features:
                message = f"MANAGED table missing required feature {name!r}."
                raise RefusedError(400, "InvalidParameterValueException", message)
        for key, value in REQUIRED.items():
            if properties.get(key) != value:
                message = f"MANAGED table required property {key!r} must be {value!r}."
                raise RefusedError(400, "InvalidParameterValueException", message)


def _derived(protocol: shapes.Protocol) -> dict[str, str]:
    names = {*protocol.reader_features, *protocol.writer_features}
    return {
        "delta.minReaderVersion": str(protocol.min_reader_version),
        "delta.minWriterVersion": str(protocol.min_writer_version),
        **{f"delta.feature.{name}": "supported" for name in names},
    }


def _log(table: CatalogTable) -> Path:
    from tests.support.catalogs.managed_tables import folder_of

    return folder_of(table.location) / "_delta_log"
