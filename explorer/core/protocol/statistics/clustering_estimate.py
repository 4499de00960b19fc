"""Estimates of the files that a condition would read if the rows lay in the order of one column, by bounds alone.

Protocol sections: Per-file Statistics, Clustered Table. Invariants: only the log is read. Rows count as spread
evenly between the minimum and the maximum of their file; they stay in their partition, which has as many files
as before, each with as many rows; only columns of partitions still skip files, as other values end up anywhere. Without
enough facts in the log nothing is estimated, and the reason is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask, Numbers, int64s, numbers
from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.sql.predicates import Expression, IsNull, Like, Not, SqlComparison, parts_of
from explorer.core.protocol.statistics.column_facts import BoundValues, ColumnFacts, Side
from explorer.core.protocol.statistics.data_skipping import answerable
from explorer.core.protocol.statistics.file_statistics import FileStatistics, StatisticsColumn
from explorer.core.protocol.statistics.skipping_truth import truth_of

_Path = tuple[str, ...]
_PIECES: Final = 256
"""The maximum of parts into which a file's range is cut."""
_MOST_PIECES: Final = 400_000
_CONTINUOUS: Final = frozenset({"float", "double", "decimal"})


class ClusteringEstimate(msgspec.Struct, frozen=True):
    """The files that a condition would read if rows lay in the order of a column.

    Attributes:
        column: The dotted logical name.
        files, size: Files and bytes; None where the log lacks facts.
        at_best: They are the minimum that is possible, not an estimate.
        why: Why nothing is estimated; empty if something is.
    """

    column: str
    files: int | None = None
    size: int | None = None
    at_best: bool = False
    why: str = ""


def clustering_estimates(
    where: str | Expression,
    schema: StructType,
    columns: Sequence[StatisticsColumn],
    statistics: FileStatistics,
    sizes: pa.Int64Array,
) -> tuple[ClusteringEstimate, ...]:
    """Estimate, for each column of a condition that is not a partition column, the files read in its order.

    Args:
        where, schema, columns, statistics: As for `explorer.core.protocol.statistics.data_skipping.skip_files`.
        sizes: The files' sizes, in bytes.

    Returns:
        One estimate a column, in the order of the condition.

    Raises:
        RequestError: The text is not a condition, or names a column that the table does not have.
        CorruptTable: A partition value does not parse.
    """
    condition, used = answerable(where, schema, columns)
    statistics.load(used.values())
    facts = {path: ColumnFacts.of(statistics, column) for path, column in used.items()}
    partitions = [column for column in columns if column.partition]
    layout = _FileOrder.of(statistics, partitions, sizes)
    wanted = [(path, column) for path, column in used.items() if not column.partition]
    return tuple(_estimated(column.name, path, condition, facts, layout) for path, column in wanted)


class _FileOrder(msgspec.Struct, frozen=True):
    """The files as they are: the group of each, which is its partition; its live rows, where known; its bytes."""

    group: Int64s
    rows: Int64s
    counted: Mask
    size: Int64s

    @classmethod
    def of(cls, statistics: FileStatistics, partitions: Sequence[StatisticsColumn], sizes: pa.Int64Array) -> _FileOrder:
        group = np.zeros(statistics.num_files, np.int64)
        for column in partitions:
            codes, _ = numbers(statistics.bounds(column).low.dictionary_encode("encode").indices)
            _, group = np.unique(group * (codes.max(initial=0) + 1) + codes, return_inverse=True)
        records, counted = numbers(statistics.num_records)
        masked, _ = numbers(statistics.num_masked)
        return cls(group.astype(np.int64), np.maximum(records - masked, 0), counted, numbers(sizes)[0])

    @property
    def files_of_group(self) -> Int64s:
        """The number of files of each group."""
        return np.bincount(self.group)

    def bytes_of(self, files: Int64s) -> int:
        """Return the bytes of so many files of each group, each of the average size of its group."""
        mean = np.bincount(self.group, self.size) / self.files_of_group
        return int((mean * files).sum())


