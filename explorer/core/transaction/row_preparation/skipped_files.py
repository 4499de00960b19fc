"""Files that a condition skips by their statistics, held against their own footers.

Protocol section: Per-file Statistics. A change of rows trusts no statistics that their file contradicts, as a row that
it misses stays. Invariants: a file that its footer excludes too holds no matching row; any other is to be read, or is
counted; footers are read of skipped files alone, and of no more than a plan can wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.data_footers import DataFooter, FooterColumn, UnreadFooter, footers_of, is_exact_bound
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LineSource, LogicalFiles, vector_descriptors
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.schema.data_types import StructField
from explorer.core.protocol.statistics.collect import statistics_text
from explorer.core.protocol.statistics.data_skipping import BY_STATISTICS, answerable
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn
from explorer.core.versions.snapshot import Snapshot

__all__ = ["MOST_FOOTERS", "MOST_READ", "NONE_SKIPPED", "SkippedFiles", "skipped_files"]

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
        snapshot: The version.
        store: The table's store.
        where: The condition; one that the core cannot read skips no file.
        most_footers: So many footers are compared.
        most_read: So many files are to be read.
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
    kept = snapshot.holding(LogicalFiles((LineSource(lines),))).skipping(where).files
    doubted = kept.filter(kept.column("kept")).column("path").to_pylist()
    missing = sum(isinstance(footer, UnreadFooter) and footer.is_missing for footer in footers)
    unread = skipped.num_rows - len(lines) - missing
    return SkippedFiles(skipped.num_rows, frozenset(doubted[:most_read]), unread + len(doubted[most_read:]))


def _lines(
    files: pa.Table, footers: Sequence[DataFooter | UnreadFooter], columns: Sequence[StatisticsColumn]
) -> list[AddLine]:
    """Files as the log would name them, had their footers been their statistics; those of another size are left out."""
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
    """What a footer says of columns, as the statistics of a file; a column that it does not count is left out."""
    leaves, bounds, nulls = list[tuple[tuple[str, ...], StructField]](), list[pa.Array](), list[int]()
    for column in columns:
        found = footer.columns.get(_name(column))
        if found is None and footer.lacks(column.physical[0]):
            found = FooterColumn(None, None, footer.rows)
        if found is not None and found.nulls is not None:
            leaves.append((column.physical, StructField(column.path[-1], column.type, True, {})))
            bounds.append(_bounds(found, column))
            nulls.append(found.nulls)
    return statistics_text(footer.rows, leaves, bounds, nulls)


def _bounds(found: FooterColumn, column: StatisticsColumn) -> pa.Array:
    """The minimum and the maximum in the type of the table, which may be wider; nothing where they do not fit it."""
    kind = to_arrow(column.type)
    if found.least is None or not is_exact_bound(found.greatest):
        return pa.nulls(0, kind)
    try:
        return pa.array([found.least, found.greatest], kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.nulls(0, kind)


def _name(column: StatisticsColumn) -> str:
    return ".".join(column.physical)
