"""All rows of a plan as Arrow batches, a Spark partition at a time, as a job with progress and cancel.

Nothing here holds more than a partition: Spark packs its Arrow batches into rows of bytes, which can be fetched one by
one where whole results cannot. Spark's work runs as a job on a thread of its own; the batches come through a short
queue, so that a slow writer slows Spark down instead of filling the memory.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from explorer.core.protocol.arrow.arrow_types import json_variant_schema, nullable_arrow_schema
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.schema.nested_types import holds

if TYPE_CHECKING:
    from explorer.core.versions.change_feed.feed import ChangeSources
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.spark.rows.preview import Job
    from explorer.spark.scan.results import Planned

__all__ = ["RowStream", "change_stream", "result_schema", "row_batches", "version_stream"]

_WAITING_BATCHES: Final = 8
_POLL_SECONDS: Final = 0.1
_CHANGE_FIELDS: Final = (
    pa.field("_change_type", pa.string()),
    pa.field("_commit_version", pa.int64()),
    pa.field("_commit_timestamp", pa.timestamp("us", "UTC")),
)


@dataclass(frozen=True, slots=True)
class RowStream:
    """Rows to stream, not planned yet.

    Attributes:
        name: What it is, for people.
        phase: What is being done, for people.
        schema: The schema of the batches.
        plan: Plans all of them.
        pieces: Plans them piece by piece, each small enough to be held, where Spark cannot stream them; else None.
        readable: Variants are the JSON they hold instead of their binaries.
    """

    name: str
    phase: str
    schema: pa.Schema
    plan: Callable[[], Planned]
    pieces: Callable[[], Iterator[Planned]] | None
    readable: bool = False


def result_schema(schema: StructType, *, readable: bool = False) -> pa.Schema:
    """A table's columns as the rows have them: in order, logical names, exact types, all nullable.

    Args:
        schema: The table's.
        readable: As in `RowStream`.
    """
    return json_variant_schema(schema) if readable else nullable_arrow_schema(schema)


def version_stream(log: DeltaLog, snapshot: Snapshot, where: str | None, *, readable: bool = False) -> RowStream:
    """The rows of a version for which a condition is true; ``readable`` as in `RowStream`."""

    def planned(files: pa.Table | None = None) -> Planned:
        from explorer.spark.scan.scan import scan

        return scan(log, snapshot, files, where)

    def pieces() -> Iterator[Planned]:
        files = snapshot.logical_files
        return (planned(files.slice(index, 1)) for index in range(files.num_rows))

    return RowStream(
        f"Rows of {log.name} at version {snapshot.version}",
        f"Reading {snapshot.num_files:,} files",
        result_schema(snapshot.schema, readable=readable),
        planned,
        pieces if holds(snapshot.schema, "variant") and not readable else None,
        readable,
    )


def change_stream(
    log: DeltaLog, sources: ChangeSources, keys: Sequence[str] = (), *, readable: bool = False
) -> RowStream:
    """The rows of the change feed of a range of versions.

    Args:
        log: The table's log.
        sources: Where the changes are.
        keys: As in `explorer.spark.changes.changes.changes`.
        readable: As in `RowStream`.
    """
    schema = log.snapshot(sources.schema_version).schema

    def planned(files: pa.Table | None = None) -> Planned:
        from explorer.spark.changes.changes import changes_of

        return changes_of(log, sources if files is None else msgspec.structs.replace(sources, files=files), keys)

    def pieces() -> Iterator[Planned]:
        begin = 0
        while begin < sources.files.num_rows:
            end = sources.whole_until(begin + 1)
            yield planned(sources.files.slice(begin, end - begin))
            begin = end

    return RowStream(
        f"Changes of {log.name}, versions {sources.from_version} to {sources.to_version}",
        f"Reading the changes of {sources.files.num_rows:,} files",
        pa.schema([*result_schema(schema, readable=readable), *_CHANGE_FIELDS]),
        planned,
        pieces if holds(schema, "variant") and not readable else None,
        readable,
    )


def row_batches(
    stream: RowStream, followed: Callable[[Job[Any]], contextlib.AbstractContextManager[None]]
) -> Generator[pa.RecordBatch]:
    """Yield the rows; closing the iterator cancels the work.

    Args:
        stream: The rows.
        followed: Shows the progress of the job for as long as its context is open.

    Raises:
        EngineUnavailable: Spark or Java is missing.
        ExplorerError: What went wrong in Spark.
    """
    from explorer.spark.engine.job import submit

    batches: queue.Queue[pa.RecordBatch] = queue.Queue(_WAITING_BATCHES)
    job = submit(stream.name, lambda job: _produce(job, stream, batches))
    try:
        with followed(job):
            while job.state == "running" or not batches.empty():
                with contextlib.suppress(queue.Empty):
                    yield batches.get(timeout=_POLL_SECONDS).cast(stream.schema)
        job.result()
    finally:
        _stop(job, batches)


def _produce(job: Job[None], stream: RowStream, batches: queue.Queue[pa.RecordBatch]) -> None:
    from explorer.spark.scan.results import to_arrow

    job.report(stream.phase)
    if stream.pieces is None:
        _hand_over(job, _streamed(stream.plan(), readable=stream.readable), batches)
        return
    # Spark cannot hand variants to Python functions: piece by piece instead.
    for piece in stream.pieces():
        _hand_over(job, iter(to_arrow(piece).to_batches()), batches)


def _streamed(planned: Planned, *, readable: bool) -> Iterator[pa.RecordBatch]:
    from explorer.spark.scan.results import SPARK_ERRORS, readable_frame

    # Defined here, so that it travels to Spark's workers by value: they may not have this package.
    def packed(batches: Any) -> Any:
        import pyarrow

        for batch in batches:
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([sink.getvalue().to_pybytes()])], names=["stream"])

    frame = readable_frame(planned.frame) if readable else planned.frame
    found = frame.mapInArrow(packed, "stream binary").toLocalIterator(prefetchPartitions=True)
    while True:
        try:
            row = next(found, None)
        except SPARK_ERRORS as error:
            raise planned.failure(error) from error
        if row is None:
            return
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
