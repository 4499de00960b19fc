"""The memory that a Parquet footer takes when Arrow decodes it, counted without decoding it.

Format: Apache Parquet's FileMetaData in Thrift's compact protocol. Invariants: a list counts with the items that it
claims, as Arrow makes room for these before it reads the first; a footer that cannot be walked counts with the part
before, which is all that Arrow makes room for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from explorer.core.protocol.arrow.thrift import LISTS, STRUCT, after_value, list_head, signed, varint

# Bytes that Arrow takes for each byte of lists of numbers, half of what is possible: such a footer has no room for
# structs.
_PLAIN: Final = 4
# Bytes that Arrow takes for one, as measured, or more: a column of the schema, a row group, a key with a value, a
# column chunk. Row groups and keys cost more time than memory.
_SCHEMA, _GROUP, _PAIR, _CHUNK = 250, 400, 400, 720
_ROW_GROUPS, _COLUMNS = 4, 1
_ITEMS: Final = {2: _SCHEMA, _ROW_GROUPS: _GROUP, 5: _PAIR}
# A field that is a list and claims at least 16,384 items; Arrow does not check their type.
_LONG_LIST: Final = re.compile(
    rb"(?:[\x19\x29\x39\x49\x59\x69\x79\x89\x99\xa9\xb9\xc9\xd9\xe9\xf9]|\x09.{1,10})[\xf0-\xff][\x80-\xff]{2}",
    re.DOTALL,
)
_NO_VALUE: Final = (1, 2)


def footer_size(footer: bytes, allowed: int) -> int:
    """Return the bytes of a footer in memory, or more.

    Args:
        footer: The footer, without its length and the mark at the end.
        allowed: The bytes that it may take; more than that may be counted in part.
    """
    plain = len(footer) * _PLAIN
    # Every struct ends with a zero, so that there are no more of them than zeros.
    most = plain + footer.count(0) * _CHUNK
    if most <= allowed and not _LONG_LIST.search(footer):
        return most
    total = plain
    with suppress(IndexError, ValueError):
        for size in _sizes(_Walk(footer)):
            total += size
            if total > allowed:
                break
    return total


class _Walk:
    """A position in a footer that moves on.

    Raises:
        IndexError, ValueError: Later: the footer is damaged from that position on.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def fields(self) -> Iterator[int]:
        """Yield the numbers of the fields of a struct, with the position at each value; unread values are skipped."""
        number = 0
        while (head := self._data[self.at]) != 0:
            kind, self.at = head & 15, self.at + 1
            if head >> 4:
                number += head >> 4
            else:
                value, self.at = varint(self._data, self.at)
                number = signed(value)
            start = self.at
            yield number if kind in LISTS else 0
            if self.at == start and kind not in _NO_VALUE:
                self.at = after_value(self._data, start, kind)
        self.at += 1

    def items(self) -> int:
        """Return the number of items that the list here claims; the position is then at the first."""
        count, _, self.at = list_head(self._data, self.at)
        return count

    def skip_structs(self, count: int) -> None:
        """Move past ``count`` structs."""
        for _ in range(count):
            self.at = after_value(self._data, self.at, STRUCT)


def _sizes(walk: _Walk) -> Iterator[int]:
    """Yield the memory of lists of structs: the schema, the row groups and their columns, and the metadata."""
    for number in walk.fields():
        if number not in _ITEMS:
            continue
        count = walk.items()
        yield count * _ITEMS[number]
        if number != _ROW_GROUPS:
            walk.skip_structs(count)
            continue
        for _ in range(count):
            yield from _column_sizes(walk)


def _column_sizes(walk: _Walk) -> Iterator[int]:
    """Yield the same of the columns of a row group."""
    for number in walk.fields():
        if number == _COLUMNS:
            count = walk.items()
            yield count * _CHUNK
            walk.skip_structs(count)
