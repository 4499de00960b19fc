"""Deletion vectors as bit sets: every masked row has its bit, and no other row has one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from explorer.spark.scan.masks import MASK_TYPE, mask_column, mask_words


def _set_rows(words: list[np.ndarray]) -> list[int]:
    """Row indexes whose bits are set, by the layout in the module's docstring."""
    return [
        (chunk << 16) + (word << 6) + bit
        for chunk, values in enumerate(words)
        for word, value in enumerate(values.tolist())
        for bit in range(64)
        if (value >> bit) & 1
    ]


@given(st.sets(st.integers(0, 300_000), max_size=200) | st.sets(st.integers(65_400, 65_700)))
def test_the_bits_are_the_masked_rows(masked: set[int]) -> None:
    rows = sorted(masked)
    assert rows == _set_rows(mask_words(np.array(rows, dtype=np.uint64)))


def test_chunks_without_masked_rows_are_empty_and_zero_words_at_the_end_are_left_out() -> None:
    words = mask_words(np.array([64, 200_000], dtype=np.uint64))
    assert [len(chunk) for chunk in words] == [2, 0, 0, 54]


def test_a_column_keeps_files_without_a_vector_apart_from_files_with_an_empty_one() -> None:
    column = mask_column([None, [], mask_words(np.array([3, 65_536], dtype=np.uint64)), None])
    assert column.type.equals(MASK_TYPE)
    assert column.to_pylist() == [None, [], [[8], [1]], None]
