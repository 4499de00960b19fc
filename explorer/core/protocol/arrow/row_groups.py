"""A Parquet file of the log, read by row group and column, several row groups at once.

Protocol section: Checkpoints. Invariants: files are read from every row group, whatever its statistics say, since one
wrong count there would lose some; for rows that hold only a few actions, only the columns they need are decoded. Those
few are looked for in a large row group until as many are found as its footer counts, as the Delta kernel and Spark do
too; where the counts of a struct's members do not go together, its whole column is read; however many files a program
holds, few of them are open, and one that was closed is opened again only if it is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import validity
from explorer.core.protocol.json_values import JsonValue

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["RowGroups", "in_parallel", "value_count"]

_T = TypeVar("_T")
_S = TypeVar("_S")

# How many rows from a group's start are decoded whole before anything is looked for: writers put the few there.
_FIRST: Final = 1 << 6
# How many rows from a group's start are decoded in one piece instead of the whole group.
_NEAR: Final = 1 << 12
# How many rows a group must have for several threads, or a look at the counts of its footer, to be worth their time.
_MANY: Final = 1 << 15
# How many files stay open that nobody reads at the moment: a process may have a few hundred.
_MOST_OPEN: Final = 64


class RowGroups:
    """A Parquet file.

    It may be read on several threads at once, also while it is being read.

    Args:
        open_file: Opens the file; called again when it was closed because others were read since.

    Attributes:
        metadata: The footer.
        schema: The columns as Arrow sees them.

    Raises:
        pa.ArrowException, OSError, ValueError: It is not a Parquet file; later: a page is broken, or the file is gone
            or another one.
    """

    def __init__(self, open_file: Callable[[], pa.NativeFile]) -> None:
        self._open_file = open_file
        opened = _OpenFile(open_file())
        self.metadata = opened.metadata
        self.schema: pa.Schema = opened.schema
        _LATEST.put(self, opened)

    @property
    def count(self) -> int:
        """How many row groups there are."""
        return int(self.metadata.num_row_groups)

    def is_large(self, group: int) -> bool:
        """Whether a row group has so many rows that several threads are worth their start."""
        return bool(self.metadata.row_group(group).num_rows > _MANY)

    def read(self, group: int, columns: Sequence[str], *, alone: bool = True) -> pa.Table:
        """Read columns of a row group.

        Args:
            group: Which one.
            columns: Dotted names; missing ones are skipped.
            alone: False while other row groups are read on threads of their own.

        Raises:
            ValueError: A column ends early.
        """
        rows = self.metadata.row_group(group).num_rows
        with self._lent() as reader:
            table = reader.read_row_group(group, list(columns), use_threads=alone and rows > _MANY)
        if table.num_columns and table.num_rows != rows:
            # A damaged page can end a column early; Arrow takes that for the column's end.
            raise ValueError(f"row group {group} should have {rows:,} rows and gives {table.num_rows:,}")
        return table

    def present(self, names: Sequence[str]) -> dict[str, list[JsonValue]]:
        """The rows in which a struct column is not null, as objects, for each column that exists."""
        found: dict[str, list[JsonValue]] = {name: [] for name in names if self.schema.get_field_index(name) >= 0}
        leaves = {name: _first_leaf(name, self.schema.field(name).type) for name in found}
        wanted = [self._wanted(group, leaves) for group in range(self.count)]
        holding = [group for group, counts in enumerate(wanted) if counts]
        for table in in_parallel(lambda group: self._holding(group, wanted[group], list(found)), holding):
            for name in found:
                for chunk in table.column(name).chunks:
                    rows = np.flatnonzero(validity(chunk)).tolist()
                    found[name] += [chunk[row].as_py(maps_as_pydicts="strict") for row in rows]
        return found

    def batches(
        self, group: int, length: int, columns: Sequence[str], *, alone: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Read columns of a row group, up to so many rows at a time.

        Args:
            group: Which one.
            length: How many rows.
            columns: Dotted names; missing ones are skipped.
            alone: False while other row groups are read on threads of their own.

        Raises:
            ValueError: A column ends early.
        """
        wanted, found = self.metadata.row_group(group).num_rows, 0
        with self._lent() as reader:
            for batch in reader.iter_batches(length, row_groups=[group], columns=list(columns), use_threads=alone):
                found += batch.num_rows
                yield batch
        if found != wanted:
            raise ValueError(f"row group {group} should have {wanted:,} rows and gives {found:,}")

    def _wanted(self, group: int, leaves: Mapping[str, str]) -> dict[str, int | None]:
        """Leaf -> how many rows of a row group have it, None where that is not known.

        Those that no row has are left out. In a small row group nothing is known: it is read as soon as it is counted.
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

    def _holding(self, group: int, wanted: Mapping[str, int | None], columns: list[str]) -> pa.Table:
        """At least the rows of a row group in which some column is not null."""
        counts = {leaf: count for leaf, count in wanted.items() if count is not None}
        if len(counts) < len(wanted):
            table = self.read(group, list(wanted), alone=self.count == 1)
            return self._head(group, max(_last(column.chunks) for column in table.columns), columns)
        first = self._head(group, _FIRST, columns)
        if all(_values(first, leaf) >= count for leaf, count in counts.items()):
            return first
        return self._head(group, self._end(group, counts), columns)

    def _end(self, group: int, counts: Mapping[str, int]) -> int:
        """How many rows of a row group come before the rows in which the columns are all null.

        Args:
            group: Which one.
            counts: How many values each column has.
        """
        missing, seen, end = sum(counts.values()), 0, 0
        for batch in self.batches(group, _NEAR, list(counts), alone=False):
            missing -= sum(_values(batch, leaf) for leaf in counts)
            last = max(_last([column]) for column in batch.columns)
            end, seen = seen + last if last else end, seen + batch.num_rows
            if missing <= 0:
                break
        return end

    def _head(self, group: int, end: int, columns: list[str]) -> pa.Table:
        """At least the first rows of a row group."""
        if not end:
            return pa.Table.from_batches([], pa.schema([self.schema.field(name) for name in columns]))
        with self._lent() as reader:
            if end > _NEAR:
                return reader.read_row_group(group, columns)
            first = reader.iter_batches(end, row_groups=[group], columns=columns, use_threads=False)
            return pa.Table.from_batches(list(islice(first, 1)))

    @contextmanager
    def _lent(self) -> Iterator[pq.ParquetFile]:
        """A reader for one thread alone."""
        opened = _LATEST.find(self)
        if opened is None:
            opened = _OpenFile(self._open_file())
            if not opened.metadata.equals(self.metadata):
                raise ValueError("it was written again since it was opened")
            _LATEST.put(self, opened)
        with opened.lent() as reader:
            yield reader


class _OpenFile:
    """A file that is open, and a reader of it that nobody uses at the moment."""

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file
        first = self._reader(None)
        self.metadata = first.metadata
        self.schema: pa.Schema = first.schema_arrow
        self._idle = [first]

    @contextmanager
    def lent(self) -> Iterator[pq.ParquetFile]:
        """A reader for one thread alone, because Arrow's are not thread-safe; one costs less than a millisecond."""
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = self._reader(self.metadata)
        try:
            yield reader
        finally:
            if not self._idle:
                self._idle.append(reader)

    def _reader(self, metadata: pq.FileMetaData | None) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        # Arrow reads ahead on a thread of its own, which pays where each read is a request and not on a disk.
        ahead = not isinstance(self._file, pa.OSFile)
        return pq.ParquetFile(self._file, metadata=metadata, coerce_int96_timestamp_unit="us", pre_buffer=ahead)


