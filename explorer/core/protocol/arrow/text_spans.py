"""Texts inside of one buffer, processed all at once: as words of eight bytes, and as Arrow columns.

Invariants: a text is its bytes and nothing after them; of a row that is refused nothing is read out of bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import SYSTEM_POOL, Int64s, Mask

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

WORD: Final = 8
"""Bytes of a word."""
# Filler after joined texts, so that reading beyond the last one stays in bounds.
_ROOM: Final = b" " * 64


class TextSpans:
    """Texts inside of one buffer, a row each.

    Args:
        starts: Where each begins, in bytes.
    """

    def __init__(self, data: Bytes, starts: Int64s, ends: Int64s) -> None:
        self.data, self.starts, self.ends = data, starts, ends

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Self:
        """Return texts one after the other; text that is not valid Unicode stays as it is."""
        joined = "".join([*texts, _ROOM.decode()])
        if joined.isascii():
            return cls._one_after_the_other(joined.encode(), np.fromiter(map(len, texts), np.int64, len(texts)))
        return cls.of_bytes([text.encode("utf-8", "surrogatepass") for text in texts])

    @classmethod
    def of_bytes(cls, texts: Sequence[bytes | msgspec.Raw]) -> Self:
        """Return texts one after the other."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return cls._one_after_the_other(b"".join([*texts, _ROOM]), lengths)

    @classmethod
    def of_column(cls, column: pa.StringArray) -> Self:
        """Return the texts of a column; null is empty."""
        if not len(column):
            return cls.of_bytes([])
        _, offsets, data = column.buffers()
        bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
        return cls(np.frombuffer(data or b"", np.uint8), bounds[:-1], bounds[1:])

    @classmethod
    def together(cls, parts: Sequence[TextSpans]) -> TextSpans:
        """Return all texts of some parts, which are inside of one buffer."""
        if len(parts) == 1:
            return parts[0]
        starts, ends = (
            np.concatenate(bounds) for bounds in zip(*((each.starts, each.ends) for each in parts), strict=True)
        )
        return cls(parts[0].data, starts, ends)

    @classmethod
    def _one_after_the_other(cls, data: bytes, lengths: Int64s) -> Self:
        ends = np.cumsum(lengths)
        return cls(np.frombuffer(data, np.uint8), ends - lengths, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, rows: Int64s | Mask) -> TextSpans:
        """Return some of the texts."""
        return TextSpans(self.data, self.starts[rows], self.ends[rows])

    @property
    def lengths(self) -> Int64s:
        """Bytes of each."""
        return self.ends - self.starts

    @property
    def _width(self) -> int:
        """The bytes of the words that the longest needs, at least of one."""
        return max(int(self.lengths.max(initial=1) + WORD - 1) // WORD, 1) * WORD

    @cached_property
    def words(self) -> Words:
        """Each text as a row of words, with zeros after its end; as many as the longest needs, at least one."""
        lengths = self.lengths
        width = self._width
        data = self.data
        if int(self.starts.max(initial=0)) + width > len(data):
            data = np.concatenate([data, np.zeros(width, np.uint8)])
        padded = windows(data, width)[self.starts].view(np.uint8).reshape(len(self), width)
        # All texts are as long as the shortest, at least.
        tail = int(lengths.min(initial=width)) // WORD * WORD
        if tail < width:
            padded[:, tail:] *= np.arange(tail, width) < lengths[:, None]
        return padded.view(np.uint64)

    def having(self, byte: bytes, after: bytes = b"") -> Mask:
        """Return which contain a byte, which is not zero.

        Args:
            after: Only where it comes after one of these, if any are given. Of a text that begins with the byte, the
                byte before the text counts.
        """
        if len(self) * self._width < len(self.data):
            letters = self.words.view(np.uint8)
            matches = letters == ord(byte)
            if after:
                matches = matches[:, 1:] & _is_one_of(letters[:, :-1], after)
            has_byte: Mask = matches.any(axis=1) if matches.any() else np.zeros(len(self), bool)
        else:
            positions = np.flatnonzero(self.data == ord(byte))
            if after:
                positions = positions[_is_one_of(self.data[positions - 1], after)]
            has_byte = np.searchsorted(positions, self.starts) < np.searchsorted(positions, self.ends)
        return has_byte

    def bytes(self, row: int) -> bytes:
        """Return one of the texts, as it is written."""
        return self.data[self.starts[row] : self.ends[row]].tobytes()

    def text(self, row: int) -> str:
        """Return one of the texts."""
        return self.bytes(row).decode("utf-8", "surrogatepass")

    def column(self) -> pa.LargeBinaryArray:
        """Return the same as a column of bytes."""
        import pyarrow.compute as pc

        # Bytes between two texts are in no row; Arrow only reads the rows that are taken.
        bounds = np.zeros(2 * len(self) + 2, np.int64)
        bounds[1:-1:2], bounds[2:-1:2], bounds[-1] = self.starts, self.ends, len(self.data)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self.data)]
        spans = pa.Array.from_buffers(pa.large_binary(), len(bounds) - 1, buffers)
        rows = pa.Array.from_buffers(pa.int64(), len(self), [None, pa.py_buffer(np.arange(1, len(bounds) - 1, 2))])
        return pc.take(spans, rows, boundscheck=False, memory_pool=SYSTEM_POOL)


def _is_one_of(letters: Bytes, some: bytes) -> Mask:
    found: Mask = np.logical_or.reduce([letters == letter for letter in some])
    return found


def windows(data: Bytes, width: int) -> npt.NDArray[np.void]:
    """Return ``width`` bytes from each byte of a buffer on, as far as there is room; nothing is copied.

    NumPy takes some of these rows in a third of the time that it takes rows of single bytes.
    """
    return np.ndarray((max(len(data) - width + 1, 0),), np.dtype(f"V{width}"), data, strides=(1,))


def is_at(data: Bytes, starts: Int64s, text: bytes) -> Mask:
    """Return whether a text is at each of some positions of a buffer, after which there is room for it."""
    candidates = windows(data, len(text))[starts]
    if candidates.tobytes() == text * len(starts):
        return np.ones(len(starts), bool)
    same: Mask = (candidates.view(np.uint8).reshape(len(starts), -1) == np.frombuffer(text, np.uint8)).all(axis=1)
    return same


def words_of(data: Bytes) -> Words:
    """Return the word that begins at each byte of a buffer, as far as one has room; nothing is copied."""
    return np.ndarray((max(len(data) - WORD + 1, 0),), np.dtype("<u8"), data, strides=(1,))
