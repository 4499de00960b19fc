"""What is new, gone and unchanged since an earlier report of the same table.

In: the bytes of a report: HTML, its document, or the line of ``delta-explorer audit --json``; of several tables, too.
Out: a `Since`.
Always: findings are matched by their rule and by what of the table they are about, whatever their words; a report that
is not of this table, cannot be read, or is not as it was written is refused and never compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from explorer import formatting as fmt
from explorer.auditing.document import ReportFinding, digest_of
from explorer.core.errors import RequestError
from explorer.report.decoding import embedded, is_html
from explorer.report.document import Since, SinceLine

_AnyFinding = TypeVar("_AnyFinding", "ReportFinding", "_EarlierFinding")
_AGAIN = "Use a report written by delta-explorer audit, as .html or .json."


class _EarlierFinding(msgspec.Struct, frozen=True):
    id: str
    title: str
    subject: str = ""


class EarlierReport(msgspec.Struct, frozen=True, rename="camel"):
    """What a comparison needs of an earlier report of one table."""

    table: str
    version: int
    time: str
    findings: tuple[_EarlierFinding, ...]
    digest: str
    table_id: str | None = None


def earlier_reports(data: bytes, name: str) -> tuple[EarlierReport, ...]:
    """Read the reports that a file holds, one for each table.

    Raises:
        RequestError: If it is not a report, or was changed since it was written.
    """
    documents = [_decoded(line, name) for line in _lines(data, name)]
    reports = [each for document in documents for each in _tables(document, name)]
    if not reports:
        raise RequestError(f"{name} does not contain the report of a table. {_AGAIN}", path=name)
    try:
        return tuple(msgspec.convert(each, EarlierReport) for each in reports)
    except msgspec.ValidationError as error:
        raise RequestError(f"{name} is not the report of a table: {error}. {_AGAIN}", path=name) from error


def since(
    earlier: Sequence[EarlierReport], table: str, table_id: str | None, version: int, findings: Sequence[ReportFinding]
) -> Since:
    """Compare with the earlier report of a table.

    Args:
        earlier: The reports of a file.
        table, table_id, version, findings: The table as it is now; by its id it is the same at another place, too.

    Raises:
        RequestError: None of them is of this table.
    """
    before = next((each for each in earlier if _is_same(each, table, table_id)), None)
    if before is None:
        named = ", ".join(fmt.plain(each.table, 200) for each in earlier[:3])
        raise RequestError(
            f"The earlier report is of {named}{' and others' if len(earlier) > 3 else ''}, not of {table}. Use the "
            "report of this table.",
            found=named,
            expected=table,
        )
    was, now = _keyed(before.findings), _keyed(findings)
    return Since.of(
        before,
        new=tuple(_line(each) for key, each in now.items() if key not in was),
        gone=tuple(_line(each) for key, each in was.items() if key not in now),
        unchanged=tuple(_line(each, was[key]) for key, each in now.items() if key in was),
        versions=max(version - before.version, 0),
        went_back=version < before.version,
    )


def _is_same(earlier: EarlierReport, table: str, table_id: str | None) -> bool:
    if earlier.table_id is not None and table_id is not None:
        return earlier.table_id == table_id
    return earlier.table == table


def _keyed(findings: Sequence[_AnyFinding]) -> dict[tuple[str, str, int], _AnyFinding]:
    """Return findings by rule and subject; several of the same, each by its place among them."""
    seen: Counter[tuple[str, str]] = Counter()
    by_key: dict[tuple[str, str, int], _AnyFinding] = {}
    for each in findings:
        by_key[each.id, each.subject, seen[each.id, each.subject]] = each
        seen[each.id, each.subject] += 1
    return by_key


def _line(finding: ReportFinding | _EarlierFinding, was: _EarlierFinding | None = None) -> SinceLine:
    other = None if was is None or was.title == finding.title else was.title
    return SinceLine.of(finding, was=other)


def _lines(data: bytes, name: str) -> list[bytes]:
    if is_html(data):
        return [embedded(data, name)]
    return [line for line in data.splitlines() if line.strip()]


def _decoded(data: bytes, name: str) -> dict[str, Any]:
    try:
        document: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"{name} is not a report: {error}. {_AGAIN}", path=name, reason=str(error)) from error
    return document


def _tables(document: Mapping[str, Any], name: str) -> list[Any]:
    """Return the reports of tables in a document whose digests are right."""
    if digest_of(dict(document)) != document.get("digest"):
        raise RequestError(
            f"{name} was changed after it was written: its digest does not match its content. Use the original file.",
            path=name,
        )
    return document["tables"] if document.get("kind") == "tables" else [document]
