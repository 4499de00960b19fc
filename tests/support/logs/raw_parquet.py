"""Parquet files of one required text column ``a``, put together page by page as no writer would."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

__all__ = ["data_page", "dictionary_page", "file_of_pages", "hiding_page", "plain_texts", "repeated_index"]

_MARK: Final = b"PAR1"
_INTEGER, _LONG, _TEXT, _LIST, _STRUCT = 5, 6, 8, 9, 12


def data_page(content: bytes, values: int, encoding: int = 8, decoded: int | None = None) -> bytes:
    """A data page of the first version; ``decoded`` is what it claims to become."""
    levels = _integer(3, 3) + _integer(4, 3)
    return _page(0, content, decoded, _field(5, _STRUCT) + _integer(1, values) + _integer(2, encoding) + levels + b"\0")


def dictionary_page(content: bytes, values: int) -> bytes:
    """The page of a dictionary."""
    return _page(2, content, None, _field(7, _STRUCT) + _integer(1, values) + _integer(2, 0) + b"\0")


def hiding_page(values: int) -> bytes:
    """A page of an index, which readers skip, with a field that no reader knows and that claims so many values."""
    return _page(1, b"x", None, _field(0, _STRUCT) + _integer(1, values) + _integer(2, 0) + b"\0")


def plain_texts(texts: Sequence[bytes]) -> bytes:
    """Texts in the plain encoding."""
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


def repeated_index(count: int) -> bytes:
    """So many times the index 0, in one run of one bit."""
    return b"\x01" + _varint(count << 1) + b"\x00"


def file_of_pages(pages: Sequence[bytes], values: int, *, hidden: int = 0, created_by: bytes = b"x") -> bytes:
    """A file of the pages of one row group.

    Args:
        pages: The pages, a dictionary first.
        values: How many values the footer states.
        hidden: How many bytes at the end of the pages are not counted as the column's.
        created_by: The program that claims to have written it.
    """
    data = b"".join(pages)
    chunk = _integer(1, 6) + _field(2, _LIST) + b"\x25\x00\x10" + _field(3, _LIST) + b"\x18\x01a" + _integer(4, 0)
    chunk += _long(5, values) + _long(6, len(data)) + _long(7, len(data) - hidden) + _long(9, 4 + len(pages[0]))
    chunk += _long(11, 4) + b"\0"
    column = _long(2, 0) + _field(3, _STRUCT) + chunk + b"\0"
    group = _field(1, _LIST) + b"\x1c" + column + _long(2, len(data)) + _long(3, values) + b"\0"
    root = _field(4, _TEXT) + b"\x04root" + _integer(5, 1) + b"\0"
    leaf = _integer(1, 6) + _integer(3, 0) + _field(4, _TEXT) + b"\x01a" + _integer(6, 0) + b"\0"
    footer = _integer(1, 1) + _field(2, _LIST) + b"\x2c" + root + leaf + _long(3, values)
    footer += _field(4, _LIST) + b"\x1c" + group + _field(6, _TEXT) + _varint(len(created_by)) + created_by + b"\0"
    return _MARK + data + footer + struct.pack("<I", len(footer)) + _MARK


def _page(kind: int, content: bytes, decoded: int | None, details: bytes) -> bytes:
    sizes = _integer(2, len(content) if decoded is None else decoded) + _integer(3, len(content))
    return _integer(1, kind) + sizes + details + b"\0" + content


def _field(number: int, kind: int) -> bytes:
    """The head of a field, its number written out."""
    return bytes([kind]) + _varint(number << 1)


def _integer(number: int, value: int) -> bytes:
    return _field(number, _INTEGER) + _varint((value << 1) ^ (value >> 31))


def _long(number: int, value: int) -> bytes:
    return _field(number, _LONG) + _varint((value << 1) ^ (value >> 63))


def _varint(number: int) -> bytes:
    data = b""
    number &= (1 << 64) - 1
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])
