"""What was committed through this program, on all served tables: who, when, what, why, and the receipt.

Invariants: commits are read from the logs, so those of any server and of the command line are in it; maintenance that
no commit records is read from this user's journal; only tables that were read are in it, and how many were not is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.versions.commit_times import moment
from explorer.page.address import Address
from explorer.spreadsheet import escaped_words
from explorer.views.listing import csv_of
from explorer.web.served_tables import Deed, TableSummary

_PAGE = 200


@dataclass(frozen=True, slots=True)
class ActivityLine:
    """A commit: the table's served name, what its log says, and the address of its receipt."""

    table: str
    deed: Deed
    when: str
    href: str


@dataclass(frozen=True, slots=True)
class Activity:
    """A page of the record, newest first.

    Attributes:
        lines: The commits on this page.
        matched, total: How many match the filter, and how many there are.
        page, pages: The page, from 1.
        unread: How many tables were not read, or cannot be.
        capped: Whether some table has more of them than are counted.
        csv: The page as CSV.
        escaped: What was done to cells of it that a spreadsheet would run; empty if nothing was.
    """

    lines: tuple[ActivityLine, ...]
    matched: int
    total: int
    page: int
    pages: int
    unread: int
    capped: bool
    csv: str
    escaped: str


def activity(address: Address, summaries: Sequence[TableSummary]) -> Activity:
    """Return the part of the record that an address asks for: its filter covers table, person, operation, reason."""
    deeds = [(row, deed) for row in summaries for deed in row.deeds.made]
    deeds.sort(key=lambda matches: (-matches[1].time, matches[0].ref.name, -matches[1].version))
    wanted = address.find.casefold()
    matches = [(row, deed) for row, deed in deeds if wanted in _searched(row, deed)]
    pages = max(1, -(-len(matches) // _PAGE))
    page = min(address.page_number, pages)
    lines = tuple(_line(row, deed) for row, deed in matches[(page - 1) * _PAGE : page * _PAGE])
    csv, escaped = _csv(lines)
    return Activity(
        lines=lines,
        matched=len(matches),
        total=len(deeds),
        page=page,
        pages=pages,
        unread=sum(row.pending or row.problem is not None for row in summaries),
        capped=any(row.deeds.capped for row in summaries),
        csv=csv,
        escaped=escaped_words(escaped),
    )


def _searched(row: TableSummary, deed: Deed) -> str:
    return "\n".join((row.ref.name, deed.user, deed.operation, deed.reason, deed.done)).casefold()


def _line(row: TableSummary, deed: Deed) -> ActivityLine:
    table = Address(table=row.ref.name)
    href = table.to(tab="overview") if deed.done else table.receipt_of(deed.version)
    return ActivityLine(row.ref.name, deed, fmt.moment(moment(deed.time)), href)


def _csv(lines: Sequence[ActivityLine]) -> tuple[str, int]:
    deeds = ((line.table, line.deed) for line in lines)
    rows = (
        (table, deed.version, moment(deed.time).isoformat(), deed.user, deed.operation, deed.reason)
        for table, deed in deeds
    )
    return csv_of(("table", "version", "time", "by", "operation", "reason"), rows)
