"""A commit and its changes as the actions of a request that changes a table in the catalog, or creates one.

Invariants: at most one action of each kind; only what the commit changes is sent, and no key that the catalog derives
by itself. The catalog keeps the domains of clustering and row tracking, and no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, Literal

from explorer.catalogs.contract import NewTableRequest
from explorer.catalogs.derived_keys import DERIVED
from explorer.core.errors import CorruptTable
from explorer.core.log.commit import Commit
from explorer.core.log.ratifying_catalog import StagedCommit, TableChanges
from explorer.core.protocol.actions import DomainMetadata, Protocol
from explorer.core.protocol.clustering import DOMAIN as CLUSTERING
from explorer.core.protocol.json_values import JsonObject, JsonValue
from explorer.core.protocol.row_tracking import DOMAIN as ROW_TRACKING

_DOMAINS: Final = {CLUSTERING: "clusteringColumns", ROW_TRACKING: "rowIdHighWaterMark"}
"""The domains that the catalog keeps, and the field of each that it takes."""
_NAMES: Final = {
    "elementType": "element-type",
    "containsNull": "contains-null",
    "keyType": "key-type",
    "valueType": "value-type",
    "valueContainsNull": "value-contains-null",
}
"""Fields of nested types as the log and as the contract spell them."""


def add_commit(commit: StagedCommit) -> JsonObject:
    """Return the action that proposes a commit."""
    return {
        "action": "add-commit",
        "commit": {
            "version": commit.version,
            "timestamp": commit.timestamp,
            "file-name": commit.name,
            "file-size": commit.size,
            "file-modification-timestamp": commit.modified,
        },
    }


def change_actions(changes: TableChanges) -> tuple[JsonObject, ...]:
    """Return the actions for what a commit changes besides its files."""
    return tuple(_actions(changes))


def new_table_request(
    name: str, location: str, table_type: Literal["MANAGED", "EXTERNAL"], first: Commit
) -> NewTableRequest:
    """Return the request that gives a table its name.

    Args:
        first: Its version 0.

    Raises:
        CorruptTable: The commit lacks what a first version has.
    """
    metadata, protocol, info = first.metadata(), first.protocol(), first.commit_info()
    if metadata is None or protocol is None or info is None:
        raise CorruptTable(f"Version 0 at {location} lacks a protocol, metadata, or provenance.", table=location)
    domains = {domain.domain: _configuration(domain) for domain in first.domains() if domain.domain in _DOMAINS}
    return NewTableRequest(
        name=name,
        location=location,
        table_type=table_type,
        columns=_type(json.loads(metadata.schema_string or "{}")),
        protocol=_protocol(protocol),
        properties={key: value for key, value in metadata.configuration.items() if not key.startswith(DERIVED)},
        last_commit_timestamp_ms=info.in_commit_timestamp or info.timestamp or 0,
        partition_columns=tuple(metadata.partition_columns),
        comment=metadata.description,
        domain_metadata=domains,
    )


def _actions(changes: TableChanges) -> Iterator[JsonObject]:
    if changes.protocol is not None:
        yield {"action": "set-protocol", "protocol": _protocol(changes.protocol)}
    if changes.schema is not None:
        yield {"action": "set-columns", "columns": _type(json.loads(changes.schema))}
    if changes.partition_columns is not None:
        yield {"action": "set-partition-columns", "partition-columns": list(changes.partition_columns)}
    if properties := {key: value for key, value in changes.properties.items() if not key.startswith(DERIVED)}:
        yield {"action": "set-properties", "updates": dict(properties)}
    if removed := [key for key in changes.removed_properties if not key.startswith(DERIVED)]:
        yield {"action": "remove-properties", "removals": list(removed)}
    if changes.description is not None:
        yield {"action": "set-table-comment", "comment": changes.description}
    kept = [domain for domain in changes.domains if domain.domain in _DOMAINS]
    if values := {domain.domain: _configuration(domain) for domain in kept if not domain.removed}:
        yield {"action": "set-domain-metadata", "updates": values}
    if removed := [domain.domain for domain in kept if domain.removed]:
        yield {"action": "remove-domain-metadata", "domains": list(removed)}


def _protocol(protocol: Protocol) -> JsonObject:
    return {
        "min-reader-version": protocol.min_reader_version,
        "min-writer-version": protocol.min_writer_version,
        "reader-features": list(protocol.reader_features or ()),
        "writer-features": list(protocol.writer_features or ()),
    }


def _configuration(domain: DomainMetadata) -> JsonValue:
    field = _DOMAINS[domain.domain]
    return {field: json.loads(domain.configuration)[field]}


def _type(kind: Any) -> Any:
    """Return a type as the contract spells it; the metadata of fields stays as it is."""
    if not isinstance(kind, dict):
        return kind
    if kind.get("type") == "struct":
        return {**kind, "fields": [{**field, "type": _type(field["type"])} for field in kind["fields"]]}
    return {_NAMES.get(name, name): _type(value) for name, value in kind.items()}
