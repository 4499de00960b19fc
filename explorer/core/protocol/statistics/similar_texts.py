"""Texts of statistics that differ only in their strings and numbers -> columns, many texts at once.

Protocol section: Per-file Statistics. Invariants: a text that is not proven to have a shape, byte by byte, is left to
the reader of all texts, whatever it is; so are texts with a value that does not fit its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s, Mask, bools
from explorer.core.protocol.arrow.digits import Fractions, fractions, signed_numbers
from explorer.core.protocol.arrow.text_pieces import LONGEST_PIECE, PieceFinder, without
from explorer.core.protocol.arrow.text_spans import WORD, Bytes, windows
from explorer.core.protocol.statistics.text_shape import MemberValue, Path, TextShape, shape_of

_QUOTE, _SLASH, _SPACE = b'"\\ '
_ASCII: Final = 0x7F
_ROOM: Final = LONGEST_PIECE + 8 * WORD
# A shape is used if as many texts of a block have it; after as many failures, or shapes, the others are left.
_FEWEST, _MOST_FAILURES, _MOST_SHAPES = 16, 3, 64
# Digits of which a double has each number, and of which one divided by a power of ten is rounded once.
_EXACT_DIGITS: Final = 15
_DIGITS: Final = 18
_TENS: Final = np.array([10**power for power in range(_DIGITS + 1)], np.int64)
_COUNTS: Final = frozenset({"numRecords", "nullCount", "nullCounts"})


class SimilarValues(msgspec.Struct, frozen=True):
    """The values of texts of a shape.

    Attributes:
        rows: Indexes of the texts, ascending.
        columns: The wanted members that the shape has, by path.
    """

    rows: Int64s
    columns: dict[Path, pa.Array]


class SimilarTexts:
    """Finds the texts that have shapes; the shapes of one block are tried first on the next.

    Args:
        kinds: The wanted members by path, each with the type in which its values are returned: integer, float,
            decimal, string, timestamp with a zone, or boolean.
    """

    def __init__(self, kinds: Mapping[Path, pa.DataType]) -> None:
        self._kinds = kinds
        self._matchers: list[_TextMatcher] = []
        self._failures = Counter[int]()

    def find(self, texts: pa.StringArray) -> list[SimilarValues]:
        """Return the values of the texts that have shapes; no text is null."""
        block = _block(texts)
        if block is None:
            return []
        matched: list[SimilarValues] = []
        rest = np.flatnonzero(block.plain)
        for matcher in self._matchers:
            rest = _take(matcher, block, rest, matched)
        while len(rest) >= _FEWEST and len(self._matchers) < _MOST_SHAPES:
            rest = self._with_new_shape(block, rest, matched)
        return matched

    def _with_new_shape(self, block: _Block, rest: Int64s, matched: list[SimilarValues]) -> Int64s:
        """Try the shape of the first of some texts, and return those that are left."""
        quotes = int(block.counts[rest[0]])
        if self._failures[quotes] >= _MOST_FAILURES:
            of_other_counts: Int64s = rest[block.counts[rest] != quotes]
            return of_other_counts
        shape = shape_of(block.text(int(rest[0])), self._kinds)
        matcher = None if shape is None else _matcher(shape, self._kinds)
        left = rest if matcher is None else _take(matcher, block, rest, matched)
        if matcher is not None and len(rest) - len(left) >= _FEWEST:
            self._matchers.append(matcher)
            return left
        self._failures[quotes] += 1
        return left if len(left) < len(rest) else rest[1:]


class _Block(NamedTuple):
    """Some texts in a buffer, with room around them.

    Attributes:
        data: The buffer.
        starts, ends: Where each text begins and ends.
        quotes: Positions of the double quotes.
        first, counts: The index of the first double quote of each text, and their number.
        plain: Whether a text has something in it, and no escape.
    """

    data: Bytes
    starts: Int64s
    ends: Int64s
    quotes: Int64s
    first: Int64s
    counts: Int64s
    plain: Mask

    def text(self, row: int) -> bytes:
        """Return one of the texts."""
        return self.data[self.starts[row] : self.ends[row]].tobytes()


def _block(texts: pa.StringArray) -> _Block | None:
    """Return texts as a block; None if there are control characters in it, or it is not UTF-8."""
    _, offsets, content = texts.buffers()
    if content is None or not len(texts):
        return None
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    begin, end = int(bounds[0]), int(bounds[-1])
    data = np.empty(end - begin + WORD + _ROOM, np.uint8)
    data[:WORD] = data[WORD + end - begin :] = _SPACE
    data[WORD : WORD + end - begin] = np.frombuffer(content, np.uint8)[begin:end]
    if data.min() < _SPACE:
        return None
    if data.max() > _ASCII:
        try:
            str(data.data, "utf-8")
        except UnicodeDecodeError:
            return None
    bounds += WORD - begin
    starts, ends = bounds[:-1], bounds[1:]
    quotes = np.flatnonzero(data == _QUOTE)
    places = np.searchsorted(quotes, bounds)
    plain = ends > starts
    escapes = data == _SLASH
    if escapes.any():
        plain[np.searchsorted(ends, np.flatnonzero(escapes), "right")] = False
    return _Block(data, starts, ends, quotes, places[:-1], np.diff(places), plain)


def _take(matcher: _TextMatcher, block: _Block, rows: Int64s, matched: list[SimilarValues]) -> Int64s:
    """Match some texts, and return the others."""
    candidates = rows[block.counts[rows] == matcher.quotes]
    values = matcher.match(block, candidates) if len(candidates) else None
    if values is None:
        return rows
    matched.append(values)
    return without(rows, values.rows)


def _matcher(shape: TextShape, kinds: Mapping[Path, pa.DataType]) -> _TextMatcher | None:
    """Return a shape prepared for comparison; None if a member has another kind of value than its type."""
    fits = all(_has_kind(value, kinds[path]) for path, value in shape.values.items())
    return _TextMatcher(shape, kinds) if fits else None


def _has_kind(value: MemberValue, kind: pa.DataType) -> bool:
    if value.gap is None:
        return value.literal is None or pa.types.is_boolean(kind)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return value.number == bool(is_number) and not pa.types.is_boolean(kind)


class _TextMatcher:
    """A shape, prepared for comparison with many texts."""

    def __init__(self, shape: TextShape, kinds: Mapping[Path, pa.DataType]) -> None:
        self._shape, self._kinds = shape, kinds
        self.quotes = shape.quotes
        self._pieces = PieceFinder(shape.pieces)
        ranges = {
            value.gap: _integer_range(path, kinds[path])
            for path, value in shape.values.items()
            if value.gap is not None and pa.types.is_integer(kinds[path])
        }
        self._whole = [gap for gap in shape.numbers if gap in ranges]
        self._others = [gap for gap in shape.numbers if gap not in ranges]
        self._least, self._most = np.array([ranges[gap] for gap in self._whole], np.int64).reshape(-1, 2).T[:, :, None]

    def match(self, block: _Block, rows: Int64s) -> SimilarValues | None:
        """Return the values of the texts that have the shape, of some with its number of double quotes.

        None without any, or where a value does not fit its type.
        """
        spans = block.first[rows], block.starts[rows], block.ends[rows]
        _, begins, ends, good = self._pieces.find(block.data, block.quotes, *spans)
        integers, valid = _of_all(signed_numbers, block, begins[self._whole], ends[self._whole])
        good &= (valid & (integers >= self._least) & (integers <= self._most)).all(axis=0)
        numbers = Fractions._make(_of_all(fractions, block, begins[self._others], ends[self._others]))
        good &= numbers.valid.all(axis=0)
        if not good.any():
            return None
        if not good.all():
            rows, begins, ends, integers = rows[good], begins[:, good], ends[:, good], integers[:, good]
            numbers = Fractions._make(part[:, good] for part in numbers)
        made = _Values(block, begins, ends, dict(zip(self._whole, integers, strict=True)), self._of_gaps(numbers))
        try:
            columns = {path: made.column(value, self._kinds[path]) for path, value in self._shape.values.items()}
        except pa.ArrowInvalid:
            return None
        return SimilarValues(rows, columns)

    def _of_gaps(self, numbers: Fractions) -> dict[int, Fractions]:
        return {gap: Fractions._make(part[row] for part in numbers) for row, gap in enumerate(self._others)}


class _Values(NamedTuple):
    """The gaps of texts that have a shape.

    Attributes:
        block: The texts.
        begins, ends: Where each gap begins and ends, a row a gap.
        integers: The gaps that are whole numbers.
        numbers: The other gaps that are numbers.
    """

    block: _Block
    begins: Int64s
    ends: Int64s
    integers: dict[int, Int64s]
    numbers: dict[int, Fractions]

    def column(self, value: MemberValue, kind: pa.DataType) -> pa.Array:
        """Return the values of a member.

        Raises:
            pa.ArrowInvalid: One does not fit the type.
        """
        length = self.begins.shape[1]
        if value.gap is None:
            return pa.nulls(length, kind) if value.literal is None else bools([value.literal] * length)
        if value.gap in self.integers:
            return _array(self.integers[value.gap], pa.int64(), np.int64).cast(kind)
        numbers = self.numbers.get(value.gap)
        if numbers is not None and kind == pa.float64() and _are_doubles(numbers):
            return _array(_doubles(numbers), kind, np.float64)
        if numbers is not None and pa.types.is_decimal(kind) and _are_decimals(numbers, kind):
            return _decimals(numbers, kind)
        texts = _texts(self.block.data, self.begins[value.gap], self.ends[value.gap])
        return texts if pa.types.is_string(kind) else texts.cast(kind)


def _integer_range(path: Path, kind: pa.DataType) -> tuple[int, int]:
    """Return the least and the greatest number of 18 digits that a member can have; a count has no sign."""
    most = min((1 << (kind.bit_width - 1)) - 1, 10**_DIGITS - 1)
    return 0 if path[0] in _COUNTS else -most - (kind.bit_width < 64), most


def _of_all(
    read: Callable[[Bytes, Int64s, Int64s], Sequence[Any]], block: _Block, starts: Int64s, ends: Int64s
) -> Iterator[Any]:
    """Yield what a reader of spans returns of all gaps at once, a row a gap."""
    return (part.reshape(starts.shape) for part in read(block.data, starts.ravel(), ends.ravel()))


def _are_doubles(numbers: Fractions) -> bool:
    return int((numbers.whole_digits + numbers.fraction_digits).max()) <= _EXACT_DIGITS


def _doubles(numbers: Fractions) -> npt.NDArray[np.float64]:
    """Return numbers as doubles, each rounded once: an exact integer divided by an exact power of ten."""
    powers = _TENS[numbers.fraction_digits]
    values = (numbers.whole * powers + numbers.fraction) / powers.astype(np.float64)
    return np.where(numbers.negative, -values, values)


def _are_decimals(numbers: Fractions, kind: pa.Decimal128Type) -> bool:
    """Return whether all fit a decimal type, and 64 bits."""
    digits = int(np.where(numbers.whole > 0, numbers.whole_digits, 0).max())
    scale, precision = int(kind.scale), int(kind.precision)
    return int(numbers.fraction_digits.max()) <= scale and digits <= precision - scale and digits + scale <= _DIGITS


def _decimals(numbers: Fractions, kind: pa.Decimal128Type) -> pa.Array:
    unscaled = numbers.whole * _TENS[kind.scale] + numbers.fraction * _TENS[kind.scale - numbers.fraction_digits]
    halves = np.empty((len(unscaled), 2), np.int64)
    halves[:, 0] = np.where(numbers.negative, -unscaled, unscaled)
    halves[:, 1] = halves[:, 0] >> 63
    return pa.Array.from_buffers(kind, len(unscaled), [None, pa.py_buffer(halves)])


def _array(values: npt.NDArray[np.generic], kind: pa.DataType, width: type[np.generic]) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values, width))])


def _texts(data: Bytes, begins: Int64s, ends: Int64s) -> pa.StringArray:
    """Return some spans of a buffer as strings."""
    lengths = ends - begins
    offsets = np.zeros(len(begins) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    length = int(lengths.max(initial=0))
    if length and int(lengths.min()) == length:
        content = windows(data, length)[begins]
    else:
        # The place of each byte: those before it in the result, moved to where its text is.
        places = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], lengths)
        content = data[places]
    return pa.Array.from_buffers(pa.string(), len(begins), [None, pa.py_buffer(offsets), pa.py_buffer(content)])
