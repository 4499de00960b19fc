"""Footers of Parquet files that no writer writes: a few bytes for which Arrow takes very much memory."""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["FOOTERS", "parquet_with"]

_MARK: Final = b"PAR1"
_ROOT: Final = b"\x48\x04root\x15\x02\x00"
_LEAF: Final = b"\x15\x02\x25\x02\x18\x01a\x00"
_CHUNK: Final = b"\x26\x00\x00"
_EMPTY_GROUP: Final = b"\x19\x0c\x16\x00\x16\x00\x00"
_MILLION: Final = 1_000_000


def parquet_with(footer: bytes) -> bytes:
    """A file that has a footer and nothing else."""
    return _MARK + footer + struct.pack("<I", len(footer)) + _MARK


def _varint(number: int) -> bytes:
    data = b""
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def _structs(count: int, items: bytes, kind: int = 12) -> bytes:
    """A list that claims so many structs, or another type, and holds some."""
    return bytes([0xF0 | kind]) + _varint(count) + items


def _group(chunks: bytes) -> bytes:
    return b"\x19" + chunks + b"\x16\x00\x16\x00\x00"


def _footer(groups: bytes, *, schema: bytes = b"", after: bytes = b"", field: bytes = b"\x19") -> bytes:
    return b"\x15\x04\x19" + (schema or _structs(2, _ROOT + _LEAF)) + b"\x16\x00" + field + groups + after + b"\x00"


FOOTERS: Final[dict[str, bytes]] = {
    "a million columns claimed": _footer(_structs(1, _group(_structs(_MILLION, _CHUNK * 5)))),
    "a million columns claimed as numbers": _footer(_structs(1, _group(_structs(_MILLION, _CHUNK * 5, kind=5)))),
    "a million columns claimed by a long field": _footer(
        _structs(1, _group(_structs(_MILLION, _CHUNK * 5))), field=b"\x09\x08"
    ),
    "two billion row groups claimed": _footer(_structs(2**31 - 1, b"")),
    "a million columns of the schema claimed": _footer(b"\x0c", schema=_structs(_MILLION, _ROOT)),
    "many columns in each of many row groups": _footer(_structs(8, _group(_structs(60_000, _CHUNK * 60_000)) * 8)),
    "a column in each of very many row groups": _footer(_structs(300_000, _group(b"\x1c" + _CHUNK) * 300_000)),
    "very many row groups": _footer(_structs(500_000, _EMPTY_GROUP * 500_000)),
    "very many keys": _footer(b"\x0c", after=b"\x19" + _structs(500_000, b"\x18\x01a\x00" * 500_000)),
    "two lists of row groups": _footer(
        _structs(1, _group(_structs(150_000, _CHUNK * 150_000))),
        after=b"\x09\x08" + _structs(1, _group(_structs(150_000, _CHUNK * 150_000))),
    ),
}
"""Name -> the footer."""
