"""The definition of a table by a protocol and a metadata action: the schema, and how its columns are read in files.

Protocol sections: Change Metadata, Schema Serialization Format, Column Mapping, Type Widening. Invariants: data files
are Parquet (META-006); partition columns are in the schema (META-007); where columns are mapped, every field is mapped
once (CM-016); a recorded change of a type is one that readers can apply (TYPEWIDEN-002).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.schema.char_types import marked
from explorer.core.protocol.schema.column_mapping import MappingMode, check_mapping, mapping_mode, maps_columns
from explorer.core.protocol.schema.data_types import (
    StructType,
    UnreadColumn,
    parse_columns,
    partition_columns_that_fit,
    storable_columns,
)
from explorer.core.protocol.schema.type_widening import check_type_changes
from explorer.core.protocol.table_properties.registry import COLUMN_MAPPING_MODE, MAX_COLUMN_ID


class TableDefinition(msgspec.Struct, frozen=True):
    """The definition of a table at a version.

    Attributes:
        schema: The schema, logical names.
        mapping_mode: ``none``, ``name`` or ``id``.
        unread: Columns that are not in the schema, as this program does not read their types.
    """

    schema: StructType
    mapping_mode: MappingMode
    unread: tuple[UnreadColumn, ...] = ()

    def spelled(self, name: str) -> str:
        """Return the name of a column as the schema spells it; metadata may name a partition column in another case."""
        field = self.schema.field(name)
        return name if field is None else field.name


def read_definition(protocol: Protocol, metadata: Metadata, version: int) -> TableDefinition:
    """Read the definition.

    Args:
        protocol: The protocol in force, one that `explorer.core.protocol.table_features.check_readable` passes.

    Raises:
        CorruptTable: The two do not define a table.
        UnsupportedFeature: This program does not read a type, or a change of one.
        LimitExceeded: The schema is nested too deeply.
    """
    _check_format(metadata, version)
    schema, unread = _schema(metadata, version)
    check_type_changes(schema, protocol)
    mode = mapping_mode(metadata.configuration, protocol)
    check_mapping(schema, mode, _max_column_id(metadata.configuration))
    return TableDefinition(schema, mode, unread)


def _check_format(metadata: Metadata, version: int) -> None:
    if metadata.format.provider.lower() != "parquet":
        raise CorruptTable(
            f"Version {version} declares the data file format {metadata.format.provider!r}; Delta tables use Parquet. "
            "Another program wrote this log.",
            version=version,
            found=metadata.format.provider,
        )


def check_allowed_mapping(mode: MappingMode, metadata: Metadata, version: int) -> None:
    """Refuse to read rows by a mapping that the protocol does not allow and that decides which values are read.

    Args:
        mode: The mapping mode that counts (CM-001).

    Raises:
        CorruptTable: It is none, and the properties set one that gives columns other names.
    """
    if mode == "none" and maps_columns(metadata):
        raise CorruptTable(
            f"Version {version} contradicts itself: {COLUMN_MAPPING_MODE} is "
            f"{COLUMN_MAPPING_MODE.of(metadata.configuration)!r} and gives columns other names in the files, but the "
            "protocol does not list columnMapping. By the protocol the files have the columns under their own names; "
            "delta-spark reads them under the other names. If the files have the other names, enable the feature "
            "columnMapping (enable-feature); if not, remove the property (unset-properties).",
            version=version,
            found=metadata.configuration.get(COLUMN_MAPPING_MODE.key),
        )


def _schema(metadata: Metadata, version: int) -> tuple[StructType, tuple[UnreadColumn, ...]]:
    if metadata.schema_string is None:
        raise CorruptTable(
            f"The metaData in force at version {version} has no schemaString; the protocol requires one. "
            "A faulty client wrote the log. Snapshot, files and history show what it records; to read or change the "
            "rows, restore the commit that sets the schema.",
            version=version,
        )
    columns, unknown_types = parse_columns(metadata.schema_string)
    storable, without_files = storable_columns(columns)
    fitting, without_values = partition_columns_that_fit(storable, metadata.partition_columns)
    unread = unknown_types + without_files + without_values
    schema, closed = marked(fitting, metadata.schema_string), {column.name for column in unread}
    unknown = [name for name in metadata.partition_columns if schema.field(name) is None and name not in closed]
    if unknown:
        raise CorruptTable(
            f"The partition column {unknown[0]!r} of version {version} is not in the schema.",
            version=version,
            column=unknown[0],
        )
    return schema, unread


def _max_column_id(configuration: Mapping[str, str]) -> int | None:
    return MAX_COLUMN_ID.of(configuration) if MAX_COLUMN_ID.is_set(configuration) else None
