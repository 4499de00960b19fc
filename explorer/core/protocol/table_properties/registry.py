"""The ``delta.*`` table properties: one row each, the only place where its key and its default are written.

Protocol sections: Change Metadata (configuration), and the sections of the features that properties switch on.
Invariants: a key is listed once, in its true case; a property that cannot be set has a reason; the value of a
property is read through its row. The feature that a property enables is in `explorer.core.protocol.table_features`.
"""

from __future__ import annotations

from typing import Final

from explorer.core.protocol.table_properties.table_property import (
    ChoiceProperty,
    Choices,
    Columns,
    Flag,
    FreeText,
    Integer,
    Interval,
    TableProperty,
)

PREFIX: Final = "delta."
"""Prefix of the keys of Delta's properties; other keys are free."""

FEATURE_PREFIX: Final = "delta.feature."
"""Prefix of a property that adds a feature; such a property is not stored."""

FREE_PREFIX: Final = "delta.universalformat.config."
"""Prefixes of the keys of other formats, in lower case; any text may follow."""


def _flag(key: str, effect: str, default: str | None = "false") -> Flag:
    return Flag(key, effect, default, ("true", "false"))


_MAPPING: Final = "column mapping maintains it itself"
_ROWS: Final = "it is chosen once, when row tracking is added, and never changes"
_CLOCK: Final = "the commit that enables in-commit timestamps writes it"
_COORDINATED: Final = "a property alone cannot give a table a coordinator of commits"

