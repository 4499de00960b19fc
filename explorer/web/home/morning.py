"""The head of the list of tables: the tables that need attention, and the authors since the last visit.

Invariants: only tables that were read are counted; a table that cannot be read needs attention; without a time of the
last visit nothing is called new.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from explorer.core.protocol.times import milliseconds
from explorer.page.address import Address
from explorer.page.findings import FindingView, finding_view
from explorer.web.home.filtering import NEEDING
from explorer.web.served_tables import TableSummary

_MOST_NEEDS = 5
_MOST_WRITERS = 5
_NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Need:
    """A table that needs attention: why it cannot be read, or its worst finding, and how many more it has."""

    row: TableSummary
    finding: FindingView | None
    more: int


@dataclass(frozen=True, slots=True)
class CommitAuthor:
    """An author of commits: how often, and that as a share of the most frequent."""

    name: str
    commits: int
    share: float


@dataclass(frozen=True, slots=True)
class Morning:
    """The head of the list of tables.

    Attributes:
        needs: The tables that need attention, the worst first, as many as are shown.
        needing: How many there are.
        since: The last visit; None if not known.
        commits, changed: How many commits came since, on how many tables.
        read, total: How many tables were read, and how many there are.
        writers: Who made them, the most frequent first.
        capped: Whether some table has more new commits than are counted.
        outside: How many tables need attention that a filter leaves out.
    """

    needs: tuple[Need, ...]
    needing: int
    since: datetime | None
    commits: int
    changed: int
    read: int
    total: int
    writers: tuple[CommitAuthor, ...]
    capped: bool
    outside: int = 0


def morning(
    summaries: Sequence[TableSummary], since: datetime | None, *, most: int = _MOST_NEEDS, outside: int = 0
) -> Morning:
    """Return the head of the list of tables.

    Args:
        summaries: The tables, as far as they are known.
        since: The last visit, with a zone; None if not known.
        most: How many tables that need attention are shown.
        outside: How many need attention that a filter leaves out.
    """
    needing = sorted((row for row in summaries if row.status in NEEDING), key=_urgency)
    new = {row.ref.name: new_commits(row, since) or 0 for row in summaries}
    changed = [row for row in summaries if new[row.ref.name]]
    counted = Counter(name for row in changed for name in row.recent.authors[-new[row.ref.name] :])
    top = max(counted.values(), default=1)
    return Morning(
        needs=tuple(_need(row) for row in needing[:most]),
        needing=len(needing),
        since=since,
        commits=sum(new.values()),
        changed=len(changed),
        read=sum(not row.pending for row in summaries),
        total=len(summaries),
        writers=tuple(CommitAuthor(name, count, count / top) for name, count in counted.most_common(_MOST_WRITERS)),
        capped=any(row.recent.capped and new[row.ref.name] == len(row.recent.times) for row in changed),
        outside=outside,
    )


def new_commits(row: TableSummary, since: datetime | None) -> int | None:
    """Return how many commits a table has since a time; None if the time, or the table's history, is not known."""
    times = row.recent.times
    return None if since is None or not times else len(times) - bisect_right(times, milliseconds(since))


def _urgency(row: TableSummary) -> tuple[int, int, str]:
    worst = row.findings[0] if row.findings else None
    deadline = _NEVER if worst is None or worst.deadline is None else worst.deadline
    return NEEDING.index(row.status), deadline, row.ref.name.casefold()


def _need(row: TableSummary) -> Need:
    if not row.findings:
        return Need(row, None, 0)
    view = finding_view(row.findings[0], Address(table=row.ref.name), worst=False)
    return Need(row, view, len(row.findings) - 1)
