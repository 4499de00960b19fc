"""Why a line of a commit is not one JSON document: the shape of the text around it.

Protocol section: Actions (one action a line). Invariant: asked only of a line that failed, so no cost while all is
well.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import msgspec

__all__ = ["TextShape", "misshapen"]

_BYTE_ORDER_MARKS: Final = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_LONGEST: Final = 1 << 24
"""Bytes of text that are looked at."""


class TextShape(msgspec.Struct, frozen=True):
    """What is wrong with the text of a commit, and what to do."""

    cause: str
    step: str


def misshapen(lines: Sequence[bytes], place: int) -> TextShape | None:
    """Find out why a line is not one JSON document; None if its text has no shape that explains it.

    Args:
        lines: The lines of the commit, or of a part of it.
        place: Which of them failed.
    """
    line = lines[place]
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if line.startswith(mark):
            step = "Remove these bytes" if encoding == "UTF-8" else "Write the file again in UTF-8"
            return TextShape(f"it begins with a byte-order mark ({mark.hex(' ').upper()}, {encoding})", step)
    rest = b"\n".join(lines[place:])[:_LONGEST]
    try:
        text = rest.decode()
    except UnicodeDecodeError:
        return None
    return _spread(text, len(line.decode("utf-8", "replace")))


def _spread(text: str, length: int) -> TextShape | None:
    start = len(text) - len(text.lstrip())
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        return TextShape("the actions are the elements of a JSON array", "Write each action on a line of its own")
    if not isinstance(value, dict):
        return None
    if end > length:
        return TextShape(
            "an action is written over several lines, which some clients read and the protocol does not allow",
            "Write each action on one line",
        )
    if text[end:length].strip().startswith("{"):
        return TextShape("it holds several actions", "Write each action on a line of its own")
    return None
