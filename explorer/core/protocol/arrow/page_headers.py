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
# Arrow reads no longer header, and Thrift no deeper one.
_LONGEST: Final = 1 << 24
_DEEPEST: Final = 64
_TRUE, _FALSE, _INTEGER, _BINARY, _MAP, _STRUCT = 1, 2, 5, 8, 11, 12
_FIXED: Final = {3: 1, 7: 8, 13: 16}
_VARINTS: Final = (4, 5, 6)
_LISTS: Final = (9, 10)
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3

Fields = dict[tuple[int, int], "int | Fields"]
"""Integers of 32 bits and structs, by field id and type: Thrift skips a field that has another type than it should."""


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

    At a damaged header it ends: Arrow reads no further than that, and says what is wrong when it gets there.

    Args:
        read: Returns bytes of the file, by their number and their place; fewer at the file's end.
        start: Where the chunk begins, in bytes from the start of the file.
        length: The chunk's bytes.
        values: How many values the chunk has.
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
            fields, length = _struct(data, 0, 0)
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
    details = fields.get((_DETAILS.get(kind, 0), _STRUCT), {})
    values, encoding = 0, 0
    if isinstance(details, dict) and details:
        values, encoding = _number(details, 1), _number(details, 4 if kind == _DATA_V2 else 2)
    if min(kind, decoded, stored, values) < 0:
        return None
    return PageHeader(kind == _DICTIONARY, start, stored, max(decoded, stored), values, encoding)


_DETAILS: Final = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}


def _number(fields: Fields, number: int) -> int:
    found = fields.get((number, _INTEGER), -1)
    return found if isinstance(found, int) else -1


def _struct(data: bytes, at: int, depth: int) -> tuple[Fields, int]:
    """The fields of a struct, and the place after it.

    Raises:
        IndexError: It is cut off.
        ValueError: It is not a struct.
    """
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    fields: Fields = {}
    number = 0
    while (head := data[at]) != 0:
        at += 1
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            value, at = _varint(data, at)
            number = _signed(value)
        if kind == _INTEGER:
            value, at = _varint(data, at)
            fields[number, kind] = _signed(value)
        elif kind == _STRUCT:
            fields[number, kind], at = _struct(data, at, depth + 1)
        elif kind not in (_TRUE, _FALSE):
            at = _after(data, at, kind, depth)
    return fields, at + 1


def _after(data: bytes, at: int, kind: int, depth: int) -> int:
    """The place after a value; errors are those of `_struct`."""
    if kind in _VARINTS:
        return _varint(data, at)[1]
    if kind == _BINARY:
        length, at = _varint(data, at)
        at += length
    elif kind in _FIXED:
        at += _FIXED[kind]
    elif kind == _STRUCT:
        return _struct(data, at, depth + 1)[1]
    elif kind in _LISTS or kind == _MAP:
        return _after_items(data, at, kind, depth)
    else:
        raise ValueError("of no type")
    if at > len(data):
        raise IndexError
    return at


def _after_items(data: bytes, at: int, kind: int, depth: int) -> int:
    """The place after a list, a set or a map; errors are those of `_struct`."""
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if kind == _MAP:
        count, at = _varint(data, at)
        kinds: tuple[int, ...] = (data[at] >> 4, data[at] & 15) if count else ()
        at += 1 if count else 0
    else:
        count, kinds, at = data[at] >> 4, (data[at] & 15,), at + 1
        if count == 15:
            count, at = _varint(data, at)
    if count > len(data):
        raise IndexError
    for _ in range(count):
        for item in kinds:
            at = at + 1 if item in (_TRUE, _FALSE) else _after(data, at, item, depth + 1)
    return at


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
            raise ValueError("too long a number")


def _signed(value: int) -> int:
    """A number of 32 bits, as Thrift cuts it off."""
    number = (value >> 1) ^ -(value & 1)
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)
