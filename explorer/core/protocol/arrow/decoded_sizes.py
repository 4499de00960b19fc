"""The bytes of the values of a column chunk in memory, counted where an upper bound is too high.

Invariant: counting needs little memory, however many bytes are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s, validity
from explorer.core.protocol.arrow.chunk_sizes import Chunk, ChunkSize

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_OFFSET: Final = 4
_LEVEL: Final = 2
# Bytes decoded at once where values are counted.
_AT_ONCE: Final = 1 << 24
_MOST_ROWS: Final = 1 << 16


def counted_size(
    chunk: Chunk, size: ChunkSize, group: int, read_dictionary: Callable[[Sequence[str]], pq.ParquetFile], allowed: int
) -> int:
    """Count the bytes of the values of a chunk, a few at a time; stop as soon as they are more than allowed.

    Args:
        read_dictionary: Opens a reader of the file that leaves some columns as indices of a dictionary.
        allowed: The bytes that it may take.
    """
    reader = read_dictionary([] if size.prefixed else [chunk.path])
    rows = max(1, min(_MOST_ROWS, _AT_ONCE // size.prefixed)) if size.prefixed else _MOST_ROWS
    total = chunk.values * chunk.levels * _LEVEL
    for batch in reader.iter_batches(rows, row_groups=[group], columns=[chunk.path], use_threads=False):
        total += sum(_bytes_of(column) for column in batch.columns)
        if total > allowed:
            break
    return total


def element_count(array: pa.Array) -> int:
    """Return the number of values of an array, those in structs, lists and maps separately."""
    kind = array.type
    if pa.types.is_struct(kind):
        return sum(map(element_count, array.flatten()))
    if pa.types.is_map(kind):
        return element_count(array.keys) + element_count(array.items)
    if pa.types.is_list(kind):
        return element_count(array.flatten())
    return len(array)


def _bytes_of(array: pa.Array) -> int:
    """Return the bytes of an array, with each value of a dictionary as often as it is used."""
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
    """Return the length of each text of a dictionary, in bytes; without Arrow's functions, whose import takes time."""
    width = np.int64 if pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type) else np.int32
    offsets = np.frombuffer(texts.buffers()[1], width)[texts.offset : texts.offset + len(texts) + 1]
    return np.diff(offsets).astype(np.int64)
