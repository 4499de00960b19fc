"""Per-file statistics -> typed bounds by logical column.

Protocol section: Per-file Statistics. Invariants: an absent value is unknown, never 0 (STATS-002); absent
``tightBounds`` means tight (STATS-006); statistics go by physical name (STATS-013); a partition column's bounds are
its partition value (STATS-014); a NaN is not a bound (STATS-016).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from functools import cached_property
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import CorruptTable
from explorer.core.protocol.arrow.arrays import Mask, bools, int64s, one_array, strings
from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.limits import check_column
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.partition_values import ZoneWarning, partition_column, recorded_partitions, zone_warning
from explorer.core.protocol.schema.data_types import PrimitiveType, StructType, format_column, type_name
from explorer.core.protocol.schema.nested_types import walk_structs
from explorer.core.protocol.statistics.json_statistics import Bounds, StatisticsLeaf, concatenated
from explorer.core.protocol.statistics.present_leaves import MANY_LEAVES

# Columns that are parsed in one pass over the texts.
_MOST_AT_ONCE: Final = 10_000
_FALSE: Final = bools([False])[0]


class StatisticsColumn(msgspec.Struct, frozen=True):
    """A leaf column that may have statistics: its logical and physical paths, and its type."""

    path: tuple[str, ...]
    physical: tuple[str, ...]
    type: PrimitiveType
    partition: bool

    @property
    def name(self) -> str:
        """The dotted logical name."""
        return format_column(self.path)


class StatisticsProblem(msgspec.Struct, frozen=True):
    """Statistics of a file that could not be used, in full or for one column."""

    path: str
    detail: str


def statistics_columns(
    schema: StructType, physical: dict[tuple[str, ...], tuple[str, ...]], partition_columns: Sequence[str]
) -> tuple[StatisticsColumn, ...]:
    """Return the leaf columns in schema order; values inside arrays and maps have no statistics."""
    return tuple(
        StatisticsColumn(path, physical[path], field.type, len(path) == 1 and path[0] in partition_columns)
        for path, _, field in walk_structs(schema)
        if isinstance(field.type, PrimitiveType)
    )


class FileStatistics:
    """The statistics of some files, by column; a column is parsed at first need, and stays in memory.

    Args:
        zone: As in `explorer.core.protocol.partition_values.parse_partition_value`.
        present: Finds the columns of which a file may state something, None for all; they are looked for unless given.
    """

    def __init__(
        self,
        files: LogicalFiles,
        columns: Sequence[StatisticsColumn],
        zone: tzinfo = UTC,
        present: Callable[[], frozenset[StatisticsLeaf] | None] | None = None,
    ) -> None:
        self._files = files
        self._find_present = present or self._present_in_files
        self._zone = zone
        self._columns = tuple(columns)
        self._bounds: dict[StatisticsLeaf, Bounds] = {}
        self._partitions: dict[StatisticsColumn, Bounds] = {}
        self._unknown: dict[pa.DataType, Bounds] = {}
        self._tight: pa.BooleanArray | None = None
        self._num_records: pa.Int64Array | None = None
        self._problems: dict[tuple[int, str], None] = {}

    @property
    def num_files(self) -> int:
        """The number of files."""
        return self._files.num_rows

    @cached_property
    def paths(self) -> pa.StringArray:
        """Decoded path of every file."""
        return self._files.column("path")

    @property
    def num_records(self) -> pa.Int64Array:
        """Physical rows of every file, null where unknown."""
        if self._num_records is None:
            self.tight()
        assert self._num_records is not None
        return self._num_records

    @property
    def num_masked(self) -> pa.Int64Array:
        """Rows that a deletion vector hides, null for a file without one."""
        return self._files.column("dv_cardinality")

    def bounds(self, column: StatisticsColumn) -> Bounds:
        """Return minimum, maximum and null count of a column in every file."""
        if column.partition:
            return self._partition(column)
        leaf = _leaf(column)
        self._load([leaf])
        return self._bounds.get(leaf) or self._nothing_known(to_arrow(column.type))

    def is_absent(self, column: StatisticsColumn) -> bool:
        """Return whether it is certain, without parsing a column, that no file states anything of it."""
        return not column.partition and self._present is not None and _leaf(column) not in self._present

    def is_known(self, column: StatisticsColumn) -> bool:
        """Return whether a bound or the null count of a column is known in any file."""
        if self.is_absent(column):
            return False
        bounds = self.bounds(column)
        return any(values.null_count < len(values) for values in (bounds.low, bounds.high, bounds.nulls))

    def stated(self, column: StatisticsColumn) -> Mask:
        """Return whether every file has a value of a partition column, null included."""
        maps = self._files.select(["partition_values"]).column(0)
        masks = [recorded_partitions(chunk, column.physical[0]) for chunk in maps.chunks]
        return np.concatenate([np.zeros(0, bool), *masks])

    def tight(self, column: StatisticsColumn | None = None) -> pa.BooleanArray:
        """Return whether bounds are attained in every file; null where there are no statistics."""
        if column is not None and column.partition:
            return _all_true(self.num_files)
        if self._tight is None:
            self._load([], needs_tight=True)
        assert self._tight is not None
        return self._tight

    def load(self, columns: Iterable[StatisticsColumn]) -> None:
        """Parse several columns in one pass."""
        self._load([_leaf(column) for column in columns if not column.partition])

    def problems(self) -> tuple[StatisticsProblem, ...]:
        """Return the statistics that could not be used, for all columns; many columns are parsed some at a time."""
        for columns, some in self.parts(self._columns):
            if any(not column.partition for column in columns):
                some.tight()  # texts that contain none of the columns are parsed too
            self._problems |= some._problems
        paths = self.paths
        return tuple(StatisticsProblem(paths[row].as_py(), detail) for row, detail in sorted(self._problems))

    def parts(self, columns: Sequence[StatisticsColumn]) -> Iterator[tuple[Sequence[StatisticsColumn], FileStatistics]]:
        """Yield columns with their statistics parsed: many columns some at a time, which are then released."""
        if len(columns) <= _MOST_AT_ONCE or sum(not self.is_absent(column) for column in columns) <= _MOST_AT_ONCE:
            self.load(columns)
            yield columns, self
            return
        for start in range(0, len(columns), _MOST_AT_ONCE):
            some = columns[start : start + _MOST_AT_ONCE]
            statistics = FileStatistics(self._files, some, self._zone, lambda: self._present)
            statistics.load(some)
            yield some, statistics

    def zone_warnings(self) -> tuple[ZoneWarning, ...]:
        """Return partition columns whose values are times without a zone."""
        moments = [column for column in self._columns if column.partition and column.type.name == "timestamp"]
        maps = self._files.column("partition_values") if moments else None
        warnings = (zone_warning(maps, column.physical[0], column.name, self._zone) for column in moments)
        return tuple(warning for warning in warnings if warning is not None)

    def _load(self, leaves: Sequence[StatisticsLeaf], *, needs_tight: bool = False) -> None:
        missing = list(dict.fromkeys(leaf for leaf in leaves if leaf not in self._bounds))
        # Which columns are present is found out for many of them: it takes a pass over all texts.
        if (len(missing) > MANY_LEAVES or "_present" in self.__dict__) and self._present is not None:
            missing = [leaf for leaf in missing if leaf in self._present]
        if not missing and not needs_tight:
            return
        parts, start = [], 0
        for source in self._files.sources:
            for part in source.statistics(missing):
                self._problems.update(dict.fromkeys((row + start, reason) for row, reason in part.problems))
                parts.append(part)
                start += len(part.tight)
        loaded = concatenated(parts, missing)
        self._bounds |= loaded.bounds
        self._tight = loaded.tight
        self._num_records = loaded.num_records

    @cached_property
    def _present(self) -> frozenset[StatisticsLeaf] | None:
        """The columns of which a file may state something; None where any may be, as in a table of few columns."""
        return self._find_present()

    def _present_in_files(self) -> frozenset[StatisticsLeaf] | None:
        leaves = [_leaf(column) for column in self._columns if not column.partition]
        if len(leaves) <= MANY_LEAVES:
            return None
        return frozenset[StatisticsLeaf]().union(*(source.present(leaves) for source in self._files.sources))

    def _nothing_known(self, kind: pa.DataType) -> Bounds:
        if kind not in self._unknown:
            values = pa.nulls(self.num_files, kind)
            self._unknown[kind] = Bounds(values, values, pa.nulls(self.num_files, pa.int64()))
        return self._unknown[kind]

    def _partition_values(self, column: StatisticsColumn) -> pa.Array:
        maps, kind = self._files.select(["partition_values"]).column(0), to_arrow(column.type)
        named = column.physical[0], column.type, column.name, self._zone
        try:
            return one_array([partition_column(chunk, *named) for chunk in maps.chunks], kind)
        except CorruptTable as error:
            bad = [dict(values or ()).get(column.physical[0]) == error.found for values in maps.to_pylist()]
            raise error.with_facts(path=self.paths[bad.index(True)].as_py()) from error

    def _partition(self, column: StatisticsColumn) -> Bounds:
        import pyarrow.compute as pc

        if column not in self._partitions:
            values = self._partition_values(column)
            zero = int64s([0]).take(_zeros(len(values)))
            nulls = pc.if_else(values.is_valid(), zero, self.num_records)
            self._partitions[column] = Bounds(values, values, nulls)
        return self._partitions[column]


def column_ranges(statistics: FileStatistics, column: StatisticsColumn) -> pa.Table:
    """Return bounds of one column in every file.

    Returns:
        One row a file: path, min, max (in the column's type, null where unknown), null_count, num_records (physical
        rows), tight (null without statistics).
    """
    bounds = statistics.bounds(column)
    return pa.Table.from_arrays(
        [statistics.paths, bounds.low, bounds.high, bounds.nulls, statistics.num_records, statistics.tight(column)],
        ["path", "min", "max", "null_count", "num_records", "tight"],
    )


def coverage(statistics: FileStatistics, columns: Sequence[StatisticsColumn]) -> pa.Table:
    """Return how many files have statistics for each column.

    Returns:
        column, type, files (with bounds, or known to have only nulls), files_total, tight (of those).
    """
    import pyarrow.compute as pc

    statistics.load(columns)
    files, tight = [], []
    for column in columns:
        if statistics.is_absent(column):
            files.append(0)
            tight.append(0)
            continue
        bounds = statistics.bounds(column)
        all_null = pc.equal(bounds.nulls, statistics.num_records).fill_null(_FALSE)
        known = pc.or_(bounds.low.is_valid(), all_null)
        files.append(known.true_count)
        tight.append(pc.and_(known, statistics.tight(column).fill_null(_FALSE)).true_count)
    return pa.Table.from_arrays(
        [
            strings([column.name for column in columns]),
            strings([type_name(column.type) for column in columns]),
            int64s(files),
            int64s([statistics.num_files] * len(columns)),
            int64s(tight),
        ],
        ["column", "type", "files", "files_total", "tight"],
    )


def statistics_table(statistics: FileStatistics, columns: Sequence[StatisticsColumn]) -> pa.Table:
    """Return bounds of several columns, one row a file and column, the files of one column after the other.

    Returns:
        path, column, min, max, null_count, num_records, tight. min and max have the columns' type if all share one,
        else a dense union of their types. Each column of the table is a chunk; nothing is copied.
    """
    statistics.load(columns)
    bounds = [statistics.bounds(column) for column in columns] if statistics.num_files else []
    used = columns if bounds else ()
    kinds = list(dict.fromkeys(to_arrow(column.type) for column in used))
    stacked = {
        "path": pa.chunked_array([statistics.paths for _ in used], pa.string()),
        "column": pa.chunked_array([_repeated(column.name, statistics.num_files) for column in used], pa.string()),
        "min": _stack([each.low for each in bounds], kinds),
        "max": _stack([each.high for each in bounds], kinds),
        "null_count": pa.chunked_array([each.nulls for each in bounds], pa.int64()),
        "num_records": pa.chunked_array([statistics.num_records for _ in used], pa.int64()),
        "tight": pa.chunked_array([statistics.tight(column) for column in used], pa.bool_()),
    }
    return pa.Table.from_arrays(list(stacked.values()), list(stacked))


def _leaf(column: StatisticsColumn) -> StatisticsLeaf:
    return StatisticsLeaf(column.physical, column.type)


def _stack(arrays: list[pa.Array], kinds: list[pa.DataType]) -> pa.ChunkedArray:
    if not arrays:
        return pa.chunked_array([pa.nulls(0)])
    if len(kinds) == 1:
        return pa.chunked_array(arrays)
    return pa.chunked_array([_in_union(array, kinds) for array in arrays])


def _in_union(array: pa.Array, kinds: list[pa.DataType]) -> pa.UnionArray:
    code = kinds.index(array.type)
    codes = pa.Array.from_buffers(pa.int8(), len(array), [None, pa.py_buffer(np.full(len(array), code, np.int8))])
    offsets = pa.Array.from_buffers(pa.int32(), len(array), [None, pa.py_buffer(np.arange(len(array), dtype=np.int32))])
    children = [array if place == code else pa.nulls(0, kind) for place, kind in enumerate(kinds)]
    return pa.UnionArray.from_dense(codes, offsets, children, [str(kind) for kind in kinds])


def _repeated(text: str, count: int) -> pa.StringArray:
    data = text.encode()
    offsets = np.arange(count + 1, dtype=np.int64) * len(data)
    check_column(int(offsets[-1]), f"{count:,} times the name of a column")
    return pa.Array.from_buffers(
        pa.string(), count, [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data * count)]
    )


def _all_true(count: int) -> pa.BooleanArray:
    bits = np.packbits(np.ones(count, bool), bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(bits)])


def _zeros(count: int) -> pa.Int32Array:
    return pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(np.zeros(count, np.int32))])
