"""The state of a table at a version: the small actions in force, and the facts of live files that checksums count.

Protocol sections: Action Reconciliation, Version Checksum File. Invariants: a removed domain is not in force
(DOMAIN-005); features in another order, and a schema written in another way, make no difference.
"""

from __future__ import annotations

import json

import msgspec

from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol, TransactionAction

__all__ = ["RecordedFile", "TableState", "same_metadata", "same_protocol"]


class TableState(msgspec.Struct, frozen=True):
    """The small actions in force at a version."""

    protocol: Protocol
    metadata: Metadata
    transactions: dict[str, TransactionAction]
    domains: dict[str, DomainMetadata]


class RecordedFile(msgspec.Struct, frozen=True, gc=False):
    """The facts of a file in checksums and checkpoints: its vector, its size in bytes, and its masked rows."""

    vector_id: str | None
    size: int | None
    masked: int


def same_protocol(one: Protocol, other: Protocol) -> bool:
    """Return whether two protocols require the same; the order of features does not matter."""
    return _protocol_key(one) == _protocol_key(other)


def same_metadata(one: Metadata, other: Metadata) -> bool:
    """Return whether two metadata actions are equal; schemas whose texts differ are compared as JSON."""
    return one == other or _metadata_key(one) == _metadata_key(other)


def _protocol_key(protocol: Protocol) -> tuple[object, ...]:
    features = (frozenset(protocol.reader_features or ()), frozenset(protocol.writer_features or ()))
    return protocol.min_reader_version, protocol.min_writer_version, *features


def _metadata_key(metadata: Metadata) -> tuple[object, ...]:
    try:
        schema = json.loads(metadata.schema_string or "null")
    except (ValueError, RecursionError):
        schema = metadata.schema_string
    plain = (metadata.id, metadata.name, metadata.description, metadata.partition_columns, metadata.created_time)
    return *plain, metadata.format.provider, metadata.configuration, schema
