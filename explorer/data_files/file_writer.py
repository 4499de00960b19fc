"""Batches of rows written as Parquet files, with a report on each.

Protocol sections: Data Files, Per-file Statistics. It is sent to Spark's workers by value, with the few functions of
the core that it calls; all of them need only PyArrow and obstore, so the workers need nothing else of this program.
Invariants: a file holds the rows of one partition; its name is new for each attempt of a task, so a task that runs
twice leaves a file that no version names, and counts once; the report on a file is computed from exactly the rows that
went into it; timestamps are 64-bit microseconds.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from explorer.core.errors import NotAllowed
from explorer.core.protocol.file_paths import partition_location
from explorer.core.protocol.partition_values import format_partition_value
from explorer.data_files.file_plan import FilePlan
from explorer.data_files.physical_columns import physical_column

WRITTEN = pa.schema(
    [
        ("location", pa.string()),
        ("partition", pa.list_(pa.string())),
        ("size", pa.int64()),
        ("written_at", pa.int64()),
        ("rows", pa.int64()),
        ("nulls", pa.list_(pa.int64())),
        ("extremes", pa.binary()),
        ("broken", pa.list_(pa.int64())),
    ]
)
"""The report on each file; ``extremes`` is an Arrow stream of two rows, the least and the greatest values."""

_GROUP_ROWS = 1 << 17
_GROUP_BYTES = 64 << 20
_SAMPLE_ROWS = 1 << 14
_MOST_DISTINCT = 0.9


def writer(plan: FilePlan) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for ``mapInArrow``: rows become files, and a row of `WRITTEN` comes out for each."""

    def write_files(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        current: _OpenFile | None = None
        for batch in batches:
            for group, values, piece in _runs(plan, batch):
                if current is not None and (current.key != (group, values) or current.rows >= plan.most_rows):
                    yield current.closed()
                    current = None
                current = current or _OpenFile(plan, group, values)
                current.add(piece)
        if current is not None:
            yield current.closed()

    return write_files


def _runs(plan: FilePlan, batch: pa.RecordBatch) -> Iterator[tuple[int, tuple[str | None, ...], pa.RecordBatch]]:
    """Yield slices of one group and partition each, with its values as in the log, of no more rows than a file may."""
    stored, count = len(plan.schema), len(plan.partitions)
    columns = [batch.column(stored + place) for place in range(count)]
    groups = batch.column(batch.num_columns - 1) if plan.grouped else None
    starts = _changes(columns if groups is None else [*columns, groups], batch.num_rows)
    for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
        values = tuple(
            format_partition_value(column[start].as_py(), kind)
            for column, kind in zip(columns, plan.partitions, strict=True)
        )
        for part in range(start, end, plan.most_rows):
            group = 0 if groups is None else groups[start].as_py()
            yield group, values, batch.slice(part, min(plan.most_rows, end - part))


def _changes(columns: list[Any], rows: int) -> list[int]:
    """Return the rows at which some column has another value than in the row before; the first row is one of them."""
    import numpy as np
    import pyarrow.compute as pc

    if not rows:
        return []
    differs = np.zeros(rows, np.bool_)
    differs[0] = True
    for column in columns:
        differs[np.asarray(pc.run_end_encode(column).run_ends)[:-1]] = True
    return [int(row) for row in np.flatnonzero(differs)]


@dataclass
class _OpenFile:
    """One file while it is written."""

    plan: FilePlan
    group: int
    values: tuple[str | None, ...]
    rows: int = 0
    nulls: list[int] = field(default_factory=list)
    extremes: list[Any] = field(default_factory=list)
    finite: list[bool] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        plan = self.plan
        shown = {} if plan.shown is None else dict(zip(plan.shown, self.values, strict=True))
        self.location = plan.folder + partition_location(shown, plan.name.format(plan.new_id()))
        self.nulls = [0] * len(plan.leaves)
        self.extremes = [None] * len(plan.leaves)
        self.finite = [True] * len(plan.leaves)
        self.broken = [0] * plan.rules
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self._waiting_bytes = 0
        self._sink = _sink(plan, self.location)
        self._writer: Any = None

    @property
    def key(self) -> tuple[int, tuple[str | None, ...]]:
        """Which rows belong here."""
        return self.group, self.values

    def add(self, piece: pa.RecordBatch) -> None:
        """Add rows of the file's partition."""
        plan = self.plan
        arrays = [physical_column(piece.column(place), stored.type) for place, stored in enumerate(plan.schema)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=plan.schema)
        first = len(plan.schema) + len(plan.partitions)
        for rule in range(plan.rules):
            self.broken[rule] += piece.column(first + rule).true_count
        self.rows += batch.num_rows
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes
        if self._waiting_rows >= _GROUP_ROWS or self._waiting_bytes >= _GROUP_BYTES:
            self._flush()

    def closed(self) -> pa.RecordBatch:
        """Finish the file, and return the report on it."""
        self._flush()
        self._writer.close()
        size, written_at = _closed(self._sink, durable=self.plan.durable)
        report = {
            "location": self.location,
            "partition": list(self.values),
            "size": size,
            "written_at": written_at,
            "rows": self.rows,
            "nulls": self.nulls,
            "extremes": self._packed_extremes(),
            "broken": self.broken,
        }
        return pa.RecordBatch.from_pylist([report], schema=WRITTEN)

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting).combine_chunks()
            self._writer = self._writer or _parquet_writer(self.plan, self._sink, table)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
            # Once for the rows of a row group: for each batch the calls would cost more than the values.
            for batch in table.to_batches():
                self._describe(batch)
            self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0

    def _describe(self, batch: pa.RecordBatch) -> None:
        import pyarrow.compute as pc

        for place, leaf in enumerate(self.plan.leaves):
            column = _leaf(batch, leaf.path)
            self.nulls[place] += column.null_count
            if not leaf.bounds or column.null_count == len(column):
                continue
            if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column)).as_py():
                self.finite[place] = False
            elif self.finite[place]:
                known, new = self.extremes[place], _ends(column)
                self.extremes[place] = new if known is None else _ends(pa.concat_arrays([known, new]))

    def _packed_extremes(self) -> bytes:
        """Return two rows with a column for each leaf, as an Arrow stream."""
        known = zip(self.extremes, self.finite, strict=True)
        columns = [pa.nulls(2) if ends is None or not finite else ends for ends, finite in known]
        batch = pa.RecordBatch.from_arrays(columns, [str(place) for place in range(len(columns))])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        data: bytes = sink.getvalue().to_pybytes()
        return data


