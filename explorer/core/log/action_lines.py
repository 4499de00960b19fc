"""The lines of a commit, each action on one: some writers print an action over several lines.

Protocol section: Actions (one action a line). delta-rs and DuckDB read such a commit, delta-spark refuses it; no reader
takes it for something else. Invariants: only a JSON object that ends at the end of a line is put together; what is cut
off, and what shares a line with another action, stays as it is, and is refused where it is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from explorer.core.protocol import limits

__all__ = ["action_lines", "part_end"]

_WHOLE: Final = msgspec.json.Decoder(msgspec.Raw)
_NEAR: Final = 1 << 20
_BETWEEN: Final = re.compile(rb"\}(?=[^\S\n]*+\n)\s*+(?=\{)")
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[]{}["]')


def action_lines(data: bytes) -> list[bytes]:
    """Split a commit into its lines; an action of several lines is on the first of them, and the others are blank.

    Args:
        data: The commit, or a part of it that begins and ends with a line.
    """
    lines, place = data.split(b"\n"), 0
    while place < len(lines):
        end = place + 1
        if lines[place].lstrip().startswith(b"{") and not _is_whole(lines[place]):
            closed = _end_of_object(lines, place)
            if closed is None:
                break  # Whatever follows is inside of what does not end, and is refused with it.
            end = closed
        if end > place + 1:
            # A text holds no line break, so that what surrounds one is never inside a text.
            lines[place:end] = [b" ".join(map(bytes.strip, lines[place:end])), *[b""] * (end - place - 1)]
        place = end
    return lines


def part_end(data: bytes, start: int) -> int:
    """Where a part of a commit ends: behind a line, and between two actions if such a place is near.

    Args:
        data: The commit.
        start: So many bytes are in the part at least.
    """
    # Between two values inside of an action is a comma.
    found = _BETWEEN.search(data, start, start + _NEAR)
    return data.find(b"\n", start) + 1 or len(data) if found is None else data.rfind(b"\n", start, found.end()) + 1


def _is_whole(line: bytes) -> bool:
    try:
        _WHOLE.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _end_of_object(lines: Sequence[bytes], place: int) -> int | None:
    """The place behind the line on which the object ends that begins on a line; None where it does not end."""
    depth = size = 0
    for end in range(place, len(lines)):
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
