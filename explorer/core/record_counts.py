"""``numRecords`` out of statistics, without decoding the rest.

Protocol section: Per-file Statistics. Invariants: the count is taken where it is the first member, which is where
writers put it; anything else is decoded as JSON; statistics that cannot be read give null, never 0 (STATS-002).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.columns import validity

__all__ = ["count_of_line", "counts_of_column", "counts_of_lines"]


class _RecordCount(msgspec.Struct, rename="camel", gc=False):
    num_records: int | None = None


_DECODER: Final = msgspec.json.Decoder(_RecordCount)
_TEXT: Final = msgspec.json.Decoder(str | None)
_FIRST_MEMBER: Final = re.compile(rb'"\{\\"numRecords\\":(\d{1,18})[,}]')
_PLAIN: Final = b'{"numRecords":'
_QUOTED: Final = b'"{\\"numRecords\\":'
_MOST_DIGITS: Final = 18
_MOST: Final = (1 << 63) - 1


def count_of_line(raw: msgspec.Raw) -> int | None:
    """The count in the ``stats`` of one action, a JSON string that itself holds JSON."""
    if (first := _FIRST_MEMBER.match(raw)) is not None:
        return int(first[1])
    if not raw:
        return None
    try:
        text = _TEXT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return None if text is None else _decoded(text)


def counts_of_lines(raws: Sequence[msgspec.Raw]) -> tuple[Any, Any]:
    """The counts in the ``stats`` of many actions as NumPy arrays: values, and where they are known."""
    offsets = np.zeros(len(raws) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)), out=offsets[1:])
    # One byte more: the last text may be looked at just beyond its end.
    data = np.frombuffer(b"".join([*raws, b" "]), np.uint8)
    values, found = _leading_counts(data, offsets, _QUOTED)
    for row in np.flatnonzero(~found & (np.diff(offsets) > 0)).tolist():
        count = count_of_line(raws[row])
        if count is not None:
            values[row], found[row] = count, True
    return values, found


def counts_of_column(stats: pa.StringArray) -> pa.Int64Array:
    """The counts in a column of statistics."""
    length = len(stats)
    if not length or stats.null_count == length:
        return pa.nulls(length, pa.int64())
    offsets = np.frombuffer(stats.buffers()[1], np.int32)[stats.offset : stats.offset + length + 1].astype(np.int64)
    data = np.frombuffer(stats.buffers()[2], np.uint8)
    values, found = _leading_counts(data, offsets, _PLAIN)
    present = validity(stats)
    for row in np.flatnonzero(present & ~found):
        count = _decoded(stats[int(row)].as_py())
        if count is not None:
            values[row], found[row] = count, True
    bitmap = None if found.all() else pa.py_buffer(np.packbits(found & present, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), length, [bitmap, pa.py_buffer(values)])


def _leading_counts(data: Any, offsets: Any, head: bytes) -> tuple[Any, Any]:
    """Read the digits after the usual first member in all rows at once, a digit a step."""
    starts, ends = offsets[:-1], offsets[1:]
    room = ends - starts > len(head)
    found = room.copy()
    for place, byte in enumerate(head):
        found &= data[np.where(room, starts + place, 0)] == byte
    values = np.zeros(len(starts), np.int64)
    position = np.where(found, starts + len(head), 0)
    open_rows = found.copy()
    digits = np.zeros(len(starts), np.int8)
    for _ in range(_MOST_DIGITS + 1):
        inside = open_rows & (position < ends)
        if not inside.any():
            break
        byte = data[np.where(inside, position, 0)]
        digit = inside & (byte >= 48) & (byte <= 57)
        values = np.where(digit, values * 10 + (byte.astype(np.int64) - 48), values)
        digits += digit
        closed = inside & ((byte == 44) | (byte == 125))
        found &= ~inside | digit | closed
        open_rows = digit
        position = position + digit
    return values, found & (digits > 0) & ~open_rows


def _decoded(text: str) -> int | None:
    try:
        count = _DECODER.decode(text).num_records
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return count if count is None or 0 <= count <= _MOST else None
