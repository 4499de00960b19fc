"""The columns of a table for the rows of one file: what the file holds, what the log holds, and void.

Protocol sections: Partition Value Serialization, Schema Serialization Format (SCHEMA-021). Invariant: types and CHAR
padding are those that Spark gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from explorer.core.protocol.schema.data_types import VOID, StructField
from explorer.data_files.column_sources import ColumnSources
from explorer.data_files.physical_columns import physical_column
from explorer.first_rows.padding import padded_column
from explorer.first_rows.variant_columns import with_variants_as_json


def logical_columns(
    columns: ColumnSources,
    schema: pa.Schema,
    arrays: Sequence[Any],
    values: Mapping[str, Any],
    rows: int,
) -> list[Any]:
    """Return the columns of some rows of a file, in the order of the schema.

    Args:
        columns: Which columns to give.
        schema: Their types; what comes after them is of no interest.
        arrays: Those that the file holds, in the order of ``columns.stored``.
        values: The values of the partition columns, by logical name.
        rows: How many rows there are.

    Raises:
        MalformedVariant: A variant is damaged.
    """
    stored = dict(zip((field.name for field in columns.stored), arrays, strict=True))
    return [
        _column(field, schema.field(place).type, stored, values, rows)
        for place, field in enumerate(columns.schema.fields)
    ]


def _column(
    field: StructField, kind: pa.DataType, stored: Mapping[str, Any], values: Mapping[str, Any], rows: int
) -> Any:
    if field.name in values:
        return padded_column(pa.repeat(values[field.name], rows).cast(kind), field)
    if field.type == VOID:
        return pa.nulls(rows)
    column = with_variants_as_json(stored[field.name], field.type)
    return padded_column(column if column.type == kind else physical_column(column, kind), field)
