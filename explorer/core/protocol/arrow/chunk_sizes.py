"""The maximum bytes that a column chunk of a Parquet file needs in memory, computed before Arrow decodes it.

Format: Apache Parquet's encodings. A page may become far more than its bytes: indices repeat long values of a
dictionary, lengths of prefixes repeat the value before, runs repeat levels. Invariants: `chunk_size` is never less than
what Arrow allocates for the chunk, and no page but that of a dictionary is decompressed for it. Spark's workers get
this module by value, so that it imports nothing but PyArrow and neighbors that do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import unpack_from
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.core.protocol.arrow.page_headers import PageHeader, page_headers

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8}
# Bytes of a decimal in Arrow, twice as many where it has more digits than these; Parquet may store it in fewer.
_DECIMAL: Final = 16
_MOST_DIGITS: Final = 38
_OFFSET: Final = 4
_LEVEL: Final = 2
_PREFIXES: Final = 7
_BY_DICTIONARY: Final = (2, 8)
# Bytes after a chunk that Arrow reads too, as an old writer did not count the header of a dictionary.
_BEHIND: Final = 100
# Dictionaries that are larger than this are searched where their pages have many values.
_SMALL: Final = 1 << 10


@dataclass(frozen=True)
class Chunk:
    """A column chunk, by the footer.

    Attributes:
        path: Its column, dotted.
        start: Where it begins, in bytes from the start of the file.
        length: Its bytes as stored, and those after it that may belong to it.
        values: Its values, nulls included.
        codec: The name of its compression, by Arrow's footer.
        width: Bytes of a value; None for texts and bytes, whose length is their own.
        levels: The number of levels that Arrow stores of each value.
    """

    path: str
    start: int
    length: int
    values: int
    codec: str
    width: int | None
    levels: int


@dataclass(frozen=True)
class ChunkSize:
    """The memory of a chunk, in bytes.

    most: An upper bound.
    exact: Whether counting the values would give about the same.
    prefixed: The maximum length of a value where values repeat the beginning of those before; 0 for others.
    """

    most: int
    exact: bool
    prefixed: int


def chunk_of(described: pq.ColumnChunkMetaData, column: pq.ColumnSchema, size: int) -> Chunk:
    """Return a column chunk of a file of a size in bytes.

    Raises:
        ValueError: The footer puts the chunk outside of the file.
    """
    start, first = described.data_page_offset, described.dictionary_page_offset
    if described.has_dictionary_page and first is not None and 0 < first < start:
        start = first
    length, values = described.total_compressed_size, described.num_values
    if start < 0 or length < 0 or start + length > size or values < 0:
        raise ValueError(f"the column {described.path_in_schema} is not where the footer says")
    kind = described.physical_type
    width = column.length if kind == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(kind)
    if width is not None and column.precision > 0:
        width = max(width, _DECIMAL if column.precision <= _MOST_DIGITS else 2 * _DECIMAL)
    levels = (column.max_definition_level > 0) + (column.max_repetition_level > 0)
    length = min(length + _BEHIND, size - start)
    return Chunk(described.path_in_schema, start, length, values, described.compression, width, levels)


def chunk_size(chunk: Chunk, read: Callable[[int, int], bytes], allowed: int) -> ChunkSize:
    """Return the maximum memory of a chunk.

    Args:
        read: Returns bytes of the file, by their number and their offset; fewer at the file's end.
        allowed: The bytes that it may take; a larger dictionary is not searched.

    Raises:
        ValueError: The header of a page is damaged.
    """
    pages = list(page_headers(read, chunk.start, chunk.length, chunk.values))
    of_values = [page for page in pages if not page.is_dictionary]
    values = sum(page.values for page in of_values)
    around = max((page.decoded for page in pages), default=0) + values * chunk.levels * _LEVEL
    if chunk.width is not None:
        return ChunkSize(around + values * chunk.width, True, 0)
    indexed = sum(page.values for page in of_values if is_indexed(page))
    prefixed = [page for page in of_values if is_prefixed(page)]
    plain = sum(page.decoded for page in of_values if not is_indexed(page))
    dictionaries = [page for page in pages if page.is_dictionary]
    longest = longest_value(chunk, dictionaries, indexed, read, allowed)
    repeated = sum(page.values * page.decoded for page in prefixed)
    most = around + values * _OFFSET + plain + indexed * longest + repeated + sum(page.decoded for page in dictionaries)
    return ChunkSize(most, not indexed and not prefixed, max((page.decoded for page in prefixed), default=0))


def is_indexed(page: PageHeader) -> bool:
    """Return whether the values of a page are indices of a dictionary."""
    return page.encoding in _BY_DICTIONARY


def is_prefixed(page: PageHeader) -> bool:
    """Return whether the values of a page repeat the beginning of those before."""
    return page.encoding == _PREFIXES


def longest_value(
    chunk: Chunk, pages: Sequence[PageHeader], indexed: int, read: Callable[[int, int], bytes], allowed: int
) -> int:
    """Return the length of the longest value of the dictionaries of a chunk, or more.

    Args:
        indexed: The number of values that refer to them; without any, nothing is decompressed.
        read, allowed: As for `chunk_size`.
    """
    longest = 0
    for page in pages:
        codec = chunk.codec.lower()
        known = codec == "uncompressed" or (codec != "lz4" and pa.Codec.is_available(codec))
        if not indexed or page.decoded <= _SMALL or page.decoded > allowed or not known:
            longest = max(longest, page.decoded)
            continue
        data = read(page.stored, page.start)
        plain = data if codec == "uncompressed" else pa.decompress(data, page.decoded, codec, asbytes=True)
        longest = max(longest, _longest_of(plain))
    return longest


def _longest_of(plain: bytes) -> int:
    """Return the length of the longest of plainly encoded texts, each with its length in the four bytes before it."""
    at, longest, end = 0, 0, len(plain) - _OFFSET
    while at <= end:
        (length,) = unpack_from("<I", plain, at)
        if length > longest:  # noqa: PLR1730 - a call takes longer than the rest of the loop
            longest = length
        at += _OFFSET + length
    return min(longest, len(plain))