def _estimated(
    name: str, path: _Path, condition: Expression, facts: Mapping[_Path, ColumnFacts], layout: _FileOrder
) -> ClusteringEstimate:
    own = facts[path]
    bounded = (own.low.known & own.high.known) | own.all_null
    if not layout.counted.all():
        return ClusteringEstimate(name, why="not every file has a row count")
    if not bounded.all():
        return ClusteringEstimate(
            name, why=f"{int((~bounded).sum()):,} of {len(bounded):,} files have no bounds for it"
        )
    if own.type.name == "string":
        return _of_texts(name, path, condition, facts, layout)
    file, low, high = _pieces(own, max(1, min(_PIECES, _MOST_PIECES // max(1, len(bounded)))))
    virtual = {each: _taken(known, file, known=known.partition) for each, known in facts.items()}
    valued = ~own.all_null[file]
    virtual[path] = msgspec.structs.replace(
        _taken(own, file, known=False), low=Side(_typed(low, own), valued), high=Side(_typed(high, own), valued)
    )
    true = truth_of(condition, virtual, len(file), False).can_be_true
    files = _read(layout, file, np.where(valued, low, -np.inf), true)
    return ClusteringEstimate(name, int(files.sum()), layout.bytes_of(files))


def _of_texts(
    name: str, path: _Path, condition: Expression, facts: Mapping[_Path, ColumnFacts], layout: _FileOrder
) -> ClusteringEstimate:
    """Return at best a file for each text and partition: how many rows share a text is not in the log."""
    parts = list(parts_of(condition))
    on_column = [part for part in parts if isinstance(part, SqlComparison | Like | IsNull) and part.column == path]
    texts = {part.value.text for part in on_column if isinstance(part, SqlComparison)}
    equal = all(isinstance(part, SqlComparison) and part.operator == "=" for part in on_column)
    if not equal or any(isinstance(part, Not) for part in parts):
        return ClusteringEstimate(name, why="how many rows a range of texts contains is not in the log")
    files = len(layout.rows)
    never = msgspec.structs.replace(facts[path], all_null=np.ones(files, bool), none_null=np.zeros(files, bool))
    if truth_of(condition, {**facts, path: never}, files, False).can_be_true.any():
        return ClusteringEstimate(name, why="the condition may be true whatever its value")
    needed = truth_of(condition, facts, files, False).can_be_true & (layout.rows > 0)
    by_group = np.bincount(layout.group, needed).astype(np.int64)
    fewest = np.minimum(by_group, len(texts))
    return ClusteringEstimate(name, int(fewest.sum()), layout.bytes_of(fewest), at_best=True)


def _pieces(facts: ColumnFacts, most: int) -> tuple[Int64s, Float64s, Float64s]:
    """Cut the range of each file into equal parts: the file, the minimum and the maximum of each part."""
    low, high = (np.where(facts.all_null, 0.0, _numbers(side.values)) for side in (facts.low, facts.high))
    is_integral = facts.type.name not in _CONTINUOUS
    width = high - low + is_integral
    count = np.clip(width if is_integral else np.where(width > 0, most, 1), 1, most).astype(np.int64)
    file = np.repeat(np.arange(len(count)), count)
    part = np.arange(len(file)) - np.repeat(np.cumsum(count) - count, count)
    edges = [(part + end) * width[file] / count[file] for end in (0, 1)]
    if is_integral:
        return file, low[file] + np.floor(edges[0]), low[file] + np.floor(edges[1]) - 1
    return file, low[file] + edges[0], low[file] + edges[1]


def _read(layout: _FileOrder, file: Int64s, order: Float64s, true: Mask) -> Int64s:
    """Lay the pieces of each group in order, cut them into as many files as it has, and count those to be read."""
    rows = layout.rows[file] / np.bincount(file)[file]
    group = layout.group[file]
    places = np.lexsort((order, group))
    rows, group, true = rows[places], group[places], true[places]
    of_group, files = np.bincount(group, rows), layout.files_of_group
    before = np.cumsum(rows) - rows / 2 - (np.cumsum(of_group) - of_group)[group]
    share = np.divide(before, of_group[group], out=np.zeros(len(before)), where=of_group[group] > 0)
    new = np.clip((share * files[group]).astype(np.int64), 0, files[group] - 1)
    read = np.unique((np.cumsum(files) - files)[group][true & (rows > 0)] + new[true & (rows > 0)])
    return np.bincount(np.repeat(np.arange(len(files)), files)[read], minlength=len(files))


def _taken(facts: ColumnFacts, file: Int64s, *, known: bool) -> ColumnFacts:
    """Return the facts of a column for the parts of files; without its bounds unless they are known of every part."""
    return msgspec.structs.replace(
        facts,
        low=Side(_at(facts.low.values, file), facts.low.known[file] & known),
        high=Side(_at(facts.high.values, file), facts.high.known[file] & known),
        all_null=facts.all_null[file],
        none_null=facts.none_null[file],
        uncounted=facts.uncounted[file],
    )


def _at(values: BoundValues, places: Int64s) -> BoundValues:
    return values.take(int64s(places)) if isinstance(values, pa.Array) else values[places]


def _numbers(values: BoundValues) -> Float64s:
    if not isinstance(values, pa.Array):
        return values.astype(np.float64)
    doubles = values.cast(pa.float64())
    data: Float64s = np.frombuffer(doubles.buffers()[1], np.float64)[doubles.offset : doubles.offset + len(doubles)]
    return data


def _typed(values: Float64s, facts: ColumnFacts) -> BoundValues:
    """Return numbers as the bounds of the column are compared."""
    if facts.type.name != "decimal":
        return values
    return pa.Array.from_buffers(pa.float64(), len(values), [None, pa.py_buffer(values)]).cast(to_arrow(facts.type))


class Overlap(msgspec.Struct, frozen=True):
    """The number of files that cover a point of a column.

    Attributes:
        files: Files with both bounds.
        unbounded: Files that may contain any value, because a bound is unknown.
        average: Mean depth over the minimum of every file with bounds; 1.0 if no ranges overlap, None without any.
        greatest: The most files that cover one point, None without any.
    """

    files: int
    unbounded: int
    average: float | None
    greatest: int | None


def overlap_depth(statistics: FileStatistics, column: StatisticsColumn) -> Overlap:
    """Count the files over each minimum: those that begin at or before it, less those that end before it."""
    facts = ColumnFacts.of(statistics, column)
    bounded = facts.low.known & facts.high.known & ~facts.all_null
    unbounded = int((~bounded & ~facts.all_null).sum())
    if not bounded.any():
        return Overlap(0, unbounded, None, None)
    low, high = _ranks(facts.low.values, facts.high.values, bounded)
    begun = np.searchsorted(np.sort(low), low, side="right")
    ended = np.searchsorted(np.sort(high), low, side="left")
    depth = begun - ended
    return Overlap(int(bounded.sum()), unbounded, float(depth.mean()), int(depth.max()))


def _ranks(low: BoundValues, high: BoundValues, bounded: Mask) -> tuple[Numbers, Numbers]:
    """Return the bounds as numbers of the same order."""
    import pyarrow.compute as pc

    if not isinstance(low, pa.Array):
        return low[bounded], high[bounded]
    places = int64s(np.flatnonzero(bounded))
    both = pa.concat_arrays([low.take(places), high.take(places)])
    ranks, _ = numbers(pc.rank(both, tiebreaker="dense").cast(pa.int64()))
    return ranks[: len(places)], ranks[len(places) :]
