"""The parts that are the same in similar texts of one writer, cut out of one text and looked for in many.

Invariant: a text has pieces only if each of their bytes is at its place, and none overlaps the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from explorer.core.protocol.arrow.arrays import Int64s, Integers, Mask
from explorer.core.protocol.arrow.text_spans import Bytes, is_at

LONGEST_PIECE: Final = 1 << 10
"""Bytes of a piece, at most."""


class Piece(NamedTuple):
    """A part that is the same in all texts of a shape.

    Attributes:
        text: The part.
        quote: Number of its first double quote among those of the text, and where in the part that is; None for the
            piece at the end, which may have none.
    """

    text: bytes
    quote: tuple[int, int] | None


class PieceCutter:
    """Cuts a text into pieces, from its first byte on.

    Attributes:
        pieces: Those that have ended.
        begin: Where the next one begins.
        quotes: The double quotes of those that have ended.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self.pieces: list[Piece] = []
        self.begin = self.quotes = 0

    def end(self, end: int, begin: int) -> None:
        """End the piece, and begin the next."""
        text = self._text[self.begin : end]
        place = text.find(b'"')
        self.pieces.append(Piece(text, None if place < 0 else (self.quotes, place)))
        self.quotes += text.count(b'"')
        self.begin = begin


class PlacedPieces(NamedTuple):
    """Where the pieces of a shape are in some texts: a column a text.

    Attributes:
        starts: Where each piece begins, if the text has it.
        begins, ends: Where each gap between two pieces begins and ends.
        good: Which texts have all pieces.
    """

    starts: Int64s
    begins: Int64s
    ends: Int64s
    good: Mask


class PieceFinder:
    """The pieces of a shape, prepared to be looked for in many texts."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._texts = [piece.text for piece in pieces]
        quotes = [piece.quote for piece in pieces[1:] if piece.quote is not None]
        self._ordinals, self._offsets = np.array(quotes, np.int64).reshape(-1, 2).T[:, :, None]
        self._lengths = np.array([len(text) for text in self._texts], np.int64)[:, None]

    def find(self, data: Bytes, quotes: Integers, first: Int64s, begins: Int64s, ends: Int64s) -> PlacedPieces:
        """Look for the pieces in some texts of a buffer.

        A piece after a string begins with the double quote that ends the string.

        Args:
            quotes: Positions of the double quotes of the buffer.
            first: The index of the first double quote of each text; each text has as many as the pieces.
            begins, ends: Where each text begins and ends.
        """
        starts = np.empty((len(self._lengths), len(begins)), np.int64)
        starts[0], starts[-1] = begins, ends - self._lengths[-1]
        starts[1 : len(self._ordinals) + 1] = quotes[first + self._ordinals] - self._offsets
        np.maximum(starts, 0, out=starts)
        good: Mask = starts[-1] + self._lengths[-1] == ends
        for text, at in zip(self._texts, starts, strict=True):
            good &= is_at(data, at, text)
        gap_begins, gap_ends = starts[:-1] + self._lengths[:-1], starts[1:]
        return PlacedPieces(starts, gap_begins, gap_ends, good & (gap_begins <= gap_ends).all(axis=0))


def without(rows: Int64s, matched: Int64s) -> Int64s:
    """Return the rows, ascending, that are not among ``matched``, all of which are rows."""
    unmatched = np.ones(len(rows), bool)
    unmatched[np.searchsorted(rows, matched)] = False
    return rows[unmatched]
