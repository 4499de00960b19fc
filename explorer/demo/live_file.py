"""Live files of a demo table: their rows under the names of the schema, and which of them are masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.protocol.actions import Add
from explorer.core.protocol.arrow.arrow_types import arrow_schema, physical_arrow_schema, to_arrow
from explorer.core.protocol.partition_values import parse_partition_value
from explorer.core.protocol.schema.data_types import StructField, StructType

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DemoFile:
    """A file of the newest version.

    Attributes:
        path: Its decoded path.
        add: Its action.
        rows: Its rows in file order, logical names, partition columns included.
        masked: True for a row that its deletion vector masks.
    """

    path: str
    add: Add
    rows: pa.Table
    masked: Mask

    def remaining(self, deleted: Mask | None = None) -> pa.Table:
        """Return the rows that are neither masked nor ``deleted``."""
        return self.rows.filter(pa.array(~(self.masked if deleted is None else self.masked | deleted)))


def stored_rows(data: bytes) -> pa.Table:
    """Return the rows of a data file, physical names."""
    return pq.ParquetFile(pa.BufferReader(data)).read()


def logical_rows(rows: pa.Table, values: Mapping[str, str | None], schema: StructType) -> pa.Table:
    """Show physical rows under the logical names of a schema; a column that the file lacks is null.

    Args:
        rows: As the file holds them.
        values: Partition values of the file, as the log has them.
    """
    columns = [_column(rows, values, field) for field in schema.fields]
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


def _column(rows: pa.Table, values: Mapping[str, str | None], field: StructField) -> pa.Array:
    kind, name = to_arrow(field.type), field.physical_name
    if name in values:
        value = parse_partition_value(values[name], field.type, field.name)
        return pa.array([value] * rows.num_rows, kind)
    if name not in rows.column_names:
        return pa.nulls(rows.num_rows, kind)
    return _renamed(rows.column(name).combine_chunks(), physical_arrow_schema([field]).field(0).type, kind)


def _renamed(column: pa.Array, source: pa.DataType, target: pa.DataType) -> pa.Array:
    """Give an array the names of another type of the same shape."""
    if not pa.types.is_struct(source):
        return column.cast(target)
    parts = [_renamed(part, part.type, field.type) for part, field in zip(column.flatten(), target, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=list(target), mask=column.is_null())
