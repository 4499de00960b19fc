"""A report's document inside its HTML, and reading it again: of a table, of several, or the statement of an erasure.

Invariants: it is in one element of a type that no browser runs, and no text in it can end that element: characters
with a meaning in HTML, and all beyond ASCII, are JSON escapes. A document of another form, or of a later format, is
refused.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

import msgspec

from explorer.auditing.document import digest_of
from explorer.core.errors import RequestError
from explorer.report.document import FORMAT, TableReport, TablesReport
from explorer.report.erasure_statement import ErasureStatement

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


AnyReport: TypeAlias = TableReport | TablesReport | ErasureStatement


def decode_report(data: bytes | str) -> AnyReport:
    """Read the document of a report.

    Raises:
        RequestError: It is none, or one of a later format.
    """
    try:
        report: AnyReport = msgspec.json.decode(data, type=TableReport | TablesReport | ErasureStatement)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"This is not a report document: {error}.", reason=str(error)) from error
    if report.format != FORMAT:
        raise RequestError(
            f"The report has the format {report.format}, but this program reads {FORMAT}. Use the program version "
            "named in the report.",
            found=report.format,
            expected=FORMAT,
        )
    return report


def read_statement(data: bytes, name: str) -> ErasureStatement:
    """Read the statement of an erasure, HTML or JSON.

    Raises:
        RequestError: It is none, or was changed since it was written.
    """
    statement = decode_report(embedded(data, name) if is_html(data) else data)
    if not isinstance(statement, ErasureStatement):
        raise RequestError(f"{name} is the report of an audit, not the statement of an erasure.", path=name)
    if digest_of(statement) != statement.digest:
        raise RequestError(
            f"{name} was changed after it was written: its digest does not match its content. Use the original file.",
            path=name,
        )
    return statement
