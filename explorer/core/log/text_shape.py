"""Why a line of a commit is not one JSON document: the shape of the surrounding text.

Protocol section: Actions (one action a line). Invariant: only a line that failed is examined, so other lines cost
nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

import msgspec

_BYTE_ORDER_MARKS: Final = {
    b"\xef\xbb\xbf": "UTF-8",
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_UNMARKED: Final = {b"{\0\0\0": "UTF-32", b"\0\0\0{": "UTF-32", b"{\0": "UTF-16", b"\0{\0": "UTF-16"}
_REWRITE: Final = "Write the file again in UTF-8"
_RESTORE: Final = "Restore the file from a backup"
_REMOVE: Final = "Remove these bytes"
# How a text begins that is not JSON -> the cause, and the next step.
_BEGINNINGS: Final[tuple[tuple[bytes, str, str], ...]] = (
    (b"\x1f\x8b", "it is compressed with gzip", "Decompress the file, under the name that it has"),
    (b"\x28\xb5\x2f\xfd", "it is compressed with Zstandard", "Decompress the file, under the name that it has"),
    (b"PAR1", "it is a Parquet file", _RESTORE),
    (b"version https://git-lfs", "it is a pointer of Git LFS in place of the file", "Fetch the file with git lfs pull"),
    (
        b"<<<<<<<",
        "it contains the marks of a merge conflict of Git",
        "Restore the version of the file that was committed",
    ),
    (b"<", "it is a page of XML or HTML, such as an error message of a store", _RESTORE),
    (b"\x1e", "it begins with a record separator (1E)", _REMOVE),
    (b"//", "it begins with a comment, which JSON does not have", "Remove the comments"),
    (b"/*", "it begins with a comment, which JSON does not have", "Remove the comments"),
    (b"#", "it begins with a comment, which JSON does not have", "Remove the comments"),
    (b"{'", "its strings are in single quotes, which JSON does not have", "Write the file again as JSON"),
)
_BLANKS: Final = " \t\r\n"
_LONGEST: Final = 1 << 24
"""Bytes of text that are examined."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]|\"[^\"\n]*\t")
_HALF: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_NO_NUMBER: Final = re.compile(r"[:\[,]\s*-?(?:NaN|Infinity)\b")


class MalformedCause(msgspec.Struct, frozen=True):
    """The cause of a malformed commit, and the next step."""

    cause: str
    step: str


def misshapen(lines: Sequence[bytes], index: int) -> MalformedCause | None:
    """Return why a line is not one JSON document; None if its text has no shape that explains it."""
    line = lines[index]
    encoded = _encoded(line)
    if encoded is not None:
        return encoded
    rest = b"\n".join(lines[index:])[:_LONGEST]
    try:
        text = rest.decode()
    except UnicodeDecodeError:
        return None
    return _spread(text, len(line.decode("utf-8", "replace")))


def _encoded(line: bytes) -> MalformedCause | None:
    """Return the cause that the first bytes of a line show."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if line.startswith(mark):
            step = _REMOVE if encoding == "UTF-8" else _REWRITE
            return MalformedCause(f"it begins with a byte-order mark ({mark.hex(' ').upper()}, {encoding})", step)
    for start, encoding in _UNMARKED.items():
        if line.startswith(start):
            return MalformedCause(f"it is encoded in {encoding}", _REWRITE)
    if line.startswith(b"\0"):
        what = "begins with" if line.strip(b"\0\r") else "contains only"
        return MalformedCause(f"it {what} NUL bytes, as a write leaves that a crash interrupted", _RESTORE)
    if not line.decode("utf-8", "replace").strip():
        return MalformedCause("it contains white space that JSON does not have", "Remove the line")
    text = line.lstrip()
    return next((MalformedCause(cause, step) for start, cause, step in _BEGINNINGS if text.startswith(start)), None)


def _spread(text: str, length: int) -> MalformedCause | None:
    start = len(text) - len(text.lstrip(_BLANKS))
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        return MalformedCause("the actions are the elements of a JSON array", "Write each action on a line of its own")
    if not isinstance(value, dict):
        return None
    if end > length:
        return MalformedCause(
            "an action is written over several lines, which some clients read but the protocol does not allow",
            "Write each action on one line",
        )
    return _followed(text[end:length]) or _invalid(text[start:end])


def _followed(rest: str) -> MalformedCause | None:
    """Return the cause in the text after an action."""
    if rest.startswith("\r") and rest.strip():
        return MalformedCause("its lines end in a carriage return alone (0D)", "End each line with a line feed")
    rest = rest.strip()
    if rest == ",":
        return MalformedCause("a comma follows the action", "Remove the comma")
    if rest.lstrip(", \t").startswith("{"):
        return MalformedCause("it contains several actions", "Write each action on a line of its own")
    if rest:
        return MalformedCause("other text follows the action", "Remove the text after the action")
    return None


def _invalid(text: str) -> MalformedCause | None:
    """Return what lenient JSON parsers accept and the standard does not allow; None for valid JSON."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _not_allowed(text)
    return None


def _not_allowed(text: str) -> MalformedCause | None:
    if _CONTROL.search(text):
        return MalformedCause("a string contains a control character", "Write the character with an escape")
    if _HALF.search(text):
        return MalformedCause("a string contains an unpaired surrogate", "Write both halves of the character")
    if _NO_NUMBER.search(text):
        return MalformedCause("a number is NaN or Infinity, which JSON does not have", "Write null in its place")
    return None
