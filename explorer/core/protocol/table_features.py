"""Table features as data, and what this program may read.

Protocol sections: Protocol Evolution, Table Features, Valid Feature Names. Invariants: reader version 3 needs writer
version 7 (PROTO-009) and both feature lists (D-01); a feature that is not implemented is refused by name, never
guessed at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from explorer.core.errors import CorruptTable, ExplorerError, UnsupportedFeature
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.schema import field_metadata
from explorer.core.protocol.table_properties import registry as properties
from explorer.core.protocol.table_properties.table_property import TableProperty

READER_VERSION: Final = 3
"""The newest reader version that this program implements."""

WRITER_VERSION: Final = 7
"""The newest writer version that this program implements."""


VACUUM_CHECK: Final = "vacuumProtocolCheck"
"""The feature by which a cleanup checks the writer features too."""


class TableFeature(msgspec.Struct, frozen=True, kw_only=True):
    """One named feature.

    Attributes:
        name: The name in the feature lists.
        reader: True if it binds readers too; else it binds writers alone.
        min_reader_version: First reader version that implies it in a table without feature lists, 0 if none does.
        min_writer_version: First writer version that implies it in a table without feature lists, 0 if none does.
        readable: True if this program reads tables that list it for readers. A feature that only adds types is
            readable: a schema that uses such a type is refused by `explorer.core.protocol.schema.data_types`.
        writable: True if this program follows the rules of the feature for writers.
        requires: Other features that it needs (FEAT-009).
        switch: The property that switches it on; None where none does.
        on: Values of that property, in lower case, that do.
        keeps: Properties that have no effect without it, and are removed with it.
        types: Names of primitive types that a column may have only with it.
        field_key: Key in the metadata of a column that has no effect without it.
        by_catalog: True if a catalog manages the commits of tables that list it.
        why_fixed: Why it cannot be added to a table; None where it can.
        about: Of a feature that is a draft of the protocol: its meaning, and the clients of such tables. A draft
            that binds writers alone keeps no reader out, as the protocol requires.
        same_as: The feature of which this is another name that writers have used; None where it is none.
    """

    name: str
    reader: bool = False
    min_reader_version: int = 0
    min_writer_version: int = 0
    readable: bool = True
    writable: bool = True
    requires: tuple[str, ...] = ()
    switch: TableProperty | None = None
    on: tuple[str, ...] = ("true",)
    keeps: tuple[TableProperty, ...] = ()
    types: tuple[str, ...] = ()
    field_key: str | None = None
    by_catalog: bool = False
    why_fixed: str | None = None
    about: str = ""
    same_as: str | None = None

    def switched_on_by(self, key: str, value: str) -> bool:
        """Return whether a property with this value needs the feature."""
        return self.switch is not None and self.switch.key == key and value.strip().lower() in self.on


_MANAGED: Final = "catalogManaged"
_CATALOG: Final = "it comes with the catalog that creates the table"
_OTHER_NAME: Final = "it is another name of a feature"
_CLUSTERING: Final = "clustering starts by naming the columns (ALTER TABLE ... CLUSTER BY in Spark), which adds it"

_DRAFT: Final = "it is a draft of the protocol"


def _draft(name: str, about: str, *, reader: bool = False, types: tuple[str, ...] = ()) -> TableFeature:
    return TableFeature(
        name=name, reader=reader, readable=False, writable=False, types=types, why_fixed=_DRAFT, about=about
    )


_WRITER_COMPAT: Final = (
    "only what an Iceberg writer could write with icebergCompat{} is allowed, and every Delta client reads it; "
    "delta-kernel-java writes it"
)
_ADAPTIVE: Final = "the list of files is a tree of Iceberg V4 manifests; delta-kernel-rs from 0.26 on reads it"
_COORDINATED: Final = "a service orders the commits; delta-spark 3.3 and 4.0 with that service write it"
_TOGETHER: Final = "a catalog commits to several tables at once; ask the catalog which clients take part"
_DRAFTS: Final = (
    _draft("adaptiveMetadata", _ADAPTIVE, reader=True),
    _draft("adaptiveMetadata-preview", _ADAPTIVE, reader=True),
    _draft(
        "timestampNanos",
        "timestamps have nanoseconds; deltalake from 1.6.1 on reads them in builds made with this feature",
        reader=True,
        types=("timestamp_nanos", "timestamp_ntz_nanos", "timestamp_ns"),
    ),
    _draft(
        "redirectReaderWriter-preview",
        "reads and writes go to another table, which the property of that name states; delta-spark follows it",
        reader=True,
    ),
    _draft(
        "redirectWriterOnly-preview",
        "writes go to another table, which the property of that name states; delta-spark follows it",
    ),
    _draft(
        "columnUpdates",
        "current values of some columns are in column files next to the data files; no released client is known to "
        "read them",
        reader=True,
    ),
    _draft("coordinatedCommits", _COORDINATED),
    _draft("coordinatedCommits-preview", _COORDINATED),
    _draft("managedCommits-preview", _COORDINATED),
    _draft("multiTableTransaction", _TOGETHER),
    _draft("multiTableTransaction-dev", _TOGETHER),
)

_ROWS: Final = (
    TableFeature(name="appendOnly", min_writer_version=2, switch=properties.APPEND_ONLY),
    TableFeature(name="invariants", min_writer_version=2, field_key=field_metadata.INVARIANTS),
    TableFeature(name="checkConstraints", min_writer_version=3),
    TableFeature(name="changeDataFeed", min_writer_version=4, switch=properties.CHANGE_DATA_FEED),
    TableFeature(name="generatedColumns", min_writer_version=4, field_key=field_metadata.GENERATION_EXPRESSION),
    TableFeature(
        name="columnMapping",
        reader=True,
        min_reader_version=2,
        min_writer_version=5,
        switch=properties.COLUMN_MAPPING_MODE,
        on=("name", "id"),
        keeps=(properties.COLUMN_MAPPING_MODE, properties.MAX_COLUMN_ID),
    ),
    TableFeature(name="identityColumns", min_writer_version=6, field_key=field_metadata.IDENTITY_START),
    TableFeature(name="deletionVectors", reader=True, switch=properties.DELETION_VECTORS),
    TableFeature(name="timestampNtz", reader=True, types=("timestamp_ntz",)),
    TableFeature(name="timestampWithoutTimezone", reader=True, same_as="timestampNtz", why_fixed=_OTHER_NAME),
    TableFeature(name="v2Checkpoint", reader=True, switch=properties.CHECKPOINT_POLICY, on=("v2",)),
    TableFeature(name=VACUUM_CHECK, reader=True),
    TableFeature(
        name="typeWidening", reader=True, switch=properties.TYPE_WIDENING, field_key=field_metadata.TYPE_CHANGES
    ),
    TableFeature(name="typeWidening-preview", reader=True),
    TableFeature(name="variantType", reader=True, types=("variant",)),
    TableFeature(name="variantType-preview", reader=True),
    TableFeature(name="variantShredding", reader=True, requires=("variantType",), switch=properties.VARIANT_SHREDDING),
    TableFeature(name="variantShredding-preview", reader=True),
    TableFeature(
        name=_MANAGED,
        reader=True,
        readable=False,
        writable=False,
        requires=("inCommitTimestamp", "vacuumProtocolCheck"),
        by_catalog=True,
        why_fixed=_CATALOG,
    ),
    TableFeature(
        name="catalogOwned-preview", reader=True, readable=False, writable=False, by_catalog=True, why_fixed=_CATALOG
    ),
    TableFeature(name="catalogOwned", reader=True, readable=False, writable=False, by_catalog=True, why_fixed=_CATALOG),
    TableFeature(name="geospatial", reader=True, writable=False, types=("geometry", "geography")),
    TableFeature(name="domainMetadata"),
    TableFeature(
        name="rowTracking",
        requires=("domainMetadata",),
        switch=properties.ROW_TRACKING,
        keeps=(
            properties.ROW_TRACKING,
            properties.ROW_TRACKING_SUSPENDED,
            properties.ROW_ID_COLUMN,
            properties.ROW_COMMIT_VERSION_COLUMN,
        ),
    ),
    TableFeature(
        name="inCommitTimestamp",
        switch=properties.IN_COMMIT_TIMESTAMPS,
        keeps=(properties.ICT_ENABLEMENT_VERSION, properties.ICT_ENABLEMENT_TIMESTAMP),
    ),
    TableFeature(name="inCommitTimestamp-preview"),
    TableFeature(name="clustering", requires=("domainMetadata",), why_fixed=_CLUSTERING),
    TableFeature(name="allowColumnDefaults", field_key=field_metadata.CURRENT_DEFAULT),
    TableFeature(
        name="icebergCompatV1", writable=False, requires=("columnMapping",), switch=properties.ICEBERG_COMPAT_V1
    ),
    TableFeature(
        name="icebergCompatV2", writable=False, requires=("columnMapping",), switch=properties.ICEBERG_COMPAT_V2
    ),
    TableFeature(
        name="icebergCompatV3",
        writable=False,
        requires=("columnMapping", "rowTracking"),
        switch=properties.ICEBERG_COMPAT_V3,
        about="data is laid out for Iceberg V3, and every Delta client reads it; delta-spark from 4.3 on and "
        "delta-kernel-rs from 0.23 on write it",
    ),
    TableFeature(
        name="icebergWriterCompatV1", writable=False, requires=("icebergCompatV2",), about=_WRITER_COMPAT.format("V2")
    ),
    TableFeature(
        name="icebergWriterCompatV3", writable=False, requires=("icebergCompatV3",), about=_WRITER_COMPAT.format("V3")
    ),
    TableFeature(name="checkpointProtection", keeps=(properties.CHECKPOINT_PROTECTION,)),
    TableFeature(name="collations", writable=False),
    TableFeature(name="collations-preview", writable=False),
    TableFeature(name="materializePartitionColumns", switch=properties.MATERIALIZE_PARTITION_COLUMNS),
    TableFeature(name="columnMappingUsageTracking"),
    *_DRAFTS,
)

FEATURES: Final[dict[str, TableFeature]] = {feature.name: feature for feature in _ROWS}
"""Every feature that this program knows, by its name."""

COORDINATED_FEATURES: Final = frozenset(feature.name for feature in _DRAFTS if feature.about == _COORDINATED)
"""Names under which a service orders the commits: its newest ones may not be published yet."""

CATALOG_FEATURES: Final = frozenset(feature.name for feature in _ROWS if feature.by_catalog)
"""Names under which a catalog manages the commits: readable only with the catalog's response."""


