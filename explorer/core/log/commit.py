"""Commit files in bulk: bytes -> typed lines, decoding no more than replay needs.

Protocol sections: Delta Log Entries, Actions. Invariants: a commit is read whole or not at all (LOG-010); blank
lines, CRLF, a missing final newline and an empty file are allowed (LOG-009); unknown actions and fields are
skipped (PROTO-003). Partition values, statistics and tags stay undecoded until asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from explorer.core.errors import LimitExceeded, MalformedAction
from explorer.core.protocol.actions import (
    AddCDCFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    SetTransaction,
)
from explorer.core.protocol.json_values import JsonValue, decode_json, exact_number
from explorer.core.protocol.limits import check_lines
from explorer.core.protocol.raw_actions import CommitLine, SmallLine

__all__ = [
    "Commit",
    "LineBreaks",
    "SmallActions",
    "decode_commit",
    "decode_commit_parts",
    "decode_small_actions",
    "line_breaks",
    "parse_commit_info",
]

_LARGEST_FILE = 1 << 50
_OPENING, _CLOSING, _NEWLINE = b"{}\n"
_FIRST_OF_MANY = 1 << 7
_LOOKED_AT_ONCE = 1 << 17  # bytes that a processor keeps at hand
# Larger files are decoded in parts of at least as many bytes: a million lines at once take a hundred times as much.
_PART = 1 << 21
_LineT = TypeVar("_LineT", bound=SmallLine)
_SmallT = TypeVar("_SmallT", Protocol, Metadata, SetTransaction, DomainMetadata, AddCDCFile)


class _Sized(msgspec.Struct, frozen=True, gc=False):
    size: int | None = None


_SIZES = msgspec.json.Decoder(_Sized)
_LINES = msgspec.json.Decoder(CommitLine)
_SMALL_LINES = msgspec.json.Decoder(SmallLine)
_NOTHING = SmallLine()
_COMMIT_INFO = msgspec.json.Decoder(CommitInfo, float_hook=exact_number)


class LineBreaks(NamedTuple):
    """What the bytes of a commit file say of its lines before they are decoded.

    Attributes:
        documents: How many it holds if each of its lines is one; -1 where line breaks leave that open.
        is_ascii: True if all bytes are known to be ASCII.
    """

    documents: int
    is_ascii: bool


class SmallActions(msgspec.Struct, frozen=True):
    """The actions of one version other than of files, in line order.

    Attributes:
        version: The version.
        path: Key of the file.
        lines: One record for each line that holds such an action.
        numbers: Numbers of these lines in the file, from 1; None where they have no gap.
    """

    version: int
    path: str
    lines: Sequence[SmallLine]
    numbers: Sequence[int] | None = None

    def protocol(self) -> Protocol | None:
        """The commit's protocol action, the last one if it wrongly holds several (D-15)."""
        raws = [line.protocol for line in self.lines if line.protocol and _present(line.protocol)]
        return self._decode(Protocol, raws[-1]) if raws else None

    def metadata(self) -> Metadata | None:
        """The commit's metadata action, the last one if it wrongly holds several (D-15)."""
        raws = [line.metaData for line in self.lines if line.metaData and _present(line.metaData)]
        return self._decode(Metadata, raws[-1]) if raws else None

    def transactions(self) -> list[SetTransaction]:
        """The commit's transaction identifiers in line order."""
        return [self._decode(SetTransaction, line.txn) for line in self.lines if line.txn and _present(line.txn)]

    def domains(self) -> list[DomainMetadata]:
        """The commit's domain metadata in line order, removals included."""
        raws = [line.domainMetadata for line in self.lines if line.domainMetadata and _present(line.domainMetadata)]
        return [self._decode(DomainMetadata, raw) for raw in raws]

    def commit_info(self) -> CommitInfo | None:
        """The known fields of the commit's provenance; one of an unexpected type goes to ``unknown`` (LOG-024)."""
        raw = next((line.commitInfo for line in self.lines if line.commitInfo and _present(line.commitInfo)), None)
        if raw is None:
            return None
        try:
            return parse_commit_info(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # Raw members of lines are decoded only now, so bad JSON in them shows only now.
            raise _malformed(self.version, self.path, self._line_of(raw), f"commitInfo: {error}") from error

    def change_sizes(self) -> list[int | None]:
        """Bytes of each file of recorded changes, in line order; None where the action does not say so."""
        return [_size(line.cdc) for line in self.lines if line.cdc and _present(line.cdc)]

    def change_files(self) -> list[AddCDCFile]:
        """The files of recorded changes, in line order."""
        return [self._decode(AddCDCFile, line.cdc) for line in self.lines if line.cdc and _present(line.cdc)]

    def _decode(self, record: type[_SmallT], raw: msgspec.Raw) -> _SmallT:
        try:
            return record.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _malformed(self.version, self.path, self._line_of(raw), f"{record.wire_name}: {error}") from error

    def _line_of(self, raw: msgspec.Raw) -> int:
        members = ("protocol", "metaData", "txn", "domainMetadata", "cdc", "commitInfo")
        place = next(i for i, line in enumerate(self.lines) if any(getattr(line, name) is raw for name in members))
        return self.line_number(place)

    def line_number(self, place: int) -> int:
        """Number in the file of a line of `lines`, from 1."""
        return place + 1 if self.numbers is None else self.numbers[place]


class Commit(SmallActions, frozen=True):
    """The actions of one version, in line order.

    Attributes:
        version, path, numbers: As of `SmallActions`.
        lines: One record for each line that is not blank.
    """

    version: int
    path: str
    lines: list[CommitLine]
    numbers: list[int] | None = None

    def two_actions(self, place: int) -> MalformedAction:
        """The error for a line that both adds and removes a file (LOG-008)."""
        return _malformed(self.version, self.path, self.line_number(place), "it holds both an add and a remove")


def decode_commit(data: bytes, version: int, path: str, breaks: LineBreaks | None = None) -> Commit:
    """Decode a commit file.

    Args:
        data: The file's bytes.
        version: The version it commits.
        path: The file's key, for errors.
        breaks: What `line_breaks` found in it; None looks now.

    Raises:
        MalformedAction: A line is not JSON, not an object, or a known action has a field of a wrong type.
        LimitExceeded: A line is too long.
    """
    if len(data) <= _PART:
        return Commit(version, path, *_decoded(_LINES, data, version, path, breaks))
    return Commit(version, path, *_joined(_parts(_LINES, data, version, path, breaks)))


def decode_commit_parts(data: bytes, version: int, path: str, breaks: LineBreaks | None = None) -> Iterator[Commit]:
    """Decode a commit file in parts, each of some thousand lines: of a large one only a part is in memory as lines.

    Arguments and errors are those of `decode_commit`; who gets an error has to let go of the parts before.
    """
    return (Commit(version, path, *part) for part in _parts(_LINES, data, version, path, breaks))


def decode_small_actions(data: bytes, version: int, path: str, breaks: LineBreaks | None = None) -> SmallActions:
    """Decode the actions of a commit file other than of files, in a third of the time.

    Of the file actions it is checked that they are JSON, and no more. Arguments and errors are those of
    `decode_commit`.
    """
    found, of_lines = list[SmallLine](), list[int]()
    for lines, numbers in _parts(_SMALL_LINES, data, version, path, breaks):
        places = [place for place, line in enumerate(lines) if line != _NOTHING]
        found += [lines[place] for place in places]
        of_lines += [place + 1 if numbers is None else numbers[place] for place in places]
    return SmallActions(version, path, found, of_lines)


def line_breaks(contents: Sequence[bytes]) -> list[LineBreaks]:
    """Look at the bytes of commit files, many at once; those that are decoded in parts are looked at then.

    A line break between two braces and without a comma ends a document. If all line breaks of a file are such, each
    line has at least one document; with as many documents as lines, each line has exactly one.
    """
    found: list[LineBreaks] = []
    size = start = 0
    for place, data in enumerate(contents, 1):
        size += len(data)
        if size >= _LOOKED_AT_ONCE or place == len(contents):
            if len(data) > _PART:
                found += [*_line_breaks(contents[start : place - 1]), LineBreaks(-1, is_ascii=False)]
            else:
                found += _line_breaks(contents[start:place])
            size, start = 0, place
    return found


def _line_breaks(contents: Sequence[bytes]) -> list[LineBreaks]:
    if not contents:
        return []
    text = np.frombuffer(contents[0] if len(contents) == 1 else b"".join(contents), np.uint8)
    offsets = np.zeros(len(contents) + 1, np.int64)
    np.cumsum([len(data) for data in contents], out=offsets[1:])
    firsts, lasts, filled = offsets[:-1], offsets[1:] - 1, np.diff(offsets) > 0
    if not filled.any():
        return [LineBreaks(0, is_ascii=True)] * len(contents)
    ends = np.flatnonzero(text == _NEWLINE)
    parts = (text[ends - 1] == _CLOSING) & (text[np.minimum(ends + 1, len(text) - 1)] == _OPENING)
    places = np.searchsorted(ends, offsets)
    closed = text[lasts] == _NEWLINE  # The break at the end of a file parts nothing.
    parts[places[1:][filled & closed] - 1] = True
    odd = np.concatenate([[0], np.cumsum(~parts)])[places]
    sure = filled & (text[np.minimum(firsts, len(text) - 1)] == _OPENING) & (np.diff(odd) == 0)
    counts = np.where(sure, np.diff(places) + ~closed, np.where(filled, -1, 0))
    is_ascii = bool(text.max() < _FIRST_OF_MANY)
    return [
        LineBreaks(count, is_ascii=is_ascii or data.isascii())
        for count, data in zip(counts.tolist(), contents, strict=True)
    ]


def _joined(parts: Iterator[tuple[list[_LineT], list[int] | None]]) -> tuple[list[_LineT], list[int] | None]:
    """The lines of all parts, and their numbers; None where these have no gap."""
    lines, numbers = next(parts, (list[_LineT](), None))
    for more, of_more in parts:
        numbers = [*(range(1, len(lines) + 1) if numbers is None else numbers), *(of_more or ())]
        lines += more
    return lines, None if numbers and numbers[-1] == len(numbers) else numbers


def _parts(
    decoder: msgspec.json.Decoder[_LineT], data: bytes, version: int, path: str, breaks: LineBreaks | None
) -> Iterator[tuple[list[_LineT], list[int] | None]]:
    """The lines of a commit file as `_decoded` returns them, of a large one some at a time."""
    if len(data) <= _PART:
        yield _decoded(decoder, data, version, path, breaks)
        return
    start = before = 0
    while start < len(data):
        end = data.find(b"\n", start + _PART) + 1 or len(data)
        piece = data[start:end]
        try:
            lines, numbers = _decoded(decoder, piece, version, path, None)
        except (MalformedAction, LimitExceeded):
            _decoded(decoder, data, version, path, None)  # The error that counts lines from the beginning.
            raise
        yield lines, [before + number for number in (range(1, len(lines) + 1) if numbers is None else numbers)]
        start, before = end, before + piece.count(b"\n")


def _decoded(
    decoder: msgspec.json.Decoder[_LineT], data: bytes, version: int, path: str, breaks: LineBreaks | None
) -> tuple[list[_LineT], list[int] | None]:
    """The lines of a commit file that are not blank, and their numbers; None where these have no gap.

    Raises:
        MalformedAction: A line is not what the decoder takes.
        LimitExceeded: A line is too long.
    """
    check_lines(data, version, path)
    breaks = _line_breaks([data])[0] if breaks is None else breaks
    try:
        if not breaks.is_ascii:
            # The decoder does not check the bytes of what it skips, names of unknown fields among them.
            str(data, "utf-8")
        lines = decoder.decode_lines(data)
        # The decoder also accepts documents that span lines or share one (LOG-007).
        return lines, None if len(lines) == breaks.documents else _checked_lines(decoder, data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        line, reason = _first_bad_line(decoder, data)
        raise _malformed(version, path, line, reason or str(error)) from error


def parse_commit_info(raw: msgspec.Raw | bytes) -> CommitInfo:
    """Decode the known fields of provenance; one of an unexpected type goes to ``unknown`` and fails nothing."""
    try:
        return _COMMIT_INFO.decode(raw)
    except msgspec.ValidationError:
        value = decode_json(raw)
    if not isinstance(value, dict):
        return CommitInfo(unknown={"commitInfo": value})
    odd = {name for name in value if not _fits(name, value[name])}
    kept = CommitInfo.from_wire({name: item for name, item in value.items() if name not in odd})
    return msgspec.structs.replace(kept, unknown={**kept.unknown, **{name: value[name] for name in odd}})


def _fits(name: str, item: JsonValue) -> bool:
    try:
        CommitInfo.from_wire({name: item})
    except msgspec.ValidationError:
        return False
    return True


def _size(raw: msgspec.Raw) -> int | None:
    """The size that an action states; whoever reads the file finds out what is wrong with a broken one."""
    try:
        size = _SIZES.decode(raw).size
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return size if size is not None and 0 <= size < _LARGEST_FILE else None


def _present(raw: msgspec.Raw) -> bool:
    """True if a present member is not null; callers first check that it is present, which is rare."""
    return bytes(raw) != b"null"


def _checked_lines(decoder: msgspec.json.Decoder[_LineT], data: bytes) -> list[int]:
    """Decode line by line, which finds a line that is not one document; return the numbers of the lines not blank."""
    filled = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    for _, line in filled:
        str(line, "utf-8")
        decoder.decode(line)
    return [number for number, _ in filled]


def _first_bad_line(decoder: msgspec.json.Decoder[_LineT], data: bytes) -> tuple[int, str]:
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            _checked_lines(decoder, line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return number, str(error)
    return data.count(b"\n") + 1, ""


def _malformed(version: int, path: str, line: int, reason: str) -> MalformedAction:
    return MalformedAction(
        f"Line {line} of {path} (version {version}) is not a valid action: {reason}. "
        f"Versions before {version} can still be read. Restore the file from a backup to read later ones.",
        version=version,
        path=path,
        line=line,
    )
