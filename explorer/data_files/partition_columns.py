"""The partition columns of files as Arrow: typed values out of the log.

Protocol section: Partition Value Serialization. Invariant: every file has a value for every partition column, null
included; one that has none, or one that does not parse, is an error that names the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa

from explorer.core.errors import CorruptTable
from explorer.core.protocol.arrow.typed_arrays import typed_column
from explorer.core.protocol.partition_values import parse_partition_value, partition_key
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField
from explorer.data_files.column_sources import ColumnSources


def partition_columns(columns: ColumnSources, files: pa.Table) -> dict[str, Any]:
    """Return the typed partition values of files, by logical name, one for each row of ``files``.

    Args:
        columns: Which columns are partition columns.
        files: What the log records of each file: raw_path, partition_values.

    Raises:
        CorruptTable: A value is missing or does not parse.
    """
    if not columns.partitions:
        return {}
    maps = [dict(entries or ()) for entries in files.column("partition_values").to_pylist()]
    raw_paths = files.column("raw_path").to_pylist()
    return {field.name: _values(columns, field, maps, raw_paths) for field in columns.partitions}


def _values(
    columns: ColumnSources, field: StructField, maps: Sequence[dict[str, str | None]], raw_paths: Sequence[str]
) -> Any:
    typed, version = [], columns.version
    for values, raw_path in zip(maps, raw_paths, strict=True):
        key = partition_key(values, field.physical_name)
        if key is None:
            raise CorruptTable(
                f"The file {raw_path} of version {version} has no value for the partition column "
                f"{field.name!r}; the protocol requires one for every file, null included. Add the file again with "
                "its value, or restore the commit from a backup.",
                path=raw_path,
                version=version,
                column=field.name,
            )
        try:
            typed.append(parse_partition_value(values[key], field.type, field.name, columns.zone))
        except CorruptTable as error:
            raise CorruptTable(
                f"The file {raw_path} of version {version} cannot be read: {error.message}",
                path=raw_path,
                version=version,
                column=error.column,
                found=error.found,
                expected=error.expected,
            ) from error
    try:
        return typed_column(typed, cast(PrimitiveType, field.type))
    except (pa.ArrowInvalid, OverflowError, ValueError) as error:
        raise CorruptTable(
            f"A partition value of column {field.name!r} at version {version} does not fit its type: {error}.",
            column=field.name,
            version=version,
        ) from error