def supported_features(protocol: Protocol) -> tuple[str, ...]:
    """Return names of the features a protocol allows, listed or implied by a legacy version, in registry order.

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
    """Return the same as a set, for membership tests."""
    return frozenset(supported_features(protocol))


def missing_features(names: Iterable[str], protocol: Protocol) -> tuple[str, ...]:
    """Return those of some features that a protocol has neither by their name nor as a preview, each once."""
    listed = active_features(protocol)
    have = listed | {row.same_as for row in _ROWS if row.same_as is not None and row.name in listed}
    return tuple(name for name in dict.fromkeys(names) if name not in have and f"{name}-preview" not in have)


def feature_of_property(key: str) -> str | None:
    """Return the feature that a property switches on; None if there is none."""
    return next((row.name for row in _ROWS if row.switch is not None and row.switch.key == key), None)


def features_switched_on(configuration: Mapping[str, str]) -> tuple[str, ...]:
    """Return the features that the properties of a table switch on."""
    items = configuration.items()
    return tuple(dict.fromkeys(row.name for key, value in items for row in _ROWS if row.switched_on_by(key, value)))


def feature_of_type(name: str) -> str | None:
    """Return the feature that a primitive type needs; None if it needs none."""
    return next((row.name for row in _ROWS if name in row.types), None)


def why_not_readable(protocol: Protocol, *, by_catalog: bool = False) -> tuple[str, ...]:
    """Return why this program cannot read the table: names of features, or a reader version; empty if it can."""
    if protocol.min_reader_version > READER_VERSION:
        return (f"minReaderVersion {protocol.min_reader_version}",)
    if protocol.min_reader_version < 3:
        return ()
    names = protocol.reader_features or ()
    return tuple(name for name in names if not _readable(name) and not (by_catalog and name in CATALOG_FEATURES))


def why_not_writable(protocol: Protocol, *, by_catalog: bool = False) -> tuple[str, ...]:
    """Return why this program cannot write to the table: names of features, or a writer version; empty if it can.

    Args:
        by_catalog: Whether the table is open through the catalog that ratifies its commits.

    A table that may not be read may not be written either (PROTO-002, FEAT-002); `why_not_readable` has the reasons.
    Where the list of features is missing, the rules are unknown.
    """
    if protocol.min_writer_version > WRITER_VERSION:
        return (f"minWriterVersion {protocol.min_writer_version}",)
    if protocol.min_writer_version == WRITER_VERSION and protocol.writer_features is None:
        return (f"minWriterVersion {WRITER_VERSION} but no list writerFeatures",)
    names = supported_features(protocol)
    ratified = {_MANAGED} if by_catalog else set()
    return tuple(name for name in names if name not in FEATURES or not (FEATURES[name].writable or name in ratified))


def about_drafts(names: Iterable[str]) -> str:
    """Return a sentence for each of some features that is a draft, after a blank; empty without any."""
    rows = (FEATURES[name] for name in names if name in FEATURES)
    return "".join(f" {row.name} is a draft of the protocol: {row.about}." for row in rows if row.about)


def check_readable(protocol: Protocol, version: int, *, by_catalog: bool = False) -> None:
    """Refuse a table that this program cannot read correctly.

    Args:
        protocol: The protocol in force at the version being read (PROTO-004, D-39).

    Raises:
        UnsupportedFeature: It names the features, or the reader version.
        CorruptTable: The protocol contradicts itself.
    """
    if not by_catalog:
        check_unmanaged(protocol, version)
    missing = why_not_readable(protocol, by_catalog=by_catalog)
    if missing:
        raise UnsupportedFeature(
            f"Version {version} can only be read by a client that implements {', '.join(missing)}; "
            f"this program implements reader version {READER_VERSION} and the features of its list. Upgrade "
            "this program, read the table with the engine that wrote it, or ask its owner to drop the feature."
            f"{about_drafts(missing)}",
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


def check_unmanaged(protocol: Protocol, published: int) -> None:
    """Refuse a table whose commits a catalog manages, as its log alone does not define the table (CATALOG-001).

    Raises:
        UnsupportedFeature: A catalog manages the commits, and nothing else prevents reading the table.
    """
    missing = why_not_readable(protocol)
    managed = [name for name in missing if name in CATALOG_FEATURES]
    if not missing or len(managed) != len(missing):
        return
    raise UnsupportedFeature(
        f"A catalog manages the commits of this table ({', '.join(managed)}). Version {published} is the last one "
        "published in the log; newer versions may be in the catalog alone, so no version is shown as the newest. Open "
        "the table by its name in the catalog, uc://CATALOG.SCHEMA.TABLE, with UNITY_CATALOG_URL set to the catalog's "
        "server.",
        features=managed,
        operation="read",
        version=published,
    )


def is_managed(error: ExplorerError) -> bool:
    """Return whether an error is that of `check_unmanaged`: only the table's catalog knows its newest version."""
    if not isinstance(error, UnsupportedFeature) or not error.features:
        return False
    return CATALOG_FEATURES.issuperset(error.features)


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
        "It was written incorrectly. The table's owner must commit a corrected protocol action.",
        version=version,
    )
