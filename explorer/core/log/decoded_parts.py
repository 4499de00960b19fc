"""Parts of a log, decoded: some commits together or some lines of a large one, their file actions as columns.

Protocol sections: Delta Log Entries, Actions. Invariants: a line gives the same actions by every decoder, and a
damaged one is named with its file and line; of a large commit only a part is in memory as lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Final, NamedTuple

import numpy as np

from explorer.core.errors import MalformedAction
from explorer.core.log.action_lines import part_end
from explorer.core.log.commit import (
    CommitFile,
    decode_commit,
    decode_commits,
    decode_line,
    decode_plain_lines,
    two_actions,
)
from explorer.core.log.log_path import LogPath
from explorer.core.log.similar_lines import SimilarActions, SimilarLines, SortedText
from explorer.core.protocol import limits
from explorer.core.protocol.arrow.arrays import Int64s
from explorer.core.protocol.log_store import JoinedObjects
from explorer.core.protocol.raw_actions import CommitLine

# Bytes that are decoded together. In fewer than the second, similar lines are not worth a search.
_PART: Final = 1 << 22
_FEWEST: Final = 1 << 17


class CommitPiece(NamedTuple):
    """The lines of a commit that are in one part.

    Attributes:
        path: Its file.
        start: Index of its first line in the part.
        before: Lines of the commit in earlier parts.
        last: Whether its lines end here.
    """

    path: LogPath
    start: int
    before: int
    last: bool


@dataclass(frozen=True, slots=True)
class DecodedPart:
    """A part of a log.

    Attributes:
        pieces: Its commits, ascending.
        count: The number of its lines.
        similar: File actions as columns.
        lines: The other lines that are not blank.
        places: Their indexes in the part.
    """

    pieces: Sequence[CommitPiece]
    count: int
    similar: Sequence[SimilarActions]
    lines: Sequence[CommitLine]
    places: Int64s

    def versions(self) -> Int64s:
        """Return the version of each line."""
        starts = np.array([*(piece.start for piece in self.pieces), self.count], np.int64)
        return np.repeat(np.array([piece.path.version for piece in self.pieces], np.int64), np.diff(starts))

    def two_actions(self, index: int) -> MalformedAction:
        """Return the error for one of the lines that both adds and removes a file (LOG-008)."""
        ((path, number),) = self.origins(self.places[[index]])
        return two_actions(path.version, path.path, number)

    def origins(self, places: Int64s) -> list[tuple[LogPath, int]]:
        """Return the file of each of some lines, and the number that it has there, from 1."""
        starts = np.array([piece.start for piece in self.pieces], np.int64)
        pieces = [self.pieces[of] for of in np.searchsorted(starts, places, side="right") - 1]
        numbers = zip(pieces, places.tolist(), strict=True)
        return [(piece.path, place - piece.start + piece.before + 1) for piece, place in numbers]


class _Text(NamedTuple):
    """A piece of a commit file; `begins` if it has the first byte, `ends` if it has the last."""

    path: LogPath
    data: bytes
    begins: bool
    ends: bool


def decode_parts(files: Iterable[CommitFile], similar: SimilarLines | None) -> Iterator[DecodedPart]:
    """Decode commit files, in their order.

    Args:
        files: Their names and bytes.
        similar: Finds similar lines; None decodes every line by itself.

    Raises:
        MalformedAction: A line is not JSON, not an object, or a known action has a field of a wrong type; parts of its
            commit may have come before.
        LimitExceeded: A line is too long.
    """
    before = 0
    for texts in _together(files):
        before = 0 if texts[0].begins else before
        part = _with_columns(texts, before, similar) or _line_by_line(texts, before)
        yield part
        last = part.pieces[-1]
        before = last.before + part.count - last.start


def decode_joined(paths: Sequence[LogPath], joined: JoinedObjects, similar: SimilarLines) -> Iterator[DecodedPart]:
    """Decode commit files in one buffer, which are fewer bytes than two parts.

    Args:
        joined: Their bytes.

    Raises:
        MalformedAction, LimitExceeded: As of `decode_parts`.
    """
    data, ends = joined
    bounds = list(pairwise((0, *ends)))
    is_short = all(end - start <= limits.MAX_LINE_BYTES for start, end in bounds)
    sorted_text = similar.find_joined(data, ends[-1]) if is_short and ends[-1] >= _FEWEST else None
    part = None
    if sorted_text is not None and sorted_text.similar:
        starts = [0, *np.searchsorted(sorted_text.breaks, ends[:-1]).tolist()]
        part = _part(
            [CommitPiece(path, start, 0, True) for path, start in zip(paths, starts, strict=True)], sorted_text
        )
    if part is None:
        files = [(path, bytes(data[start:end])) for path, (start, end) in zip(paths, bounds, strict=True)]
        yield from decode_parts(files, None)
    else:
        yield part


def _together(files: Iterable[CommitFile]) -> Iterator[list[_Text]]:
    """Yield the files that are decoded together: some small files, or some lines of a large one."""
    texts, size = list[_Text](), 0
    for path, data in files:
        limits.check_lines(data, path.version, path.path)
        start, length = 0, len(data)
        while start < length or not start:
            end = length if length - start <= _PART else part_end(data, start + _PART)
            if texts and size + end - start > 2 * _PART:
                yield texts
                texts, size = [], 0
            texts.append(_Text(path, data[start:end], not start, end == length))
            size += end - start
            if size >= _PART:
                yield texts
                texts, size = [], 0
            start = max(end, 1)
    if texts:
        yield texts


def _with_columns(texts: Sequence[_Text], before: int, similar: SimilarLines | None) -> DecodedPart | None:
    """Return the part with similar lines as columns; None if it is to be decoded line by line."""
    size = sum(len(text.data) for text in texts)
    # A text larger than a part is one line.
    if similar is None or not _FEWEST <= size <= 2 * _PART:
        return None
    contents = [text.data + b"\n" if text.data and not text.data.endswith(b"\n") else text.data for text in texts]
    sorted_text = similar.find(contents)
    if sorted_text is None or not sorted_text.similar:
        return None
    ends = np.cumsum([len(content) for content in contents])
    return _part(_pieces(texts, [0, *np.searchsorted(sorted_text.breaks, ends[:-1]).tolist()], before), sorted_text)


def _part(pieces: Sequence[CommitPiece], sorted_text: SortedText) -> DecodedPart | None:
    """Return the part with similar lines as columns, and the others decoded.

    None where one of those is not an action by itself: it may be a part of one, and so may the similar lines.
    """
    part = DecodedPart(pieces, len(sorted_text.breaks), sorted_text.similar, [], sorted_text.others)
    lines = decode_plain_lines(b"".join(line + b"\n" for line in sorted_text.lines))
    indexes = sorted_text.others
    if lines is None:
        each = zip(sorted_text.lines, part.origins(indexes), strict=True)
        try:
            decoded = [decode_line(line, path.version, path.path, number) for line, (path, number) in each]
        except MalformedAction:
            return None
        indexes = indexes[np.array([line is not None for line in decoded], bool)]
        lines = [line for line in decoded if line is not None]
    return replace(part, lines=lines, places=indexes)


def _line_by_line(texts: Sequence[_Text], before: int) -> DecodedPart:
    """Return the part without columns."""
    lines, places, starts, count = list[CommitLine](), list[int](), list[int](), 0
    begun = [decode_commit(texts[0].data, texts[0].path.version, texts[0].path.path, before)] if before else []
    rest = decode_commits([(text.path, text.data) for text in texts[len(begun) :]])
    for text, commit in zip(texts, chain(begun, rest), strict=True):
        starts.append(count)
        earlier = 0 if text.begins else before
        places += [count + number - 1 - earlier for number in commit.numbers]
        lines += commit.lines
        count += text.data.count(b"\n") + (text.data[-1:] not in {b"", b"\n"})
    return DecodedPart(_pieces(texts, starts, before), count, [], lines, np.array(places, np.int64))


def _pieces(texts: Sequence[_Text], starts: Sequence[int], before: int) -> list[CommitPiece]:
    return [
        CommitPiece(text.path, start, 0 if text.begins else before, text.ends)
        for text, start in zip(texts, starts, strict=True)
    ]
