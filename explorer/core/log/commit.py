"""Commit files in bulk: bytes -> typed lines, decoding no more than replay needs.

Protocol sections: Delta Log Entries, Actions. Invariants: a commit is read whole or not at all (LOG-010); blank
Protocol sections: Delta Log Entries, Actions. Invariants: a commit is read in full or not at all (LOG-010); blank
lines, CRLF, a missing final newline and an empty file are allowed (LOG-009), and an action over several lines is read;
unknown actions and fields are skipped (PROTO-003). Partition values, statistics and tags stay undecoded until needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias, TypeVar

import msgspec
import numpy as np

from explorer.core.errors import LimitExceeded, MalformedAction
from explorer.core.log.action_lines import action_lines, part_end
from explorer.core.log.log_path import LogPath
from explorer.core.log.text_shape import MalformedCause, misshapen
from explorer.core.protocol import limits
from explorer.core.protocol.actions import AddCDCFile, CommitInfo, DomainMetadata, Metadata, Protocol, TransactionAction
from explorer.core.protocol.json_values import JsonValue, decode_json, exact_number
from explorer.core.protocol.raw_actions import CommitLine, SmallLine

_LARGEST_FILE = 1 << 50
_OPENING, _CLOSING, _NEWLINE = b"{}\n"
_BLANKS = b" \t\r"  # JSON has no other white space
_TOGETHER = 1 << 18  # bytes that fit a processor's cache
# Larger files are decoded in parts of at least as many bytes: a million lines at once take a hundred times as much.
_PART = 1 << 21
_LineT = TypeVar("_LineT", bound=SmallLine)
_SmallT = TypeVar("_SmallT", Protocol, Metadata, TransactionAction, DomainMetadata, AddCDCFile)
_Part: TypeAlias = tuple[list[_LineT], Sequence[int]]

CommitFile: TypeAlias = tuple[LogPath, bytes]
"""The name of a commit file, and its bytes."""


class _Sized(msgspec.Struct, frozen=True, gc=False):
    size: int | None = None


_SIZES = msgspec.json.Decoder(_Sized)
_LINES = msgspec.json.Decoder(CommitLine)
_SMALL_LINES = msgspec.json.Decoder(SmallLine)
_NOTHING = SmallLine()
_COMMIT_INFO = msgspec.json.Decoder(CommitInfo, float_hook=exact_number)


class SmallActions(msgspec.Struct, frozen=True):
    """The actions of one version other than of files, in line order.

    Attributes:
        version: The version.
        path: Key of the file.
        lines: One record for each line with such an action.
        numbers: Numbers of these lines in the file, from 1.
    """

    version: int
    path: str
    lines: Sequence[SmallLine]
    numbers: Sequence[int]

    def is_provenance(self) -> bool:
        """Return whether there is one action, which is the provenance, as in most commits."""
        return len(self.lines) == 1 and is_provenance(self.lines[0])

    def protocol(self) -> Protocol | None:
        """Return the commit's protocol action, the last one if there are several (D-15)."""
        raws = [line.protocol for line in self.lines if line.protocol and _present(line.protocol)]
        return self._decode(Protocol, raws[-1]) if raws else None

    def metadata(self) -> Metadata | None:
        """Return the commit's metadata action, the last one if there are several (D-15)."""
        raws = [line.metaData for line in self.lines if line.metaData and _present(line.metaData)]
        return self._decode(Metadata, raws[-1]) if raws else None

    def transactions(self) -> list[TransactionAction]:
        """Return the commit's transaction identifiers in line order."""
        return [self._decode(TransactionAction, line.txn) for line in self.lines if line.txn and _present(line.txn)]

    def domains(self) -> list[DomainMetadata]:
        """Return the commit's domain metadata in line order, removals included."""
        raws = [line.domainMetadata for line in self.lines if line.domainMetadata and _present(line.domainMetadata)]
        return [self._decode(DomainMetadata, raw) for raw in raws]

    def commit_info(self) -> CommitInfo | None:
        """Return the commit's provenance; a field of an unexpected type goes to ``unknown`` (LOG-024)."""
        raw = next((line.commitInfo for line in self.lines if line.commitInfo and _present(line.commitInfo)), None)
        if raw is None:
            return None
        try:
            return parse_commit_info(raw)
        except LimitExceeded as error:
            raise self._too_much(error, raw) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # Raw members of lines are decoded only now, so bad JSON in them shows only now.
            raise _malformed(self.version, self.path, self._line_of(raw), f"commitInfo: {error}") from error

    def change_sizes(self) -> list[int | None]:
        """Return bytes of each file of recorded changes, in line order; None where the action has none."""
        return [_size(line.cdc) for line in self.lines if line.cdc and _present(line.cdc)]

    def change_files(self) -> list[AddCDCFile]:
        """Return the files of recorded changes, in line order."""
        return [self._decode(AddCDCFile, line.cdc) for line in self.lines if line.cdc and _present(line.cdc)]

    def _decode(self, record: type[_SmallT], raw: msgspec.Raw) -> _SmallT:
        try:
            return record.decode(raw)
        except LimitExceeded as error:
            raise self._too_much(error, raw) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _malformed(self.version, self.path, self._line_of(raw), f"{record.wire_name}: {error}") from error

    def _too_much(self, error: LimitExceeded, raw: msgspec.Raw) -> LimitExceeded:
        """Return the same error with its position."""
        line = self._line_of(raw)
        return LimitExceeded(
            f"Line {line} of {self.path} (version {self.version}): {error.message}",
            version=self.version,
            path=self.path,
            line=line,
            found=error.found,
            allowed=error.allowed,
        )

    def _line_of(self, raw: msgspec.Raw) -> int:
        members = ("protocol", "metaData", "txn", "domainMetadata", "cdc", "commitInfo")
        place = next(i for i, line in enumerate(self.lines) if any(getattr(line, name) is raw for name in members))
        return self.line_number(place)

    def line_number(self, index: int) -> int:
        """Return the number in the file of a line of `lines`, from 1."""
        return self.numbers[index]


