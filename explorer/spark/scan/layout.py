"""Where the columns of rows come from: files, the log, or nothing (void).

Protocol sections: Column Mapping, Partition Value Serialization. Invariants: a partition column is never read from a
file (PART-014); where columns are not mapped, files hold logical names (CM-002).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from explorer.core.errors import CorruptTable
from explorer.core.protocol.schema.column_mapping import unmapped
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.protocol.table_definition import check_allowed_mapping
from explorer.spark.scan.physical import case_collides
from explorer.spark.scan.row_marks import RowMarks

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["Layout", "layout_of", "layout_of_schema"]


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read some files.

    Attributes:
        schema: The columns to give, logical names, in order.
        stored: Those that files hold.
        partitions: Those whose values the log holds.
        by_id: True if Parquet field ids identify the columns of files.
        case_sensitive: True if names differ only by case.
        version: The version whose files they are, for errors.
        marks: Columns to give after those of the schema.
        zone: The zone of partition values that name none.
        unpadded: Give CHAR values as the files hold them, for rows that move to other files.
    """

    schema: StructType
    stored: tuple[StructField, ...]
    partitions: tuple[StructField, ...]
    by_id: bool
    case_sensitive: bool
    version: int
    marks: RowMarks | None = None
    zone: tzinfo = UTC
    unpadded: bool = False

    def with_marks(self, marks: RowMarks) -> Layout:
        """Return the same with other columns after those of the schema."""
        return replace(self, marks=marks)


def layout_of(snapshot: Snapshot) -> Layout:
    """Return the layout of a snapshot's files.

    Raises:
        CorruptTable: Clients disagree about the names of columns in them.
    """
    mode = snapshot.column_mapping_mode
    check_allowed_mapping(mode, snapshot.metadata, snapshot.version)
    fields = snapshot.schema.fields
    schema = StructType(tuple(unmapped(field) for field in fields)) if mode == "none" else snapshot.schema
    layout = layout_of_schema(schema, snapshot.partition_columns, snapshot.version, by_id=mode == "id")
    return replace(layout, zone=snapshot.time_zone)


def layout_of_schema(schema: StructType, partition_columns: tuple[str, ...], version: int, *, by_id: bool) -> Layout:
    """Return the layout of files written under a schema.

    Args:
        schema: The columns to give; physical names and ids are those of the files.
        partition_columns: Logical names.
        version: For errors.
        by_id: As in `Layout`.

    Raises:
        CorruptTable: A partition column is not in the schema.
    """
    partitions = []
    for name in partition_columns:
        field = schema.field(name)
        if field is None:
            raise CorruptTable(
                f"The partition column {name!r} of version {version} is not in the schema.",
                column=name,
                version=version,
            )
        partitions.append(field)
    stored = tuple(field for field in schema.fields if field.name not in partition_columns)
    return Layout(schema, stored, tuple(partitions), by_id, case_collides(schema), version)
