"""The files that a table asks for: what they hold, how they are named and described, and the actions of written ones.

Protocol sections: Add File and Remove File, Partition Values, Per-file Statistics. Invariants: every file states its
partition values (PART-002), its size and its number of rows.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from explorer.core.protocol.actions import Add, AddCDCFile, Metadata
from explorer.core.protocol.file_paths import encode_path
from explorer.core.protocol.schema.column_mapping import MappingMode
from explorer.core.protocol.schema.data_types import StructField, StructType, parse_column
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.protocol.statistics.collect import indexed_fields, statistics_text
from explorer.core.protocol.table_features import supported_features
from explorer.core.protocol.table_properties.registry import PARTITION_COLUMNS_IN_FILES
from explorer.core.transaction.new_files.file_facts import FileFacts
from explorer.core.transaction.new_files.parquet import compression_codec, stored_fields
from explorer.core.versions.snapshot import Snapshot

__all__ = ["ROWS_PER_FILE", "FileLayout"]

ROWS_PER_FILE: Final = 1_000_000
_MATERIALIZED: Final = "materializePartitionColumns"


class FileLayout(msgspec.Struct, frozen=True):
    """The layout that a table asks for.

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
        """The layout that the table asks for at a version."""
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
        """The name of a data file with its codec and ending."""
        return name + (".parquet" if self.codec == "none" else f".{self.codec}.parquet")

    def folder_names(self) -> tuple[str, ...] | None:
        """The name of each partition column in folders; None where files lie at the root (PATH-002, CM-008)."""
        return None if self.mode != "none" else self.metadata.partition_columns

    def add_of(self, facts: FileFacts) -> Add:
        """The action that adds a file that the engine wrote."""
        stats = statistics_text(facts.rows, self.described, facts.extremes.columns, facts.nulls)
        return Add(
            path=encode_path(facts.location),
            partition_values=self._values(facts),
            size=facts.size,
            modification_time=facts.written_at,
            stats=stats,
        )

    def change_of(self, facts: FileFacts) -> AddCDCFile:
        """The action of a change file that the engine wrote."""
        return AddCDCFile(path=encode_path(facts.location), partition_values=self._values(facts), size=facts.size)

    def _values(self, facts: FileFacts) -> dict[str, str | None]:
        keys = [self._field(name).physical_name for name in self.metadata.partition_columns]
        return dict(zip(keys, facts.partition, strict=True))

    def _field(self, name: str) -> Any:
        field = self.schema.field(name)
        assert field is not None
        return field
