"""What an intent over rows found at a version, and what is left to write.

Invariants: a plan reads and counts; the engine writes once the plan is committed, and once for all tries of a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from explorer.core.protocol.actions import Add
from explorer.core.protocol.counted import counted
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.transaction.new_files.touched import Touched
from explorer.core.transaction.proposal import Estimate, GuardResult, Proposal, Writing, Written
from explorer.core.transaction.row_engine import RowEngine
from explorer.core.versions.reads import Reads
from explorer.core.versions.snapshot import Snapshot

__all__ = ["Found", "OnVersion", "kept_files", "rewriting", "statistics_guard", "to_be_written", "vet_partitions"]

_MOST_NAMED: Final = 10


OnVersion: TypeAlias = Callable[[Snapshot], Proposal]
"""Makes the proposal for a version, again for a later one where another commit came first."""


class Found(msgspec.Struct, frozen=True):
    """What a change of rows found at a version: the files that it changes, what it looked into, and how it writes.

    Attributes:
        guards: Doubts about what was found.
    """

    touched: tuple[Touched, ...]
    reads: Reads
    write: Callable[[], Written]
    guards: tuple[GuardResult, ...] = ()

    def changed(self) -> tuple[Add, ...]:
        """The files that change."""
        return tuple(file.add for file in self.touched)


def statistics_guard(snapshot: Snapshot, where: str | None, touched: Sequence[Touched]) -> tuple[GuardResult, ...]:
    """Say which of the files that change are excluded by their own statistics; nothing if none is."""
    if where is None:
        return ()
    paths = snapshot.misleading(where, {decode_path(file.add.path) for file in touched})
    if not paths:
        return ()
    verb = "excludes" if len(paths) == 1 else "exclude"
    detail = (
        f"{counted(len(paths), 'file')} with matching rows {'has' if len(paths) == 1 else 'have'} statistics that "
        f"{verb} them, such as {paths[0]}. The rows are changed, but queries of other clients skip the file."
    )
    evidence = {"files": list(paths[:_MOST_NAMED]), "numFiles": len(paths), "detail": detail}
    remedy = "Recompute the statistics first (recompute-statistics), then plan again."
    return (GuardResult("statistics-right", "warn", evidence, remedy),)


def kept_files(touched: Sequence[Touched]) -> tuple[Touched, ...]:
    """The files that keep a row."""
    return tuple(file for file in touched if not file.is_emptied)


def rewriting(
    kept: Sequence[Touched], write: Callable[[], Written], complete: Callable[[Written], Proposal]
) -> Proposal:
    """A proposal that replaces files: as far as it is known before the rows that stay are written."""
    stay = sum(file.rows_left for file in kept)
    return to_be_written(Written((), rows=stay), write, complete, stay)


def to_be_written(
    known: Written, write: Callable[[], Written], complete: Callable[[Written], Proposal], rows: int
) -> Proposal:
    """A proposal as far as it is known before its rows are written.

    Args:
        known: What is known of that which will be written.
        write: Writes it.
        complete: Makes the proposal of what was written.
        rows: How many rows there will be.
    """
    return msgspec.structs.replace(complete(known), writing=Writing(write, complete), estimate=Estimate(rows=rows))


def vet_partitions(engine: RowEngine, snapshot: Snapshot, where: str | None) -> None:
    """Check that a condition, if there is one, is over partition columns."""
    if where is not None:
        folders = [field for field in snapshot.schema.fields if field.name in snapshot.partition_columns]
        engine.vet(StructType(tuple(folders)), where)
