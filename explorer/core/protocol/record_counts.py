"""``numRecords`` out of statistics, without decoding the rest.

Protocol section: Per-file Statistics. Invariants: the count is taken where it is the first member, which is where
writers put it; anything else is decoded as JSON; statistics that cannot be read give null, never 0 (STATS-002).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s, Mask, validity

__all__ = ["count_of_line", "count_of_text", "counts_of_column", "counts_of_lines"]


class _RecordCount(msgspec.Struct, rename="camel", gc=False):
    num_records: int | None = None


_DECODER: Final = msgspec.json.Decoder(_RecordCount)
_TEXT: Final = msgspec.json.Decoder(str | None)
_FIRST_MEMBER: Final = re.compile(rb'"\{\\"numRecords\\":(\d{1,18})[,}]')
_PLAIN: Final = b'{"numRecords":'
_QUOTED: Final = b'"{\\"numRecords\\":'
_MOST_DIGITS: Final = 18
_NINE: Final = 9
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
    return None if text is None else count_of_text(text)


def count_of_text(text: str) -> int | None:
    """The count in statistics; None where they do not say it or cannot be read."""
    try:
        count = _DECODER.decode(text).num_records
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return count if count is None or 0 <= count <= _MOST else None


def counts_of_lines(raws: Sequence[msgspec.Raw]) -> tuple[Int64s, Mask]:
    """The counts in the ``stats`` of many actions as NumPy arrays: values, and where they are known."""
    offsets = np.zeros(len(raws) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)), out=offsets[1:])
    # Some bytes more: a check of the last text may reach beyond its end.
    data = np.frombuffer(b"".join([*raws, b" " * (len(_QUOTED) + _MOST_DIGITS + 1)]), np.uint8)
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
        count = count_of_text(stats[int(row)].as_py())
        if count is not None:
            values[row], found[row] = count, True
    bitmap = None if found.all() else pa.py_buffer(np.packbits(found & present, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), length, [bitmap, pa.py_buffer(values)])


def _leading_counts(data: npt.NDArray[np.uint8], offsets: Int64s, head: bytes) -> tuple[Int64s, Mask]:
    """Read the digits after the usual first member, of all rows at once; rows too near to the end are not found."""
    starts, ends, width = offsets[:-1], offsets[1:], len(head) + _MOST_DIGITS + 1
    values, found = np.zeros(len(starts), np.int64), starts + width <= len(data)
    rows = np.flatnonzero(found)
    if not len(rows):
        return values, found
    # A row for each place in the texts: one operation then checks that place in all texts.
    places = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(data, width)[starts[rows]].T)
    reading = (places[: len(head)] == np.frombuffer(head, np.uint8)[:, None]).all(axis=0)
    good, counts, lengths = reading, np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    for digits in places[len(head) : -1] - np.uint8(ord("0")):
        reading = reading & (digits <= _NINE)
        if not reading.any():
            break
        counts = np.where(reading, counts * 10 + digits, counts)
        lengths += reading
    after = places[len(head) + lengths, np.arange(len(rows))]
    closed = ((after == ord(",")) | (after == ord("}"))) & (starts[rows] + len(head) + lengths < ends[rows])
    found[rows] = good & closed & (lengths > 0)
    values[rows] = np.where(found[rows], counts, 0)
    return values, found
