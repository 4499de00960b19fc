"""Deletion vectors as bit sets that Spark can test without a Python worker.

Protocol section: Deletion Vectors. A file's masked rows become an array of chunks of 65,536 rows, each chunk an array
of 64-bit words without its trailing zeros: row ``r`` is bit ``r & 63`` of word ``(r & 65535) >> 6`` of chunk
``r >> 16``. Invariant: a row is masked if and only if its bit is set; a row beyond an array is not masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf

MASK_TYPE: Final = pa.list_(pa.list_(pa.int64()))
MaskWords: TypeAlias = list[npt.NDArray[np.int64]]
"""The mask of one file: for each chunk its words."""

_CHUNK_BITS: Final = 16
_CHUNK_ROWS: Final = 1 << _CHUNK_BITS


def mask_words(rows: npt.NDArray[np.uint64]) -> MaskWords:
    """Return chunks of 64-bit words for the masked rows of one file.

    Args:
        rows: Masked row indexes, sorted, from 0.

    Returns:
        One array of words for each chunk up to the last masked row; an empty one for a chunk without any.
    """
    if len(rows) == 0:
        return []
    indexes = rows.astype(np.int64)
    starts = np.arange(int(indexes[-1] >> _CHUNK_BITS) + 2, dtype=np.int64) << _CHUNK_BITS
    bounds = np.searchsorted(indexes, starts)
    return [_words(indexes[begin:end] & (_CHUNK_ROWS - 1)) for begin, end in pairwise(bounds)]


def mask_column(masks: Sequence[MaskWords | None]) -> pa.ListArray:
    """Return an Arrow column of `MASK_TYPE`, one value a file; None is null (no deletion vector)."""
    chunks = [chunk for mask in masks for chunk in (mask or [])]
    words = np.concatenate(chunks) if chunks else np.empty(0, np.int64)
    inner_offsets = np.cumsum([0, *map(len, chunks)], dtype=np.int64).astype(np.int32)
    inner = pa.ListArray.from_arrays(pa.array(inner_offsets), pa.array(words))
    outer_offsets = np.cumsum([0, *(len(mask or []) for mask in masks)], dtype=np.int64).astype(np.int32)
    absent = pa.array(np.array([mask is None for mask in masks], dtype=bool))
    return pa.ListArray.from_arrays(pa.array(outer_offsets), inner, mask=absent)


def is_masked(mask: Column, row_index: Column) -> Column:
    """Return whether the row's bit is set in its file's mask; never null."""
    chunk = sf.get(mask, sf.shiftright(row_index, _CHUNK_BITS).cast("int"))
    in_chunk = row_index.bitwiseAND(sf.lit(_CHUNK_ROWS - 1))
    word = sf.coalesce(sf.get(chunk, sf.shiftright(in_chunk, 6).cast("int")), sf.lit(0).cast("long"))
    return sf.getbit(word, row_index.bitwiseAND(sf.lit(63)).cast("int")) == sf.lit(1)


def _words(in_chunk: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if len(in_chunk) == 0:
        return np.empty(0, np.int64)
    bits = np.zeros(((int(in_chunk[-1]) >> 6) + 1) << 6, np.uint8)
    bits[in_chunk] = 1
    # Byte order is fixed: bit 0 of word 0 is row 0 on every machine.
    return np.packbits(bits, bitorder="little").view("<i8").astype(np.int64)
