"""Headers of the pages of a Parquet column chunk, read without decompressing a page.

Format: Apache Parquet's PageHeader in Thrift's compact protocol. Invariants: a header takes no more memory than its
bytes, however it is made; what a header states about its page is what Arrow allocates by, so it is believed as an upper
bound and checked against nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

__all__ = ["PageHeader", "page_headers"]

# How much is read for a header at first; few have statistics that need more.
_FIRST: Final = 1 << 8
# Arrow reads no longer header.
_LONGEST: Final = 1 << 24
_DEEPEST: Final = 8
_BOOLEANS: Final = (1, 2)
_BYTE, _INTEGERS, _DOUBLE, _BINARY, _STRUCT = 3, (4, 5, 6), 7, 8, 12
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3

Fields = dict[int, "int | Fields"]


class PageHeader(msgspec.Struct, frozen=True, gc=False):
    """What a page states about itself.

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

    Args:
        read: Returns bytes of the file, by their number and their place; fewer at the file's end.
        start: Where the chunk begins, in bytes from the start of the file.
        length: The chunk's bytes.
        values: How many values the chunk has.

    Raises:
        ValueError: A header is damaged.
    """
    position, end = start, start + length
    while values > 0 and position < end:
        header, position = _header_at(read, position, end)
        position = header.start + header.stored
        if not header.is_dictionary:
            values -= header.values
        yield header


def _header_at(read: Callable[[int, int], bytes], position: int, end: int) -> tuple[PageHeader, int]:
    size = _FIRST
    while True:
        data = read(min(size, end - position), position)
        try:
            fields, length = _struct(data, 0, 0)
        except IndexError:
            if len(data) < size or size >= _LONGEST:
                raise ValueError(f"the header of a page at byte {position:,} is damaged") from None
            size *= 8
        else:
            return _page(fields, position, length), position


def _page(fields: Fields, position: int, length: int) -> PageHeader:
    kind, decoded, stored = (fields.get(number) for number in (1, 2, 3))
    details = fields.get(_DETAILS.get(kind, 0)) if isinstance(kind, int) else None
    values, encoding = 0, 0
    if isinstance(details, dict):
        values, encoding = _number(details, 1), _number(details, 4 if kind == _DATA_V2 else 2)
    if not isinstance(decoded, int) or not isinstance(stored, int) or min(decoded, stored, values) < 0:
        raise ValueError(f"the header of a page at byte {position:,} is damaged")
    return PageHeader(kind == _DICTIONARY, position + length, stored, max(decoded, stored), values, encoding)


_DETAILS: Final = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}


def _number(fields: Fields, number: int) -> int:
    found = fields.get(number, 0)
    return found if isinstance(found, int) else -1


def _struct(data: bytes, at: int, depth: int) -> tuple[Fields, int]:
    """The numbers and structs of a struct by their field ids, and the place after it; IndexError if it is cut off."""
    if depth > _DEEPEST:
        raise ValueError("the header of a page is nested too deeply")
    fields: Fields = {}
    number = 0
    while (head := data[at]) != 0:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _integer(data, at)
        value, at = _value(data, at, head & 15, depth)
        if value is not None:
            fields[number] = value
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[int | Fields | None, int]:
    """A number or a struct, or None for anything else, and the place after it."""
    if kind in _INTEGERS:
        return _integer(data, at)
    if kind in _BOOLEANS:
        return None, at
    if kind == _BYTE:
        return None, at + 1
    if kind == _DOUBLE:
        return None, at + 8
    if kind == _BINARY:
        length, at = _varint(data, at)
        if at + length > len(data):
            raise IndexError
        return None, at + length
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)
    raise ValueError("the header of a page has a field that no page has")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("the header of a page has a number that is too long")


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