APPEND_ONLY: Final = _flag("delta.appendOnly", "Rows may be added, never changed or removed.")
AUTO_OPTIMIZE: Final = _flag("delta.autoOptimize", "Older name of delta.autoOptimize.optimizeWrite.", None)
AUTO_COMPACT: Final = _flag("delta.autoOptimize.autoCompact", "Writers join small files after a commit.", None)
OPTIMIZE_WRITE: Final = _flag("delta.autoOptimize.optimizeWrite", "Writers make fewer, larger files.", None)
CAST_ICEBERG_TIME_TYPE: Final = _flag(
    "delta.castIcebergTimeType", "Times of day of an Iceberg table that is converted become texts."
)
STATS_AS_JSON: Final = _flag(
    "delta.checkpoint.writeStatsAsJson", "Checkpoints contain the statistics of files as JSON.", "true"
)
STATS_AS_STRUCT: Final = _flag(
    "delta.checkpoint.writeStatsAsStruct",
    "Checkpoints contain the statistics of files and typed partition values in columns.",
    None,
)
CHECKPOINT_INTERVAL: Final = Integer(
    "delta.checkpointInterval", "Number of commits between two checkpoints.", "10", minimum=1
)
CHECKPOINT_POLICY: Final = ChoiceProperty(
    "delta.checkpointPolicy", "The kind of checkpoint that is written.", "classic", ("classic", "v2"), exact=True
)
CHECKPOINT_RETENTION: Final = Interval(
    "delta.checkpointRetentionDuration", "How long old checkpoints are kept.", "interval 2 days"
)
HAS_DROPPED_OR_RENAMED: Final = Flag(
    "delta.columnMapping.hasDroppedOrRenamed", "A column was dropped or renamed.", why_fixed=_MAPPING
)
MAX_COLUMN_ID: Final = Integer(
    "delta.columnMapping.maxColumnId", "The highest column id ever assigned.", why_fixed=_MAPPING
)
COLUMN_MAPPING_MODE: Final = ChoiceProperty(
    "delta.columnMapping.mode",
    "Columns have names and ids of their own in the files, so they can be renamed and dropped.",
    "none",
    ("none", "name", "id"),
)
SYMLINK_FORMAT_MANIFEST: Final = _flag(
    "delta.compatibility.symlinkFormatManifest.enabled",
    "Writers maintain a list of files for engines that do not read Delta.",
)
COMMIT_COORDINATOR: Final = FreeText(
    "delta.coordinatedCommits.commitCoordinator-preview", "The service that orders the commits.", why_fixed=_COORDINATED
)
COMMIT_COORDINATOR_CONF: Final = FreeText(
    "delta.coordinatedCommits.commitCoordinatorConf-preview",
    "Connection settings of that service.",
    why_fixed=_COORDINATED,
)
COORDINATED_TABLE_CONF: Final = FreeText(
    "delta.coordinatedCommits.tableConf-preview", "Settings of the table in that service.", why_fixed=_COORDINATED
)
NUM_INDEXED_COLS: Final = Integer(
    "delta.dataSkippingNumIndexedCols", "Number of leading columns with statistics; -1 means all.", "32", minimum=-1
)
STRING_PREFIX_LENGTH: Final = Integer(
    "delta.dataSkippingStringPrefixLength", "Number of leading characters of a text in statistics.", "32", minimum=0
)
STATS_COLUMNS: Final = Columns("delta.dataSkippingStatsColumns", "The only columns with statistics.")
FILE_RETENTION: Final = Interval(
    "delta.deletedFileRetentionDuration",
    "How long removed files are retained for readers of older versions.",
    "interval 1 week",
)
TRUNCATE_HISTORY_RETENTION: Final = Interval(
    "delta.dropFeatureTruncateHistory.retentionDuration",
    "How long history is retained when a feature is dropped together with it.",
    "interval 24 hours",
)
CHANGE_DATA_CAPTURE: Final = FreeText(
    "delta.enableChangeDataCapture",
    "Older name of delta.enableChangeDataFeed.",
    why_fixed="its name today is delta.enableChangeDataFeed",
)
CHANGE_DATA_FEED: Final = _flag("delta.enableChangeDataFeed", "Writers record which rows changed, and how.")
DELETION_VECTORS: Final = _flag(
    "delta.enableDeletionVectors", "Rows are deleted by a deletion vector instead of rewriting the file."
)
EXPIRED_LOG_CLEANUP: Final = _flag("delta.enableExpiredLogCleanup", "Expired log files are deleted.", "true")
FULL_RETENTION_ROLLBACK: Final = _flag(
    "delta.enableFullRetentionRollback", "Every version within the log's retention stays.", "true"
)
ICEBERG_COMPAT_V1: Final = _flag("delta.enableIcebergCompatV1", "Data is laid out for Iceberg.")
ICEBERG_COMPAT_V2: Final = _flag("delta.enableIcebergCompatV2", "Data is laid out for Iceberg.")
ICEBERG_COMPAT_V3: Final = _flag("delta.enableIcebergCompatV3", "Data is laid out for Iceberg.")
IN_COMMIT_TIMESTAMPS: Final = _flag(
    "delta.enableInCommitTimestamps", "Commits have their own time, which copying files does not change."
)
MATERIALIZE_PARTITION_COLUMNS: Final = _flag(
    "delta.enableMaterializePartitionColumnsFeature",
    "Data files contain the partition columns too, as a table feature requires.",
)
ROW_TRACKING: Final = _flag("delta.enableRowTracking", "Every row has an id that stays when it moves.")
TYPE_WIDENING: Final = _flag("delta.enableTypeWidening", "Columns may get wider types without rewriting.")
VARIANT_SHREDDING: Final = _flag("delta.enableVariantShredding", "Parts of variants are stored in columns.")
IGNORE_ICEBERG_BUCKET_PARTITION: Final = _flag(
    "delta.ignoreIcebergBucketPartition", "An Iceberg table with buckets is converted without them."
)
IGNORE_PROTOCOL_DEFAULTS: Final = _flag(
    "delta.ignoreProtocolDefaults", "A new table takes no features from the session's settings."
)
ICT_ENABLEMENT_TIMESTAMP: Final = Integer(
    "delta.inCommitTimestampEnablementTimestamp", "Time from which commits have their own time.", why_fixed=_CLOCK
)
ICT_ENABLEMENT_VERSION: Final = Integer(
    "delta.inCommitTimestampEnablementVersion", "Version from which commits have their own time.", why_fixed=_CLOCK
)
ISOLATION_LEVEL: Final = ChoiceProperty(
    "delta.isolationLevel",
    "The isolation level of writers.",
    "Serializable",
    ("Serializable",),
    only_read=("WriteSerializable", "SnapshotIsolation"),
)
LOG_RETENTION: Final = Interval(
    "delta.logRetentionDuration", "How long the history of the table is retained.", "interval 30 days"
)
MIN_READER_VERSION: Final = Integer(
    "delta.minReaderVersion",
    "Raises the protocol's reader version; not stored as a property.",
    "1",
    minimum=1,
    maximum=3,
)
MIN_WRITER_VERSION: Final = Integer(
    "delta.minWriterVersion",
    "Raises the protocol's writer version; not stored as a property.",
    "2",
    minimum=1,
    maximum=7,
)
COMPRESSION_CODEC: Final = ChoiceProperty(
    "delta.parquet.compression.codec",
    "The compression of new data files.",
    allowed=("uncompressed", "none", "snappy", "gzip", "brotli", "lz4", "lz4_raw", "zstd"),
)
"""A table may have ``lzo`` too; it cannot be set, as this program could then write nothing more to the table."""
PARQUET_FORMAT_VERSION: Final = FreeText(
    "delta.parquet.format.version",
    "The Parquet version of new data files.",
    allowed=("1.0.0", "2.12.0"),
    form=r"1\.0\.0|2\.[0-9]+\.[0-9]+",
)
RANDOM_PREFIX_LENGTH: Final = Integer("delta.randomPrefixLength", "Length of random folder names.", "2", minimum=1)
RANDOMIZE_FILE_PREFIXES: Final = _flag("delta.randomizeFilePrefixes", "Data files are in folders of random names.")
CHECKPOINT_PROTECTION: Final = Integer(
    "delta.requireCheckpointProtectionBeforeVersion",
    "Checkpoints before this version may not be removed alone.",
    why_fixed="dropping a feature writes it, and dropping checkpointProtection removes it",
)
ROW_ID_COLUMN: Final = FreeText(
    "delta.rowTracking.materializedRowIdColumnName", "The column with the ids of moved rows.", why_fixed=_ROWS
)
ROW_COMMIT_VERSION_COLUMN: Final = FreeText(
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "The column with the versions of moved rows.",
    why_fixed=_ROWS,
)
ROW_TRACKING_SUSPENDED: Final = _flag("delta.rowTrackingSuspended", "New files get no row ids.")
SAMPLE_RETENTION: Final = Interval(
    "delta.sampleRetentionDuration", "How long samples of the data are retained.", "interval 7 days"
)
SET_TRANSACTION_RETENTION: Final = Interval(
    "delta.setTransactionRetentionDuration", "How long the progress of writing applications is retained."
)
ENABLED_FORMATS: Final = Choices(
    "delta.universalFormat.enabledFormats",
    "Other formats for which metadata is written too.",
    allowed=("hudi", "iceberg"),
)
ICEBERG_ATOMIC_CONVERSION: Final = _flag(
    "delta.universalFormat.iceberg.atomicConversion.supported", "Iceberg's metadata is written in one step."
)
PARTITION_COLUMNS_IN_FILES: Final = _flag(
    "delta.writePartitionColumnsToParquet", "Data files contain the partition columns too.", None
)

TARGET_FILE_SIZE: Final = "delta.targetFileSize"
"""A key of other clients, which is read and never set: the reference writer knows no such property."""

PROPERTIES: Final[dict[str, TableProperty]] = {
    row.key.lower(): row for row in tuple(globals().values()) if isinstance(row, TableProperty)
}
"""Every property that this program knows, by its key in lower case."""


def property_of(key: str) -> TableProperty | None:
    """Return the property of a table's key; None for any other key.

    Clients compare the keys of a table in their case, all but those of constraints: ``DELTA.APPENDONLY`` does nothing.
    `explorer.core.transaction.intents.property_settings` converts a key in any case to the true one.
    """
    row = PROPERTIES.get(key.lower())
    return row if row is not None and row.key == key else None
