"""Other tables that may hold the same rows: those whose log names this table's files, and those with the same columns.

Protocol section: Data Files (a path may be absolute). Invariants: only logs are read, never rows, so a table here is
one that was *not* searched; a table that cannot be read is named with the reason, never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from explorer import formatting as fmt
from explorer.auditing.words import named
from explorer.core.errors import ExplorerError, StorageError
from explorer.core.protocol.file_paths import decode_path
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.retention.missing_files import data_locations


class Neighbour(msgspec.Struct, frozen=True):
    """A table beside the one that is searched: its name, and how its log is opened."""

    name: str
    open: Callable[[], DeltaLog]


class NeighbourTable(msgspec.Struct, frozen=True):
    """What the log of a table beside this one says.

    Attributes:
        name: Its name, as the neighbour had it.
        table: Its location; its name where it cannot be opened.
        shared_files: How many files of this table its log names by absolute path: 1 or more in a shallow clone.
        columns: Its columns of the top level.
        problem: Why its log cannot be read; else empty.
    """

    name: str
    table: str
    shared_files: int = 0
    columns: tuple[str, ...] = ()
    problem: str = ""

    def words(self) -> str:
        """Say in a sentence why the table is named."""
        name = fmt.plain(self.name, 300)
        if self.problem:
            return f"Not searched here: {name}, which cannot be read: {fmt.plain(self.problem, 300)}"
        columns = f"{'the column' if len(self.columns) == 1 else 'the columns'} {named(self.columns)}"
        if not self.shared_files:
            return f"Not searched here: {name} has {columns}."
        files, also = fmt.plural(self.shared_files, "file"), f", and has {columns}" if self.columns else ""
        return (
            f"Not searched here: {name} shares {files} of this table, as a shallow clone does{also}. "
            "A vacuum here breaks the clone. Files that the clone rewrote are its own."
        )


def out_of_reach(name: str, problem: str) -> Neighbour:
    """Return a location next to the table that cannot be searched, and the reason."""

    def refuse() -> DeltaLog:
        raise StorageError(problem, path=name)

    return Neighbour(name, refuse)


def neighbours_of(
    log: DeltaLog, others: Iterable[Neighbour], check_cancelled: Callable[[], None] = lambda: None
) -> tuple[NeighbourTable, ...]:
    """Hold the logs of other tables against a table.

    Args:
        log: The table's log.
        others: The tables to look at; the table itself is passed over.
        check_cancelled: Called before each; may raise.
    """
    root = f"{decode_path(log.location).rstrip('/')}/"
    tables = []
    for other in others:
        check_cancelled()
        try:
            other_log = other.open()
            if f"{decode_path(other_log.location).rstrip('/')}/" != root:
                tables.append(_compared(other.name, other_log, root))
        except ExplorerError as error:
            tables.append(NeighbourTable(other.name, other.name, problem=error.message))
    return tuple(tables)


def related(neighbours: Iterable[NeighbourTable], columns: Sequence[str]) -> tuple[NeighbourTable, ...]:
    """Return those that share files, have one of some columns (whatever its case), or cannot be read; the columns of
    each are then only these. Tables that share files come first."""
    wanted = {column.casefold() for column in columns}
    tables = [
        msgspec.structs.replace(each, columns=tuple(name for name in each.columns if name.casefold() in wanted))
        for each in neighbours
    ]
    relevant = [each for each in tables if each.shared_files or each.columns or each.problem]
    return tuple(sorted(relevant, key=lambda each: (not each.shared_files, bool(each.problem), each.table)))


def _compared(name: str, other_log: DeltaLog, root: str) -> NeighbourTable:
    places = data_locations(other_log.history_record().lifetimes)
    fields = other_log.snapshot().schema.fields
    return NeighbourTable(
        name,
        other_log.location,
        shared_files=sum(place.startswith(root) for place in places),
        columns=tuple(field.name for field in fields),
    )