class Commit(SmallActions, frozen=True):
    """The actions of one version, in line order.

    Attributes:
        version, path, numbers: As of `SmallActions`.
        lines: One record for each line that is not blank.
    """

    version: int
    path: str
    lines: list[CommitLine]
    numbers: Sequence[int]

    def two_actions(self, place: int) -> MalformedAction:
        """Return the error for a line that both adds and removes a file (LOG-008)."""
        return two_actions(self.version, self.path, self.line_number(place))


def decode_commit(data: bytes, version: int, path: str, before: int = 0) -> Commit:
    """Decode a commit file, or the lines of it that come after some others.

    Args:
        data: The bytes.

    Raises:
        MalformedAction: A line is not JSON, not an object, or a known action has a field of a wrong type.
        LimitExceeded: A line is too long.
    """
    return Commit(version, path, *_joined(_parts(_LINES, data, version, path, before)))


def decode_commits(files: Iterable[CommitFile]) -> Iterator[Commit]:
    """Decode many commit files, in their order; errors are those of `decode_commit`."""
    return (Commit(path.version, path.path, *_joined(parts)) for path, parts in _files(_LINES, files))


def is_provenance(line: SmallLine) -> bool:
    """Return whether a line has provenance and no other small action."""
    others = line.cdc or line.metaData or line.protocol or line.txn or line.domainMetadata
    return bool(line.commitInfo) and not others


def decode_provenance(lines: Sequence[SmallLine]) -> list[CommitInfo] | None:
    """Return the provenance of lines, one a commit; None leaves them to `SmallActions`."""
    try:
        together = b"\n".join([line.commitInfo for line in lines])
        limits.check_json_values(together, "Provenance")
        infos = _COMMIT_INFO.decode_lines(together)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LimitExceeded):
        return None
    return infos if len(infos) == len(lines) else None


