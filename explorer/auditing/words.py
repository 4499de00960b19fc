"""How findings name versions, commits, times and columns; texts of the table are shortened, and shown as text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Place
from explorer.auditing.subject import Subject
from explorer.core.protocol.arrow.arrays import Integers
from explorer.core.versions.commit_times import moment
from explorer.credentials import safe_path

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_MOST_NAMED = 4


def span(first: int, last: int) -> str:
    """Return ``v3``, or ``v3 to v7``."""
    return f"v{first}" if first == last else f"v{first} to v{last}"


def spans(ranges: Sequence[tuple[int, int]]) -> str:
    """Return ``v3 to v7, v9``; of many the first ones, and how many more."""
    shown = ", ".join(span(first, last) for first, last in ranges[:_MOST_NAMED])
    more = len(ranges) - _MOST_NAMED
    return f"{shown} and {fmt.plural(more, 'more run', 'more runs')}" if more > 0 else shown


def runs(versions: Integers) -> tuple[tuple[int, int], ...]:
    """Return the unbroken runs of ascending versions, both ends included."""
    ranges: list[tuple[int, int]] = []
    for version in versions.tolist():
        if ranges and ranges[-1][1] == version - 1:
            ranges[-1] = (ranges[-1][0], version)
        else:
            ranges.append((version, version))
    return tuple(ranges)


def named(names: Sequence[str], total: int = 0) -> str:
    """Return some names of many: ``a, b and 3 more``; ``total`` is how many there are if more than are given.

    Credentials in the paths of files are hidden.
    """
    shown = ", ".join(fmt.shorten(fmt.plain(safe_path(name), 200), 60) for name in names[:_MOST_NAMED])
    more = max(total, len(names)) - _MOST_NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def duration(milliseconds: int) -> str:
    """Return ``7 days``, or hours and minutes if it is not a full number of days."""
    for size, unit in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        count, rest = divmod(milliseconds, size)
        if not rest:
            return fmt.plural(count, unit)
    return str(timedelta(milliseconds=milliseconds))


def in_sql(location: str) -> str:
    """Return a table by its path, as Spark SQL names it."""
    return f"delta.`{location.replace('`', '``')}`"


def time_text(milliseconds: int) -> str:
    """Return a time as lists show it."""
    return fmt.day(moment(milliseconds))


def by_whom(subject: Subject, version: int) -> str:
    """Return ``DELETE by ben, 23 Oct 2026 21:47 UTC``: what the log says of a commit."""
    operation = fmt.plain(subject.commits.text(version, "operation") or "commit", 40)
    user = subject.commits.text(version, "user_name")
    author = f" by {fmt.shorten(fmt.plain(user, 200), 40)}" if user else ""
    when = subject.when(version)
    return f"{operation}{author}" + ("" if when is None else f", {fmt.day(when)}")


def commit_evidence(subject: Subject, version: int) -> Evidence:
    """Return the commit of a version as evidence, with what it changed to look at if the version can be shown."""
    shown = version >= subject.history.lifetimes.readable_from
    return Evidence(f"v{version} {by_whom(subject, version)}", Place("difference", version) if shown else None)