def _parquet_writer(plan: FilePlan, sink: Any, first: pa.Table) -> Any:
    """Return the encoder of the rows of a file; ``first`` are the first of them."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        sink,
        plan.schema,
        compression=plan.codec,
        store_schema=False,
        coerce_timestamps="us",
        use_dictionary=[path for field in plan.schema for path in _repeating(field, first)],
    )


def _repeating(field: pa.Field, first: pa.Table) -> Iterator[str]:
    """Yield the leaves of a column that get a dictionary, as Parquet names them.

    Of values that hardly repeat one is made in vain: that takes half of the time of encoding, and leaves a larger file.
    """
    import pyarrow.compute as pc

    if pa.types.is_nested(field.type) or first.num_rows < _SAMPLE_ROWS:
        yield from _leaf_paths(field.name, field.type)
    elif pc.count_distinct(first.column(field.name).slice(0, _SAMPLE_ROWS)).as_py() < _SAMPLE_ROWS * _MOST_DISTINCT:
        yield field.name


def _leaf_paths(path: str, kind: pa.DataType) -> Iterator[str]:
    if pa.types.is_struct(kind):
        for inner in kind:
            yield from _leaf_paths(f"{path}.{inner.name}", inner.type)
    elif pa.types.is_list(kind):
        yield from _leaf_paths(f"{path}.list.element", kind.value_type)
    elif pa.types.is_map(kind):
        yield from _leaf_paths(f"{path}.key_value.key", kind.key_type)
        yield from _leaf_paths(f"{path}.key_value.value", kind.item_type)
    else:
        yield path


def _ends(column: Any) -> Any:
    import pyarrow.compute as pc

    bounds = pc.min_max(column)
    return pa.array([bounds["min"], bounds["max"]], column.type)


def _leaf(batch: pa.RecordBatch, path: tuple[str, ...]) -> Any:
    import pyarrow.compute as pc

    column = batch.column(path[0])
    for name in path[1:]:
        column = pc.struct_field(column, name)
    return column


def _sink(plan: FilePlan, location: str) -> Any:
    """Return where a new file goes; it must not exist."""
    if plan.store is None:
        folder, _, name = (plan.root + location).rpartition("/")
        # The target of a link is compared before anything is made there, and written to by its real path.
        real = os.path.realpath(folder)
        _check_inside(real, plan.allowed, location)
        os.makedirs(real, exist_ok=True)
        handle = os.open(real, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            # A link may have taken its place since.
            _check_inside(_path_of(handle, real), plan.allowed, location)
            return open(name, "xb", opener=partial(os.open, mode=0o666, dir_fd=handle))
        finally:
            os.close(handle)
    return _ObjectSink(plan.store, plan.root + location)


def _path_of(handle: int, named: str) -> str:
    """Return the real path of an open folder as Linux names it; on other systems the path by which it was opened."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        return named


def _check_inside(folder: str, allowed: Sequence[str] | None, location: str) -> None:
    if allowed is not None and not any(f"{folder}/".startswith(f"{one.rstrip('/')}/") for one in allowed):
        raise NotAllowed(
            f"The file {location} would be written outside the folders this program was given: a link in the table's "
            "folder leads out of them. Replace the link by a folder.",
            location=location,
        )


class _ObjectSink:
    """A new object as the Parquet writer needs it; the store shows it once it is closed, and never in part.

    A store writes over what has the name, so the name is checked first; it holds an identifier that is new.
    """

    def __init__(self, store: Any, key: str) -> None:
        import obstore

        try:
            obstore.head(store, key)
        except FileNotFoundError:
            pass
        else:
            raise FileExistsError(errno.EEXIST, "the name is taken", key)
        self._writer = obstore.open_writer(store, key)
        self._size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        """Write bytes, and return how many."""
        size = len(data)
        self._writer.write(data)
        self._size += size
        return size

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._size

    def flush(self) -> None:
        """Do nothing: an object is sent in parts of its own size."""

    def close(self) -> None:
        """Finish the object."""
        if not self.closed:
            self._writer.close()
            self.closed = True


def _closed(sink: Any, *, durable: bool) -> tuple[int, int]:
    """Close a file, and return its size in bytes and its time, in ms since the epoch.

    Args:
        sink: The file.
        durable: Wait until the bytes of a file of this machine have reached its disk.
    """
    size = int(sink.tell())
    if hasattr(sink, "fileno"):
        sink.flush()
        if durable:
            os.fsync(sink.fileno())
        time_ns = os.fstat(sink.fileno()).st_mtime_ns
        sink.close()
    else:
        sink.close()
        time_ns = time.time_ns()
    return size, time_ns // 1_000_000
