"""The shape of similar lines of one writer: a line of a file action without its texts and numbers.

Protocol section: Actions. Invariant: a line that has the pieces of a shape at their positions, with a text or a
number between each two of them, is JSON of the same members as the line that the shape was made of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from explorer.core.log.commit import decode_plain_lines
from explorer.core.protocol.arrow.text_pieces import LONGEST_PIECE, Piece, PieceCutter
from explorer.core.protocol.raw_actions import AddLine, RemoveLine

_Member: TypeAlias = tuple[str, ...]
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\")*"|\d+|true|false|null|[{},:]| +')
# Members whose value is needed as JSON, and members that are the same in most lines of a writer.
_AS_JSON: Final[dict[_Member, str]] = {("stats",): "stats", ("partitionValues",): "partition_values"}
_SAME: Final = {("deletionVector", "storageType")}
_NAMES: Final[dict[_Member, str]] = {
    ("path",): "path",
    ("size",): "size",
    ("modificationTime",): "modification_time",
    ("deletionTimestamp",): "deletion_timestamp",
    ("baseRowId",): "base_row_id",
    ("defaultRowCommitVersion",): "default_row_commit_version",
    ("deletionVector", "pathOrInlineDv"): "dv_path_or_inline",
    ("deletionVector", "offset"): "dv_offset",
    ("deletionVector", "sizeInBytes"): "dv_size_in_bytes",
    ("deletionVector", "cardinality"): "dv_cardinality",
}
_BETWEEN: Final = {b",", b":"}
# Limits that no usual line exceeds: bytes, and nested objects.
_LONGEST, _DEEPEST = 1 << 16, 8


class Value(NamedTuple):
    """The JSON of a member: its first byte and the one after it, each as a piece and an offset in its text."""

    start: tuple[int, int]
    end: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class LineShape:
    """The common parts of similar lines of one writer.

    Attributes:
        action: The file action of the line that the shape was made of.
        pieces: The common texts, from the first byte to the last.
        numbers: For each gap between two pieces, whether it is a number; otherwise a text.
        names: The names of the needed gaps.
        values: Members that are needed as JSON.
        quotes: Double quotes of such a line, without those inside of texts.
    """

    action: AddLine | RemoveLine
    pieces: Sequence[Piece]
    numbers: Sequence[bool]
    names: Mapping[int, str]
    values: Mapping[str, Value]
    quotes: int


def shape_of(line: bytes) -> LineShape | None:
    """Return the shape of a line of UTF-8; None if it is not one file action, or is written in a way without a shape.

    Arrays, numbers with a sign or a fraction, and texts with escapes other than of double quotes have none.
    """
    if len(line) > _LONGEST:
        return None
    lines = decode_plain_lines(line)
    if lines is None:
        return None
    action = lines[0].remove if lines[0].add is None else lines[0].add
    return None if action is None else _LineReading(line).shape(action)


class _LineReading:
    """A line of JSON, token by token."""

    def __init__(self, line: bytes) -> None:
        self._line = line
        self._cut = PieceCutter(line)
        self._numbers: list[bool] = []
        self._names: dict[int, str] = {}
        self._values: dict[str, Value] = {}
        # For each open object: its name, and the names of its members so far.
        self._open: list[str] = []
        self._members: list[set[str]] = []
        self._name: str | None = None
        self._starts: dict[_Member, tuple[int, int]] = {}

    def shape(self, action: AddLine | RemoveLine) -> LineShape | None:
        """Return the shape of the line; None without one."""
        place = 0
        for token in _TOKEN.finditer(self._line):
            if token.start() != place or not self._take(token):
                return None
            place = token.end()
        self._cut.end(place, place)
        lengths = [len(piece.text) for piece in self._cut.pieces]
        if place != len(self._line) or max(lengths) > LONGEST_PIECE:
            return None
        return LineShape(action, self._cut.pieces, self._numbers, self._names, self._values, self._cut.quotes)

    def _take(self, token: re.Match[bytes]) -> bool:
        """Take the next token; False where a line with it has no shape."""
        start, end = token.span()
        text = token[0]
        if text in _BETWEEN or text.isspace():
            return True
        if text == b"}":
            self._name = self._open.pop()
            self._members.pop()
        elif self._name is None and text != b"{":
            # The line is JSON, so a text where no member has begun is the name of one.
            return self._take_name(text)
        else:
            self._starts[self._member()] = len(self._cut.pieces), start - self._cut.begin
        if text == b"{":
            self._open.append(self._name or "")
            self._members.append(set())
            self._name = None
            return len(self._open) <= _DEEPEST
        if text.isdigit():
            self._gap(start, end, is_number=True)
        elif self._member() in _SAME:
            # A piece has no escapes, because each of its double quotes is counted.
            if b"\\" in text:
                return False
        elif text.startswith(b'"'):
            self._gap(start + 1, end - 1, is_number=False)
        self._end_value(end)
        return True

    def _take_name(self, text: bytes) -> bool:
        """Begin a member; return False if its name is not plain, a duplicate, or next to that of the action."""
        self._name = text[1:-1].decode()
        known = self._members[-1]
        if "\\" in self._name or self._name in known:
            return False
        known.add(self._name)
        return len(self._members[0]) == 1

    def _gap(self, start: int, end: int, *, is_number: bool) -> None:
        """Skip a text or a number, which differs from line to line."""
        if name := _NAMES.get(self._member()):
            self._names[len(self._cut.pieces)] = name
        self._numbers.append(is_number)
        self._cut.end(start, end)

    def _end_value(self, end: int) -> None:
        """End the value of a member; the next text in this object is a name."""
        member = self._member()
        if name := _AS_JSON.get(member):
            self._values[name] = Value(self._starts[member], (len(self._cut.pieces), end - self._cut.begin))
        self._name = None

    def _member(self) -> _Member:
        """Return the member that is being read, after the names of the objects between the action and it."""
        return (*self._open[2:], self._name or "")
