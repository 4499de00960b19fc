"""Some rows of a column of a checkpoint: cut out where they follow each other and are many, copied where not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.log.checkpoint.parquet_part import _filtered
from explorer.core.protocol.arrow.arrays import strings


@given(st.lists(st.booleans(), max_size=12))
def test_the_rows_are_those_that_are_kept(keep: list[bool]) -> None:
    texts = [f"text {place}" for place in range(len(keep))]
    found = _filtered(strings(texts), np.array(keep, bool))
    assert found.to_pylist() == [text for text, kept in zip(texts, keep, strict=True) if kept]


@pytest.mark.parametrize(
    ("first", "count", "cut"),
    [(0, 10, True), (3, 5, True), (5, 5, True), (0, 4, False), (3, 4, False), (0, 0, False)],
)
def test_many_that_follow_each_other_share_the_memory_of_all(first: int, count: int, cut: bool) -> None:
    column = pa.array(range(10), pa.int64())
    keep = np.zeros(10, bool)
    keep[first : first + count] = True
    found = _filtered(column, keep)
    assert found.to_pylist() == list(range(first, first + count))
    assert (found.buffers()[1].address == column.buffers()[1].address) is cut


def test_many_with_a_gap_are_copied() -> None:
    keep = np.array([True] * 8 + [False, True])
    column = pa.array(range(10), pa.int64())
    found = _filtered(column, keep)
    assert found.to_pylist() == [*range(8), 9]
    assert found.buffers()[1].address != column.buffers()[1].address
