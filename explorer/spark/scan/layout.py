"""Where the columns of rows come from: files, the log, or nothing (void).

Protocol sections: Column Mapping, Partition Value Serialization. Invariants: a partition column is never read from a
file (PART-014); where columns are not mapped, files hold logical names (CM-002).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from explorer.core.protocol.schema.data_types import StructType
from explorer.data_files.column_sources import ColumnSources, case_collides, column_sources, column_sources_of
from explorer.spark.scan.row_marks import RowMarks

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Layout(ColumnSources):
    """How Spark reads some files.

    Attributes:
        case_sensitive: True if names differ only by case.
        marks: Columns to give after those of the schema.
        unpadded: Give CHAR values as the files hold them, for rows that move to other files.
    """

    case_sensitive: bool = False
    marks: RowMarks | None = None
    unpadded: bool = False

    @classmethod
    def of(cls, columns: ColumnSources) -> Layout:
        """Return the layout of columns, without marks."""
        return cls(
            columns.schema,
            columns.stored,
            columns.partitions,
            columns.by_id,
            columns.version,
            columns.zone,
            case_sensitive=case_collides(columns.schema),
        )

    def with_marks(self, marks: RowMarks) -> Layout:
        """Return the same with other columns after those of the schema."""
        return replace(self, marks=marks)


def layout_of(snapshot: Snapshot) -> Layout:
    """Return the layout of a snapshot's files; errors as `explorer.data_files.column_sources.column_sources`."""
    return Layout.of(column_sources(snapshot))


def layout_of_schema(schema: StructType, partition_columns: tuple[str, ...], version: int, *, by_id: bool) -> Layout:
    """Return the layout of files written under a schema; see `explorer.data_files.column_sources.column_sources_of`."""
    return Layout.of(column_sources_of(schema, partition_columns, version, by_id=by_id))
