"""Answers and requests of the catalog's REST contract, as records.

The names are those of the contract: the Delta API writes them with hyphens, the older calls with underscores. Fields
that this program does not use are left out, and unknown ones ignored. Invariant: a field of another type than the
contract's is an error.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from explorer.core.protocol.actions import Int64
from explorer.core.protocol.json_values import JsonObject, JsonValue

Version = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class CatalogConfig(msgspec.Struct, frozen=True, rename="kebab"):
    """What a server offers under the protocol version that both sides know.

    Attributes:
        endpoints: Signatures such as ``GET /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}``.
        protocol_version: The version agreed on.
    """

    endpoints: tuple[str, ...]
    protocol_version: str


class RatifiedCommit(msgspec.Struct, frozen=True, rename="kebab"):
    """A commit that the catalog ratified and that may not be published."""

    version: Version
    timestamp: Int64
    file_name: str
    file_size: Int64
    file_modification_timestamp: Int64


class TableMetadata(msgspec.Struct, frozen=True, rename="kebab"):
    """A table as the Delta API describes it; times are ms since the epoch."""

    etag: str
    table_type: str
    table_uuid: str
    location: str
    properties: dict[str, str]
    created_time: Int64 | None = None
    updated_time: Int64 | None = None


class LoadedTable(msgspec.Struct, frozen=True, rename="kebab"):
    """The answer to loading a table, and to a commit."""

    metadata: TableMetadata
    commits: tuple[RatifiedCommit, ...] = ()
    latest_table_version: Version | None = None


class StorageCredential(msgspec.Struct, frozen=True, rename="kebab"):
    """Temporary credentials for a path."""

    prefix: str
    operation: str
    config: dict[str, str | None]
    expiration_time_ms: Int64 | None = None


class StorageCredentials(msgspec.Struct, frozen=True, rename="kebab"):
    """The credentials for a table, one for each path."""

    storage_credentials: tuple[StorageCredential, ...]


class RequiredProtocol(msgspec.Struct, frozen=True, rename="kebab"):
    """The least protocol of a table that the catalog manages."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] = ()
    writer_features: tuple[str, ...] = ()


class StagingTable(msgspec.Struct, frozen=True, rename="kebab"):
    """The place that the catalog gives a table that is to be created, and what the table must have.

    Attributes:
        required_properties, suggested_properties: Properties of the table; the writer chooses a value that is None.
    """

    table_id: str
    location: str
    storage_credentials: tuple[StorageCredential, ...]
    required_protocol: RequiredProtocol
    required_properties: dict[str, str | None]
    suggested_properties: dict[str, str | None] = {}


class NewTableRequest(msgspec.Struct, frozen=True, rename="kebab", omit_defaults=True, kw_only=True):
    """A request to give a table, whose version 0 is written, its name in the catalog."""

    name: str
    location: str
    table_type: Literal["MANAGED", "EXTERNAL"]
    columns: JsonValue
    protocol: JsonObject
    properties: dict[str, str]
    last_commit_timestamp_ms: int
    partition_columns: tuple[str, ...] = ()
    comment: str | None = None
    domain_metadata: JsonObject = {}


class NamedObject(msgspec.Struct, frozen=True):
    """A catalog or a schema in a listing."""

    name: str
    comment: str | None = None
    owner: str | None = None


class CatalogList(msgspec.Struct, frozen=True):
    """A page of catalogs."""

    catalogs: tuple[NamedObject, ...] = ()
    next_page_token: str | None = None


class SchemaList(msgspec.Struct, frozen=True):
    """A page of schemas."""

    schemas: tuple[NamedObject, ...] = ()
    next_page_token: str | None = None


class TableInfo(msgspec.Struct, frozen=True):
    """A table as the older calls describe it; times are ms since the epoch."""

    name: str
    catalog_name: str = ""
    schema_name: str = ""
    table_type: str | None = None
    data_source_format: str | None = None
    storage_location: str | None = None
    comment: str | None = None
    properties: dict[str, str] | None = None
    owner: str | None = None
    created_at: Int64 | None = None
    created_by: str | None = None
    updated_at: Int64 | None = None
    updated_by: str | None = None
    table_id: str | None = None


class ListedTables(msgspec.Struct, frozen=True):
    """A page of tables."""

    tables: tuple[TableInfo, ...] = ()
    next_page_token: str | None = None


class AwsCredentials(msgspec.Struct, frozen=True):
    """Temporary credentials of S3."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


class AzureSas(msgspec.Struct, frozen=True):
    """A temporary signature of Azure."""

    sas_token: str


class GoogleToken(msgspec.Struct, frozen=True):
    """A temporary token of Google Cloud."""

    oauth_token: str


class TemporaryCredentials(msgspec.Struct, frozen=True):
    """Temporary credentials as the older call gives them."""

    aws_temp_credentials: AwsCredentials | None = None
    azure_user_delegation_sas: AzureSas | None = None
    gcp_oauth_token: GoogleToken | None = None
    expiration_time: Int64 | None = None


class TableUpdate(msgspec.Struct, frozen=True):
    """A request to change a table: all of it happens, or nothing.

    Attributes:
        requirements: What must hold.
        updates: What is done, at most one action of each kind.
    """

    requirements: tuple[JsonObject, ...]
    updates: tuple[JsonObject, ...]
