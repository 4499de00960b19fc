"""Rows that enter a table: split by partition and size, encoded, described.

Protocol sections: Add File and Remove File, Partition Values, Per-file Statistics. Invariants: every file states its
partition values (PART-002), its size and its number of rows; names are unique and nothing is overwritten (PATH-007).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.core.protocol.actions import Add, AddCDCFile, Metadata
from explorer.core.protocol.file_paths import encode_path, partition_location
from explorer.core.protocol.partition_values import format_partition_value
from explorer.core.protocol.schema.column_mapping import MappingMode
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.protocol.statistics.collect import collect_statistics, indexed_fields, statistics_text
from explorer.core.protocol.table_properties.registry import PARTITION_COLUMNS_IN_FILES
from explorer.core.transaction.new_files.file_facts import FileFacts
from explorer.core.transaction.new_files.parquet import compression_codec, encode_rows, physical_rows, stored_fields
from explorer.core.transaction.proposal import StagedFile

__all__ = ["ROWS_PER_FILE", "FileLayout", "NewFile"]

"""The property that asks for partition columns in data files beside the log's values, for readers of plain Parquet."""
ROWS_PER_FILE: Final = 1_000_000
_ROW: Final = "\x00row"


class NewFile(msgspec.Struct, frozen=True):
    """A new file: its bytes, and the action that adds it."""

    staged: StagedFile
    add: Add


class FileLayout(msgspec.Struct, frozen=True):
    """The layout that a table asks for.

    Attributes:
        schema: The table's schema.
        metadata: Its metadata: partition columns and which columns get statistics.
        mode: Its column mapping.
        clustering: Logical paths of its clustering columns.
        now: Modification time of new files, ms since the epoch.
        new_id: Gives fresh UUIDs.
    """

    schema: StructType
    metadata: Metadata
    mode: MappingMode
    clustering: tuple[tuple[str, ...], ...]
    now: int
    new_id: Callable[[], str]

    @property
    def stored(self) -> tuple[StructField, ...]:
        """The fields that data files hold; partition columns are among them if a property asks for it (MATPART-002)."""
        in_files = PARTITION_COLUMNS_IN_FILES.of(self.metadata.configuration)
        return stored_fields(self.schema, () if in_files else self.metadata.partition_columns)

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

    def files(
        self, rows: pa.Table, *, extra: Sequence[str] = (), rows_per_file: int = ROWS_PER_FILE
    ) -> Iterator[NewFile]:
        """Write rows as data files, one partition after the other.

        They hold the partition columns too if a property of the table asks for it (MATPART-002).

        Args:
            rows: A column for each field of the schema, by logical name, and the ``extra`` ones.
            extra: Physical names of columns that go into the files unchanged, such as materialised row ids.
            rows_per_file: The most rows of a file.
        """
        indexed, fields = self.described, self.stored
        for values, part in self._partitions(rows):
            for start in range(0, part.num_rows, rows_per_file):
                piece = part.slice(start, rows_per_file).combine_chunks()
                stored = physical_rows(piece, fields, {name: piece.column(name) for name in extra})
                stats = collect_statistics(stored, indexed)
                location, path, data = self._encode(values, stored, "part-00000-{}-c000")
                add = Add(path=path, partition_values=values, size=len(data), modification_time=self.now, stats=stats)
                yield NewFile(StagedFile(location, data), add)

    def change_files(self, rows: pa.Table, change_type: str) -> Iterator[tuple[StagedFile, AddCDCFile]]:
        """Write rows as change files (CDF-001), one for each partition; rows as in `files`."""
        fields = stored_fields(self.schema, self.metadata.partition_columns)
        for values, part in self._partitions(rows):
            kind = pa.chunked_array([pa.array([change_type] * part.num_rows, pa.string())])
            stored = physical_rows(part, fields, {"_change_type": kind})
            location, path, data = self._encode(values, stored, "cdc-00000-{}.c000", "_change_data/")
            action = AddCDCFile(path=path, partition_values=values, size=len(data))
            yield StagedFile(location, data), action

    def _encode(
        self, values: Mapping[str, str | None], stored: pa.Table, name: str, folder: str = ""
    ) -> tuple[str, str, bytes]:
        shown = {} if self.mode != "none" else values
        location, path = partition_location(shown, self.file_name(name.format(self.new_id())))
        return folder + location, folder + path, encode_rows(stored, self.codec)

    def _partitions(self, rows: pa.Table) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
        """Partition values as in the log, physical names (PART-012), with the rows that have them."""
        names = list(self.metadata.partition_columns)
        if not names:
            if rows.num_rows:
                yield {}, rows
            return
        numbered = rows.select(names).append_column(_ROW, pa.array(range(rows.num_rows), pa.int64()))
        groups = numbered.group_by(names, use_threads=False).aggregate([(_ROW, "list")])
        merged: dict[tuple[str | None, ...], list[Any]] = {}
        for group in groups.to_pylist():
            key = tuple(self._text(name, group[name]) for name in names)
            merged.setdefault(key, []).extend(group[f"{_ROW}_list"])
        keys = [self._field(name).physical_name for name in names]
        for texts, places in merged.items():
            yield dict(zip(keys, texts, strict=True)), rows.take(pa.array(sorted(places), pa.int64()))

    def _text(self, name: str, value: Any) -> str | None:
        kind = self._field(name).type
        assert isinstance(kind, PrimitiveType)
        return format_partition_value(value, kind.name)

    def _field(self, name: str) -> Any:
        field = self.schema.field(name)
        assert field is not None
        return field