class _Latest:
    """The open files that were read last, up to so many; a file that is being read stays open until that is done."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._files: WeakKeyDictionary[RowGroups, _OpenFile] = WeakKeyDictionary()

    def find(self, rows: RowGroups) -> _OpenFile | None:
        """The open file of some row groups; None if it was closed."""
        with self._lock:
            found = self._files.pop(rows, None)
            if found is not None:
                self._files[rows] = found
            return found

    def put(self, rows: RowGroups, opened: _OpenFile) -> None:
        """Keep a file open, and let the one that was not read for longest go."""
        with self._lock:
            self._files[rows] = opened
            if len(self._files) > self._most:
                del self._files[next(iter(self._files))]


_LATEST: Final = _Latest(_MOST_OPEN)


def in_parallel(action: Callable[[_S], _T], items: Sequence[_S]) -> list[_T]:
    """Results of an action that spends most of its time outside Python, on as many threads as there are processors."""
    workers = min(len(items), pa.cpu_count())
    if workers < 2:
        return [action(item) for item in items]
    # Imported late: it imports logging, which opening a table does not need.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(action, items))


def value_count(column: pq.ColumnChunkMetaData) -> int | None:
    """How many values that are not null a column of a row group has, None where its footer does not say."""
    counts = column.statistics
    return None if counts is None or not counts.has_null_count else int(column.num_values - counts.null_count)


def _first_leaf(name: str, kind: pa.DataType) -> str:
    """A column that shows where the struct is null and costs little to read."""
    plain = [field.name for field in kind if not pa.types.is_nested(field.type)] if pa.types.is_struct(kind) else []
    return f"{name}.{plain[0]}" if plain else name


def _agreed(counts: Mapping[str, int | None], leaf: str) -> int | None:
    """How many rows have a leaf that every row of its struct should have; None if another leaf says otherwise."""
    first = counts.get(leaf)
    plain = [count for path, count in counts.items() if path.count(".") == leaf.count(".")]
    return None if first is None or any(count is None or count > first for count in plain) else first


def _values(rows: pa.Table | pa.RecordBatch, leaf: str) -> int:
    """How many values that are not null a leaf has; a struct without any value is no value of it."""
    name, _, member = leaf.partition(".")
    column = rows.column(name)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if member:
        chunks = [chunk.flatten()[chunk.type.get_field_index(member)] for chunk in chunks]
    return sum(len(chunk) - chunk.null_count for chunk in chunks)


def _last(chunks: Sequence[pa.Array]) -> int:
    """How many rows a column has up to its last one that is not null."""
    if not chunks:
        return 0
    valid = np.flatnonzero(np.concatenate([validity(chunk) for chunk in chunks]))
    return int(valid[-1]) + 1 if len(valid) else 0
