"""Table features as data, and what this program may read.

Protocol sections: Protocol Evolution, Table Features, Valid Feature Names. Invariants: reader version 3 needs writer
version 7 (PROTO-009) and both feature lists (D-01); a feature that is not implemented is refused by name, never
guessed at.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from explorer.core.errors import CorruptTable, UnsupportedFeature
from explorer.core.protocol.actions import Protocol

__all__ = [
    "CATALOG_FEATURES",
    "FEATURES",
    "READER_VERSION",
    "WRITER_VERSION",
    "TableFeature",
    "active_features",
    "check_readable",
    "supported_features",
    "why_not_readable",
    "why_not_writable",
]

READER_VERSION: Final = 3
"""The newest reader version that this program implements."""

WRITER_VERSION: Final = 7
"""The newest writer version that this program implements."""


class TableFeature(msgspec.Struct, frozen=True):
    """One named feature.

    Attributes:
        name: The name in the feature lists.
        reader: True if readers must know it too; else it binds writers alone.
        min_reader_version: First reader version that implies it in a table without feature lists, 0 if none does.
        min_writer_version: First writer version that implies it in a table without feature lists, 0 if none does.
        readable: True if this program reads tables that list it. A feature that only adds types is readable: a
            schema that uses such a type is refused by `explorer.core.protocol.schema.data_types`.
        writable: True if this program keeps the rules that the feature lays on writers.
    """

    name: str
    reader: bool = False
    min_reader_version: int = 0
    min_writer_version: int = 0
    readable: bool = True
    writable: bool = True


FEATURES: Final[dict[str, TableFeature]] = {
    feature.name: feature
    for feature in (
        TableFeature("appendOnly", min_writer_version=2),
        TableFeature("invariants", min_writer_version=2),
        TableFeature("checkConstraints", min_writer_version=3),
        TableFeature("changeDataFeed", min_writer_version=4),
        TableFeature("generatedColumns", min_writer_version=4),
        TableFeature("columnMapping", reader=True, min_reader_version=2, min_writer_version=5),
        TableFeature("identityColumns", min_writer_version=6),
        TableFeature("deletionVectors", reader=True),
        TableFeature("timestampNtz", reader=True),
        TableFeature("v2Checkpoint", reader=True),
        TableFeature("vacuumProtocolCheck", reader=True),
        TableFeature("typeWidening", reader=True),
        TableFeature("typeWidening-preview", reader=True),
        TableFeature("variantType", reader=True),
        TableFeature("variantType-preview", reader=True),
        TableFeature("variantShredding", reader=True),
        TableFeature("variantShredding-preview", reader=True),
        TableFeature("catalogManaged", reader=True, readable=False, writable=False),
        TableFeature("catalogOwned-preview", reader=True, readable=False, writable=False),
        TableFeature("catalogOwned", reader=True, readable=False, writable=False),
        TableFeature("geospatial", reader=True, writable=False),
        TableFeature("domainMetadata"),
        TableFeature("rowTracking"),
        TableFeature("inCommitTimestamp"),
        TableFeature("inCommitTimestamp-preview"),
        TableFeature("clustering"),
        TableFeature("allowColumnDefaults"),
        TableFeature("icebergCompatV1", writable=False),
        TableFeature("icebergCompatV2", writable=False),
        TableFeature("icebergCompatV3", writable=False),
        TableFeature("icebergWriterCompatV1", writable=False),
        TableFeature("icebergWriterCompatV3", writable=False),
        TableFeature("checkpointProtection"),
        TableFeature("collations", writable=False),
        TableFeature("collations-preview", writable=False),
        TableFeature("materializePartitionColumns", writable=False),
        TableFeature("columnMappingUsageTracking"),
    )
}
"""Every feature name that this program knows."""


CATALOG_FEATURES: Final = frozenset(["catalogManaged", "catalogOwned", "catalogOwned-preview"])
"""Names under which a catalog manages the commits: readable with what the catalog says, and only then."""


def supported_features(protocol: Protocol) -> tuple[str, ...]:
    """Names of the features the protocol allows, whether listed or implied by a legacy version, in registry order.

    Names that the registry does not know come last, as listed.
    """
    versions = protocol.min_reader_version, protocol.min_writer_version
    return _supported(*versions, protocol.reader_features, protocol.writer_features)


@lru_cache(maxsize=256)
def _supported(
    reader: int, writer: int, reader_features: tuple[str, ...] | None, writer_features: tuple[str, ...] | None
) -> tuple[str, ...]:
    protocol = Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=reader_features,
        writer_features=writer_features,
    )
    listed = {*(reader_features or ()), *(writer_features or ())}
    implied = {feature.name for feature in FEATURES.values() if _implied(feature, protocol)}
    known = [name for name in FEATURES if name in listed or name in implied]
    return (*known, *sorted(listed - set(FEATURES)))


def active_features(protocol: Protocol) -> frozenset[str]:
    """The same as a set, for membership tests."""
    return frozenset(supported_features(protocol))


def why_not_readable(protocol: Protocol, *, by_catalog: bool = False) -> tuple[str, ...]:
    """Names of what keeps this program from reading the table: features, or a reader version; empty if it reads it."""
    if protocol.min_reader_version > READER_VERSION:
        return (f"minReaderVersion {protocol.min_reader_version}",)
    if protocol.min_reader_version < 3:
        return ()
    names = protocol.reader_features or ()
    return tuple(name for name in names if not _readable(name) and not (by_catalog and name in CATALOG_FEATURES))


def why_not_writable(protocol: Protocol) -> tuple[str, ...]:
    """Names of what keeps this program from writing to the table: features, or a writer version; empty if it may.

    A table that may not be read may not be written either (PROTO-002, FEAT-002); `why_not_readable` says that.
    """
    if protocol.min_writer_version > WRITER_VERSION:
        return (f"minWriterVersion {protocol.min_writer_version}",)
    names = supported_features(protocol)
    return tuple(name for name in names if name not in FEATURES or not FEATURES[name].writable)


def check_readable(protocol: Protocol, version: int, *, by_catalog: bool = False) -> None:
    """Refuse a table that this program cannot read right.

    Args:
        protocol: The protocol in force at the version being read (PROTO-004, D-39).
        version: That version.
        by_catalog: The catalog that manages the commits said which they are.

    Raises:
        UnsupportedFeature: It names the features, or the reader version.
        CorruptTable: The protocol contradicts itself.
    """
    missing = why_not_readable(protocol, by_catalog=by_catalog)
    if missing:
        raise UnsupportedFeature(
            f"Version {version} can only be read by a client that implements {', '.join(missing)}; "
            f"this program implements reader version {READER_VERSION} and the features of its list. Upgrade it, read "
            "the table with its own engine, or ask its owner to drop the feature.",
            features=list(missing),
            operation="read",
            version=version,
        )
    if protocol.min_reader_version < 1 or protocol.min_writer_version < 1:
        raise _contradiction(version, "protocol versions below 1 do not exist")
    if protocol.min_reader_version == 3 and protocol.min_writer_version < 7:
        raise _contradiction(version, "reader version 3 needs writer version 7")
    if protocol.min_reader_version == 3 and protocol.reader_features is None:
        raise _contradiction(version, "reader version 3 needs the list readerFeatures")
    if protocol.min_reader_version < 3 and protocol.reader_features:
        raise _contradiction(version, "readerFeatures may only be listed with reader version 3")


def _implied(feature: TableFeature, protocol: Protocol) -> bool:
    if not feature.min_writer_version or protocol.min_writer_version >= 7:
        return False
    by_writer = protocol.min_writer_version >= feature.min_writer_version
    return by_writer and protocol.min_reader_version >= feature.min_reader_version


def _readable(name: str) -> bool:
    feature = FEATURES.get(name)
    return feature is not None and feature.readable


def _contradiction(version: int, reason: str) -> CorruptTable:
    return CorruptTable(
        f"The protocol of version {version} contradicts itself: {reason}. "
        "A writer wrote it wrongly; the table needs a corrected protocol action from its owner.",
        version=version,
    )
