"""A report's document inside its HTML: how it is written, and how it is found again.

Invariants: it stands in one element of a type that no browser runs, and no text in it can end that element or be taken
for something else by a reader of the source: characters that HTML gives a meaning, and all beyond ASCII, are written
as JSON escapes.
"""

from __future__ import annotations

import re
from typing import Final

from explorer.core.errors import RequestError

__all__ = ["embedded", "embedding", "is_html"]

_OPENS: Final = b'<script type="application/json" id="audit">'
_CLOSES: Final = b"</script>"
_ESCAPED: Final = re.compile("[<>&]|[^ -~]")


def embedding(document: bytes) -> str:
    """Return the element that holds a document."""
    text = _ESCAPED.sub(_escape, document.decode())
    return f"{_OPENS.decode()}{text}{_CLOSES.decode()}"


def is_html(data: bytes) -> bool:
    """Return whether a file is HTML, however it begins; a JSON document may quote HTML."""
    start = data.lstrip()[:1]
    return start == b"<" or (start != b"{" and b"<html" in data[:2000].lower())


def embedded(data: bytes, name: str) -> bytes:
    """Return the document that an HTML file holds.

    Raises:
        RequestError: It holds none, or several.
    """
    before, opening, rest = data.partition(_OPENS)
    text, closed, _ = rest.partition(_CLOSES)
    if not opening or not closed or _OPENS in rest:
        what = "several documents" if opening and closed else "no document"
        raise RequestError(
            f"{name} holds {what} of a report, at byte {len(before):,}. Use the file as written by delta-explorer "
            "audit.",
            path=name,
        )
    return text


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
