"""The files that an intent over rows changes at a version, those that its condition skips, and what is left to write.

Protocol section: Per-file Statistics. A change of rows trusts no statistics that their file contradicts, as a row that
it misses stays. Invariants: a plan reads and counts; the engine writes once the plan is committed, and once for all
tries of a commit. A file that its footer excludes too holds no matching row; any other is to be read, or is counted;
footers are read of skipped files alone, and of no more than a plan can wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import RequestError
from explorer.core.protocol.actions import Add
from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.counted import counted
from explorer.core.protocol.data_footers import DataFooter, FooterColumn, UnreadFooter, footers_of, is_exact_bound
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LineSource, LogicalFiles, vector_descriptors
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.protocol.statistics.collect import statistics_text
from explorer.core.protocol.statistics.data_skipping import BY_STATISTICS, answerable
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn
from explorer.core.transaction.new_files.file_facts import Touched
from explorer.core.transaction.proposal import Estimate, GuardResult, Proposal, SourceContent, Writing, Written
from explorer.core.transaction.row_engine import RowEngine
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.reads import Reads
from explorer.core.versions.snapshot import Snapshot

MOST_FOOTERS: Final = 10_000
"""So many footers a plan compares: some seconds on a disk, a minute in an object store."""
MOST_READ: Final = 200
"""So many skipped files a change reads, as their footers do not exclude them."""


class SkippedFiles(msgspec.Struct, frozen=True):
    """What is known of the files that a condition skips by statistics.

    Attributes:
        files: How many there are.
        doubted: Decoded paths of those that may hold a matching row, as far as their footers say; at most `MOST_READ`.
        unchecked: How many of the others were not checked: their footers were not read, or they are doubted too.
    """

    files: int
    doubted: frozenset[str]
    unchecked: int


NONE_SKIPPED: Final = SkippedFiles(0, frozenset(), 0)


def skipped_files(
    snapshot: Snapshot, store: LogStore, where: str, *, most_footers: int = MOST_FOOTERS, most_read: int = MOST_READ
) -> SkippedFiles:
    """Hold the files that a condition skips by statistics against their footers.

    Args:
        where: The condition; one that the core cannot read skips no file.
    """
    try:
        rules = snapshot.skipping(where).files.column("rule")
        _, used = answerable(where, snapshot.schema, snapshot.statistics_columns)
    except RequestError:
        return NONE_SKIPPED
    skipped = snapshot.logical_files.filter(pc.is_in(rules, value_set=pa.array(BY_STATISTICS)))
    compared = skipped.slice(0, most_footers)
    # Files that go by field ids may hold a column under any name.
    columns = [] if snapshot.column_mapping_mode == "id" else [each for each in used.values() if not each.partition]
    footers = footers_of(store, compared.column("path").to_pylist(), {_name(column) for column in columns})
    lines = _lines(compared, footers, columns)
    not_skipped = snapshot.holding(LogicalFiles((LineSource(lines),))).skipping(where).files
    doubted = not_skipped.filter(not_skipped.column("kept")).column("path").to_pylist()
    missing = sum(isinstance(footer, UnreadFooter) and footer.is_missing for footer in footers)
    unread = skipped.num_rows - len(lines) - missing
    return SkippedFiles(skipped.num_rows, frozenset(doubted[:most_read]), unread + len(doubted[most_read:]))


def _lines(
    files: pa.Table, footers: Sequence[DataFooter | UnreadFooter], columns: Sequence[StatisticsColumn]
) -> list[AddLine]:
    """Return files as adds with their footers as statistics; files of another size than the log has are skipped."""
    values = files.column("partition_values").to_pylist(maps_as_pydicts="strict")
    paths, sizes = (files.column(name).to_pylist() for name in ("raw_path", "size"))
    rows = zip(paths, sizes, values, vector_descriptors(files), footers, strict=True)
    return [
        AddLine(
            path,
            msgspec.Raw(msgspec.json.encode(partition or {})),
            stats=msgspec.Raw(msgspec.json.encode(_statistics(footer, columns))),
            deletion_vector=vector,
        )
        for path, size, partition, vector, footer in rows
        if isinstance(footer, DataFooter) and size in (None, footer.size)
    ]


def _statistics(footer: DataFooter, columns: Sequence[StatisticsColumn]) -> str:
    """Return the statistics of a file by its footer; a column without counts is skipped."""
    leaves, bounds, nulls = list[tuple[tuple[str, ...], StructField]](), list[pa.Array](), list[int]()
    for column in columns:
        facts = footer.columns.get(_name(column))
        if facts is None and footer.lacks(column.physical[0]):
            facts = FooterColumn(None, None, footer.rows)
        if facts is not None and facts.nulls is not None:
            leaves.append((column.physical, StructField(column.path[-1], column.type, True, {})))
            bounds.append(_bounds(facts, column))
            nulls.append(facts.nulls)
    return statistics_text(footer.rows, leaves, bounds, nulls)


def _bounds(facts: FooterColumn, column: StatisticsColumn) -> pa.Array:
    """Return minimum and maximum in the type of the table, which may be wider; empty if they do not fit it."""
    kind = to_arrow(column.type)
    if facts.least is None or not is_exact_bound(facts.greatest):
        return pa.nulls(0, kind)
    try:
        return pa.array([facts.least, facts.greatest], kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.nulls(0, kind)


def _name(column: StatisticsColumn) -> str:
    return ".".join(column.physical)


_MOST_NAMED: Final = 10
_REPAIR: Final = "Recompute the statistics first (recompute-statistics), then plan again."
_CHECK: Final = (
    "To be sure, plan recompute-statistics first: it reads every file and finds out whose statistics differ. Otherwise "
    "commit."
)


OnVersion: TypeAlias = Callable[[Snapshot], Proposal]
"""Makes the proposal for a version, again for a later one where another commit came first."""


class MatchedFiles(msgspec.Struct, frozen=True):
    """The matches of a change of rows at a version: files that it changes, what it read, how it writes, warnings."""

    touched: tuple[Touched, ...]
    reads: Reads
    write: Callable[[], Written]
    guards: tuple[GuardResult, ...] = ()

    def changed(self) -> tuple[Add, ...]:
        """Return the files that change."""
        return tuple(file.add for file in self.touched)


def skipped(engine: RowEngine, log: DeltaLog, snapshot: Snapshot, where: str | None) -> SkippedFiles:
    """Compare the files that a condition skips by statistics with their footers; none if the engine skips none."""
    if where is None or not engine.reads_like_core(snapshot):
        return NONE_SKIPPED
    return skipped_files(snapshot, log.store, where)


def statistics_guard(
    snapshot: Snapshot, where: str | None, touched: Sequence[Touched], skipped: SkippedFiles
) -> tuple[GuardResult, ...]:
    """Say which of the files that change are excluded by their own statistics, and how many other files were skipped
    without a check; nothing where there are none.

    Args:
        where: The condition; None for none.
    """
    paths = () if where is None else snapshot.misleading(where, {canonical_key(file.add.path) for file in touched})
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


def files_with_rows(touched: Sequence[Touched]) -> tuple[Touched, ...]:
    """Return the files that keep a row."""
    return tuple(file for file in touched if not file.is_emptied)


def rewriting(
    with_rows_left: Sequence[Touched], write: Callable[[], Written], complete: Callable[[Written], Proposal]
) -> Proposal:
    """Return a proposal that replaces files: as far as it is known before the rows that stay are written."""
    stay = sum(file.rows_left for file in with_rows_left)
    return to_be_written(Written((), rows=stay), write, complete, stay)


def to_be_written(
    known: Written,
    write: Callable[[], Written],
    complete: Callable[[Written], Proposal],
    rows: int,
    source: Callable[[], SourceContent] | None = None,
) -> Proposal:
    """Return a proposal as far as it is known before its rows are written."""
    return msgspec.structs.replace(
        complete(known), writing=Writing(write, complete), source=source, estimate=Estimate(rows=rows)
    )


def vet_partitions(engine: RowEngine, snapshot: Snapshot, where: str | None) -> None:
    """Check that a condition, if there is one, is over partition columns."""
    if where is not None:
        folders = [field for field in snapshot.schema.fields if field.name in snapshot.partition_columns]
        engine.vet(StructType(tuple(folders)), where)
