"""Texts as small numbers, many at once: a hash table in columns.

Invariants: two texts have one number if and only if their bytes are the same; the numbers go from 0 in the order in
which the texts first appeared. The placement of texts in the table differs from process to process, so that an attacker
cannot choose paths that make it slow.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int32s, Int64s, Mask, int64s, with_room
from explorer.core.protocol.arrow.text_spans import WORD, TextSpans, Words, windows
from explorer.core.protocol.limits import check_column

_ALL_BITS: Final = (1 << 64) - 1
_HALF_WORD, _STEP = map(np.uint64, (32, 0x9E3779B97F4A7C15))
_FREE: Final = -1
_SMALLEST: Final = 10  # bits of the number of slots in an empty table
_MOST_WORDS: Final = 1 << 20  # of the texts that are looked up together


class TextCodes:
    """Numbers of texts.

    Args:
        numbered: Those that already have numbers, by number; as long as no other is numbered, they are enough.
    """

    def __init__(self, numbered: pa.StringArray | None = None) -> None:
        self._numbered = numbered
        # By number: the hash, the length in bytes, and where in the words the text begins.
        self._hashes: Words = np.zeros(0, np.uint64)
        self._lengths: Int32s = np.zeros(0, np.int32)
        self._starts: Int64s = np.zeros(0, np.int64)
        self._words: Words = np.zeros(0, np.uint64)
        self._count = self._used = 0
        self._bits = _SMALLEST
        self._table: Int32s = np.full(1 << self._bits, _FREE, np.int32)

    def __len__(self) -> int:
        return self._count if self._numbered is None else len(self._numbered)

    def copy(self) -> Self:
        """Return a copy of the numbers, to continue independently."""
        codes = type(self)(self._numbered)
        codes._hashes, codes._lengths = self._hashes.copy(), self._lengths.copy()
        codes._starts, codes._words = self._starts.copy(), self._words.copy()
        codes._count, codes._used = self._count, self._used
        codes._bits, codes._table = self._bits, self._table.copy()
        return codes

    def of(self, texts: TextSpans) -> Int32s:
        """Return the numbers of some texts; a new one gets the next."""
        if self._numbered is not None:
            numbered, self._numbered = self._numbered, None
            self.of(TextSpans.of_column(numbered))
        if not len(texts):
            return np.zeros(0, np.int32)
        # In their order, so that numbers are given in it; a long one makes the rows of its piece wide.
        sizes = np.maximum.accumulate(texts.lengths // WORD + 1) * np.arange(1, len(texts) + 1)
        if sizes[-1] <= _MOST_WORDS:
            return self._of(texts)
        fit = max(int(np.searchsorted(sizes, _MOST_WORDS, side="right")), 1)
        rows = np.arange(len(texts))
        return np.concatenate([self._of(texts[rows[:fit]]), self.of(texts[rows[fit:]])])

    def column(self) -> pa.StringArray:
        """Return the texts by number.

        Raises:
            LimitExceeded: They are more than a column can store.
        """
        return self.texts(np.arange(self._count)) if self._numbered is None else self._numbered

    def texts(self, codes: npt.NDArray[np.generic]) -> pa.StringArray:
        """Return the texts of some numbers.

        Raises:
            LimitExceeded: They are more than a column can store.
        """
        if self._numbered is not None:
            return self._numbered.take(int64s(codes.astype(np.int64, copy=False)))
        check_column(int(self._lengths[codes].sum()), f"{len(codes):,} texts")
        return self._spans(codes).column().cast(pa.binary()).view(pa.string())

    def distinct(self) -> list[str]:
        """Return the texts by number."""
        if self._numbered is not None:
            return list(map(str, self._numbered.to_pylist()))
        spans = self._spans(np.arange(self._count))
        return [spans.text(row) for row in range(self._count)]

    def _spans(self, codes: npt.NDArray[np.generic]) -> TextSpans:
        starts = self._starts[codes] * WORD
        return TextSpans(self._words.view(np.uint8), starts, starts + self._lengths[codes])

    def _of(self, texts: TextSpans) -> Int32s:
        rows = _Rows.of(texts)
        # A window of as many words as the longest has begins at each stored text.
        self._words = with_room(self._words, self._used + rows.words.shape[1])
        self._make_room(len(texts))
        slots = (rows.hashes >> np.uint64(64 - self._bits)).astype(np.int64)
        codes = self._table[slots]
        unmatched = np.flatnonzero(~self._matches(codes, rows))
        if len(unmatched):
            self._probe(unmatched, codes, slots, rows)
        return codes

    def _matches(self, codes: Int32s, rows: _Rows) -> Mask:
        """Return whether stored texts are those of some rows; false where there is no number."""
        if not self._count:
            return np.zeros(len(codes), bool)
        same: Mask = (self._hashes[codes] == rows.hashes) & (self._lengths[codes] == rows.lengths) & (codes >= 0)
        if same.all():
            return self._equal(codes, rows)
        candidates = np.flatnonzero(same)
        same[candidates] = self._equal(codes[candidates], rows.at(candidates))
        return same

    def _equal(self, codes: Int32s, rows: _Rows) -> Mask:
        """Return whether stored texts of the same length are those of some rows."""
        width = rows.words.shape[1]
        stored = windows(self._words.view(np.uint8), width * WORD)[self._starts[codes] * WORD]
        theirs = stored.view(np.uint64).reshape(-1, width)
        counts = (rows.lengths + (WORD - 1)) // WORD
        if len(counts) and int(counts.min()) < width:
            # The bytes after the end of a stored text are the next one.
            theirs *= np.arange(width) < counts[:, None]
        equal: Mask = ~(theirs != rows.words).any(axis=1)
        return equal

    def _probe(self, remaining: Int64s, codes: Int32s, slots: Int64s, rows: _Rows) -> None:
        """Find the numbers of the remaining rows, or give them new ones."""
        before, new = self._count, np.zeros(len(codes), bool)
        while len(remaining):
            at = slots[remaining]
            free = self._table[at] == _FREE
            # A row that finds a free slot writes itself there, as if all were new.
            self._table[at[free][::-1]] = before + remaining[free][::-1]
            occupants = self._table[at]
            # Of several rows for one slot the last to be written stays, which is the first of them.
            fresh = occupants >= before
            first, mine, others = occupants[fresh] - before, remaining[fresh], remaining[~fresh]
            same = np.ones(len(remaining), bool)
            # Most are the first themselves, which need not be compared.
            apart = np.flatnonzero(first != mine)
            if len(apart):
                same[np.flatnonzero(fresh)[apart]] = rows.at(first[apart]).equal(rows.at(mine[apart]))
            if len(others):
                same[~fresh] = self._matches(occupants[~fresh], rows.at(others))
            codes[remaining[same]] = occupants[same]
            new[mine[first == mine]] = True
            remaining = remaining[~same]
            slots[remaining] = self._next(slots[remaining], rows.hashes[remaining])
        if new.any():
            fresh, numbers = codes >= before, np.cumsum(new, dtype=np.int32)
            codes[fresh] = numbers[codes[fresh] - before] + np.int32(before - 1)
            new_rows = np.flatnonzero(new)
            self._table[slots[new_rows]] = codes[new_rows]
            self._keep(rows if len(new_rows) == len(new) else rows.at(new_rows))

    def _keep(self, rows: _Rows) -> None:
        """Store new texts, in the order of their numbers."""
        words, lengths, hashes = rows
        before, after = self._count, self._count + len(hashes)
        counts = (lengths.astype(np.int64) + WORD - 1) // WORD
        ends = self._used + np.cumsum(counts)
        self._hashes[before:after], self._lengths[before:after] = hashes, lengths
        self._starts[before:after] = ends - counts
        self._words = with_room(self._words, int(ends[-1]))
        width = words.shape[1]
        filled = words.ravel() if counts.min() == width else words[np.arange(width) < counts[:, None]]
        self._words[self._used : ends[-1]] = filled
        self._count, self._used = after, int(ends[-1])

    def _make_room(self, more: int) -> None:
        """Make room for more texts; at most a quarter of the table is in use."""
        self._hashes = with_room(self._hashes, self._count + more)
        self._lengths = with_room(self._lengths, self._count + more)
        self._starts = with_room(self._starts, self._count + more)
        if 4 * (self._count + more) <= len(self._table):
            return
        self._bits = int(8 * (self._count + more) - 1).bit_length()
        self._table = np.full(1 << self._bits, _FREE, np.int32)
        remaining = np.arange(self._count)
        slots = (self._hashes[: self._count] >> np.uint64(64 - self._bits)).astype(np.int64)
        while len(remaining):
            at = slots[remaining]
            free = self._table[at] == _FREE
            self._table[at[free]] = remaining[free]
            remaining = remaining[self._table[at] != remaining]
            slots[remaining] = self._next(slots[remaining], self._hashes[remaining])

    def _next(self, slots: Int64s, hashes: Words) -> Int64s:
        """Return the next slots to try: texts that collide at one most likely part there."""
        steps: Int64s = hashes.view(np.int64) | 1
        return (slots + steps) & (len(self._table) - 1)


class _Rows(NamedTuple):
    """Texts that are looked up.

    Attributes:
        words: Each as a row of words.
        lengths: Bytes of each.
        hashes: The hash of each.
    """

    words: Words
    lengths: Int32s
    hashes: Words

    @classmethod
    def of(cls, texts: TextSpans) -> _Rows:
        words, lengths = texts.words, texts.lengths.astype(np.int32)
        # Each half of a word has a factor of its own: a product alone spreads the higher bits of a word poorly.
        # Words of zeros at the end of a row change nothing.
        low, high = _factors(words.shape[1])
        hashes: Words = words @ low
        hashes += (words >> _HALF_WORD) @ high
        hashes += lengths.astype(np.uint64)
        for _ in range(2):
            hashes ^= hashes >> _HALF_WORD
            hashes *= _STEP
        return cls(words, lengths, hashes)

    def at(self, rows: Int64s | Int32s) -> _Rows:
        """Return some of them."""
        return _Rows(self.words[rows], self.lengths[rows], self.hashes[rows])

    def equal(self, others: _Rows) -> Mask:
        """Return which are the same as others."""
        same: Mask = (self.lengths == others.lengths) & ~(self.words != others.words).any(axis=1)
        return same


@cache
def _factors(count: int) -> Words:
    """Return odd numbers for the lower and the higher half of as many words, which begin with those for fewer."""
    # Python draws the hash of a text anew for each process.
    drawn = [[hash(f"{half} {place}") & _ALL_BITS | 1 for place in range(count)] for half in ("low", "high")]
    return np.array(drawn, np.uint64)
