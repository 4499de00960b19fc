"""Per-file statistics -> typed bounds by logical column.

Protocol section: Per-file Statistics. Invariants: whatever is absent is unknown, never 0 (STATS-002); absent
``tightBounds`` means tight (STATS-006); statistics go by physical name (STATS-013); a partition column's bounds are
its partition value (STATS-014); a NaN bound is no bound (STATS-016).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.core.columns import bools, int64s, strings
from explorer.core.partition_values import parse_partition_value
from explorer.core.schema import DataType, PrimitiveType, StructType, format_column, to_arrow, type_name, walk

__all__ = [
    "StatisticsColumn",
    "column_ranges",
    "coverage",
    "parse_statistics",
    "statistics_columns",
    "statistics_table",
]

Parsed = Sequence[dict[str, Any] | None]


class StatisticsColumn(msgspec.Struct, frozen=True):
    """A leaf column that may have statistics: its logical and physical paths, and its type."""

    path: tuple[str, ...]
    physical: tuple[str, ...]
    type: PrimitiveType
    partition: bool

    @property
    def name(self) -> str:
        """The dotted logical name."""
        return format_column(self.path)


_DECODER: Final = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


def statistics_columns(
    schema: StructType, physical: dict[tuple[str, ...], tuple[str, ...]], partition_columns: Sequence[str]
) -> tuple[StatisticsColumn, ...]:
    """The leaf columns in schema order; what lies inside arrays and maps has no statistics."""
    return tuple(
        StatisticsColumn(path, physical[path], field.type, len(path) == 1 and path[0] in partition_columns)
        for path, field in walk(schema)
        if isinstance(field.type, PrimitiveType) and _in_structs(schema, path)
    )


def parse_statistics(files: pa.Table) -> Parsed:
    """Decode the ``stats`` column; a file without statistics, or with unreadable ones, is None."""
    return [None if text is None else _decode(text) for text in files.column("stats").to_pylist()]


def column_ranges(files: pa.Table, parsed: Parsed, column: StatisticsColumn) -> pa.Table:
    """Bounds of one column in every file.

    Returns:
        One row a file: path, min, max (in the column's type, null where unknown), null_count, num_records (physical
        rows), tight (null without statistics).
    """
    rows = _partition_bounds(files, column) if column.partition else [_bounds(stats, column) for stats in parsed]
    kind = to_arrow(column.type)
    tight = [True if column.partition else _tight(stats) for stats in parsed]
    return pa.table(
        {
            "path": files.column("path"),
            "min": pa.array([row[0] for row in rows], kind),
            "max": pa.array([row[1] for row in rows], kind),
            "null_count": int64s([row[2] for row in rows]),
            "num_records": files.column("num_records"),
            "tight": bools(tight),
        }
    )


def coverage(files: pa.Table, parsed: Parsed, columns: Sequence[StatisticsColumn]) -> pa.Table:
    """How many files have bounds for each column: column, type, files (with bounds), files_total, tight (of those)."""
    counts = []
    for column in columns:
        ranges = column_ranges(files, parsed, column)
        known = [
            bool(tight)
            for low, nulls, records, tight in zip(
                ranges.column("min").to_pylist(),
                ranges.column("null_count").to_pylist(),
                ranges.column("num_records").to_pylist(),
                ranges.column("tight").to_pylist(),
                strict=True,
            )
            if low is not None or (nulls is not None and nulls == records)
        ]
        counts.append((column, len(known), sum(known)))
    return pa.table(
        {
            "column": strings([column.name for column, _, _ in counts]),
            "type": strings([type_name(column.type) for column, _, _ in counts]),
            "files": int64s([known for _, known, _ in counts]),
            "files_total": int64s([files.num_rows] * len(counts)),
            "tight": int64s([tight for _, _, tight in counts]),
        }
    )


def statistics_table(files: pa.Table, parsed: Parsed, columns: Sequence[StatisticsColumn]) -> pa.Table:
    """Bounds of several columns, one row a file and column.

    Returns:
        path, column, min, max, null_count, num_records, tight. min and max have the columns' type if all share one,
        else a dense union of their types.
    """
    tables = [column_ranges(files, parsed, column) for column in columns]
    names = strings([column.name for column in columns for _ in range(files.num_rows)])
    stacked = {
        name: pa.concat_arrays([chunk for table in tables for chunk in table.column(name).chunks])
        if tables and files.num_rows
        else pa.nulls(0, kind)
        for name, kind in (
            ("path", pa.string()),
            ("null_count", pa.int64()),
            ("num_records", pa.int64()),
            ("tight", pa.bool_()),
        )
    }
    return pa.table(
        {
            "path": stacked["path"],
            "column": names,
            "min": _stack([table.column("min").combine_chunks() for table in tables]),
            "max": _stack([table.column("max").combine_chunks() for table in tables]),
            "null_count": stacked["null_count"],
            "num_records": stacked["num_records"],
            "tight": stacked["tight"],
        }
    )


def _stack(parts: list[Any]) -> pa.Array:
    arrays = [part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part for part in parts]
    kinds = list(dict.fromkeys(array.type for array in arrays))
    if not arrays:
        return pa.nulls(0)
    if len(kinds) == 1:
        return pa.concat_arrays(arrays)
    codes = [kinds.index(array.type) for array in arrays for _ in range(len(array))]
    seen = [0] * len(kinds)
    offsets = []
    for code in codes:
        offsets.append(seen[code])
        seen[code] += 1
    children = [pa.concat_arrays([array for array in arrays if array.type == kind]) for kind in kinds]
    return pa.UnionArray.from_dense(
        pa.array(codes, pa.int8()), pa.array(offsets, pa.int32()), children, [str(kind) for kind in kinds]
    )


def _in_structs(schema: StructType, path: tuple[str, ...]) -> bool:
    kind: DataType = schema
    for part in path:
        if not isinstance(kind, StructType):
            return False
        field = next((field for field in kind.fields if field.name == part), None)
        if field is None:
            return False
        kind = field.type
    return True


def _decode(text: str) -> dict[str, Any] | None:
    try:
        return _DECODER.decode(text)
    except msgspec.DecodeError:
        return None


def _tight(stats: dict[str, Any] | None) -> bool | None:
    return None if stats is None else stats.get("tightBounds") is not False


def _bounds(stats: dict[str, Any] | None, column: StatisticsColumn) -> tuple[Any, Any, int | None]:
    if stats is None:
        return None, None, None
    low = _typed(_at(stats.get("minValues"), column.physical), column.type)
    high = _typed(_at(stats.get("maxValues"), column.physical), column.type)
    nulls = _at(stats.get("nullCount", stats.get("nullCounts")), column.physical)
    return low, high, nulls if isinstance(nulls, int) else None


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def _partition_bounds(files: pa.Table, column: StatisticsColumn) -> Iterator[tuple[Any, Any, int | None]] | Any:
    (name,) = column.physical
    rows = []
    values = files.column("partition_values").to_pylist(maps_as_pydicts="strict")
    for row, records in zip(values, files.column("num_records").to_pylist(), strict=True):
        value = parse_partition_value((row or {}).get(name), column.type, column.name)
        rows.append((value, value, records if value is None else 0))
    return rows


def _typed(value: Any, kind: PrimitiveType) -> Any:
    """A bound of the log as a Python value of its type; None for what does not fit, which means unknown."""
    if value is None:
        return None
    try:
        return _convert(value, kind)
    except (ValueError, TypeError, ArithmeticError):
        return None


def _convert(value: Any, kind: PrimitiveType) -> Any:
    match kind.name:
        case "byte" | "short" | "integer" | "long":
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case "float" | "double":
            number = float(value)
            return None if math.isnan(number) else number
        case "decimal":
            exact = Decimal(value).quantize(Decimal(1).scaleb(-kind.scale))
            return exact if len(exact.as_tuple().digits) <= kind.precision else None
        case "string":
            return value if isinstance(value, str) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return date.fromisoformat(value[:10])
        case "timestamp":
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        case "timestamp_ntz":
            return datetime.fromisoformat(value).replace(tzinfo=None)
    return None
