"""Bitmaps in the layout that was written before the portable one: sizes that do not fit what is there are refused."""

from __future__ import annotations

import struct

import pytest
from pyroaring import BitMap

from explorer.core.errors import CorruptDeletionVector
from explorer.core.protocol.actions import DeletionVectorId
from explorer.core.protocol.deletion_vectors import LEGACY_MAGIC, decode_bitmap

VECTOR = DeletionVectorId("i", "x", None)


def _legacy(*parts: BitMap, excess: int = 0) -> bytes:
    """A bitmap of these low words, whose last part says that it is larger than it is."""
    texts = [part.serialize() for part in parts]
    sizes = [len(text) for text in texts]
    sizes[-1] += excess
    content = b"".join(struct.pack("<I", size) + text for size, text in zip(sizes, texts, strict=True))
    return struct.pack("<iI", LEGACY_MAGIC, len(parts)) + content


def test_the_rows_of_each_part_are_above_those_of_the_part_before() -> None:
    found = decode_bitmap(_legacy(BitMap([1, 5]), BitMap(), BitMap([2])), VECTOR)
    assert found.tolist() == [1, 5, (2 << 32) + 2]


@pytest.mark.parametrize("excess", [1, 4, 8, 9, 1 << 31])
def test_a_part_that_says_it_is_larger_than_what_is_left_is_refused(excess: int) -> None:
    with pytest.raises(CorruptDeletionVector, match="a part reaches beyond the end"):
        decode_bitmap(_legacy(BitMap([1, 5]), BitMap([2]), excess=excess), VECTOR)
