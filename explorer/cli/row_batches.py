"""All rows of a version as Arrow batches, a Spark partition at a time, with progress and cancel.

Nothing here holds more than a partition: Spark packs its Arrow batches into rows of bytes, which can be fetched one by
one where whole results cannot. Spark's work runs as a job on a thread of its own; the batches come through a short
queue, so that a slow writer slows Spark down instead of filling the memory.
"""

from __future__ import annotations

import contextlib
import queue
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from explorer.cli.output import later
from explorer.core.schema import ArrayType, DataType, MapType, PrimitiveType, StructType, to_arrow

if TYPE_CHECKING:
    from explorer.core.snapshot import Snapshot
    from explorer.spark.jobs import Job
    from explorer.spark.scan import Scan
    from explorer.table import Table

__all__ = ["result_schema", "row_batches", "waiting"]

_WAITING_BATCHES: Final = 8
_POLL_SECONDS: Final = 0.1


def result_schema(snapshot: Snapshot) -> pa.Schema:
    """The schema of the batches: the table's columns in order, logical names, exact types, all nullable."""
    return pa.schema([pa.field(field.name, _nullable(to_arrow(field.type))) for field in snapshot.schema.fields])


def row_batches(table: Table, snapshot: Snapshot, where: str | None) -> Generator[pa.RecordBatch]:
    """Yield the rows; closing the iterator cancels the work.

    Raises:
        EngineUnavailable: Spark or Java is missing.
        ExplorerError: What went wrong in Spark.
    """
    from explorer.spark.jobs import submit

    batches: queue.Queue[pa.RecordBatch] = queue.Queue(_WAITING_BATCHES)
    job = submit(
        f"Rows of {table.name} at version {snapshot.version}",
        lambda job: _produce(job, table, snapshot, where, batches),
    )
    schema = result_schema(snapshot)
    try:
        with _shown(job):
            while job.state == "running" or not batches.empty():
                with contextlib.suppress(queue.Empty):
                    yield batches.get(timeout=_POLL_SECONDS).cast(schema)
        job.result()
    finally:
        _stop(job, batches)


def waiting(job: Job[Any]) -> Any:
    """Wait for a job's result, with progress; Ctrl-C cancels it."""
    try:
        with _shown(job):
            while job.state == "running":
                with contextlib.suppress(TimeoutError):
                    job.result(_POLL_SECONDS)
        return job.result()
    finally:
        job.cancel()


def _produce(
    job: Job[None], table: Table, snapshot: Snapshot, where: str | None, batches: queue.Queue[pa.RecordBatch]
) -> None:
    from explorer.spark.scan import scan

    job.report(f"Reading {snapshot.num_files:,} files")
    if not _holds_variant(snapshot.schema):
        _hand_over(job, _streamed(scan(table, snapshot, None, where)), batches)
        return
    # Spark cannot hand variants to Python functions: one file after the other instead.
    files = snapshot.logical_files
    for index in range(files.num_rows):
        part = scan(table, snapshot, files.slice(index, 1), where)
        _hand_over(job, iter(part.to_arrow().to_batches()), batches)


def _streamed(planned: Scan) -> Iterator[pa.RecordBatch]:
    # Defined here, so that it travels to Spark's workers by value: they may not have this package.
    def packed(batches: Any) -> Any:
        import pyarrow

        for batch in batches:
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([sink.getvalue().to_pybytes()])], names=["stream"])

    for row in planned.frame.mapInArrow(packed, "stream binary").toLocalIterator(prefetchPartitions=True):
        yield from pa.ipc.open_stream(row["stream"])


def _hand_over(job: Job[None], found: Iterator[pa.RecordBatch], batches: queue.Queue[pa.RecordBatch]) -> None:
    for batch in found:
        handed = False
        while not handed:
            job.check_cancelled()
            with contextlib.suppress(queue.Full):
                batches.put(batch, timeout=_POLL_SECONDS)
                handed = True


def _stop(job: Job[None], batches: queue.Queue[pa.RecordBatch]) -> None:
    job.cancel()
    while not batches.empty():
        batches.get_nowait()


@contextlib.contextmanager
def _shown(job: Job[Any]) -> Iterator[None]:
    """A progress bar on a terminal's stderr for what takes more than a second."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    progress = Progress(*parts, console=Console(stderr=True, markup=False, emoji=False), transient=True)
    task = progress.add_task(job.phase, total=None)

    def update(changed: Job[Any]) -> None:
        progress.update(task, description=changed.phase, completed=changed.done, total=changed.total or None)

    unsubscribe = job.subscribe(update)
    try:
        with later(progress):
            yield
    finally:
        unsubscribe()


def _holds_variant(kind: DataType) -> bool:
    match kind:
        case PrimitiveType():
            return kind.name == "variant"
        case ArrayType():
            return _holds_variant(kind.element_type)
        case MapType():
            return _holds_variant(kind.key_type) or _holds_variant(kind.value_type)
        case StructType():
            return any(_holds_variant(field.type) for field in kind.fields)


def _nullable(kind: pa.DataType) -> pa.DataType:
    """The same type with every part nullable, as Spark gives it."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _nullable(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_nullable(kind.key_type), _nullable(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _nullable(kind.value_type)))
    return kind
