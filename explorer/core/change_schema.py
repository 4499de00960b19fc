"""Whether rows written under one schema can be shown under another: what a change feed asks of its versions.

Protocol sections: Reader Requirements for AddCDCFile, Column Mapping. Invariants: columns are matched by physical
path; columns that only the later schema has are additive (their rows are null); anything else breaks the feed (CDF-013,
D-38).
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.core.actions import Metadata
from explorer.core.column_mapping import mapping_mode, physical_paths
from explorer.core.schema import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    format_column,
    parse_schema,
    type_name,
    walk,
)

__all__ = ["why_not_readable_as"]

_Columns = dict[tuple[str, ...], tuple[tuple[str, ...], StructField]]


def why_not_readable_as(written: Metadata, read: Metadata) -> str | None:
    """Say what keeps rows of one version from being shown with the schema of another; None if nothing does.

    Args:
        written: Metadata in force when the rows were written.
        read: Metadata whose schema the rows are to be shown with.
    """
    return None if _layout(written) == _layout(read) else next(_breaks(written, read), None)


def _layout(metadata: Metadata) -> tuple[object, ...]:
    return metadata.schema_string, metadata.partition_columns, mapping_mode(metadata.configuration)


def _breaks(written: Metadata, read: Metadata) -> Iterator[str]:
    old, new = _columns(written), _columns(read)
    for physical, (path, field) in old.items():
        column = format_column(path)
        if physical not in new:
            yield f"column {column} is not in the schema to read with (dropped, or replaced by another column)"
            continue
        path_after, after = new[physical]
        if path_after[-1] != path[-1]:
            yield f"column {column} is named {format_column(path_after)} in the schema to read with"
        if _bare(field.type) != _bare(after.type):
            yield f"column {column} is {type_name(field.type)} and {type_name(after.type)} in the schema to read with"
        if field.nullable and not after.nullable:
            yield f"column {column} may be null and may not in the schema to read with"
    for physical, (path, field) in new.items():
        if physical not in old and not field.nullable and len(path) == 1:
            yield f"column {format_column(path)} may not be null in the schema to read with and did not exist"
    if _partitions(written, old) != _partitions(read, new):
        yield "the table is partitioned by other columns"


def _columns(metadata: Metadata) -> _Columns:
    """Physical path -> logical path and field."""
    if metadata.schema_string is None:
        return {}
    schema = parse_schema(metadata.schema_string)
    physical = physical_paths(schema, mapping_mode(metadata.configuration))
    return {physical[path]: (path, field) for path, field in walk(schema)}


def _partitions(metadata: Metadata, columns: _Columns) -> list[tuple[str, ...]]:
    physical = {path: name for name, (path, _) in columns.items()}
    return [physical.get((name,), (name,)) for name in metadata.partition_columns]


def _bare(kind: DataType) -> str:
    """A type without what is inside its structs: their fields are columns of their own."""
    match kind:
        case StructType():
            return "struct"
        case ArrayType():
            return f"array<{_bare(kind.element_type)}>"
        case MapType():
            return f"map<{_bare(kind.key_type)},{_bare(kind.value_type)}>"
        case PrimitiveType():
            return type_name(kind)
