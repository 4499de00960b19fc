"""The ``delta.*`` table properties as data: type, default, what may stand there, and what each one does.

Protocol sections: Change Metadata (configuration), and the sections of the features that properties switch on.
Invariants: a key is listed once, in its true case; a property that a person may not set says why.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

__all__ = ["PROPERTIES", "PropertyKind", "TableProperty"]

PropertyKind = Literal["boolean", "integer", "interval", "choice", "choices", "columns", "text"]


class TableProperty(msgspec.Struct, frozen=True):
    """One property.

    Attributes:
        key: The key in its true case.
        kind: What its value is; ``choices`` and ``columns`` are lists with commas between, of words and dotted columns.
        default: What holds where it is not set; None where nothing does.
        effect: What it does, in words.
        feature: The table feature that it needs and brings along when it is on; None if there is none.
        allowed: Values of a ``choice`` or words of ``choices``, in the case in which they are written.
        form: Regular expression of a ``text``; None where any will do, else ``allowed`` shows one.
        exact: True if a ``choice`` is taken in that case alone.
        on: Values, in lower case, that switch the feature on.
        minimum, maximum: Bounds of an ``integer``.
        why_fixed: Why a person may not set it; None where one may.
    """

    key: str
    kind: PropertyKind
    default: str | None
    effect: str
    feature: str | None = None
    allowed: tuple[str, ...] = ()
    form: str | None = None
    exact: bool = False
    on: tuple[str, ...] = ("true",)
    minimum: int | None = None
    maximum: int | None = None
    why_fixed: str | None = None

    def switches_on(self, value: str) -> bool:
        """True if this value needs the feature."""
        return self.feature is not None and value.strip().lower() in self.on


def _flag(key: str, effect: str, *, default: str | None = "false", feature: str | None = None) -> TableProperty:
    return TableProperty(key, "boolean", default, effect, feature, ("true", "false"))


def _time(key: str, default: str | None, effect: str) -> TableProperty:
    return TableProperty(key, "interval", default, effect)


def _whole(key: str, default: str, effect: str, minimum: int, maximum: int | None = None) -> TableProperty:
    return TableProperty(key, "integer", default, effect, minimum=minimum, maximum=maximum)


def _fixed(key: str, effect: str, why: str) -> TableProperty:
    return TableProperty(key, "text", None, effect, why_fixed=why)


_MAPPING: Final = "column mapping keeps it itself"
_ROWS: Final = "it is chosen once, when row tracking is added, and is the same for ever"
_CLOCK: Final = "the commit that switches in-commit timestamps on writes it"
_COORDINATED: Final = "a coordinator of commits cannot be given to a table by a property alone"

PROPERTIES: Final[dict[str, TableProperty]] = {
    item.key.lower(): item
    for item in (
        _flag("delta.appendOnly", "Rows may be added, never changed or removed.", feature="appendOnly"),
        _flag("delta.autoOptimize", "Older name of delta.autoOptimize.optimizeWrite.", default=None),
        _flag("delta.autoOptimize.autoCompact", "Writers join small files after a commit.", default=None),
        _flag("delta.autoOptimize.optimizeWrite", "Writers make fewer, larger files.", default=None),
        _flag("delta.castIcebergTimeType", "Times of day of an Iceberg table that is converted become texts."),
        _flag("delta.checkpoint.writeStatsAsJson", "Checkpoints keep the statistics of files as JSON.", default="true"),
        _flag(
            "delta.checkpoint.writeStatsAsStruct",
            "Checkpoints keep the statistics of files and typed partition values in columns.",
            default=None,
        ),
        _whole("delta.checkpointInterval", "10", "A checkpoint is written every so many commits.", 1),
        TableProperty(
            "delta.checkpointPolicy",
            "choice",
            "classic",
            "Which kind of checkpoint is written.",
            "v2Checkpoint",
            ("classic", "v2"),
            exact=True,
            on=("v2",),
        ),
        _time("delta.checkpointRetentionDuration", "interval 2 days", "How long old checkpoints are kept."),
        _fixed("delta.columnMapping.hasDroppedOrRenamed", "A column was dropped or renamed.", _MAPPING),
        _fixed("delta.columnMapping.maxColumnId", "The highest column id ever given.", _MAPPING),
        TableProperty(
            "delta.columnMapping.mode",
            "choice",
            "none",
            "Columns have names and ids of their own in the files, so they can be renamed and dropped.",
            "columnMapping",
            ("none", "name", "id"),
            on=("name", "id"),
        ),
        _flag(
            "delta.compatibility.symlinkFormatManifest.enabled",
            "Writers keep a list of files for engines that do not read Delta.",
        ),
        _fixed("delta.coordinatedCommits.commitCoordinator-preview", "Who orders the commits.", _COORDINATED),
        _fixed("delta.coordinatedCommits.commitCoordinatorConf-preview", "How it is reached.", _COORDINATED),
        _fixed("delta.coordinatedCommits.tableConf-preview", "What it knows of the table.", _COORDINATED),
        _whole(
            "delta.dataSkippingNumIndexedCols", "32", "Statistics are kept for so many columns; -1 means for all.", -1
        ),
        _whole("delta.dataSkippingStringPrefixLength", "32", "Statistics keep so many characters of a text.", 0),
        TableProperty(
            "delta.dataSkippingStatsColumns", "columns", None, "Statistics are kept for these columns and no others."
        ),
        _time(
            "delta.deletedFileRetentionDuration",
            "interval 1 week",
            "How long files that left the table are kept for readers of older versions.",
        ),
        _time(
            "delta.dropFeatureTruncateHistory.retentionDuration",
            "interval 24 hours",
            "How long history is kept when a feature is dropped together with it.",
        ),
        _fixed(
            "delta.enableChangeDataCapture",
            "Older name of delta.enableChangeDataFeed.",
            "its name today is delta.enableChangeDataFeed",
        ),
        _flag("delta.enableChangeDataFeed", "Writers record which rows changed, and how.", feature="changeDataFeed"),
        _flag(
            "delta.enableDeletionVectors",
            "Rows are removed by a mask beside the file instead of rewriting it.",
            feature="deletionVectors",
        ),
        _flag("delta.enableExpiredLogCleanup", "Log files that are too old are removed.", default="true"),
        _flag("delta.enableFullRetentionRollback", "Every version within the log's retention stays.", default="true"),
        _flag("delta.enableIcebergCompatV1", "Data is laid out for Iceberg.", feature="icebergCompatV1"),
        _flag("delta.enableIcebergCompatV2", "Data is laid out for Iceberg.", feature="icebergCompatV2"),
        _flag("delta.enableIcebergCompatV3", "Data is laid out for Iceberg.", feature="icebergCompatV3"),
        _flag(
            "delta.enableInCommitTimestamps",
            "Commits carry their own time, which copying files does not change.",
            feature="inCommitTimestamp",
        ),
        _flag(
            "delta.enableMaterializePartitionColumnsFeature",
            "Data files hold the partition columns too, by a rule of the protocol.",
            feature="materializePartitionColumns",
        ),
        _flag("delta.enableRowTracking", "Every row has an id that stays when it moves.", feature="rowTracking"),
        _flag("delta.enableTypeWidening", "Columns may get wider types without rewriting.", feature="typeWidening"),
        _flag("delta.enableVariantShredding", "Parts of variants are kept in columns.", feature="variantShredding"),
        _flag("delta.ignoreIcebergBucketPartition", "An Iceberg table with buckets is converted without them."),
        _flag("delta.ignoreProtocolDefaults", "A new table takes no features from the session's settings."),
        _fixed("delta.inCommitTimestampEnablementTimestamp", "Since when commits carry their time.", _CLOCK),
        _fixed("delta.inCommitTimestampEnablementVersion", "Since which version they do.", _CLOCK),
        TableProperty(
            "delta.isolationLevel",
            "choice",
            "Serializable",
            "How strictly writers are kept apart.",
            None,
            ("Serializable",),
        ),
        _time("delta.logRetentionDuration", "interval 30 days", "How long the history of the table is kept."),
        _whole("delta.minReaderVersion", "1", "Raises the protocol's reader version; not kept as a property.", 1, 3),
        _whole("delta.minWriterVersion", "2", "Raises the protocol's writer version; not kept as a property.", 1, 7),
        TableProperty(
            "delta.parquet.compression.codec",
            "choice",
            None,
            "How new data files are compressed.",
            allowed=("uncompressed", "none", "snappy", "gzip", "lzo", "brotli", "lz4", "lz4_raw", "zstd"),
        ),
        TableProperty(
            "delta.parquet.format.version",
            "text",
            None,
            "Which version of Parquet new data files have.",
            allowed=("2.12.0",),
            form=r"[0-9]+\.[0-9]+\.[0-9]+",
        ),
        _whole("delta.randomPrefixLength", "2", "Length of random folder names.", 1),
        _flag("delta.randomizeFilePrefixes", "Data files lie in folders of random names."),
        _fixed(
            "delta.requireCheckpointProtectionBeforeVersion",
            "Checkpoints before this version may not be removed alone.",
            "dropping a feature writes it, and dropping checkpointProtection removes it",
        ),
        _fixed("delta.rowTracking.materializedRowIdColumnName", "Where moved rows keep their ids.", _ROWS),
        _fixed(
            "delta.rowTracking.materializedRowCommitVersionColumnName", "Where moved rows keep their versions.", _ROWS
        ),
        _flag("delta.rowTrackingSuspended", "New files get no row ids."),
        _time("delta.sampleRetentionDuration", "interval 7 days", "How long samples of the data are kept."),
        _time(
            "delta.setTransactionRetentionDuration",
            None,
            "How long it is remembered how far applications have written.",
        ),
        TableProperty(
            "delta.universalFormat.enabledFormats",
            "choices",
            None,
            "For which other formats metadata is written too.",
            allowed=("hudi", "iceberg"),
        ),
        _flag("delta.universalFormat.iceberg.atomicConversion.supported", "Iceberg's metadata is written in one step."),
        _flag("delta.writePartitionColumnsToParquet", "Data files hold the partition columns too.", default=None),
    )
}
"""Every property that this program knows, by its key in lower case."""
