"""Rows -> Parquet files under physical names, with statistics that are true of them.

Protocol sections: Data Files, Column Mapping (Writer Requirements), Per-file Statistics.
"""

from __future__ import annotations

import os
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from explorer.core.schema import DataType, StructField, StructType, to_arrow

__all__ = ["logical_rows", "physical_rows", "statistics", "write_data_file"]

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")
_STRING_PREFIX: Final = 32


def physical_rows(rows: pa.Table, schema: StructType) -> pa.Table:
    """Rename logical rows to physical names, at every depth of structs, and attach the field ids.

    Args:
        rows: One column for each field of the schema, by logical name.
        schema: The table's schema.
    """
    fields = [_physical_field(field) for field in schema.fields]
    columns = [
        _renamed(rows.column(field.name).combine_chunks(), to_arrow(field.type), target.type)
        for field, target in zip(schema.fields, fields, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def logical_rows(rows: pa.Table, schema: StructType) -> pa.Table:
    """Show physical rows under the logical names of a schema; a column that the file lacks is null."""
    present = set(rows.column_names)
    columns = []
    for field in schema.fields:
        kind, name = to_arrow(field.type), field.physical_name
        if name in present:
            columns.append(_renamed(rows.column(name).combine_chunks(), _physical_field(field).type, kind))
        else:
            columns.append(pa.nulls(rows.num_rows, kind))
    return pa.Table.from_arrays(columns, schema=schema.to_arrow())


def write_data_file(path: Path, rows: pa.Table, modified: int) -> int:
    """Write a Parquet file and set its modification time (ms since the epoch); returns its size in bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, compression="snappy", store_schema=False)
    os.utime(path, (modified / 1000, modified / 1000))
    return path.stat().st_size


def statistics(rows: pa.Table, columns: int, *, tight: bool | None) -> str:
    """The ``stats`` text of a file.

    Args:
        rows: The file's rows, physical names.
        columns: How many leading columns to describe (``delta.dataSkippingNumIndexedCols``).
        tight: ``tightBounds``, or None to leave it out.
    """
    described = rows.select(range(min(columns, rows.num_columns)))
    lows, highs, nulls = _describe({name: described.column(name).combine_chunks() for name in described.column_names})
    stats = {"numRecords": rows.num_rows, "minValues": lows, "maxValues": highs, "nullCount": nulls}
    if tight is not None:
        stats["tightBounds"] = tight
    return _ENCODER.encode(stats).decode()


def _describe(columns: dict[str, pa.Array]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for name, column in columns.items():
        if pa.types.is_struct(column.type):
            members = {field.name: part for field, part in zip(column.type, column.flatten(), strict=True)}
            lows[name], highs[name], nulls[name] = _describe(members)
            continue
        nulls[name] = column.null_count
        if pa.types.is_boolean(column.type) or pa.types.is_nested(column.type) or column.null_count == len(column):
            continue
        bounds = pc.min_max(column).as_py()
        lows[name], highs[name] = _bound(bounds["min"], low=True), _bound(bounds["max"], low=False)
    return lows, highs, nulls


def _bound(value: Any, *, low: bool) -> Any:
    match value:
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
        case date():
            return value.isoformat()
        case str() if len(value) > _STRING_PREFIX:
            # A cut prefix sorts before the whole text; the last code point makes it an upper bound.
            return value[:_STRING_PREFIX] + ("" if low else "\U0010ffff")
        case str() | int() | float() | Decimal():
            return value
    raise TypeError(f"no statistics for {type(value).__name__}")


def _physical_field(field: StructField) -> pa.Field:
    described = None if field.field_id is None else {"PARQUET:field_id": str(field.field_id)}
    return pa.field(field.physical_name, _physical_type(field.type), field.nullable, described)


def _physical_type(kind: DataType) -> pa.DataType:
    if isinstance(kind, StructType):
        return pa.struct([_physical_field(field) for field in kind.fields])
    return to_arrow(kind)


def _renamed(column: pa.Array, source: pa.DataType, target: pa.DataType) -> pa.Array:
    """Give an array the names of another type of the same shape."""
    if not pa.types.is_struct(source):
        return column.cast(target)
    parts = [_renamed(part, part.type, field.type) for part, field in zip(column.flatten(), target, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=list(target), mask=column.is_null())
