"""The inside of a data file by its footer: row groups, and the bytes of each column, compressed and plain.

Format: Apache Parquet's footer. Invariants: a footer is measured before it is decoded, and no row is read; a footer
that cannot be read is an error that names the file, never an empty answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from explorer.core.errors import CorruptTable
from explorer.core.protocol.arrow.open_parquet import read_footer
from explorer.core.protocol.file_locations import place_of
from explorer.core.protocol.log_store import LogStore
from explorer.credentials import safe_path

if TYPE_CHECKING:
    import pyarrow.parquet as pq


class StoredColumn(msgspec.Struct, frozen=True):
    """A leaf column over all row groups of a file.

    Attributes:
        path: Its parts as the file spells them, which are physical names.
        compressed, plain: Bytes in the file, and of its decoded pages.
        codecs: How it is compressed.
    """

    path: tuple[str, ...]
    compressed: int
    plain: int
    codecs: tuple[str, ...]


class RowGroup(msgspec.Struct, frozen=True):
    """A row group: its rows, and its bytes, compressed and plain."""

    rows: int
    compressed: int
    plain: int


class FileContents(msgspec.Struct, frozen=True):
    """The inside of a data file.

    Attributes:
        size: Bytes of the file.
        footer: Of them, those of the footer.
        rows: Physical rows.
        writer: The library that wrote it, as it names itself.
        row_groups: In their order.
        columns: The largest first.
    """

    size: int
    footer: int
    rows: int
    writer: str
    row_groups: tuple[RowGroup, ...]
    columns: tuple[StoredColumn, ...]


def file_contents(
    store: LogStore, path: str, watch: Callable[[int, int], None] = lambda _done, _total: None
) -> FileContents:
    """Read the footer of a data file.

    Args:
        store: The table's store.
        path: The file's decoded path: relative to the table, or absolute.
        watch: Called with the row groups that are read, and all; what it raises ends the reading.

    Raises:
        CorruptTable: The file is not there, or is not a Parquet file.
        LimitExceeded: Its footer is too long.
        NotAllowed: Its path leads out of the locations that may be read.
        StorageError: The store failed.
    """
    holder, key = place_of(store, path)
    try:
        with holder.open_input(key) as source:
            return _contents(read_footer(source, path), int(source.size()), watch)
    except FileNotFoundError as error:
        raise _unread(path, "the file does not exist") from error
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _unread(path, str(error).split("\n", 1)[0].rstrip(".")) from error


def _unread(path: str, why: str) -> CorruptTable:
    shown = safe_path(path)
    return CorruptTable(
        f"The footer of {shown} cannot be read: {why}. Readers of this version fail at this file. Restore it from a "
        "backup, or restore a version without it.",
        path=shown,
    )


def _contents(metadata: pq.FileMetaData, size: int, watch: Callable[[int, int], None]) -> FileContents:
    width, groups = metadata.num_columns, metadata.num_row_groups
    paths = [tuple(metadata.schema.column(index).path.split(".")) for index in range(width)]
    compressed, plain = [0] * width, [0] * width
    codecs: list[dict[str, None]] = [{} for _ in paths]
    row_groups = []
    for number in range(groups):
        watch(number, groups)
        group = metadata.row_group(number)
        before = sum(compressed)
        for index in range(width):
            chunk = group.column(index)
            compressed[index] += chunk.total_compressed_size
            plain[index] += chunk.total_uncompressed_size
            codecs[index][chunk.compression.lower()] = None
        row_groups.append(RowGroup(group.num_rows, sum(compressed) - before, group.total_byte_size))
    columns = [
        StoredColumn(path, compressed[index], plain[index], tuple(codecs[index])) for index, path in enumerate(paths)
    ]
    columns.sort(key=lambda column: -column.compressed)
    return FileContents(
        size, metadata.serialized_size, metadata.num_rows, metadata.created_by or "", tuple(row_groups), tuple(columns)
    )
