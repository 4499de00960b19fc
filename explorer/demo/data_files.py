"""Files of the demo: written with the time of their story, and read back under the names of a later schema."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from explorer.core.data_file import physical_schema
from explorer.core.schema import StructType, to_arrow

__all__ = ["logical_rows", "write_file"]


def write_file(path: Path, data: bytes, modified: int) -> None:
    """Write a file and set its modification time, ms since the epoch."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (modified / 1000, modified / 1000))


def logical_rows(rows: pa.Table, schema: StructType) -> pa.Table:
    """Show physical rows under the logical names of a schema; a column that the file lacks is null."""
    present = set(rows.column_names)
    columns = []
    for field in schema.fields:
        kind, name = to_arrow(field.type), field.physical_name
        if name in present:
            columns.append(_renamed(rows.column(name).combine_chunks(), physical_schema([field]).field(0).type, kind))
        else:
            columns.append(pa.nulls(rows.num_rows, kind))
    return pa.Table.from_arrays(columns, schema=schema.to_arrow())


def _renamed(column: pa.Array, source: pa.DataType, target: pa.DataType) -> pa.Array:
    """Give an array the names of another type of the same shape."""
    if not pa.types.is_struct(source):
        return column.cast(target)
    parts = [_renamed(part, part.type, field.type) for part, field in zip(column.flatten(), target, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=list(target), mask=column.is_null())
