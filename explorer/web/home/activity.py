"""Who did what on the served tables: the entries of the server's record, and the commits that the logs name.

Invariants: what both name is one line, with what both say of it. The logs also name commits of other servers and of the
command line, of tables that were read, and the journal the maintenance of this user that no commit records; how many
tables were not read is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from explorer import formatting as fmt
from explorer.activity.event import KINDS, RecordEntry
from explorer.core.versions.commit_times import moment
from explorer.page.address import Address
from explorer.spreadsheet import escaped_words
from explorer.views.listing import csv_of
from explorer.web.served_tables import RecordedChange, TableSummary

_PAGE = 200
_ENDED = ("committed", "conflicted", "rejected", "unknown", "failed")


@dataclass(frozen=True, slots=True)
class ActivityLine:
    """What happened.

    Attributes:
        time: When.
        kind: As of an entry of the record; ``commit`` for a commit of a log.
        user: Who; empty if not known.
        address: The network address of the request; empty if not known.
        table: The served name; empty for what concerns none.
        version: The version that was read or written.
        operation: What was done.
        outcome: How it ended.
        reason: The reason in the log, or what is said of the outcome.
        when: The time for people.
        href: The address of its receipt, or of the journal; empty without one.
        done: What maintenance did to files; empty for all else.
    """

    time: datetime
    kind: str
    user: str
    address: str
    table: str
    version: int | None
    operation: str
    outcome: str
    reason: str
    when: str
    href: str
    done: str = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """A page of the lines, newest first.

    Attributes:
        lines: Those on this page.
        matched, total: How many match the filters, and how many there are.
        page, pages: The page, from 1.
        kinds: What the lines can be about.
        served: The tables that can be opened here; the record may name others.
        recorded: The server has a record.
        unread: How many tables were not read, or cannot be.
        capped: Whether some table has more commits than are counted, or the record more lines.
        csv: The page as CSV.
        escaped: What was done to cells of it that a spreadsheet would run; empty if nothing was.
    """

    lines: tuple[ActivityLine, ...]
    matched: int
    total: int
    page: int
    pages: int
    kinds: tuple[str, ...]
    served: frozenset[str]
    recorded: bool
    unread: int
    capped: bool
    csv: str
    escaped: str


def activity(
    address: Address,
    summaries: Sequence[TableSummary],
    entries: Sequence[RecordEntry] | None = None,
    *,
    cut: bool = False,
) -> Activity:
    """Return the lines that an address asks for.

    Args:
        address: Its filter covers table, person, operation, outcome, and reason.
        summaries: The tables, as far as they are known.
        entries: The newest entries of the record, newest first; None where there is none.
        cut: The record has older lines.
    """
    logged = {
        (row.ref.name, change.digest or change.version): _of_log(row, change)
        for row in summaries
        for change in row.recorded.made
    }
    lines = [*_recorded(entries or (), logged), *logged.values()]
    lines.sort(key=lambda line: (-line.time.timestamp(), line.table, -(line.version or 0)))
    wanted = address.find.casefold()
    matches = [line for line in lines if (not address.kind or line.kind == address.kind) and wanted in _searched(line)]
    pages = max(1, -(-len(matches) // _PAGE))
    page = min(address.page_number, pages)
    shown = tuple(matches[(page - 1) * _PAGE : page * _PAGE])
    csv, escaped = _csv(shown)
    return Activity(
        lines=shown,
        matched=len(matches),
        total=len(lines),
        page=page,
        pages=pages,
        kinds=KINDS,
        served=frozenset(row.ref.name for row in summaries),
        recorded=entries is not None,
        unread=sum(row.pending or row.problem is not None for row in summaries),
        capped=cut or any(row.recorded.capped for row in summaries),
        csv=csv,
        escaped=escaped_words(escaped),
    )


def _of_log(row: TableSummary, change: RecordedChange) -> ActivityLine:
    time, table = moment(change.time), Address(table=row.ref.name)
    return ActivityLine(
        time=time,
        kind="maintenance" if change.done else "commit",
        user=change.user,
        address="",
        table=row.ref.name,
        version=change.version,
        operation=change.operation,
        outcome="committed",
        reason=change.reason,
        when=fmt.moment(time),
        href=table.to(tab="overview") if change.done else table.receipt_of(change.version),
        done=change.done,
    )


def _recorded(entries: Sequence[RecordEntry], logged: dict[tuple[str, int | str], ActivityLine]) -> list[ActivityLine]:
    """Return the lines of a record; what a log or the journal names, too, is one line, and taken from those."""
    lines, ended = list[ActivityLine](), set[int | None]()
    for entry in entries:
        event = entry.event
        if event.outcome in _ENDED:
            ended.add(event.refers_to)
        elif event.outcome == "begun" and entry.number in ended:
            continue  # the entry of its end says more
        in_log = None
        if event.outcome == "committed":
            named = event.digest if event.kind == "maintenance" else event.version
            in_log = None if named is None else logged.pop((event.table, named), None)
        time = datetime.fromisoformat(entry.time)
        line = ActivityLine(
            time=time,
            kind=event.kind,
            user=event.person,
            address=event.address,
            table=event.table,
            version=event.version,
            operation=event.what,
            outcome=event.outcome,
            reason=event.detail,
            when=fmt.moment(time),
            href="",
        )
        if in_log is not None:
            line = replace(line, operation=in_log.operation, reason=in_log.reason, href=in_log.href, done=in_log.done)
            line = replace(line, user=line.user or in_log.user)
        lines.append(line)
    return lines


def _searched(line: ActivityLine) -> str:
    return "\n".join(
        (line.table, line.user, line.operation, line.done, line.reason, line.kind, line.outcome, line.address)
    ).casefold()


def _csv(lines: Sequence[ActivityLine]) -> tuple[str, int]:
    rows = (
        (
            line.table,
            "" if line.version is None else line.version,
            line.time.isoformat(),
            line.user,
            line.operation,
            line.reason,
            line.kind,
            line.outcome,
            line.address,
        )
        for line in lines
    )
    heads = ("table", "version", "time", "by", "operation", "reason", "kind", "outcome", "from")
    return csv_of(heads, rows)
