"""Rows -> the bytes of a Parquet data file under physical names.

Protocol sections: Data Files, Column Mapping (Writer Requirements for Column Mapping). Invariants: columns are stored
under their physical names, with their field ids where the schema has them (CM-007); partition columns are not stored;
a ``void`` column is stored nowhere; timestamps are 64-bit microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.arrow.arrow_types import physical_arrow_schema, to_arrow
from explorer.core.protocol.file_paths import is_absolute
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)
from explorer.core.protocol.table_properties.registry import COMPRESSION_CODEC

__all__ = ["compression_codec", "count_rows", "encode_rows", "physical_column", "physical_rows", "stored_fields"]


_CODECS: Final = {
    "snappy": "snappy",
    "zstd": "zstd",
    "gzip": "gzip",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "brotli": "brotli",
    "none": "none",
    "uncompressed": "none",
}
_VARIANT: Final = to_arrow(PrimitiveType("variant"))


def stored_fields(schema: StructType, partition_columns: Sequence[str]) -> tuple[StructField, ...]:
    """The fields that data files hold.

    Raises:
        InvalidIntent: A ``void`` column is where it cannot be left out (SCHEMA-015), or nothing is left to store.
    """
    folders = frozenset(partition_columns)
    stored = tuple(field for field in schema.fields if field.name not in folders and field.type != VOID)
    for field in stored:
        _check_void(field.type, field.name)
    if not stored:
        raise InvalidIntent("Every column of the table is void or a partition column: there is nothing to store.")
    return stored


def compression_codec(configuration: Mapping[str, str]) -> str:
    """The codec of new files (SCHEMA-020), as Parquet names it in lower case; snappy if the table asks for none.

    Raises:
        InvalidIntent: The table asks for one that this program does not write.
    """
    text = configuration.get(COMPRESSION_CODEC.key, "snappy")
    codec = _CODECS.get(text.strip().lower())
    if codec is None:
        raise InvalidIntent(
            f"The table wants files compressed with {text!r}; this program writes {', '.join(_CODECS)}. Change the "
            f"property {COMPRESSION_CODEC}.",
            field=COMPRESSION_CODEC.key,
            allowed=list(_CODECS),
        )
    return codec


def physical_rows(rows: pa.Table, fields: Sequence[StructField], extra: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """Rename logical rows to physical names, at every depth.

    Args:
        rows: A column for each field, by logical name, of its type.
        fields: What the file holds, in order; see `stored_fields`.
        extra: Further columns by physical name, such as materialised row ids.
    """
    schema = physical_arrow_schema(fields)
    columns = [
        physical_column(rows.column(field.name).combine_chunks(), target.type)
        for field, target in zip(fields, schema, strict=True)
    ]
    extras = [pa.field(name, column.type) for name, column in extra.items()]
    return pa.Table.from_arrays([*columns, *extra.values()], schema=pa.schema([*schema, *extras]))


def encode_rows(rows: pa.Table, codec: str = "snappy") -> bytes:
    """Return the bytes of a Parquet file; ``codec`` as `compression_codec` gives it."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression=codec, store_schema=False, coerce_timestamps="us")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def count_rows(store: LogStore, location: str) -> int:
    """Count the physical rows of a data file by its footer.

    Args:
        store: The table's store.
        location: Decoded, relative to the table's root or absolute.

    Raises:
        FileNotFoundError: There is no such file.
    """
    import pyarrow.parquet as pq

    holder, key = store.elsewhere(location) if is_absolute(location) else (store, location)
    with holder.open_input(key) as source:
        rows: int = pq.ParquetFile(source).metadata.num_rows
    return rows


def _check_void(kind: DataType, column: str) -> None:
    """Refuse void inside arrays and maps, and structs of void members only."""
    match kind:
        case StructType():
            if all(field.type == VOID for field in kind.fields):
                raise _void(column, "it has no other members")
            for field in kind.fields:
                _check_void(field.type, f"{column}.{field.name}")
        case ArrayType(element_type=inner) | MapType(value_type=inner):
            if inner == VOID:
                raise _void(column, "its values are void")
            _check_void(inner, column)
        case PrimitiveType():
            return


def _void(column: str, why: str) -> InvalidIntent:
    return InvalidIntent(f"The column {column} cannot be stored: {why}. Give it a type first.", column=column)


def physical_column(column: Any, target: pa.DataType) -> Any:
    """Give an array the names of a type of the same shape; members that the target lacks are left out.

    It is sent to Spark's workers by value, so it needs nothing but PyArrow.
    """
    if target == _VARIANT:
        # Writers disagree on which of the two comes first.
        import pyarrow.compute as pc

        # The halves of a null variant are null in Spark's batches, and no half may be in a file.
        parts = [pc.fill_null(column.field(half), b"") for half in ("metadata", "value")]
        return pa.StructArray.from_arrays(parts, fields=list(target), mask=_mask(column))
    if pa.types.is_struct(target):
        parts = column.flatten()
        if len(parts) != target.num_fields:
            kept = [place for place, part in enumerate(parts) if not pa.types.is_null(part.type)]
            parts = [parts[place] for place in kept]
        renamed = [physical_column(part, field.type) for part, field in zip(parts, target, strict=True)]
        return pa.StructArray.from_arrays(renamed, fields=list(target), mask=_mask(column))
    if pa.types.is_list(target):
        values = physical_column(column.flatten(), target.value_type)
        return pa.ListArray.from_arrays(_offsets(column), values, type=target, mask=_mask(column))
    if pa.types.is_map(target):
        plain = _compact(column)
        keys, items = physical_column(plain.keys, target.key_type), physical_column(plain.items, target.item_type)
        return pa.MapArray.from_arrays(plain.offsets, keys, items, type=target, mask=_mask(plain))
    return column if column.type == target else column.cast(target)


def _offsets(column: Any) -> Any:
    """Offsets into `flatten`, which leaves out what null lists and other slices hold."""
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(column), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])


def _compact(column: Any) -> Any:
    """A map array whose entries begin where its keys and items do."""
    return pa.concat_arrays([column, column.slice(0, 0)]) if column.offset else column


def _mask(column: Any) -> Any:
    return column.is_null() if column.null_count else None
