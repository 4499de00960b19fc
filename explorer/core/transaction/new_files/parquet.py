"""What a table asks of its Parquet files: which fields they hold, and how they are compressed.

Protocol sections: Data Files, Schema Serialization Format. Invariants: partition columns are not stored; a ``void``
column is stored nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.arrow.open_parquet import read_footer
from explorer.core.protocol.file_locations import place_of
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

__all__ = ["compression_codec", "count_rows", "stored_fields"]

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


def count_rows(store: LogStore, location: str) -> int:
    """Count the physical rows of a data file by its footer.

    Args:
        store: The table's store.
        location: Decoded, relative to the table's root or absolute.

    Raises:
        FileNotFoundError: There is no such file.
    """
    holder, key = place_of(store, location)
    with holder.open_input(key) as source:
        rows: int = read_footer(source, location).num_rows
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
