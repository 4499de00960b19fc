"""What was done to the files of a table, as people read it: vacuums, log cleanups, checkpoints, and log compactions.

Invariants: what this program's journal says and what only the log records are told apart; a number that is not known is
unknown, never 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, runtime_checkable

from explorer import formatting as fmt
from explorer.core.errors import ExplorerError
from explorer.core.maintenance.journal import MaintenanceEntry
from explorer.views.table.facts import TableFacts

MOST_SHOWN: Final = 8
_MOST_PATHS: Final = 200
_TITLES: Final = {
    "vacuum": "Vacuum",
    "clean-log": "Log cleanup",
    "checkpoint": "Checkpoint",
    "compact-log": "Log compaction",
}
_OUTCOMES: Final = {"failed": "failed; a part may be done", "unfinished": "no end is recorded"}


@runtime_checkable
class MaintainedTable(Protocol):
    """A table that knows of its maintenance, as `explorer.Table` does."""

    def maintenance(self) -> tuple[MaintenanceEntry, ...]:
        """Return what is known of it, the newest first."""


@dataclass(frozen=True, slots=True)
class MaintenanceLine:
    """One piece of maintenance.

    Attributes:
        title: What was done.
        kind: The kind of its intent.
        time: When it ended.
        by, reason: Who did it and why; empty if not said.
        files: Files and bytes, in words.
        trouble: That it failed, or has no end; empty if it was done.
        version: The newest version of the table then.
        recorded_in: The versions whose commits record it.
        digest: That of the approved plan; empty where only the log records it.
        effect: What it did to the versions that can be read; empty if that is not known.
        paths, more_paths: The first of the deleted files, and how many others went.
    """

    title: str
    kind: str
    time: datetime
    by: str
    reason: str
    files: str
    trouble: str
    version: int
    recorded_in: tuple[int, ...]
    digest: str
    effect: str
    paths: tuple[str, ...]
    more_paths: int


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The maintenance of a table: the newest first, how many older lines there are, and why it cannot be read."""

    lines: tuple[MaintenanceLine, ...] = ()
    more: int = 0
    problem: str = ""


def maintenance(facts: TableFacts) -> Maintenance:
    """Return the newest maintenance of a table."""
    return facts.keep("maintenance", lambda: _read(facts))


def maintenance_entries(facts: TableFacts) -> tuple[MaintenanceEntry, ...]:
    """Return what is known of the maintenance of a table.

    Raises:
        ExplorerError: It cannot be read.
    """
    return facts.log.maintenance() if isinstance(facts.log, MaintainedTable) else ()


def _read(facts: TableFacts) -> Maintenance:
    try:
        entries = maintenance_entries(facts)
    except ExplorerError as error:
        return Maintenance(problem=error.message)
    return Maintenance(tuple(map(maintenance_line, entries[:MOST_SHOWN])), max(0, len(entries) - MOST_SHOWN))


def maintenance_line(entry: MaintenanceEntry) -> MaintenanceLine:
    """Return an entry as people read it."""
    paths = entry.deleted[:_MOST_PATHS]
    return MaintenanceLine(
        title=_TITLES.get(entry.kind, entry.kind),
        kind=entry.kind,
        time=entry.time,
        by=entry.user or "",
        reason=entry.reason or "",
        files=", ".join(_files(entry)) or "nothing was left to do",
        trouble=_OUTCOMES.get(entry.outcome, ""),
        version=entry.version,
        recorded_in=entry.recorded_in,
        digest=entry.digest or "",
        effect=entry.time_travel,
        paths=paths,
        more_paths=max(0, (entry.num_deleted or 0) - len(paths)) if paths else 0,
    )


def _files(entry: MaintenanceEntry) -> Iterator[str]:
    sides = (("deleted", entry.num_deleted, entry.bytes_deleted), ("written", entry.num_written, entry.bytes_written))
    for done, number, size in sides:
        if number:
            yield f"{fmt.plural(number, 'file')} {done}" + ("" if size is None else f", {fmt.size(size)}")
    if entry.num_deleted is None:
        yield "an unknown number of files deleted"
