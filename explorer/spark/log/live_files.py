"""A row for each live file of a version: its action, its partition values and its statistics, typed.

Invariants: columns carry logical names; a value that the log does not say is null; a column of a type that has no
statistics (variant, void) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.core.protocol.logical_files import PUBLIC_COLUMNS, LogicalFiles
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.statistics.data_skipping import skip_files
from explorer.core.protocol.statistics.file_statistics import FileStatistics, StatisticsColumn

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["TOTALS", "AllFiles", "KeptFiles", "NeededFiles", "plain_files"]

TOTALS: Final = ("size", "num_records", "dv_cardinality")
_WITHOUT_STATISTICS: Final = frozenset({"variant", "void"})


def plain_files(names: Sequence[str], files: LogicalFiles) -> pa.Table:
    """Some columns of the files, as `explorer.core.versions.snapshot.Snapshot.files` has them."""
    return files.select(names)


@dataclass(frozen=True)
class AllFiles:
    """Every file, with typed partition values and statistics.

    Attributes:
        columns: The leaf columns whose values and bounds are given.
        zone: The zone of partition values without a zone.
    """

    columns: tuple[StatisticsColumn, ...]
    zone: tzinfo

    @classmethod
    def of(cls, snapshot: Snapshot, statistics: Sequence[str] | None) -> AllFiles:
        """The files of a snapshot.

        Args:
            snapshot: The version.
            statistics: Names of the columns whose bounds are given; None for all.

        Raises:
            RequestError: A column is not in the schema or has no statistics by its type.
        """
        known = snapshot.statistics_columns
        chosen = known if statistics is None else [snapshot.statistics_column(name) for name in statistics]
        columns = [c for c in known if (c.partition or c in chosen) and c.type.name not in _WITHOUT_STATISTICS]
        return cls(tuple(columns), snapshot.time_zone)

    def __call__(self, files: LogicalFiles) -> pa.Table:
        """Make the rows of some files."""
        table = files.select(PUBLIC_COLUMNS)
        statistics = FileStatistics(files, self.columns, self.zone)
        statistics.load(self.columns)
        values = [column for column in self.columns if column.partition]
        if values:
            partition_values = {column.path: statistics.bounds(column).low for column in values}
            table = table.append_column("partition", _nested(partition_values))
        bounds = {column.path: statistics.bounds(column) for column in self.columns if not column.partition}
        parts: dict[tuple[str, ...], pa.Array] = {("tight",): statistics.tight()}
        for path, bound in bounds.items():
            parts |= {("min", *path): bound.low, ("max", *path): bound.high, ("null_count", *path): bound.nulls}
        return table.append_column("statistics", _nested(parts))


@dataclass(frozen=True)
class NeededFiles:
    """Every file, and whether a condition needs it: ``kept`` and ``rule`` of `SkippingResult.files`.

    Attributes:
        where: The condition.
        schema, columns: The table's, and its columns that may have statistics.
        zone: The zone of partition values without a zone.
    """

    where: str
    schema: StructType
    columns: tuple[StatisticsColumn, ...]
    zone: tzinfo

    @classmethod
    def of(cls, snapshot: Snapshot, where: str) -> NeededFiles:
        """What a condition needs of a snapshot.

        Raises:
            RequestError: The text is not a condition, or names a column that the table does not have.
        """
        made = cls(where, snapshot.schema, snapshot.statistics_columns, snapshot.time_zone)
        made(LogicalFiles([]))
        return made

    def __call__(self, files: LogicalFiles) -> pa.Table:
        """Make the rows of some files."""
        statistics = FileStatistics(files, self.columns, self.zone)
        decisions = skip_files(self.where, self.schema, self.columns, statistics).files
        table = files.select(PUBLIC_COLUMNS)
        for name in ("kept", "rule"):
            table = table.append_column(name, decisions.column(name))
        return table


@dataclass(frozen=True)
class KeptFiles:
    """The files that a condition needs, and no others.

    Attributes:
        needed: Tells which they are.
    """

    needed: NeededFiles

    def __call__(self, files: LogicalFiles) -> pa.Table:
        """Make the rows of some files."""
        table = self.needed(files)
        return table.filter(table.column("kept")).select(PUBLIC_COLUMNS)


def _nested(leaves: Mapping[tuple[str, ...], pa.Array]) -> pa.StructArray:
    """A struct column of leaf columns by their paths."""
    heads = list(dict.fromkeys(path[0] for path in leaves))
    parts = []
    for head in heads:
        inner = {path[1:]: array for path, array in leaves.items() if path[0] == head}
        parts.append(inner[()] if () in inner else _nested(inner))
    return pa.StructArray.from_arrays(parts, heads)
