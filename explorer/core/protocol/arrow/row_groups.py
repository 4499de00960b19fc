"""A Parquet file of the log, read by row group and column, several row groups at once.

Protocol section: Checkpoints. Invariants: files are read from every row group, whatever its statistics record, since
one wrong count there would lose some; for rows with only a few actions, only the columns they need are decoded. Those
few are searched in a large row group until as many are read as its footer counts, as the Delta kernel and Spark do
too; where the counts of a struct's members disagree, its whole column is read; however many files a program
has, few of them are open, and one that was closed is opened again only if it is the same; nothing is decoded before
the budget has room for all of its decoded bytes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s, int64s, validity
from explorer.core.protocol.arrow.chunk_sizes import Chunk, ChunkSize, chunk_of, chunk_size
from explorer.core.protocol.arrow.decoded_sizes import counted_size, element_count
from explorer.core.protocol.arrow.open_parquet import LATEST, OpenFile, bytes_at
from explorer.core.protocol.arrow.threads import in_parallel
from explorer.core.protocol.decoded_bytes import DecodedBytes
from explorer.core.protocol.json_values import JsonValue

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# Rows from a group's start that are decoded in full before a search: writers put the few there.
_FIRST: Final = 1 << 6
# Rows from a group's start that are decoded in one piece instead of the full group.
_NEAR: Final = 1 << 12
# Approximate bytes of a Python object, and bytes that are not worth a check.
_OBJECT: Final = 100
_FEW: Final = 1 << 10
# Rows that a group must have for several threads, or a check of the counts of its footer, to be worth their time.
_MANY: Final = 1 << 15


class RowGroups:
    """A Parquet file.

    It may be read on several threads at once, also while it is being read.

    Args:
        open_file: Opens the file; called again when it was closed because others were read since.
        budget: The memory it may take, together with the files that share it; None for one of its own.

    Attributes:
        metadata: The footer.
        schema: The columns as Arrow sees them.

    Raises:
        pa.ArrowException, OSError, ValueError: It is not a Parquet file; later: a page is damaged, or the file is
        missing
            or another one.
        LimitExceeded: It would take too much memory.
    """

    def __init__(
        self, open_file: Callable[[], pa.NativeFile], budget: DecodedBytes | None = None, name: str = "it"
    ) -> None:
        self._open_file = open_file
        self._budget = DecodedBytes() if budget is None else budget
        self._name = name
        self._admitted: set[tuple[int, int]] = set()
        opened = OpenFile(open_file(), name)
        self._budget.stored(opened.size)
        self.metadata = opened.metadata
        self.schema: pa.Schema = opened.schema
        LATEST.put(self, opened)

    @property
    def count(self) -> int:
        """The number of row groups."""
        return int(self.metadata.num_row_groups)

    def is_large(self, group: int) -> bool:
        """Return whether a row group has so many rows that several threads are worth their start."""
        return bool(self.metadata.row_group(group).num_rows > _MANY)

    def read(self, group: int, columns: Sequence[str], *, alone: bool = True) -> pa.Table:
        """Read columns of a row group.

        Args:
            columns: Dotted names; missing ones are skipped.
            alone: False while other row groups are read on threads of their own.

        Raises:
            ValueError: A column ends early.
        """
        rows = self.metadata.row_group(group).num_rows
        with self._lent(group, columns) as reader:
            table = reader.read_row_group(group, list(columns), use_threads=alone and rows > _MANY)
        if table.num_columns and table.num_rows != rows:
            # A damaged page can end a column early; Arrow takes that for the column's end.
            raise ValueError(f"row group {group} should have {rows:,} rows but has {table.num_rows:,}")
        return table

    def present(self, names: Sequence[str]) -> dict[str, list[JsonValue]]:
        """Return the rows in which a struct column is not null, as objects, for each column that exists."""
        objects_by_name: dict[str, list[JsonValue]] = {
            name: [] for name in names if self.schema.get_field_index(name) >= 0
        }
        leaves = {name: _first_leaf(name, self.schema.field(name).type) for name in objects_by_name}
        wanted = [self._wanted(group, leaves) for group in range(self.count)]
        with_rows = [group for group, counts in enumerate(wanted) if counts]
        for table in in_parallel(lambda group: self._rows_with(group, wanted[group], list(objects_by_name)), with_rows):
            for name, objects in objects_by_name.items():
                for chunk in table.column(name).chunks:
                    rows = np.flatnonzero(validity(chunk))
                    self._admit_objects(chunk, rows, (name, len(objects)))
                    objects += [chunk[row].as_py(maps_as_pydicts="strict") for row in rows.tolist()]
        return objects_by_name

    def batches(
        self, group: int, length: int, columns: Sequence[str], *, alone: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Read columns of a row group, up to so many rows at a time.

        Args:
            columns: Dotted names; missing ones are skipped.
            alone: False while other row groups are read on threads of their own.

        Raises:
            ValueError: A column ends early.
        """
        wanted, rows = self.metadata.row_group(group).num_rows, 0
        with self._lent(group, columns) as reader:
            for batch in reader.iter_batches(length, row_groups=[group], columns=list(columns), use_threads=alone):
                rows += batch.num_rows
                yield batch
        if rows != wanted:
            raise ValueError(f"row group {group} should have {wanted:,} rows but has {rows:,}")

    def _wanted(self, group: int, leaves: Mapping[str, str]) -> dict[str, int | None]:
        """Return leaf -> the number of rows of a row group that have it, None where that is not known.

        Leaves that no row has are left out. In a small row group nothing is known: reading it is as quick as counting.
        """
        described = self.metadata.row_group(group)
        if described.num_rows <= _MANY:
            return dict.fromkeys(leaves.values())
        counts: dict[str, dict[str, int | None]] = {name: {} for name in leaves}
        for column in map(described.column, range(described.num_columns)):
            path = column.path_in_schema
            if (name := path.partition(".")[0]) in counts:
                counts[name][path] = value_count(column)
        return {leaf: _agreed(counts[name], leaf) for name, leaf in leaves.items() if set(counts[name].values()) != {0}}

    def _rows_with(self, group: int, wanted: Mapping[str, int | None], columns: list[str]) -> pa.Table:
        """Return at least the rows of a row group in which some column is not null."""
        counts = {leaf: count for leaf, count in wanted.items() if count is not None}
        if len(counts) < len(wanted):
            table = self.read(group, list(wanted), alone=self.count == 1)
            return self._head(group, max(_last(column.chunks) for column in table.columns), columns)
        first = self._head(group, _FIRST, columns)
        if all(_values(first, leaf) >= count for leaf, count in counts.items()):
            return first
        return self._head(group, self._end(group, counts), columns)

    def _end(self, group: int, counts: Mapping[str, int]) -> int:
        """Return the number of rows of a row group before the rows in which the columns are all null."""
        missing, seen, end = sum(counts.values()), 0, 0
        for batch in self.batches(group, _NEAR, list(counts), alone=False):
            missing -= sum(_values(batch, leaf) for leaf in counts)
            last = max(_last([column]) for column in batch.columns)
            end, seen = seen + last if last else end, seen + batch.num_rows
            if missing <= 0:
                break
        return end

    def _head(self, group: int, end: int, columns: list[str]) -> pa.Table:
        """Return at least the first rows of a row group."""
        if not end:
            return pa.Table.from_batches([], pa.schema([self.schema.field(name) for name in columns]))
        with self._lent(group, columns) as reader:
            if end > _NEAR:
                return reader.read_row_group(group, columns)
            first = reader.iter_batches(end, row_groups=[group], columns=columns, use_threads=False)
            return pa.Table.from_batches(list(islice(first, 1)))

    @contextmanager
    def _lent(self, group: int, columns: Sequence[str]) -> Iterator[pq.ParquetFile]:
        """Yield a reader for one thread alone, of columns of a row group for which the budget has room."""
        opened = self._opened()
        leaves = [leaf for name in columns for leaf in self._leaves.get(name, ())]
        chunks = {leaf: self._chunk(opened, group, leaf) for leaf in leaves}
        source = opened.source(list(chunks.values()))
        self._admit(source, group, chunks)
        with opened.lent(source) as reader:
            yield reader

    def _opened(self) -> OpenFile:
        opened = LATEST.find(self)
        if opened is None:
            opened = OpenFile(self._open_file(), self._name)
            if not opened.metadata.equals(self.metadata):
                raise ValueError("it was written again since it was opened")
            LATEST.put(self, opened)
        return opened

    @cached_property
    def _leaves(self) -> Mapping[str, Sequence[int]]:
        """Dotted name -> its leaf columns."""
        leaves: dict[str, list[int]] = {}
        described = self.metadata.schema
        for leaf in range(len(described)):
            parts = described.column(leaf).path.split(".")
            for end in range(1, len(parts) + 1):
                leaves.setdefault(".".join(parts[:end]), []).append(leaf)
        return leaves

    def _chunk(self, opened: OpenFile, group: int, leaf: int) -> Chunk:
        return chunk_of(self.metadata.row_group(group).column(leaf), self.metadata.schema.column(leaf), opened.size)

    def _admit(self, source: pa.NativeFile, group: int, chunks: Mapping[int, Chunk]) -> None:
        """Make room in the budget for chunks of a row group that have none yet."""
        sizes: dict[Hashable, int] = {}
        counts: dict[Hashable, Callable[[int], int]] = {}
        for leaf, chunk in chunks.items():
            if (group, leaf) in self._admitted:
                continue
            size = chunk_size(chunk, partial(bytes_at, source), self._budget.allowed)
            sizes[id(self), group, leaf] = size.most
            if not size.exact:
                counts[id(self), group, leaf] = partial(_counted, weakref.ref(self), group, leaf, size)
        if sizes:
            self._budget.take(self._name, sizes, counts)
            self._admitted.update((group, leaf) for leaf in chunks)

    def _admit_objects(self, column: pa.Array, rows: Int64s, key: Hashable) -> None:
        """Make room in the budget for rows of a column as Python objects."""
        if len(rows) > _FEW or column.nbytes > _FEW * _OBJECT:
            values = column.take(int64s(rows))
            size = values.nbytes + _OBJECT * element_count(values)
            self._budget.take(self._name, {(id(self), key): size}, {})

    def counted(self, group: int, leaf: int, size: ChunkSize, allowed: int) -> int:
        """Return the bytes of the values of a leaf column in a row group; see `counted_size`."""
        opened = self._opened()
        chunk = self._chunk(opened, group, leaf)
        return counted_size(chunk, size, group, partial(opened.reader, opened.source([chunk])), allowed)


