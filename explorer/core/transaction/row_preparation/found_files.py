"""What an intent over rows found at a version, and what is left to write.

Invariants: a plan reads and counts; the engine writes once the plan is committed, and once for all tries of a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from explorer.core.protocol.actions import Add
from explorer.core.protocol.counted import counted
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.transaction.new_files.touched import Touched
from explorer.core.transaction.proposal import Estimate, GuardResult, Proposal, Writing, Written
from explorer.core.transaction.row_engine import RowEngine
from explorer.core.transaction.row_preparation.skipped_files import (
    MOST_FOOTERS,
    MOST_READ,
    NONE_SKIPPED,
    SkippedFiles,
    skipped_files,
)
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads
from explorer.core.versions.snapshot import Snapshot

__all__ = [
    "Found",
    "OnVersion",
    "kept_files",
    "rewriting",
    "skipped",
    "statistics_guard",
    "to_be_written",
    "vet_partitions",
]

_MOST_NAMED: Final = 10
_REPAIR: Final = "Recompute the statistics first (recompute-statistics), then plan again."
_CHECK: Final = (
    "To be sure, plan recompute-statistics first: it reads every file and finds out whose statistics differ. Otherwise "
    "commit."
)


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


def skipped(engine: RowEngine, log: DeltaLog, snapshot: Snapshot, where: str | None) -> SkippedFiles:
    """The files that a condition skips by statistics, held against their footers; none where the engine skips none."""
    if where is None or not engine.reads_alike(snapshot):
        return NONE_SKIPPED
    return skipped_files(snapshot, log.store, where)


def statistics_guard(
    snapshot: Snapshot, where: str | None, touched: Sequence[Touched], skipped: SkippedFiles
) -> tuple[GuardResult, ...]:
    """Say which of the files that change are excluded by their own statistics, and how many other files were skipped
    without a check; nothing where there are none.

    Args:
        snapshot: The version.
        where: The condition; None for none.
        touched: The files that change.
        skipped: The files that the condition skips.
    """
    paths = () if where is None else snapshot.misleading(where, {decode_path(file.add.path) for file in touched})
    if not paths and not skipped.unchecked:
        return ()
    evidence: dict[str, object] = {"files": list(paths[:_MOST_NAMED]), "numFiles": len(paths)}
    evidence |= {"numSkipped": skipped.files, "numUnchecked": skipped.unchecked}
    evidence["detail"] = " ".join([*_misled(paths), *_unchecked(skipped)])
    remedy = _REPAIR if paths else _CHECK
    return (GuardResult("statistics-right", "warn", evidence, remedy),)


def _misled(paths: Sequence[str]) -> Iterator[str]:
    if paths:
        verb = "excludes" if len(paths) == 1 else "exclude"
        yield (
            f"{counted(len(paths), 'file')} with matching rows {'has' if len(paths) == 1 else 'have'} statistics that "
            f"{verb} them, such as {paths[0]}. The rows are changed, but queries of other clients skip the file."
        )


def _unchecked(skipped: SkippedFiles) -> Iterator[str]:
    if skipped.unchecked:
        yield (
            f"The condition skips {counted(skipped.files, 'file')} by statistics, and {skipped.unchecked:,} of them "
            f"{'was' if skipped.unchecked == 1 else 'were'} not checked: a plan compares the statistics of at most "
            f"{MOST_FOOTERS:,} files with their footers, and reads at most {MOST_READ:,} files whose footers do not "
            "exclude matching rows. If their statistics are wrong, matching rows in them stay as they are."
        )


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
