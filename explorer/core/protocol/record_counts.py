"""``numRecords`` out of statistics, without decoding the rest.

Protocol section: Per-file Statistics. Invariants: the count is taken where it is the first member, which is where
writers put it; anything else is decoded as JSON; statistics that cannot be read give null, never 0 (STATS-002).
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s, Mask, validity
from explorer.core.protocol.arrow.digits import MOST_DIGITS, digits_from
from explorer.core.protocol.arrow.text_spans import WORD, TextSpans, is_at, words_of


class _RecordCount(msgspec.Struct, rename="camel", gc=False):
    num_records: int | None = None


_DECODER: Final = msgspec.json.Decoder(_RecordCount)
_TEXT: Final = msgspec.json.Decoder(str | None)
_FIRST_MEMBER: Final = re.compile(rb'"\{\\"numRecords\\":(\d{1,18})[,}]')
_PLAIN: Final = b'{"numRecords":'
_QUOTED: Final = b'"{\\"numRecords\\":'
_COMMA, _BRACE = b",}"
_MOST: Final = (1 << 63) - 1


def count_of_line(raw: msgspec.Raw) -> int | None:
    """Return the count in the ``stats`` of one action, a JSON string that itself contains JSON."""
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
    """Return the count in statistics; None where they lack it or cannot be read."""
    try:
        count = _DECODER.decode(text).num_records
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return count if count is None or 0 <= count <= _MOST else None


def counts_of_lines(texts: TextSpans) -> tuple[Int64s, Mask]:
    """Return the counts in the JSON ``stats`` of many actions, as NumPy arrays: values, and a mask of the known."""
    values, known = _leading_counts(texts, _QUOTED)
    for row in np.flatnonzero(~known & (texts.lengths > 0)).tolist():
        count = count_of_line(msgspec.Raw(texts.bytes(row)))
        if count is not None:
            values[row], known[row] = count, True
    return values, known


def counts_of_column(stats: pa.StringArray) -> pa.Int64Array:
    """Return the counts in a column of statistics."""
    length = len(stats)
    if not length or stats.null_count == length:
        return pa.nulls(length, pa.int64())
    values, known = _leading_counts(TextSpans.of_column(stats), _PLAIN)
    present = validity(stats)
    for row in np.flatnonzero(present & ~known):
        count = count_of_text(stats[int(row)].as_py())
        if count is not None:
            values[row], known[row] = count, True
    bitmap = None if known.all() else pa.py_buffer(np.packbits(known & present, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), length, [bitmap, pa.py_buffer(values)])


def _leading_counts(texts: TextSpans, head: bytes) -> tuple[Int64s, Mask]:
    """Read the digits after the usual first member, of all texts at once."""
    room = texts.starts + (len(head) + 3 * WORD + 1) <= len(texts.data)
    if not room.all():
        # Texts near the end of the buffer are read in one with room after them.
        values, known = np.zeros(len(texts), np.int64), np.zeros(len(texts), bool)
        values[room], known[room] = _leading_counts(texts[room], head)
        moved = TextSpans.of_bytes([texts.bytes(row) for row in np.flatnonzero(~room).tolist()])
        values[~room], known[~room] = _leading_counts(moved, head)
        return values, known
    good = is_at(texts.data, texts.starts, head)
    behind = texts.starts + len(head)
    counts, lengths = digits_from(words_of(texts.data), behind)
    after = texts.data[behind + lengths]
    good &= (after == _COMMA) | (after == _BRACE)
    good &= (lengths > 0) & (lengths <= MOST_DIGITS) & (behind + lengths < texts.ends)
    return np.where(good, counts, 0), good
