"""Reading the document of a report again: of a table, of several, or the statement of an erasure.

Invariants: a document of another form, or of a later format, is refused.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from explorer.auditing.document import digest_of
from explorer.core.errors import RequestError
from explorer.report.document import FORMAT, TableReport, TablesReport
from explorer.report.embedding import embedded, is_html
from explorer.report.erasure_statement import ErasureStatement

__all__ = ["AnyReport", "decode_report", "read_statement"]

AnyReport: TypeAlias = TableReport | TablesReport | ErasureStatement


def decode_report(data: bytes | str) -> AnyReport:
    """Read the document of a report.

    Raises:
        RequestError: It is none, or one of a later format.
    """
    try:
        found: AnyReport = msgspec.json.decode(data, type=TableReport | TablesReport | ErasureStatement)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"This is not the document of a report: {error}.", reason=str(error)) from error
    if found.format != FORMAT:
        raise RequestError(
            f"The report has the format {found.format}, this program knows {FORMAT}. Use the program that it names.",
            found=found.format,
            expected=FORMAT,
        )
    return found


def read_statement(data: bytes, name: str) -> ErasureStatement:
    """Read the statement of an erasure, HTML or JSON.

    Args:
        data: The file.
        name: How to name it in errors.

    Raises:
        RequestError: It is none, or was changed since it was written.
    """
    found = decode_report(embedded(data, name) if is_html(data) else data)
    if not isinstance(found, ErasureStatement):
        raise RequestError(f"{name} is the report of an audit, not the statement of an erasure.", path=name)
    if digest_of(found) != found.digest:
        raise RequestError(
            f"{name} was changed after it was written: its digest is not that of its content. Take the file as it was "
            "written.",
            path=name,
        )
    return found
