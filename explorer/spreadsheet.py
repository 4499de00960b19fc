"""Texts for cells of a CSV file, so that a spreadsheet shows them and never runs them.

A spreadsheet takes a cell for a formula if it begins with ``=``, ``+``, ``-`` or ``@``, also in wide forms and behind
spaces, quotes or control characters; one that splits lines at another character than the comma sees a cell behind each
semicolon, tab and line break of a text. An apostrophe before it makes it text, as OWASP advises. Invariants: numbers of
numeric columns are never changed; a text that begins no formula is unchanged, except that characters which steer a
terminal or turn the direction of text become U+FFFD; what changed is counted. A text column stays text, so ``-1`` in
one gets its apostrophe too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

_SIGNS: Final = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207c\u207a\u207b\u208c\u208a\u208b\u2212\ufb29"
_BEFORE: Final = (
    "\\x00-\\x20\"'`\u00a0\u00ad\u2000-\u200f\u2018-\u201f\u2028-\u202f\u205f-\u206f\u3000\ufeff\uff02\uff07"
    # Others without a width: joiners, fillers, selectors of variants, tags.
    "\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e\u3164\ufe00-\ufe0f\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
# Behind the start, or behind what another spreadsheet takes for the end of a cell.
_FORMULA: Final = f"(^[{_BEFORE}]*|[;\\t\\r\\n][{_BEFORE}]*)([{_SIGNS}])"
_LEADING: Final = "^[\\t\\r\\n]"
_STEERING: Final = "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u202a-\u202e\u2066-\u2069]"
_FORMULAS: Final = re.compile(_FORMULA)
_LEADS: Final = re.compile(_LEADING)
_STEERS: Final = re.compile(_STEERING)
_SEPARATORS: Final = frozenset(";\t\r\n")
_ANY: Final = re.compile(f"{_FORMULA}|{_LEADING}|{_STEERING}")


def plain_cell(text: str) -> str:
    """Return a text as a cell that no spreadsheet runs."""
    if _ANY.search(text) is None:
        return text
    shown = _STEERS.sub("\ufffd", text)
    marked = _FORMULAS.sub(_marked, shown)
    return f"'{marked}" if _LEADS.match(marked) else marked


def cells(values: Sequence[object]) -> tuple[list[object], int]:
    """Return a row of values for a CSV writer, and how many of them had to change; only texts can."""
    made = [plain_cell(value) if isinstance(value, str) else value for value in values]
    return made, sum(new is not old and new != old for new, old in zip(made, values, strict=True))


def text_column(column: pa.Array) -> tuple[pa.Array, int]:
    """Return a column of strings as such cells, and how many had to change."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # The pattern goes to another engine than Python's, which knows the same classes.
    wanted = pc.match_substring_regex(column, pattern=_ANY.pattern)
    changed: int = pc.sum(wanted).as_py() or 0
    if not changed:
        return column, 0
    texts = [plain_cell(text) for text in column.filter(wanted).to_pylist()]
    return pc.replace_with_mask(column, pc.fill_null(wanted, False), pa.array(texts, column.type)), changed


def escaped_words(changed: int) -> str:
    """Return what was done to so many cells, for people; empty if none changed."""
    if not changed:
        return ""
    what = "1 cell was" if changed == 1 else f"{changed:,} cells were"
    return f"{what} changed so that no spreadsheet runs them: an apostrophe marks them as text"


def _marked(match: re.Match[str]) -> str:
    before, sign = match[1], match[2]
    # At the start the apostrophe must be the first character; behind a separator it stands before the sign.
    first = "'" if match.start() == 0 else ""
    return f"{first}{before}'{sign}" if not first or _SEPARATORS.intersection(before) else f"'{before}{sign}"
