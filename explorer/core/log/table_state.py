"""The state of a table at a version: the small actions in force, the facts of live files, and their checksum records.

Protocol sections: Action Reconciliation, Version Checksum File Schema. Invariants: a removed domain is not in force
(DOMAIN-005); features in another order, and a schema written in another way, make no difference; a field that a
checksum file lacks is None; both spellings of the histogram of sizes are read, and older files may lack metadata and
protocol (D-26).
"""

from __future__ import annotations

import json
from typing import Final

import msgspec

from explorer.core.errors import LimitExceeded
from explorer.core.protocol.actions import (
    DeletionVectorDescriptor,
    DomainMetadata,
    Metadata,
    Protocol,
    TransactionAction,
)
from explorer.core.protocol.json_values import JsonObject, exact_number
from explorer.core.protocol.limits import check_json_values


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


class SizeHistogram(msgspec.Struct, frozen=True, rename="camel"):
    """Files by size: the lower ends of the bins, and the files and bytes in each."""

    sorted_bin_boundaries: tuple[int, ...]
    file_counts: tuple[int, ...]
    total_bytes: tuple[int, ...]


class MaskHistogram(msgspec.Struct, frozen=True, rename="camel"):
    """Files by the number of rows that their deletion vectors mask, in the bins of `MASK_BINS`."""

    deleted_record_counts: tuple[int, ...]


class ListedFile(msgspec.Struct, frozen=True, rename="camel"):
    """A live file as a checksum lists it."""

    path: str
    size: int | None = None
    deletion_vector: DeletionVectorDescriptor | None = None


class VersionChecksum(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A checksum file (section Version Checksum File Schema); None means that the file lacks the field."""

    txn_id: str | None = None
    table_size_bytes: int
    num_files: int
    num_deleted_records_opt: int | None = None
    num_deletion_vectors_opt: int | None = None
    num_metadata: int
    num_protocol: int
    in_commit_timestamp_opt: int | None = None
    num_transactions: int | None = None
    set_transactions: tuple[JsonObject, ...] | None = None
    domain_metadata: tuple[JsonObject, ...] | None = None
    metadata: JsonObject | None = None
    protocol: JsonObject | None = None
    file_size_histogram: SizeHistogram | None = None
    histogram_opt: SizeHistogram | None = None
    deleted_record_counts_histogram_opt: MaskHistogram | None = None
    all_files: tuple[ListedFile, ...] | None = None


_DECODER: Final = msgspec.json.Decoder(VersionChecksum, float_hook=exact_number)
MASK_BINS: Final = (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 2_147_483_647)
"""The lower ends of the ten bins of masked rows (CRC-005)."""


def decode_checksum(data: bytes) -> VersionChecksum:
    """Read a checksum file.

    Raises:
        ValueError: It is not one; the text has the reason.
    """
    try:
        check_json_values(data, "It")
        return _DECODER.decode(data)
    except (LimitExceeded, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
