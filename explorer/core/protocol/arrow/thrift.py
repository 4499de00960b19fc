"""Values of Thrift's compact protocol, in which Parquet writes its footers and the headers of its pages.

Invariant: a decoded value takes no more memory than its bytes, however it is made.
"""

from __future__ import annotations

from typing import Final

# Thrift reads nothing that is nested deeper.
_DEEPEST: Final = 64
_TRUE, _FALSE, INTEGER, _BINARY, _MAP, STRUCT = 1, 2, 5, 8, 11, 12
_FIXED: Final = {3: 1, 7: 8, 13: 16}
_VARINTS: Final = (4, 5, 6)
LISTS: Final = (9, 10)

Fields = dict[tuple[int, int], "int | Fields"]
"""Integers of 32 bits and structs, by field id and type: Thrift skips a field that has another type than it should."""


def read_struct(data: bytes, at: int, depth: int = 0) -> tuple[Fields, int]:
    """Return the fields of a struct, and the offset after it.

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
            value, at = varint(data, at)
            number = signed(value)
        if kind == INTEGER:
            # Most are short, and pages have many.
            if (value := data[at]) < 128:
                at += 1
                fields[number, kind] = (value >> 1) ^ -(value & 1)
            else:
                value, at = varint(data, at)
                fields[number, kind] = signed(value)
        elif kind == STRUCT:
            fields[number, kind], at = read_struct(data, at, depth + 1)
        elif kind not in (_TRUE, _FALSE):
            at = after_value(data, at, kind, depth)
    return fields, at + 1


def after_value(data: bytes, at: int, kind: int, depth: int = 0) -> int:
    """Return the offset after a value; errors are those of `read_struct`."""
    if kind in _VARINTS:
        return varint(data, at)[1]
    if kind == _BINARY:
        length, at = varint(data, at)
        at += length
    elif kind in _FIXED:
        at += _FIXED[kind]
    elif kind == STRUCT:
        return read_struct(data, at, depth + 1)[1]
    elif kind in LISTS or kind == _MAP:
        return _after_items(data, at, kind, depth)
    else:
        raise ValueError("of no type")
    if at > len(data):
        raise IndexError
    return at


def _after_items(data: bytes, at: int, kind: int, depth: int) -> int:
    """Return the offset after a list, a set or a map; errors are those of `read_struct`."""
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if kind == _MAP:
        count, at = varint(data, at)
        kinds: tuple[int, ...] = (data[at] >> 4, data[at] & 15) if count else ()
        at += 1 if count else 0
    else:
        count, item_kind, at = list_head(data, at)
        kinds = (item_kind,)
    if count > len(data):
        raise IndexError
    for _ in range(count):
        for item in kinds:
            at = at + 1 if item in (_TRUE, _FALSE) else after_value(data, at, item, depth + 1)
    return at


def list_head(data: bytes, at: int) -> tuple[int, int, int]:
    """Return number, type and offset of the items of a list; errors are those of `read_struct`."""
    count, kind, at = data[at] >> 4, data[at] & 15, at + 1
    if count == 15:
        count, at = varint(data, at)
    return count, kind, at


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number without a sign, and the offset after it; errors are those of `read_struct`."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def signed(value: int) -> int:
    """Return a number of 32 bits, truncated as Thrift does."""
    number = (value >> 1) ^ -(value & 1)
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)
