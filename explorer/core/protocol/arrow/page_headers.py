"""Headers of the pages of a Parquet column chunk, read without decompressing a page.

Format: Apache Parquet's PageHeader in Thrift's compact protocol. Invariants: a header takes no more memory than its
bytes, however it is made; the numbers of a header are those that Arrow allocates by, so they are used as an upper
bound and checked against nothing else; a page that Arrow skips has no values, whatever its header records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from explorer.core.protocol.arrow.thrift import INTEGER, STRUCT, Fields, read_struct

# The bytes read for a header at first; few have statistics that need more.
_FIRST: Final = 1 << 8
# Arrow reads no longer header.
_LONGEST: Final = 1 << 24
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3


@dataclass(frozen=True)
class PageHeader:
    """The header of a page.

    Attributes:
        is_dictionary: Whether it is the dictionary page.
        start: Where its content begins, in bytes from the start of the file.
        stored: The content's bytes as stored.
        decoded: The content's bytes after decompression.
        values: Its values, nulls included.
        encoding: The number of the encoding of its values.
    """

    is_dictionary: bool
    start: int
    stored: int
    decoded: int
    values: int
    encoding: int


def page_headers(read: Callable[[int, int], bytes], start: int, length: int, values: int) -> Iterator[PageHeader]:
    """Read the headers of the pages that Arrow would read of a column chunk: until they have all its values.

    It ends at a damaged header: Arrow reads no further, and raises when it gets there.

    Args:
        read: Returns bytes of the file, by their number and their offset; fewer at the file's end.
        start: Where the chunk begins, in bytes from the start of the file.
        length: The chunk's bytes.
    """
    position, end = start, start + length
    while values > 0 and position < end:
        header = _header_at(read, position, end)
        if header is None:
            return
        position = header.start + header.stored
        if not header.is_dictionary:
            values -= header.values
        yield header


def _header_at(read: Callable[[int, int], bytes], position: int, end: int) -> PageHeader | None:
    size = _FIRST
    while True:
        data = read(min(size, end - position), position)
        try:
            fields, length = read_struct(data, 0)
        except IndexError:
            if len(data) < size or size >= _LONGEST:
                return None
            size *= 8
        except ValueError:
            return None
        else:
            return _page(fields, position + length)


def _page(fields: Fields, start: int) -> PageHeader | None:
    kind, decoded, stored = (_number(fields, number) for number in (1, 2, 3))
    details = fields.get((_DETAILS[kind], STRUCT), {}) if kind in _DETAILS else {}
    values, encoding = 0, 0
    if isinstance(details, dict) and details:
        values, encoding = _number(details, 1), _number(details, 4 if kind == _DATA_V2 else 2)
    if min(kind, decoded, stored, values) < 0:
        return None
    return PageHeader(kind == _DICTIONARY, start, stored, max(decoded, stored), values, encoding)


_DETAILS: Final = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}


def _number(fields: Fields, number: int) -> int:
    value = fields.get((number, INTEGER), -1)
    return value if isinstance(value, int) else -1
