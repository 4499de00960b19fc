"""Replay of a checkpoint inside Spark's tasks: one row group at a time, by the core.

Invariants: what a task makes of a row group depends on its files alone, so that it is the same wherever it runs; a file
that cannot be read raises with its name, and no error text holds a credential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa

from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log.checkpoint.parquet_part import CheckpointPart
from explorer.core.log.replay import Superseded
from explorer.core.protocol.arrow.row_groups import RowGroups
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.data_files.object_rows import ObjectRows, open_file

Make = Callable[[LogicalFiles], pa.Table]
"""Makes rows of some live files; it is sent to other processes."""

UNITS: Final = pa.schema(
    [
        ("rows", pa.binary()),
        ("local", pa.string()),
        ("store", pa.int32()),
        ("key", pa.string()),
        ("size", pa.int64()),
        ("name", pa.string()),
        ("share", pa.int32()),
        ("shares", pa.int32()),
    ]
)
"""The work of a task: rows that are ready, as an Arrow stream; or every ``shares``-th row group, from ``share`` on, of
a file on disk or in a store."""

_BATCH_ROWS: Final = 10_000


@dataclass(frozen=True)
class Replay:
    """The input of the tasks.

    Attributes:
        make: What to make of the files.
        superseded: What later commits replaced or removed.
        files: The stores, and what no error may contain.
    """

    make: Make
    superseded: Superseded
    files: ObjectRows

    def task(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Work as the function of ``mapInArrow``, over rows of `UNITS`."""
        for batch in batches:
            for unit in batch.to_pylist():
                if unit["rows"] is not None:
                    yield from pa.ipc.open_stream(unit["rows"])
                else:
                    yield from self._replayed(unit)

    def _replayed(self, unit: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        part = CheckpointPart(self._opened(unit), partial(_broken, unit), groups=())
        for index in range(unit["share"], part.num_groups, unit["shares"]):
            left = self.superseded.survivors(part.at_group(index))
            if left.num_rows:
                yield from self.make(LogicalFiles([left])).to_batches(_BATCH_ROWS)

    def _opened(self, unit: dict[str, Any]) -> RowGroups:
        try:
            return RowGroups(partial(self._file, unit))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _broken(unit, error) from None

    def _file(self, unit: dict[str, Any]) -> pa.NativeFile:
        return open_file(self.files, unit) if unit["local"] is None else pa.OSFile(unit["local"])


def _broken(unit: dict[str, Any], error: Exception) -> IncompleteCheckpoint:
    reason = "the file is missing" if isinstance(error, FileNotFoundError) else error
    return IncompleteCheckpoint(f"{unit['name']}: {reason}")


def packed(rows: pa.Table) -> list[bytes]:
    """Return rows as Arrow streams, some thousands in each."""
    return [_stream(batch) for batch in rows.to_batches(_BATCH_ROWS)]


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())