def two_actions(version: int, path: str, number: int) -> MalformedAction:
    """Return the error for a line of a commit file that both adds and removes a file (LOG-008)."""
    return _malformed(version, path, number, "it contains both an add and a remove")


def decode_plain_lines(data: bytes) -> list[CommitLine] | None:
    """Decode lines if each is certainly one document; None leaves them to `decode_line`."""
    lines_by_file = _plain_lines(_LINES, [data])
    return None if lines_by_file is None else lines_by_file[0]


def decode_line(line: bytes, version: int, path: str, number: int) -> CommitLine | None:
    """Decode a line of a commit file, None where it is blank; errors are those of `decode_commit`.

    Args:
        version, path: As of `decode_commit`.
        number: Its number in the file, from 1.
    """
    lines, _ = _line_by_line(_LINES, line, number - 1, version, path)
    return lines[0] if lines else None


def decode_small_actions(files: Iterable[CommitFile]) -> Iterator[SmallActions]:
    """Decode the actions of many commit files other than file actions, in a third of the time.

    File actions are only checked to be JSON. Errors are those of `decode_commit`.
    """
    for path, parts in _files(_SMALL_LINES, files):
        actions, of_lines = list[SmallLine](), list[int]()
        for lines, numbers in parts:
            with_actions = [index for index, line in enumerate(lines) if line != _NOTHING]
            actions += [lines[index] for index in with_actions]
            of_lines += [numbers[index] for index in with_actions]
        yield SmallActions(path.version, path.path, actions, of_lines)


def _files(
    decoder: msgspec.json.Decoder[_LineT], files: Iterable[CommitFile]
) -> Iterator[tuple[LogPath, Iterator[_Part[_LineT]]]]:
    """Yield the parts of each file as `_parts` returns them; small files are decoded together."""
    for together in _together(files):
        contents = [data for _, data in together]
        plain = _plain_lines(decoder, contents) if len(contents) > 1 else None
        for place, (path, data) in enumerate(together):
            if plain is None:
                yield path, _parts(decoder, data, path.version, path.path)
            else:
                yield path, iter([(plain[place], range(1, len(plain[place]) + 1))])


def _together(files: Iterable[CommitFile]) -> Iterator[list[CommitFile]]:
    """Yield files that are decoded together, in their order: some small ones, or one."""
    files_together: list[CommitFile] = []
    size, most = 0, min(_TOGETHER, limits.MAX_LINE_BYTES)
    for path, data in files:
        size += len(data)
        if files_together and size > most:
            yield files_together
            files_together, size = [], len(data)
        files_together.append((path, data))
    if files_together:
        yield files_together


