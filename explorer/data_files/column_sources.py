"""Where the columns of rows come from: data files, the log, or nothing (void).

Protocol sections: Column Mapping, Partition Value Serialization. Invariants: a partition column is never read from a
file (PART-014); where columns are not mapped, files hold logical names (CM-002).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from explorer.core.errors import CorruptTable
from explorer.core.protocol.schema.column_mapping import unmapped
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.protocol.schema.nested_types import nested_types
from explorer.core.protocol.table_definition import check_allowed_mapping

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ColumnSources:
    """Where the columns of some files' rows come from.

    Attributes:
        schema: The columns to give, logical names, in order.
        stored: Those that files hold.
        partitions: Those whose values the log holds.
        by_id: True if Parquet field ids identify the columns of files.
        version: The version whose files they are, for errors.
        zone: The zone of partition values that name none.
    """

    schema: StructType
    stored: tuple[StructField, ...]
    partitions: tuple[StructField, ...]
    by_id: bool
    version: int
    zone: tzinfo = UTC


def column_sources(snapshot: Snapshot) -> ColumnSources:
    """Return where the columns of a snapshot's rows come from.

    Raises:
        CorruptTable: Clients disagree about the names of columns in its files, or a partition column is not in the
            schema.
    """
    mode = snapshot.column_mapping_mode
    check_allowed_mapping(mode, snapshot.metadata, snapshot.version)
    fields = snapshot.schema.fields
    schema = StructType(tuple(unmapped(field) for field in fields)) if mode == "none" else snapshot.schema
    return column_sources_of(
        schema, snapshot.partition_columns, snapshot.version, by_id=mode == "id", zone=snapshot.time_zone
    )


def column_sources_of(
    schema: StructType, partition_columns: tuple[str, ...], version: int, *, by_id: bool, zone: tzinfo = UTC
) -> ColumnSources:
    """Return the same of files written under a schema.

    Args:
        schema: The columns to give; physical names and ids are those of the files.
        partition_columns: Logical names.
        version: For errors.
        by_id, zone: As in `ColumnSources`.

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
    of_log = frozenset(partition_columns)
    stored = tuple(field for field in schema.fields if field.name not in of_log)
    return ColumnSources(schema, stored, tuple(partitions), by_id, version, zone)


def case_collides(schema: StructType) -> bool:
    """Return whether two names at one level, logical or physical, differ only by case."""
    return any(
        len({name.lower() for name in names}) < len(set(names))
        for struct in nested_types(schema)
        if isinstance(struct, StructType)
        for names in ([field.name for field in struct.fields], [field.physical_name for field in struct.fields])
    )
