"""How many bytes a column chunk of a Parquet file becomes in memory, found before Arrow decodes it.

Format: Apache Parquet's encodings. A page may become far more than its bytes: indices repeat long values of a
dictionary, lengths of prefixes repeat the value before, runs repeat levels. Invariants: `chunk_size` is never less than
what Arrow allocates for the chunk, and no page but that of a dictionary is decompressed for it; `counted_size` is what
the values take, and needs little memory to count them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s, validity
from explorer.core.protocol.arrow.page_headers import PageHeader, page_headers

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["Chunk", "ChunkSize", "chunk_of", "chunk_size", "counted_size", "element_count"]

_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8}
_OFFSET: Final = 4
_LENGTH: Final = struct.Struct("<I")
_LEVEL: Final = 2
_PREFIXES: Final = 7
_BY_DICTIONARY: Final = (2, 8)
# How many bytes behind a chunk Arrow reads too, as an old writer did not count the header of a dictionary.
_BEHIND: Final = 100
# Dictionaries that are larger than this are looked into where their pages have many values.
_SMALL: Final = 1 << 10
# How much is decoded at once where values are counted, in bytes.
_AT_ONCE: Final = 1 << 24
_MOST_ROWS: Final = 1 << 16


class Chunk(msgspec.Struct, frozen=True):
    """A column chunk, as the footer describes it.

    Attributes:
        path: Its column, dotted.
        start: Where it begins, in bytes from the start of the file.
        length: Its bytes as stored, and those behind that may belong to it.
        values: Its values, nulls included.
        codec: The name of its compression, as Arrow's footer says it.
        width: Bytes of a value; None for texts and bytes, whose length is their own.
        levels: How many levels Arrow keeps of each value.
    """

    path: str
    start: int
    length: int
    values: int
    codec: str
    width: int | None
    levels: int


class ChunkSize(msgspec.Struct, frozen=True):
    """What a chunk takes in memory, in bytes.

    Attributes:
        most: No less than that.
        exact: Whether counting the values would find about the same.
        prefixed: The longest value that is possible where values repeat the beginning of those before; 0 elsewhere.
    """

    most: int
    exact: bool
    prefixed: int


def chunk_of(described: pq.ColumnChunkMetaData, column: pq.ColumnSchema, size: int) -> Chunk:
    """A column chunk of a file of a size in bytes.

    Raises:
        ValueError: The footer says that the chunk lies elsewhere than in the file.
    """
    start, first = described.data_page_offset, described.dictionary_page_offset
    if described.has_dictionary_page and first is not None and 0 < first < start:
        start = first
    length, values = described.total_compressed_size, described.num_values
    if start < 0 or length < 0 or start + length > size or values < 0:
        raise ValueError(f"the column {described.path_in_schema} is not where the footer says")
    kind = described.physical_type
    width = column.length if kind == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(kind)
    levels = (column.max_definition_level > 0) + (column.max_repetition_level > 0)
    length = min(length + _BEHIND, size - start)
    return Chunk(described.path_in_schema, start, length, values, described.compression, width, levels)


def chunk_size(chunk: Chunk, read: Callable[[int, int], bytes], allowed: int) -> ChunkSize:
    """How many bytes a chunk takes at most.

    Args:
        chunk: The chunk.
        read: Returns bytes of the file, by their number and their place; fewer at the file's end.
        allowed: How many bytes it may take; a dictionary that is larger is not looked into.

    Raises:
        ValueError: The header of a page is damaged.
    """
    pages = list(page_headers(read, chunk.start, chunk.length, chunk.values))
    of_values = [page for page in pages if not page.is_dictionary]
    values = sum(page.values for page in of_values)
    around = max((page.decoded for page in pages), default=0) + values * chunk.levels * _LEVEL
    if chunk.width is not None:
        return ChunkSize(around + values * chunk.width, True, 0)
    indexed = sum(page.values for page in of_values if page.encoding in _BY_DICTIONARY)
    prefixed = [page for page in of_values if page.encoding == _PREFIXES]
    plain = sum(page.decoded for page in of_values if page.encoding not in _BY_DICTIONARY)
    dictionaries = [page for page in pages if page.is_dictionary]
    longest = _longest(chunk, dictionaries, indexed, read, allowed)
    repeated = sum(page.values * page.decoded for page in prefixed)
    most = around + values * _OFFSET + plain + indexed * longest + repeated + sum(page.decoded for page in dictionaries)
    return ChunkSize(most, not indexed and not prefixed, max((page.decoded for page in prefixed), default=0))


def counted_size(
    chunk: Chunk, size: ChunkSize, group: int, read_dictionary: Callable[[Sequence[str]], pq.ParquetFile], allowed: int
) -> int:
    """How many bytes the values of a chunk take, counted a few at a time; more than allowed as soon as that is sure.

    Args:
        chunk: The chunk.
        size: What it takes at most.
        group: The row group that it is of.
        read_dictionary: Opens a reader of the file that leaves some columns as indices of a dictionary.
        allowed: How many bytes it may take.
    """
    reader = read_dictionary([] if size.prefixed else [chunk.path])
    rows = max(1, min(_MOST_ROWS, _AT_ONCE // size.prefixed)) if size.prefixed else _MOST_ROWS
    found = chunk.values * chunk.levels * _LEVEL
    for batch in reader.iter_batches(rows, row_groups=[group], columns=[chunk.path], use_threads=False):
        found += sum(_bytes_of(column) for column in batch.columns)
        if found > allowed:
            break
    return found


def element_count(array: pa.Array) -> int:
    """How many values an array has, those in structs, lists and maps each by itself."""
    kind = array.type
    if pa.types.is_struct(kind):
        return sum(map(element_count, array.flatten()))
    if pa.types.is_map(kind):
        return element_count(array.keys) + element_count(array.items)
    if pa.types.is_list(kind):
        return element_count(array.flatten())
    return len(array)


def _longest(
    chunk: Chunk, pages: Sequence[PageHeader], indexed: int, read: Callable[[int, int], bytes], allowed: int
) -> int:
    """The longest value of the dictionaries of a chunk, or no less."""
    found = 0
    for page in pages:
        codec = chunk.codec.lower()
        known = codec == "uncompressed" or (codec != "lz4" and pa.Codec.is_available(codec))
        if not indexed or page.decoded <= _SMALL or page.decoded > allowed or not known:
            found = max(found, page.decoded)
            continue
        data = read(page.stored, page.start)
        plain = data if codec == "uncompressed" else pa.decompress(data, page.decoded, codec, asbytes=True)
        found = max(found, _longest_of(plain))
    return found


def _longest_of(plain: bytes) -> int:
    """The longest of plainly encoded texts: each with four bytes before it that say its length."""
    at, longest, end = 0, 0, len(plain) - _OFFSET
    read = _LENGTH.unpack_from
    while at <= end:
        (length,) = read(plain, at)
        if length > longest:  # noqa: PLR1730 - a call takes longer than the rest of the loop
            longest = length
        at += _OFFSET + length
    return min(longest, len(plain))


def _bytes_of(array: pa.Array) -> int:
    """The bytes of an array, with each value of a dictionary as often as it is there."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        indices, lengths = array.indices, _lengths(array.dictionary)
        places = np.frombuffer(indices.buffers()[1], np.int32)[indices.offset : indices.offset + len(indices)]
        return int(lengths[places[validity(indices)]].sum()) + len(array) * _OFFSET
    if pa.types.is_struct(kind):
        return sum(map(_bytes_of, array.flatten()))
    if pa.types.is_map(kind):
        return _bytes_of(array.keys) + _bytes_of(array.items)
    if pa.types.is_list(kind):
        return _bytes_of(array.flatten())
    return int(array.nbytes)


def _lengths(texts: pa.Array) -> Int64s:
    """The length of each text of a dictionary, in bytes; without Arrow's functions, whose import takes time."""
    width = np.int64 if pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type) else np.int32
    offsets = np.frombuffer(texts.buffers()[1], width)[texts.offset : texts.offset + len(texts) + 1]
    return np.diff(offsets).astype(np.int64)
