"""Lines of commits that differ only in their texts and numbers -> columns of file actions, many lines at once.

Protocol section: Actions. Invariants: a line that is not proven to have a shape, byte by byte, is left to the decoder
of single lines, whatever it is; so are all lines of a text that has anything but line breaks below the space, or that
is not UTF-8.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from explorer.core.log.line_shape import LineShape, shape_of
from explorer.core.protocol.arrow.arrays import Int32s, Int64s, Mask, fresh_buffer, with_room
from explorer.core.protocol.arrow.digits import decimal_numbers
from explorer.core.protocol.arrow.text_pieces import LONGEST_PIECE, PieceFinder, without
from explorer.core.protocol.arrow.text_spans import WORD, Bytes, TextSpans, Words, words_of
from explorer.core.protocol.raw_actions import AddLine, RemoveLine

_SPACE, _QUOTE, _SLASH, _BREAK = b' "\\\n'
_ASCII: Final = 0x7F
_HEADS: Final = tuple(np.uint64(int.from_bytes(head, "little")) for head in (b'{"add":{', b'{"remove'))
_BLOCK: Final = 1 << 18  # bytes that are scanned together, which fit a processor's cache
_SCRATCH: Final = 1 << 22
_AFTER: Final = np.full(LONGEST_PIECE + WORD, ord(" "), np.uint8)
_SHORT: Final = {"dv_offset", "dv_size_in_bytes"}  # of 32 bits; none of them has a sign
# Texts that are stored decoded, so that none may have an escape, and side by side, so that none is long.
_DECODED, _LONGEST = {"path", "dv_path_or_inline"}, 1 << 9
# A shape is stored if as many lines have it; after as many failures, lines like them are not tried any more.
_FEWEST, _MOST_FAILURES, _MOST_SHAPES = 16, 3, 64


class SimilarActions(NamedTuple):
    """File actions of some lines as columns.

    Attributes:
        places: Indexes of the lines, ascending, from 0.
        like: One of the actions; members without a column here are the same in all of them.
        texts: The path, the location of the vector, and the statistics and partition values as JSON.
        numbers: Members of the action, those of its vector with ``dv_`` before their names.
    """

    places: Int64s
    like: AddLine | RemoveLine
    texts: Mapping[str, TextSpans]
    numbers: Mapping[str, Int64s]


class SortedText(NamedTuple):
    """The lines of a text, sorted.

    Attributes:
        similar: The file actions whose lines have a shape.
        others: Indexes of the other lines that are not empty.
        lines: The text of those.
        breaks: Positions of the line breaks, in bytes from the first text on.
    """

    similar: list[SimilarActions]
    others: Int64s
    lines: list[bytes]
    breaks: Int64s


class SimilarLines:
    """Finds the lines of texts that have shapes; the shapes of one text are tried first on the next."""

    def __init__(self) -> None:
        # By the kind of action and the number of double quotes.
        self._shapes: defaultdict[tuple[int, int], list[_LineMatcher]] = defaultdict(list)
        self._failures = Counter[tuple[int, int]]()
        # Reused from text to text, because allocating memory takes longer than writing to it.
        scratch = fresh_buffer(_SCRATCH)
        self._masks = scratch[: 4 * _BLOCK].view(bool).reshape(4, _BLOCK)
        self._bounds = scratch[4 * _BLOCK :].view(np.int32)
        self._count = 0

    def find(self, contents: Sequence[bytes]) -> SortedText | None:
        """Find similar lines in texts, one after the other, of which every line has a line break.

        Return None where all of it is to be decoded line by line.
        """
        data = np.frombuffer(bytearray().join([*contents, bytes(_AFTER)]), np.uint8)
        return self.find_joined(data, len(data) - len(_AFTER))

    def find_joined(self, data: Bytes, length: int) -> SortedText | None:
        """Find similar lines in a text, of which every line has a line break; bytes after it are overwritten.

        Return None where all of it is to be decoded line by line.
        """
        text = with_room(data, length + len(_AFTER))[: length + len(_AFTER)]
        text[length:] = _AFTER
        if text.max() > _ASCII:
            try:
                str(text.data, "utf-8")
            except UnicodeDecodeError:
                return None
        marks = self._marks(text, length)
        if marks is None:
            return None
        matched = list[SimilarActions]()
        for kind, head in enumerate(_HEADS):
            rows = np.flatnonzero((marks.words[marks.starts] == head) & ~marks.odd)
            counts = marks.counts[rows]
            for count in sorted({*counts.tolist()}):
                matched += self._similar(marks, rows[counts == count], (kind, count))
        unmatched = marks.starts < marks.ends
        for each in matched:
            unmatched[each.places] = False
        others = np.flatnonzero(unmatched)
        return SortedText(matched, others, [marks.line(row) for row in others.tolist()], marks.ends)

    def _similar(self, marks: _LineMarks, rows: Int64s, key: tuple[int, int]) -> list[SimilarActions]:
        """Return the actions of lines of one kind with the same number of double quotes."""
        matched, shapes = list[SimilarActions](), self._shapes[key]
        for matcher in shapes if len(rows) else ():
            matched.append(matcher.match(marks, rows))
            rows = without(rows, matched[-1].places)
        while len(rows) >= _FEWEST and self._failures[key] < _MOST_FAILURES and self._count < _MOST_SHAPES:
            shape = shape_of(marks.line(int(rows[0])))
            new = None if shape is None or shape.quotes != key[1] else _LineMatcher(shape)
            actions = None if new is None else new.match(marks, rows)
            if new is None or actions is None or len(actions.places) < _FEWEST or actions.places[0] != rows[0]:
                self._failures[key] += 1
                rows = rows[1:]
            else:
                shapes.append(new)
                self._count += 1
                matched.append(actions)
                rows = without(rows, actions.places)
        return [actions for actions in matched if len(actions.places)]

    def _marks(self, text: Bytes, length: int) -> _LineMarks | None:
        """Return where lines and texts begin and end; None if there is another control character."""
        count, ended, escapes = 0, list[Int64s](), list[Int64s]()
        for start in range(0, length, _BLOCK):
            block = text[start : min(start + _BLOCK, length)]
            low, quotes, behind, marked = self._masks[:, : len(block)]
            np.less(block, _SPACE, out=low)
            np.equal(block, _QUOTE, out=quotes)
            behind[0] = start > 0 and text[start - 1] == _SLASH
            np.equal(block[:-1], _SLASH, out=behind[1:])
            # A quote right after a slash is inside of a text; all others begin or end one.
            np.greater(quotes, behind, out=marked)
            marked |= low
            positions = np.flatnonzero(marked)
            self._bounds = with_room(self._bounds, count + len(positions))
            np.add(positions, start, out=self._bounds[count : count + len(positions)], casting="same_kind")
            count += len(positions)
            ended.append(np.flatnonzero(low) + start)
            escaped = np.greater(behind, quotes, out=low)
            if escaped.any():
                escapes.append(np.flatnonzero(escaped) + start)
        bounds, ends = self._bounds[:count], np.concatenate([*ended, np.zeros(0, np.int64)])
        breaks = np.searchsorted(bounds, ends)
        if not len(ends) or (text[ends] != _BREAK).any():
            return None
        first = np.concatenate([[0], breaks[:-1] + 1])
        starts = np.concatenate([[0], ends[:-1] + 1])
        with_escapes = np.zeros(len(ends), bool)
        with_escapes[np.searchsorted(ends, np.concatenate([*escapes, np.zeros(0, np.int64)]))] = True
        return _LineMarks(text, words_of(text), bounds, first, breaks - first, starts, ends, with_escapes)


class _LineMarks(NamedTuple):
    """A text, and its lines.

    Attributes:
        text: The text, with some spaces after it.
        words: The word that begins at each byte.
        bounds: Positions of double quotes that begin or end a text, and of line breaks.
        first: The index of the first double quote of each line.
        counts: The number of double quotes of each line.
        starts, ends: Where each line begins, and where its line break is.
        escaped: Whether it has an escape other than that of a double quote.
    """

    text: Bytes
    words: Words
    bounds: Int32s
    first: Int64s
    counts: Int64s
    starts: Int64s
    ends: Int64s
    odd: Mask

    def line(self, row: int) -> bytes:
        """Return the text of a line."""
        return self.text[self.starts[row] : self.ends[row]].tobytes()


class _LineMatcher:
    """A shape, prepared for comparison with many lines."""

    def __init__(self, shape: LineShape) -> None:
        self._shape = shape
        self._pieces = PieceFinder(shape.pieces)
        self._numbers = np.flatnonzero(shape.numbers)

    def match(self, marks: _LineMarks, rows: Int64s) -> SimilarActions:
        """Return the actions of the lines that have the shape, of some with the same number of double quotes."""
        shape, spans = self._shape, (marks.first[rows], marks.starts[rows], marks.ends[rows])
        starts, begins, ends, has_shape = self._pieces.find(marks.text, marks.bounds, *spans)
        numbered = begins[self._numbers], ends[self._numbers]
        read = decimal_numbers(marks.words, numbered[0].ravel(), numbered[1].ravel())
        values, good = (each.reshape(numbered[0].shape) for each in read)
        has_shape &= good.all(axis=0)
        of_gap = dict(zip(self._numbers.tolist(), values, strict=True))
        numbers = {name: of_gap[gap] for gap, name in shape.names.items() if gap in of_gap}
        texts = {
            name: TextSpans(marks.text, begins[gap], ends[gap])
            for gap, name in shape.names.items()
            if gap not in of_gap
        }
        for name, (start, end) in shape.values.items():
            texts[name] = TextSpans(marks.text, starts[start[0]] + start[1], starts[end[0]] + end[1])
        for name in _SHORT & numbers.keys():
            has_shape &= numbers[name] < 1 << 31
        decoded = _DECODED & texts.keys()
        for name in decoded:
            has_shape &= texts[name].lengths <= _LONGEST
        actions = _some(SimilarActions(rows, shape.action, texts, numbers), has_shape)
        for name in decoded:
            # Scanning them side by side takes a fraction of the time that the whole text takes.
            escapes = actions.texts[name].words.view(np.uint8) == _SLASH
            if escapes.any():
                actions = _some(actions, ~escapes.any(axis=1))
        return actions


def _some(actions: SimilarActions, rows: Mask) -> SimilarActions:
    """Return some of the actions."""
    if rows.all():
        return actions
    return SimilarActions(
        actions.places[rows],
        actions.like,
        {name: texts[rows] for name, texts in actions.texts.items()},
        {name: values[rows] for name, values in actions.numbers.items()},
    )
