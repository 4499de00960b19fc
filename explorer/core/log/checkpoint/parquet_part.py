"""One Parquet file of a checkpoint, read by column.

Protocol sections: Checkpoints, V1 Spec, Sidecar Files. Invariants: every row group is read, whatever its statistics
record, since one wrong count there would lose files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import numpy as np
import pyarrow as pa

from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log.checkpoint.column_cache import PartCache
from explorer.core.log.checkpoint.file_columns import (
    Values,
    column_of,
    decoded_paths,
    members_of,
    plain,
    struct_with_nulls,
    unique_ids,
)
from explorer.core.log.checkpoint.statistics_cache import StatisticsCache
from explorer.core.protocol.arrow.arrays import Int64s, Mask, as_type, int64s, mask, one_array, strings, validity
from explorer.core.protocol.arrow.row_groups import RowGroups, value_count
from explorer.core.protocol.arrow.threads import in_parallel
from explorer.core.protocol.logical_files import rows_among
from explorer.core.protocol.partition_values import has_empty_values
from explorer.core.protocol.record_counts import counts_of_column
from explorer.core.protocol.statistics.json_statistics import (
    ParsedTexts,
    StatisticsLeaf,
    parse_either,
    parse_parts,
    some_of,
)
from explorer.core.protocol.statistics.present_leaves import MANY_LEAVES, present_leaves

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_T = TypeVar("_T")

_TEXTS: Final = ("stats",)
_IDS: Final = "identities of vectors"
_NONE: Final = np.zeros(0, np.int64)
# Texts decoded at once where only their values are stored: about as many as caches can contain.
_AT_ONCE: Final = 1 << 12
# The minimum of rows in a chunk, on average, where rows are left out without a copy.
_IN_A_CHUNK: Final = 1 << 9
_BY_COLUMN: Final = ("minValues", "maxValues", "nullCount", "nullCounts")


class _FileGroup:
    """Some files of a row group; what is left of a column after files were left out is made at its first use.

    Args:
        index: The place of the row group.
        heads: Columns of files that are already read: ``path``, ``raw_path``, and ``size`` where the file has it.
        keep: The rows of these files, without those left out; None is all rows.
        files: The rows that are files at all; None is all rows.
        left_out: Positions in the heads that are not among these files.
    """

    def __init__(
        self,
        index: int,
        heads: Mapping[str, pa.ChunkedArray],
        keep: Mask | None,
        files: Mask | None,
        left_out: Int64s = _NONE,
    ) -> None:
        self.index, self.keep, self.files = index, keep, files
        self.num_rows = len(heads["path"]) - len(left_out)
        self._heads, self._left_out = heads, left_out
        self._left: dict[str, pa.ChunkedArray] = {} if len(left_out) else dict(heads)

    @property
    def heads(self) -> Collection[str]:
        """The columns that are already read."""
        return self._heads.keys()

    def head(self, name: str) -> pa.ChunkedArray:
        """Return one of the columns that are already read, in one chunk or several."""
        if name not in self._left:
            self._left[name] = _left(self._heads[name], self._left_out)
        return self._left[name]

    def left(self, of_all: _T, some: Callable[[_T, Mask], _T]) -> _T:
        """Return the part of a value about all files of the row group that is about these."""
        if self.keep is None or self.keep is self.files:
            return of_all
        return some(of_all, self.keep if self.files is None else self.keep[self.files])

    def without(self, places: Int64s) -> _FileGroup:
        """Return the same files without those at some positions."""
        if not len(places):
            return self
        keep = np.ones(self.num_rows, bool) if self.keep is None else self.keep.copy()
        keep[np.flatnonzero(keep)[places]] = False
        return _FileGroup(self.index, {name: self.head(name) for name in self.heads}, keep, self.files, places)


class CheckpointPart:
    """The ``add`` rows, or else the ``remove`` rows, of one Parquet file.

    Args:
        action: Which rows; columns of `explorer.core.protocol.logical_files.SCHEMA` are those of ``add``.
        groups: Which row groups; None takes all.
        cache: The cache of the file; None caches nothing.
        kept: The cache of its statistics between processes; None caches nothing.

    Raises:
        IncompleteCheckpoint: The file has no such rows, or a page is damaged.
    """

    def __init__(
        self,
        rows: RowGroups,
        unreadable: Callable[[Exception], IncompleteCheckpoint],
        action: Literal["add", "remove"] = "add",
        groups: Sequence[int] | None = None,
        *,
        cache: PartCache | None = None,
        kept: StatisticsCache | None = None,
    ) -> None:
        self._rows = rows
        self._unreadable = unreadable
        self._action = action
        self._cache, self._kept = cache, kept
        with self._reading():
            self._members = _members(rows.schema, action)
            if self._members and "path" not in self._members:
                raise ValueError(f"its {action} has no path")
        self._groups = self._of_files(range(self._rows.count) if groups is None else groups)

    @property
    def num_rows(self) -> int:
        """How many files."""
        return sum(group.num_rows for group in self._groups)

    @property
    def num_bytes(self) -> int:
        """The approximate memory of its paths and sizes."""
        return sum(group.head(name).nbytes for group in self._groups for name in group.heads)

    @property
    def num_groups(self) -> int:
        """The number of row groups of the file."""
        return self._rows.count

    def at_group(self, index: int) -> CheckpointPart:
        """Return the files of one row group of the same Parquet file.

        Raises:
            IncompleteCheckpoint: A page is damaged.
        """
        part = copy(self)
        part._groups = self._of_files([index])
        return part

    def find(self, keys: Collection[str]) -> list[tuple[int, str, str | None]]:
        """Return the files whose path is one of the keys: row, path, deletion-vector id."""
        wanted = strings(list(keys))
        rows_by_group = in_parallel(lambda group: self._matches(group, wanted), self._groups)
        return [
            (start + row, path, vector)
            for start, rows in zip(self._starts()[:-1].tolist(), rows_by_group, strict=True)
            for row, path, vector in rows
        ]

    def without(self, places: Sequence[int]) -> CheckpointPart:
        """Return the same files without those at some rows that `find` returned."""
        if not places:
            return self
        removed = np.sort(np.array(places, np.int64))
        starts = self._starts()
        of_groups = np.split(removed, np.searchsorted(removed, starts[1:-1]))
        groups = in_parallel(
            lambda place: self._groups[place].without(of_groups[place] - starts[place]), range(len(self._groups))
        )
        part = copy(self)
        part._groups = tuple(group for group in groups if group.num_rows)
        return part

    def around(self, start: int, stop: int) -> tuple[CheckpointPart, int]:
        """Return the row groups that have the files from a row on, up to another, and the row of their first file."""
        starts = self._starts()
        first, end = int(np.searchsorted(starts, start, "right")) - 1, int(np.searchsorted(starts, stop))
        part = copy(self)
        part._groups = self._groups[first:end]
        return part, int(starts[first])

    def may_have_empty_values(self) -> bool:
        """Return False if no file has an empty string as a partition value; files that are left out count.

        Raises:
            IncompleteCheckpoint: A page is damaged.
        """
        with self._reading():
            return any(in_parallel(self._group_may_have_empty_values, self._groups))

    def _group_may_have_empty_values(self, group: _FileGroup) -> bool:
        if self._cache is None:
            (maps,) = self._made(group.index, group.keep, ["partition_values"])
        else:
            make = partial(self._made, group.index, group.files)
            (maps,) = self._cache.columns(group.index, ["partition_values"], make)
        return has_empty_values(maps)

    def batches(self, length: int) -> Iterator[pa.StructArray]:
        """Read the rows as they are, up to so many at a time.

        Raises:
            IncompleteCheckpoint: A page is damaged.
        """
        with self._reading():
            for group in self._groups:
                start = 0
                for batch in self._rows.batches(group.index, length, [self._action]):
                    keep = None if group.keep is None else group.keep[start : start + batch.num_rows]
                    start += batch.num_rows
                    if keep is None or keep.any():
                        yield batch.column(0) if keep is None else batch.column(0).filter(mask(keep))

    def members_with_values(self) -> dict[str, pa.DataType]:
        """Return members that have values, by the file's own null counts, with their types."""
        index = self._rows.schema.get_field_index(self._action)
        fields = [] if index < 0 else list(self._rows.schema.field(index).type)
        with_values = _not_null_throughout(self._rows.metadata)
        heads = {field.name: f"{self._action}.{field.name}" for field in fields}
        return {
            field.name: field.type
            for field in fields
            if any(path == heads[field.name] or path.startswith(heads[field.name] + ".") for path in with_values)
        }

    def chunks(self, names: Sequence[str]) -> list[list[pa.Array]]:
        """Read columns of `explorer.core.protocol.logical_files.SCHEMA`, an array or several for each row group.

        Raises:
            IncompleteCheckpoint: A page is damaged, or a column has a type that no action has.
        """
        with self._reading():
            made = in_parallel(lambda group: self._columns(group, names), self._groups)
        return [[chunk for group in made for chunk in _chunks(group[place])] for place in range(len(names))]

    def statistics(self, leaves: Sequence[StatisticsLeaf]) -> Iterator[ParsedTexts]:
        """Read the statistics of some columns, of each row group.

        Raises:
            IncompleteCheckpoint: A page is damaged.
        """
        parsed = in_parallel(partial(self._group_statistics, leaves), self._groups)
        if self._kept is not None:
            self._kept.keep()
        yield from parsed

    def present(self, leaves: Sequence[StatisticsLeaf]) -> Sequence[StatisticsLeaf]:
        """Return the columns that are in the texts of the files; all of them where there are columns instead."""
        if len(leaves) <= MANY_LEAVES or "stats_parsed.numRecords" in self._members:
            return leaves
        texts = (
            plain("stats", pa.string(), self._length(group.index, group.keep), values).drop_null()
            for group in self._groups
            for values in [self._values(group.index, group.keep, _TEXTS)]
        )
        return list(dict.fromkeys(leaf for some in texts for leaf in present_leaves(some, leaves)))

    def _group_statistics(self, leaves: Sequence[StatisticsLeaf], group: _FileGroup) -> ParsedTexts:
        if self._cache is None and self._kept is None:
            return self._statistics(group.index, group.keep, leaves)
        parse: Callable[[Sequence[StatisticsLeaf]], ParsedTexts] = partial(self._statistics, group.index, group.files)
        if self._kept is not None:
            parse = partial(self._kept.statistics, group.index, parse=parse)
        of_all = parse(leaves) if self._cache is None else self._cache.statistics(group.index, leaves, parse)
        return group.left(of_all, some_of)

    def _starts(self) -> Int64s:
        """Return the index of the first file of each row group, and at the end the number of all files."""
        return np.cumsum([0, *(group.num_rows for group in self._groups)])

    def _of_files(self, indexes: Sequence[int]) -> tuple[_FileGroup, ...]:
        """Return the row groups with files in them. The columns that show which rows are files are read immediately."""
        heads = ["path", "size"] if self._action == "add" and "size" in self._members else ["path"]
        with self._reading():
            groups = in_parallel(partial(self._group, heads), indexes) if self._members else []
        return tuple(group for group in groups if group is not None)

    def _group(self, heads: Sequence[str], index: int) -> _FileGroup | None:
        values = self._read(index, heads, alone=self._rows.count == 1)
        if "path" not in values:
            raise ValueError("its paths cannot be read")
        raw_paths, sizes = values["path"], values.get("size")
        keep = validity(raw_paths) if raw_paths.null_count else None
        if keep is not None and sizes is not None and (validity(sizes) & ~keep).any():
            # Every file has a size: damaged pages of paths must not look like rows of other actions.
            raise ValueError("files of it lack their paths")
        if raw_paths.null_count == len(raw_paths):
            return None
        raw_paths = as_type(raw_paths if keep is None else _filtered(raw_paths, keep), pa.string())
        if sizes is not None:
            sizes = as_type(sizes if keep is None else _filtered(sizes, keep), pa.int64())
        columns = {"path": decoded_paths(raw_paths), "raw_path": raw_paths}
        if sizes is not None:
            columns["size"] = sizes
        return _FileGroup(index, {name: pa.chunked_array([column]) for name, column in columns.items()}, keep, keep)

    def _matches(self, group: _FileGroup, wanted: pa.StringArray) -> list[tuple[int, str, str | None]]:
        """Return the files of a row group whose path is wanted: row in the group, path, deletion-vector id."""
        paths = group.head("path")
        rows = int64s(rows_among(paths, wanted))
        if not len(rows):
            return []
        return list(zip(rows.to_pylist(), paths.take(rows).to_pylist(), self._vector_ids(group, rows), strict=True))

    def _vector_ids(self, group: _FileGroup, rows: pa.Int64Array) -> list[str | None]:
        """Return the identities of the deletion vectors of some files, None without one."""
        if self._cache is None:
            ids = self._ids(group.index, group.keep, rows)
        else:
            make = partial(self._ids, group.index, group.files)
            (all_ids,) = self._cache.columns(group.index, [_IDS], lambda _: [make()])
            ids = group.left(all_ids, _filtered).take(rows)
        identities: list[str | None] = ids.to_pylist()
        return identities

    def _ids(self, index: int, keep: Mask | None, places: pa.Int64Array | None = None) -> pa.StringArray:
        """Return the identities of the deletion vectors of some rows of a row group, or of those at some of them."""
        kinds = self._values(index, keep, ["deletionVector.storageType"]).get("deletionVector")
        chosen = kinds if kinds is None or places is None else kinds.take(places)
        if chosen is None or chosen.null_count == len(chosen):
            return pa.nulls(self._length(index, keep) if places is None else len(places), pa.string())
        vectors = self._values(index, keep, ["deletionVector"])["deletionVector"]
        return unique_ids(vectors if places is None else vectors.take(places))

    def _columns(self, group: _FileGroup, names: Sequence[str]) -> list[pa.Array | pa.ChunkedArray]:
        """Return columns of the files of a row group."""
        columns: dict[str, pa.Array | pa.ChunkedArray] = {
            name: group.head(name) for name in names if name in group.heads
        }
        missing = [name for name in names if name not in columns]
        if self._cache is None:
            made = self._made(group.index, group.keep, missing)
        else:
            all_columns = self._cache.columns(group.index, missing, partial(self._made, group.index, group.files))
            made = [group.left(column, _filtered) for column in all_columns]
        columns |= zip(missing, made, strict=True)
        return [columns[name] for name in names]

    def _made(self, index: int, keep: Mask | None, names: Sequence[str]) -> list[pa.Array]:
        """Return columns of some rows of a row group, made of members of their actions."""
        alone = len(self._groups) == 1
        read = partial(self._values, index, keep, members_of(names, self._members), alone=alone)
        counted: Callable[[], pa.Array] = partial(self._counts, index, keep)
        apart = "num_records" in names and "stats" not in names and "stats_parsed.numRecords" not in self._members
        if alone and apart and self._rows.is_large(index):
            # The counts are in texts, which are most of a checkpoint: they are read concurrently with the others.
            actions: list[Callable[[], Any]] = [read, counted]
            values, counts = in_parallel(_called, actions)
            counted = partial(_itself, counts)
        else:
            values = read()
        length = self._length(index, keep)
        return [column_of(name, length, values, counted) for name in names]

    def _statistics(self, index: int, keep: Mask | None, leaves: Sequence[StatisticsLeaf]) -> ParsedTexts:
        """Parse the members of ``stats_parsed``, and ``stats`` where it is all there is or where the struct is null."""
        members = [f"{member}.{'.'.join(leaf.path)}" for leaf in leaves for member in _BY_COLUMN]
        wanted = [f"stats_parsed.{member}" for member in ("numRecords", "tightBounds", *members)]
        struct = "stats_parsed.numRecords" in self._members
        parsed = struct_with_nulls(self._values(index, keep, wanted)["stats_parsed"]) if struct else None
        texts = self._texts(index, keep)
        return parse_parts(texts, leaves) if parsed is None else parse_either(parsed, texts, leaves)

    def _length(self, index: int, keep: Mask | None) -> int:
        return int(self._rows.metadata.row_group(index).num_rows if keep is None else np.count_nonzero(keep))

    def _counts(self, index: int, keep: Mask | None) -> pa.Array:
        """Return the counts in the texts of statistics, which are most of a checkpoint."""
        counted, start = [], 0
        # Of all rows, as texts are long to copy and counts are not.
        for texts in self._texts(index, None):
            counts = counts_of_column(texts)
            counted.append(counts if keep is None else _filtered(counts, keep[start : start + len(texts)]))
            start += len(texts)
        return one_array(counted, pa.int64())

    def _texts(self, index: int, keep: Mask | None) -> Iterator[pa.StringArray]:
        """Yield the texts of the statistics of some rows of a row group; few are in memory at once."""
        if "stats" not in self._members:
            yield pa.nulls(self._length(index, keep), pa.string())
            return
        start = 0
        with self._reading():
            for batch in self._rows.batches(index, _AT_ONCE, [f"{self._action}.stats"], alone=False):
                action = batch.column(0)
                action.validate(full=True)
                texts = as_type(action.flatten()[0], pa.string())
                yield texts if keep is None else _filtered(texts, keep[start : start + len(texts)])
                start += len(texts)

    def _values(self, index: int, keep: Mask | None, members: Sequence[str], *, alone: bool = True) -> Values:
        """Return members of the actions in some rows, without those that the file does not have."""
        present = [member for member in members if member.partition(".")[0] in self._members]
        if not present:
            return {}
        with self._reading():
            values = self._read(index, present, alone=alone)
            return values if keep is None else {name: _filtered(value, keep) for name, value in values.items()}

    def _read(self, index: int, members: Sequence[str], *, alone: bool) -> Values:
        """Return members of the action in a row group, as arrays with the action's nulls applied."""
        table = self._rows.read(index, [f"{self._action}.{member}" for member in members], alone=alone)
        if self._action not in table.column_names:
            return {}
        action = one_array(table.column(self._action).chunks, table.schema.field(self._action).type)
        # Arrow assumes without a check that texts are UTF-8; code that makes strings of them later must not fail.
        action.validate(full=True)
        return dict(zip([field.name for field in action.type], action.flatten(), strict=True))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from error


