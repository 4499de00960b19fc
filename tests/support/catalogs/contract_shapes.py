"""The shapes of the catalog's contract, written from its OpenAPI files and not from this program's records.

A request with a field that the contract does not have, or without one that it requires, is refused; so is an answer of
the tests' own server that has another shape.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

Long = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Positive = Annotated[int, msgspec.Meta(gt=0, le=(1 << 63) - 1)]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Shape(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An object that has the contract's fields and no others."""


class Protocol(_Shape):
    min_reader_version: int
    min_writer_version: int
    reader_features: list[str] = []
    writer_features: list[str] = []


class StructField(_Shape):
    name: Text
    type: str | dict[str, Any]
    nullable: bool
    metadata: dict[str, Any]


class StructType(_Shape):
    type: Literal["struct"]
    fields: list[StructField]


class Commit(_Shape):
    version: Positive
    timestamp: Positive
    file_name: Text
    file_size: Positive
    file_modification_timestamp: Positive


class AssertTableUuid(_Shape, tag_field="type", tag="assert-table-uuid"):
    uuid: UUID


class AssertEtag(_Shape, tag_field="type", tag="assert-etag"):
    etag: str


class AddCommit(_Shape, tag_field="action", tag="add-commit"):
    commit: Commit


class SetLatestBackfilledVersion(_Shape, tag_field="action", tag="set-latest-backfilled-version"):
    latest_published_version: Long


class SetProtocol(_Shape, tag_field="action", tag="set-protocol"):
    protocol: Protocol


class SetColumns(_Shape, tag_field="action", tag="set-columns"):
    columns: StructType


class SetPartitionColumns(_Shape, tag_field="action", tag="set-partition-columns"):
    partition_columns: list[str]


class SetProperties(_Shape, tag_field="action", tag="set-properties"):
    updates: dict[str, str]


class RemoveProperties(_Shape, tag_field="action", tag="remove-properties"):
    removals: list[str]


class SetTableComment(_Shape, tag_field="action", tag="set-table-comment"):
    comment: str


class Clustering(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    clustering_columns: list[list[str]]


class RowTracking(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    row_id_high_water_mark: Long


class Domains(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    clustering: Clustering | None = msgspec.field(default=None, name="delta.clustering")
    row_tracking: RowTracking | None = msgspec.field(default=None, name="delta.rowTracking")


class SetDomainMetadata(_Shape, tag_field="action", tag="set-domain-metadata"):
    updates: Domains


class RemoveDomainMetadata(_Shape, tag_field="action", tag="remove-domain-metadata"):
    domains: list[str]


Update = (
    AddCommit
    | SetLatestBackfilledVersion
    | SetProtocol
    | SetColumns
    | SetPartitionColumns
    | SetProperties
    | RemoveProperties
    | SetTableComment
    | SetDomainMetadata
    | RemoveDomainMetadata
)


class UpdateTable(_Shape):
    requirements: Annotated[list[AssertTableUuid | AssertEtag], msgspec.Meta(min_length=1)]
    updates: Annotated[list[Update], msgspec.Meta(min_length=1)]


class CreateStagingTable(_Shape):
    name: Text


class CreateTable(_Shape):
    name: Text
    location: Text
    table_type: Literal["MANAGED", "EXTERNAL"]
    columns: StructType
    protocol: Protocol
    properties: dict[str, str]
    last_commit_timestamp_ms: Long
    comment: str | None = None
    partition_columns: list[str] | None = None
    domain_metadata: Domains | None = None


class Metadata(_Shape):
    etag: str
    table_type: Literal["MANAGED", "EXTERNAL"]
    table_uuid: UUID
    location: Text
    created_time: Long
    updated_time: Long
    columns: StructType
    properties: dict[str, str]
    partition_columns: list[str] | None = None
    last_commit_version: Long | None = None
    last_commit_timestamp_ms: Long | None = None


class LoadTable(_Shape):
    metadata: Metadata
    commits: list[Commit] | None = None
    latest_table_version: Long | None = None


class Config(_Shape):
    endpoints: list[str]
    protocol_version: str


class Credential(_Shape):
    prefix: str
    operation: Literal["READ", "READ_WRITE"]
    config: dict[str, str]
    expiration_time_ms: Long | None


class Credentials(_Shape):
    storage_credentials: list[Credential]


class StagingTable(_Shape):
    table_id: UUID
    table_type: Literal["MANAGED"]
    location: Text
    storage_credentials: list[Credential]
    required_protocol: Protocol
    required_properties: dict[str, str | None]
    suggested_properties: dict[str, str | None] | None = None


class ErrorModel(_Shape):
    message: str
    type: str
    code: Annotated[int, msgspec.Meta(ge=400, le=600)]


class ErrorAnswer(_Shape):
    error: ErrorModel
