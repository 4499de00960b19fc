"""The shape of similar statistics of one writer: a text without its strings and numbers.

Protocol section: Per-file Statistics. Invariant: a text that has the pieces of a shape at their positions, with a
string or a number between each two of them, is JSON of the same members as the text that the shape was made of.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from explorer.core.protocol.arrow.text_pieces import LONGEST_PIECE, Piece, PieceCutter
from explorer.core.protocol.statistics.bounds import decode_statistics

Path: TypeAlias = tuple[str, ...]

_TOKEN: Final = re.compile(rb'"[^"\\]*"|-?[0-9]+(?:\.[0-9]+)?(?![0-9.eE+-])|true|false|null|[{},:]| +')
_LITERALS: Final = {b"true": True, b"false": False, b"null": None}
_LONGEST: Final = 1 << 14
_MOST_GAPS: Final = 1 << 9


class MemberValue(NamedTuple):
    """The value of a member: a gap between two pieces, or the same in all texts.

    Attributes:
        gap: The index of the piece before it; None for a literal.
        number: Whether the gap is a number, not a string.
        literal: True, False, or None for null.
    """

    gap: int | None
    number: bool = False
    literal: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TextShape:
    """The common parts of similar texts of one writer.

    Attributes:
        pieces: The common parts, from the first byte to the last.
        numbers: The gaps that are numbers, by the index of the piece before; the others are strings.
        values: The wanted members by path, without those that the texts do not have.
        quotes: Double quotes of such a text.
    """

    pieces: Sequence[Piece]
    numbers: Sequence[int]
    values: Mapping[Path, MemberValue]
    quotes: int


def shape_of(text: bytes, wanted: Collection[Path]) -> TextShape | None:
    """Return the shape of a text; None if it is written in a way without a shape.

    Arrays, exponents, escapes, members that occur twice, and objects in place of wanted values have none.
    """
    if len(text) > _LONGEST or isinstance(decode_statistics(text.decode("utf-8", "replace")), str):
        return None
    return _ShapeReading(text, wanted).shape()


class _ShapeReading:
    """A text of JSON, token by token."""

    def __init__(self, text: bytes, wanted: Collection[Path]) -> None:
        self._text = text
        self._wanted = wanted
        self._objects = {path[:depth] for path in wanted for depth in range(len(path))}
        self._cut = PieceCutter(text)
        self._numbers: list[int] = []
        self._values: dict[Path, MemberValue] = {}
        self._open: list[str] = []
        self._name: str | None = None

    def shape(self) -> TextShape | None:
        """Return the shape of the text; None without one."""
        place = 0
        for token in _TOKEN.finditer(self._text):
            if token.start() != place or not self._take(token):
                return None
            place = token.end()
        self._cut.end(place, place)
        pieces = self._cut.pieces
        fits = 1 < len(pieces) <= _MOST_GAPS and max(len(piece.text) for piece in pieces) <= LONGEST_PIECE
        if place != len(self._text) or not fits:
            return None
        return TextShape(pieces, self._numbers, self._values, self._cut.quotes)

    def _take(self, token: re.Match[bytes]) -> bool:
        """Take the next token; False where a text with it has no shape. The text is JSON without repeated names."""
        text = token[0]
        if text in (b",", b":") or text.isspace():
            return True
        if text == b"{":
            return self._begin_object()
        if text == b"}":
            self._name = self._open.pop()
            return self._end_value()
        if self._name is None:
            self._name = text[1:-1].decode()
            return True
        return self._take_value(text, *token.span())

    def _take_value(self, text: bytes, start: int, end: int) -> bool:
        path = self._path()
        if text in _LITERALS:
            value = MemberValue(None, literal=_LITERALS[text])
        else:
            is_string = text.startswith(b'"')
            value = MemberValue(len(self._cut.pieces), number=not is_string)
            if not is_string:
                self._numbers.append(len(self._cut.pieces))
            self._cut.end(start + is_string, end - is_string)
        if path in self._wanted:
            self._values[path] = value
        is_null = value.gap is None and value.literal is None
        return (is_null or path not in self._objects) and self._end_value()

    def _begin_object(self) -> bool:
        path = self._path()
        self._open.append(self._name or "")
        self._name = None
        return path not in self._wanted

    def _end_value(self) -> bool:
        """End the value of a member; the next string in this object is a name."""
        self._name = None
        return True

    def _path(self) -> Path:
        """Return the path of the member that is being read."""
        return (*self._open[1:], self._name or "") if self._open else ()