def _called(action: Callable[[], Any]) -> Any:
    return action()


def _itself(value: _T) -> _T:
    return value


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _left(column: pa.ChunkedArray, removed: Int64s) -> pa.ChunkedArray:
    """Return a column without the rows at some positions, ascending.

    Nothing is copied where few are removed: the rows between them stay where they are, in chunks. A copy of the paths
    of a large checkpoint would be most of the memory that its list takes.
    """
    if (len(removed) + column.num_chunks) * _IN_A_CHUNK > len(column):
        remaining = np.ones(len(column), bool)
        remaining[removed] = False
        return pa.chunked_array([one_array(column.filter(mask(remaining)).chunks, column.type)])
    bounds = [-1, *removed.tolist(), len(column)]
    between = [column.slice(begin + 1, end - begin - 1) for begin, end in pairwise(bounds)]
    return pa.chunked_array([chunk for part in between for chunk in part.chunks if len(chunk)], column.type)


def _filtered(column: pa.Array, keep: Mask) -> pa.Array:
    """Return some rows of a column, without a copy where they are consecutive, as the files of most checkpoints are.

    Few rows are copied: they would keep all of the column in memory.
    """
    count = int(np.count_nonzero(keep))
    first = int(keep.argmax()) if count else 0
    together = 2 * count >= len(keep) and bool(keep[first : first + count].all())
    return column.slice(first, count) if together else column.filter(mask(keep))


def _members(schema: pa.Schema, action: str) -> frozenset[str]:
    """Return members of the action, and with a dot the members of ``stats_parsed``."""
    place = schema.get_field_index(action)
    if place < 0:
        return frozenset()
    kind = schema.field(place).type
    nested = kind.field("stats_parsed").type if kind.get_field_index("stats_parsed") >= 0 else ()
    return frozenset([*(field.name for field in kind), *(f"stats_parsed.{field.name}" for field in nested)])


def _not_null_throughout(metadata: pq.FileMetaData) -> set[str]:
    """Return the dotted paths of the columns that may have values; one without counts may have some."""
    paths = set()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if value_count(column) != 0:
                paths.add(column.path_in_schema)
    return paths