def _counted(rows: weakref.ref[RowGroups], group: int, leaf: int, size: ChunkSize, allowed: int) -> int:
    row_groups = rows()
    return size.most if row_groups is None else row_groups.counted(group, leaf, size, allowed)


def value_count(column: pq.ColumnChunkMetaData) -> int | None:
    """Return the number of non-null values of a column of a row group, None where its footer has none."""
    counts = column.statistics
    return None if counts is None or not counts.has_null_count else int(column.num_values - counts.null_count)


def _first_leaf(name: str, kind: pa.DataType) -> str:
    """Return a column that shows where the struct is null and costs little to read."""
    plain = [field.name for field in kind if not pa.types.is_nested(field.type)] if pa.types.is_struct(kind) else []
    return f"{name}.{plain[0]}" if plain else name


def _agreed(counts: Mapping[str, int | None], leaf: str) -> int | None:
    """Return the number of rows with a leaf that every row of its struct should have; None if other leaves disagree."""
    first = counts.get(leaf)
    plain = [count for path, count in counts.items() if path.count(".") == leaf.count(".")]
    return None if first is None or any(count is None or count > first for count in plain) else first


def _values(rows: pa.Table | pa.RecordBatch, leaf: str) -> int:
    """Return the number of non-null values of a leaf; a struct without any value does not count."""
    name, _, member = leaf.partition(".")
    column = rows.column(name)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if member:
        chunks = [chunk.flatten()[chunk.type.get_field_index(member)] for chunk in chunks]
    return sum(len(chunk) - chunk.null_count for chunk in chunks)


def _last(chunks: Sequence[pa.Array]) -> int:
    """Return the number of rows of a column up to its last one that is not null."""
    if not chunks:
        return 0
    valid = np.flatnonzero(np.concatenate([validity(chunk) for chunk in chunks]))
    return int(valid[-1]) + 1 if len(valid) else 0
