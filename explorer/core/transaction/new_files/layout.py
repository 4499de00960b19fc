"""The layout of a table's data files: fields, codec, names and statistics, and the actions of written ones.

Protocol sections: Data Files, Schema Serialization Format, Add File and Remove File, Partition Values, Per-file
Statistics. Invariants: a void column is stored nowhere; every file states its partition values (PART-002), its size and
its number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Add, AddCDCFile, Metadata
from explorer.core.protocol.arrow.open_parquet import read_footer
from explorer.core.protocol.file_locations import place_of
from explorer.core.protocol.file_paths import encode_path
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.column_mapping import MappingMode
from explorer.core.protocol.schema.data_types import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_column,
)
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.protocol.statistics.collect import indexed_fields, statistics_text
from explorer.core.protocol.table_features import supported_features
from explorer.core.protocol.table_properties.registry import COMPRESSION_CODEC, PARTITION_COLUMNS_IN_FILES
from explorer.core.transaction.new_files.file_facts import NewFileFacts
from explorer.core.versions.snapshot import Snapshot

_CODECS: Final = {
    "snappy": "snappy",
    "zstd": "zstd",
    "gzip": "gzip",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "brotli": "brotli",
    "none": "none",
    "uncompressed": "none",
}


def stored_fields(schema: StructType, partition_columns: Sequence[str]) -> tuple[StructField, ...]:
    """Return the fields that data files hold.

    Raises:
        InvalidIntent: A ``void`` column is where it cannot be left out (SCHEMA-015), or nothing is left to store.
    """
    folders = frozenset(partition_columns)
    stored = tuple(field for field in schema.fields if field.name not in folders and field.type != VOID)
    for field in stored:
        _check_stored(field.type, field.name)
    if not stored:
        raise InvalidIntent("Every column of the table is void or a partition column: there is nothing to store.")
    return stored


def compression_codec(configuration: Mapping[str, str]) -> str:
    """Return the codec of new files (SCHEMA-020), as Parquet names it in lower case; snappy by default.

    Raises:
        InvalidIntent: The table's codec is one that this program does not write.
    """
    text = configuration.get(COMPRESSION_CODEC.key, "snappy")
    codec = _CODECS.get(text.strip().lower())
    if codec is None:
        raise InvalidIntent(
            f"The table requires files compressed with {text!r}; this program writes {', '.join(_CODECS)}. Change the "
            f"property {COMPRESSION_CODEC}.",
            field=COMPRESSION_CODEC.key,
            allowed=list(_CODECS),
        )
    return codec


def count_rows(store: LogStore, location: str) -> int:
    """Count the physical rows of a data file by its footer.

    Args:
        location: Decoded, relative to the table's root or absolute.

    Raises:
        FileNotFoundError: There is no such file.
    """
    holder, key = place_of(store, location)
    with holder.open_input(key) as source:
        rows: int = read_footer(source, location).num_rows
    return rows


def _check_stored(kind: DataType, column: str) -> None:
    """Refuse void inside arrays and maps, and structs of void members only."""
    match kind:
        case StructType():
            if all(field.type == VOID for field in kind.fields):
                raise _not_stored(column, "it has no other members")
            for field in kind.fields:
                _check_stored(field.type, f"{column}.{field.name}")
        case ArrayType(element_type=inner) | MapType(value_type=inner):
            if inner == VOID:
                raise _not_stored(column, "its values are void")
            _check_stored(inner, column)
        case PrimitiveType():
            return


def _not_stored(column: str, why: str) -> InvalidIntent:
    return InvalidIntent(f"The column {column} cannot be stored: {why}. Give it a type first.", column=column)


ROWS_PER_FILE: Final = 1_000_000
_MATERIALIZED: Final = "materializePartitionColumns"


class FileLayout(msgspec.Struct, frozen=True):
    """The layout of a table's data files.

    Attributes:
        schema: The table's schema.
        metadata: Its metadata: partition columns and which columns get statistics.
        mode: Its column mapping.
        clustering: Logical paths of its clustering columns.
        holds_partitions: Data files hold the partition columns too, after the others (MATPART-001, MATPART-002).
    """

    schema: StructType
    metadata: Metadata
    mode: MappingMode
    clustering: tuple[tuple[str, ...], ...]
    holds_partitions: bool

    @classmethod
    def of(cls, snapshot: Snapshot) -> FileLayout:
        """Return the layout at a version."""
        wished = PARTITION_COLUMNS_IN_FILES.of(snapshot.metadata.configuration)
        return cls(
            snapshot.schema,
            msgspec.structs.replace(snapshot.metadata, partition_columns=snapshot.partition_columns),
            snapshot.column_mapping_mode,
            tuple(parse_column(name) for name in snapshot.clustering_columns),
            bool(wished) or _MATERIALIZED in supported_features(snapshot.protocol),
        )

    @property
    def stored(self) -> tuple[StructField, ...]:
        """The fields that data files hold."""
        fields = stored_fields(self.schema, self.metadata.partition_columns)
        if not self.holds_partitions:
            return fields
        return (*fields, *(field for field in self.schema.fields if field.name in self.metadata.partition_columns))

    @property
    def described(self) -> tuple[tuple[Path, StructField], ...]:
        """The leaves that get statistics, by physical path.

        Those of partition columns would repeat the log's partition values, so there are none (MATPART-001).
        """
        fields = stored_fields(self.schema, self.metadata.partition_columns)
        return indexed_fields(fields, dict(self.metadata.configuration), self.clustering)

    @property
    def codec(self) -> str:
        """The codec of new files."""
        return compression_codec(self.metadata.configuration)

    def file_name(self, name: str) -> str:
        """Return the name of a data file with its codec and ending."""
        return name + (".parquet" if self.codec == "none" else f".{self.codec}.parquet")

    def folder_names(self) -> tuple[str, ...] | None:
        """Return the name of each partition column in folders; None where files lie at the root (PATH-002, CM-008)."""
        return None if self.mode != "none" else self.metadata.partition_columns

    def add_of(self, facts: NewFileFacts) -> Add:
        """Return the action that adds a file that the engine wrote."""
        stats = statistics_text(facts.rows, self.described, facts.extremes.columns, facts.nulls)
        return Add(
            path=encode_path(facts.location),
            partition_values=self._values(facts),
            size=facts.size,
            modification_time=facts.written_at,
            stats=stats,
        )

    def change_of(self, facts: NewFileFacts) -> AddCDCFile:
        """Return the action of a change file that the engine wrote."""
        return AddCDCFile(path=encode_path(facts.location), partition_values=self._values(facts), size=facts.size)

    def _values(self, facts: NewFileFacts) -> dict[str, str | None]:
        keys = [self._field(name).physical_name for name in self.metadata.partition_columns]
        return dict(zip(keys, facts.partition, strict=True))

    def _field(self, name: str) -> Any:
        field = self.schema.field(name)
        assert field is not None
        return field
