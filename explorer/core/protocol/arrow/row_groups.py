"""A Parquet file of the log, read by row group and column, several row groups at once.

Protocol section: Checkpoints. Invariants: every row group is read, whatever its statistics say, since one wrong count
there would lose files; for rows that hold only a few actions, only the columns they need are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Mask, validity
from explorer.core.protocol.json_values import JsonValue

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["RowGroups", "in_parallel"]

_T = TypeVar("_T")
_S = TypeVar("_S")

# How many rows from a group's start are decoded in one piece instead of the whole group.
_NEAR: Final = 1 << 12
# How many rows a group must have for several threads to be worth their start.
_MANY: Final = 1 << 15


class RowGroups:
    """An open Parquet file.

    It may be read on several threads at once, also while it is being read.

    Args:
        file: The file; it is kept open.

    Attributes:
        metadata: The footer.
        schema: The columns as Arrow sees them.

    Raises:
        pa.ArrowException, OSError, ValueError: It is not a Parquet file; later: a page is broken.
    """

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file
        first = self._reader(None)
        self.metadata = first.metadata
        self.schema: pa.Schema = first.schema_arrow
        self._idle = [first]

    @property
    def count(self) -> int:
        """How many row groups there are."""
        return int(self.metadata.num_row_groups)

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
        leaves = [leaf for name in found for leaf in _first_leaf(name, self.schema.field(name).type)]
        ends = in_parallel(partial(self._end, leaves), range(self.count)) if leaves else []
        for group, end in enumerate(ends):
            if end:
                table = self._head(group, end, list(found))
                for name in found:
                    found[name] += table.column(name).drop_null().to_pylist(maps_as_pydicts="strict")
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

    def _end(self, columns: Sequence[str], group: int) -> int:
        """How many rows of a row group come before the rows in which the columns are all null."""
        table = self.read(group, columns, alone=self.count == 1)
        rows = [np.flatnonzero(_valid(column)) for column in table.columns]
        return max((int(some[-1]) + 1 for some in rows if len(some)), default=0)

    def _head(self, group: int, end: int, columns: list[str]) -> pa.Table:
        """At least the first rows of a row group."""
        with self._lent() as reader:
            if end > _NEAR:
                return reader.read_row_group(group, columns)
            first = reader.iter_batches(end, row_groups=[group], columns=columns, use_threads=False)
            return pa.Table.from_batches(list(islice(first, 1)))

    @contextmanager
    def _lent(self) -> Iterator[pq.ParquetFile]:
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

        return pq.ParquetFile(self._file, metadata=metadata, coerce_int96_timestamp_unit="us")


def in_parallel(action: Callable[[_S], _T], items: Sequence[_S]) -> list[_T]:
    """Results of an action that spends most of its time outside Python, on as many threads as there are processors."""
    workers = min(len(items), pa.cpu_count())
    if workers < 2:
        return [action(item) for item in items]
    # Imported late: it imports logging, which opening a table does not need.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(action, items))


def _first_leaf(name: str, kind: pa.DataType) -> list[str]:
    """A column that shows where the struct is null and costs little to read."""
    plain = [field.name for field in kind if not pa.types.is_nested(field.type)] if pa.types.is_struct(kind) else []
    return [f"{name}.{plain[0]}" if plain else name]


def _valid(column: pa.ChunkedArray) -> Mask:
    return np.concatenate([validity(chunk) for chunk in column.chunks]) if column.num_chunks else np.zeros(0, bool)
