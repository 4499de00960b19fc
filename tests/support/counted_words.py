"""Texts in which a number and its noun or verb do not agree."""

import re
from typing import Final

_NOUNS: Final = (
    *("row", "file", "column", "property", "version", "client", "guard", "commit", "warning", "folder", "table"),
    *("line", "task", "feature", "value", "range", "release"),
)
_PLURALS: Final = "|".join({"property": "properties"}.get(noun, f"{noun}s") for noun in _NOUNS)
_NUMBER: Final = r"(?<![\w.,'\"\-])"
_WRONG: Final = (
    re.compile(rf"{_NUMBER}1 ((live|masked|new|more|other|earlier|older) )*({_PLURALS})\b"),
    re.compile(rf"{_NUMBER}(0|[2-9]|\d[\d,]+) ((live|masked|new|more|other|earlier|older) )*({'|'.join(_NOUNS)})\b"),
    re.compile(
        rf"(?<!of )(?<!in )(?<!and )(?<!version ){_NUMBER}1 (\w+ )?\w+ "
        r"(are|have|were|go|come|stay|leave|become|replace|change|lose|answer)\b"
    ),
    re.compile(
        rf"{_NUMBER}(0|[2-9]|\d[\d,]+) (\w+ )?({_PLURALS}) "
        r"(is|has|was|goes|comes|stays|leaves|becomes|replaces|changes|loses|answers)\b"
    ),
    re.compile(r"(?<![\w.,'\"/\-])-\d+ (deleted|inserted|updated|more|row|file)"),
    re.compile(r"\b[Aa]ll [01] "),
    re.compile(rf"{_NUMBER}0 (\w+ )?({_PLURALS})(?! or\b)"),
)
"""The last one: what is not there is said in words, not as 0 of it."""


def disagreeing(text: str) -> list[str]:
    """Return the parts of a text in which a number does not agree with its words, or 0 is counted."""
    return [found.group() for pattern in _WRONG for found in pattern.finditer(text)]
