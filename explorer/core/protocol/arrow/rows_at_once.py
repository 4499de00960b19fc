"""The number of rows of a row group of a Parquet file that may be decoded at once, computed before Arrow decodes one.

A data file may be larger than memory, and is read some rows at a time. Invariants: the memory of so many rows is never
counted as less than Arrow allocates for them; rows with repeated values, whose number is not in a page, are
counted as the full chunk. Spark's workers get this module by value, as they get `chunk_sizes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from explorer.core.protocol.arrow.chunk_sizes import Chunk, is_indexed, is_prefixed, longest_value
from explorer.core.protocol.arrow.page_headers import PageHeader, page_headers

_OFFSET: Final = 4
_LEVEL: Final = 2


@dataclass(frozen=True)
class ChunkRows:
    """The memory of rows of a column chunk, in bytes.

    Attributes:
        around: That of any number of rows: the chunk as stored, a page, the dictionary.
        each: The maximum of one value, other than the texts of the pages.
        values: The values of the chunk, nulls included.
        is_repeated: Whether a row may have any number of them.
        texts: The values and the bytes of each page with texts one after the other.
    """

    around: int
    each: int
    values: int
    is_repeated: bool
    texts: tuple[tuple[int, int], ...]

    def size(self, rows: int) -> int:
        """Return the maximum bytes of so many rows in succession."""
        if self.is_repeated or rows >= self.values:
            return self.around + self.values * self.each + sum(size for _, size in self.texts)
        return self.around + rows * self.each + self._texts_of(rows)

    def _texts_of(self, rows: int) -> int:
        """Return the maximum bytes of the pages that so many rows in succession touch."""
        before = list(accumulate((values for values, _ in self.texts), initial=0))
        sizes = list(accumulate((size for _, size in self.texts), initial=0))
        most = first = 0
        for last in range(len(self.texts)):
            # The rows have all values of the pages between two that they touch.
            while first < last and before[last] - before[first + 1] > rows - 2:
                first += 1
            most = max(most, sizes[last + 1] - sizes[first])
        return most


def chunk_rows(chunk: Chunk, read: Callable[[int, int], bytes], allowed: int) -> ChunkRows:
    """Return the memory of rows of a chunk; see `chunk_sizes.chunk_size` for the arguments."""
    pages = list(page_headers(read, chunk.start, chunk.length, chunk.values))
    dictionaries = [page for page in pages if page.is_dictionary]
    of_values = [page for page in pages if not page.is_dictionary]
    around = chunk.length + max((page.decoded for page in pages), default=0)
    around += 2 * sum(page.decoded for page in dictionaries)
    levels = chunk.levels * _LEVEL
    each = levels + (_longest(chunk, of_values, dictionaries, read, allowed) if chunk.width is None else chunk.width)
    in_texts = [page for page in of_values if chunk.width is None and not is_indexed(page)]
    texts = tuple((page.values, page.decoded) for page in in_texts)
    return ChunkRows(around, each, sum(page.values for page in of_values), chunk.levels > 1, texts)


def rows_at_once(chunks: Sequence[ChunkRows], most: int, allowed: int) -> tuple[int, int]:
    """Return how many rows may be decoded at once, and their memory; if that is more than allowed, not even one may.

    Args:
        chunks: The columns that are decoded together.
        allowed: The bytes that they may take.
    """
    rows = most
    while (size := sum(chunk.size(rows) for chunk in chunks)) > allowed and rows > 1:
        rows //= 2
    return rows, size


def _longest(
    chunk: Chunk,
    pages: Sequence[PageHeader],
    dictionaries: Sequence[PageHeader],
    read: Callable[[int, int], bytes],
    allowed: int,
) -> int:
    """Return the maximum bytes of a text, apart from those that are in a page as they are."""
    indexed = sum(page.values for page in pages if is_indexed(page))
    prefixed = max((page.decoded for page in pages if is_prefixed(page)), default=0)
    repeated = longest_value(chunk, dictionaries, indexed, read, allowed) if indexed else 0
    return _OFFSET + max(repeated, prefixed)