def _plain_lines(decoder: msgspec.json.Decoder[_LineT], contents: Sequence[bytes]) -> list[list[_LineT]] | None:
    """Return the lines of each file, if each line is certainly one document; None leaves them to a full check.

    The decoder also accepts documents that span lines or share one (LOG-007). A line break between two braces and
    without a comma ends a document. If all line breaks are such, each line has at least one document; with as many
    documents as lines, each line has exactly one.
    """
    closed = contents[0].endswith(b"\n")
    if any(data[:1] != b"{" or data.endswith(b"\n") is not closed for data in contents):
        return None
    joined = contents[0] if len(contents) == 1 else (b"" if closed else b"\n").join(contents)
    text = np.frombuffer(joined, np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    ends = ends if closed else np.append(ends, len(text))
    if (text[ends - 1] != _CLOSING).any() or (text[ends[:-1] + 1] != _OPENING).any():
        return None
    try:
        if not joined.isascii():
            # The decoder does not check the bytes that it skips, names of unknown fields among them.
            str(joined, "utf-8")
        lines = decoder.decode_lines(joined)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if len(lines) != len(ends):
        return None
    sizes = np.cumsum([len(data) + (not closed) for data in contents])
    return [lines[start:stop] for start, stop in pairwise([0, *np.searchsorted(ends, sizes).tolist()])]


def _joined(parts: Iterable[_Part[_LineT]]) -> _Part[_LineT]:
    """Return the lines of all parts, and their numbers."""
    lines, numbers = list[_LineT](), list[int]()
    for more, of_more in parts:
        lines += more
        numbers += of_more
    return lines, numbers


def _parts(
    decoder: msgspec.json.Decoder[_LineT], data: bytes, version: int, path: str, before: int = 0
) -> Iterator[_Part[_LineT]]:
    """Yield the lines of a commit file that are not blank, of a large one some at a time, and their numbers.

    Raises:
        MalformedAction: The decoder refuses a line.
        LimitExceeded: A line is too long.
    """
    limits.check_lines(data, version, path)
    start = 0
    while start < len(data):
        end = len(data) if len(data) - start <= _PART else part_end(data, start + _PART)
        piece, start = data[start:end], end
        plain = _plain_lines(decoder, [piece])
        after = before + (piece.count(b"\n") if plain is None else len(plain[0]))
        if plain is None:
            yield _line_by_line(decoder, piece, before, version, path)
        else:
            yield plain[0], range(before + 1, after + 1)
        before = after


def _line_by_line(
    decoder: msgspec.json.Decoder[_LineT], data: bytes, before: int, version: int, path: str
) -> _Part[_LineT]:
    """Return the lines of a part of a commit file after so many lines; errors are those of `_parts`."""
    texts = data.split(b"\n")
    try:
        return _each_line(decoder, texts, before, version, path)
    except MalformedAction:
        together = action_lines(data)
        if together == texts:
            raise
    return _each_line(decoder, together, before, version, path)


def _each_line(
    decoder: msgspec.json.Decoder[_LineT], texts: Sequence[bytes], before: int, version: int, path: str
) -> _Part[_LineT]:
    lines, numbers = list[_LineT](), list[int]()
    for number, line in enumerate(texts, before + 1):
        if line.strip(_BLANKS):
            try:
                str(line, "utf-8")
                lines.append(decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                shape = misshapen(texts, number - before - 1)
                raise _malformed(version, path, number, str(error), shape) from error
            numbers.append(number)
    return lines, numbers


def parse_commit_info(raw: msgspec.Raw | bytes) -> CommitInfo:
    """Decode the known fields of provenance; one of an unexpected type goes to ``unknown`` and fails nothing."""
    limits.check_json_values(bytes(raw), "The commitInfo")
    try:
        return _COMMIT_INFO.decode(raw)
    except msgspec.ValidationError:
        value = decode_json(raw)
    if not isinstance(value, dict):
        return CommitInfo(unknown={"commitInfo": value})
    misfits = {name for name in value if not _fits(name, value[name])}
    info = CommitInfo.from_wire({name: item for name, item in value.items() if name not in misfits})
    return msgspec.structs.replace(info, unknown={**info.unknown, **{name: value[name] for name in misfits}})


def _fits(name: str, item: JsonValue) -> bool:
    try:
        CommitInfo.from_wire({name: item})
    except msgspec.ValidationError:
        return False
    return True


def _size(raw: msgspec.Raw) -> int | None:
    """Return the size of an action; a damaged one raises where the file is read."""
    try:
        size = _SIZES.decode(raw).size
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return size if size is not None and 0 <= size < _LARGEST_FILE else None


def _present(raw: msgspec.Raw) -> bool:
    """Return whether a present member is not null; callers first check that it is present, which is rare."""
    return bytes(raw) != b"null"


def _malformed(version: int, path: str, line: int, reason: str, shape: MalformedCause | None = None) -> MalformedAction:
    readable = f"Versions before {version} can still be read. " if version else ""
    step = "Restore the file from a backup" if shape is None else shape.step
    return MalformedAction(
        f"Line {line} of {path} (version {version}) is not a valid action: {reason if shape is None else shape.cause}. "
        f"{readable}{step} to read {'later ones' if version else 'the table'}.",
        version=version,
        path=path,
        line=line,
    )
