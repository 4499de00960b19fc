"""The lines of a commit, one action each: some writers print an action over several lines.

Protocol section: Actions (one action a line). delta-rs and DuckDB read such a commit, delta-spark refuses it; all
readers agree on its meaning. Invariants: only a JSON object that ends at the end of a line is put together; one that is
cut off, or shares a line with another action, stays as it is, and is refused where it is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from explorer.core.protocol import limits

_DOCUMENT: Final = msgspec.json.Decoder(msgspec.Raw)
_NEAR: Final = 1 << 20
_BETWEEN: Final = re.compile(rb"\}(?=[^\S\n]*+\n)\s*+(?=\{)")
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[]{}["]')


def action_lines(data: bytes) -> list[bytes]:
    """Split a commit into its lines; an action of several lines is on the first of them, and the others are blank."""
    lines, place = data.split(b"\n"), 0
    while place < len(lines):
        end = place + 1
        if lines[place].lstrip().startswith(b"{") and not _is_document(lines[place]):
            closed = _end_of_object(lines, place)
            if closed is None:
                break  # Everything after an object without an end is inside of it, and is refused with it.
            end = closed
        if end > place + 1:
            # A text contains no line break, so text around one is never inside a string.
            lines[place:end] = [b" ".join(map(bytes.strip, lines[place:end])), *[b""] * (end - place - 1)]
        place = end
    return lines


def part_end(data: bytes, start: int) -> int:
    """Return where a part of a commit ends: after a line, and between two actions if such a position is near.

    Args:
        start: So many bytes are in the part at least.
    """
    # Between two values inside of an action is a comma.
    boundary = _BETWEEN.search(data, start, start + _NEAR)
    return (
        data.find(b"\n", start) + 1 or len(data) if boundary is None else data.rfind(b"\n", start, boundary.end()) + 1
    )


def _is_document(line: bytes) -> bool:
    try:
        _DOCUMENT.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _end_of_object(lines: Sequence[bytes], start: int) -> int | None:
    """Return the index after the line on which the object that begins on a line ends; None without an end."""
    depth = size = 0
    for end in range(start, len(lines)):
        size += len(lines[end])
        if size > limits.MAX_LINE_BYTES:
            return None
        for token in _TOKEN.findall(lines[end]):
            if token == b'"':
                return None
            depth += (token in {b"{", b"["}) - (token in {b"}", b"]"})
        if depth <= 0:
            return end + 1
    return None
