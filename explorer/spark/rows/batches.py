"""All rows of a plan as Arrow batches, a piece at a time, as a job with progress and cancel.

Nothing here holds more than a piece. Spark packs its Arrow batches into rows of bytes, which can be fetched one by one
where whole results cannot; as a Spark partition is fetched as a whole, and may hold a file of any size, the packed rows
are divided by a shuffle into partitions that Java can hold. Spark's work runs as a job on a thread of its own; the
batches come through a short queue, so that a slow writer slows Spark down instead of filling the memory.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrow_types import json_variant_schema, nullable_arrow_schema
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.schema.nested_types import holds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from explorer.core.versions.change_feed.feed import ChangeSources
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.spark.rows.preview import Job
    from explorer.spark.scan.results import Planned, Scan

__all__ = ["Part", "RowStream", "change_stream", "result_schema", "row_batches", "version_stream"]

_WAITING_BATCHES: Final = 8
_POLL_SECONDS: Final = 0.1
# What a piece of the result is made of: bytes of Parquet, or rows. Java holds a piece several times.
_PIECE_BYTES: Final = 8 << 20
_PIECE_ROWS: Final = 250_000
_MOST_PIECES: Final = 1_000
# Parts grow up to what Spark's disks may have to hold: the first rows come soon, and a limit is reached in few files.
_FIRST_PART_BYTES: Final = 64 << 20
_PART_GROWTH: Final = 4
_LARGEST_PART_BYTES: Final = 1 << 30
_FEW: Final = 10_000
"""So few rows come as one piece, and Spark reads no further in any file than they need."""
_CHANGE_FIELDS: Final = (
    pa.field("_change_type", pa.string()),
    pa.field("_commit_version", pa.int64()),
    pa.field("_commit_timestamp", pa.timestamp("us", "UTC")),
)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the rows, planned.

    Attributes:
        planned: The rows.
        pieces: How many pieces to divide them into, each small enough to be held several times; at least 1.
    """

    planned: Planned
    pieces: int

    @classmethod
    def of(cls, planned: Planned, files: pa.Table) -> Part:
        """Rows that are read from some files: ``size`` in bytes, ``num_records`` null where unknown."""
        size, records = (pc.sum(files.column(name)).as_py() or 0 for name in ("size", "num_records"))
        return cls.of_pieces(planned, max(size // _PIECE_BYTES, records // _PIECE_ROWS))

    @classmethod
    def of_pieces(cls, planned: Planned, pieces: int) -> Part:
        """Rows to divide into about so many pieces."""
        return cls(planned, max(1, min(_MOST_PIECES, 1 + pieces)))


@dataclass(frozen=True, slots=True)
class RowStream:
    """Rows to stream, not planned yet.

    Attributes:
        name: What it is, for people.
        phase: What is being done, for people.
        schema: The schema of the batches.
        parts: Plans them part by part.
        whole: Whether each part is fetched as a whole, as Spark cannot stream it.
        readable: Variants are the JSON they hold instead of their binaries.
        limit: How many rows are wanted; None for all. There may be more.
    """

    name: str
    phase: str
    schema: pa.Schema
    parts: Callable[[], Iterator[Part]]
    whole: bool = False
    readable: bool = False
    limit: int | None = None


def result_schema(schema: StructType, *, readable: bool = False) -> pa.Schema:
    """A table's columns as the rows have them: in order, logical names, exact types, all nullable.

    Args:
        schema: The table's.
        readable: As in `RowStream`.
    """
    return json_variant_schema(schema) if readable else nullable_arrow_schema(schema)


def version_stream(
    log: DeltaLog, snapshot: Snapshot, where: str | None, *, readable: bool = False, limit: int | None = None
) -> RowStream:
    """The rows of a version for which a condition is true; ``readable`` and ``limit`` as in `RowStream`."""
    whole = holds(snapshot.schema, "variant") and not readable

    def planned(files: pa.Table | None = None) -> Scan:
        from explorer.spark.scan.scan import scan

        return scan(log, snapshot, files, where)

    def parts() -> Iterator[Part]:
        everything = planned()
        read = pa.array([address.raw_path for address in everything.addresses], pa.string())
        files = snapshot.logical_files
        files = files.filter(pc.is_in(files.column("raw_path"), read))
        for begin, end in _groups(files.column("size").to_pylist(), single=whole):
            some = files.slice(begin, end - begin)
            yield Part.of(everything if some.num_rows == files.num_rows else planned(some), some)

    return RowStream(
        f"Rows of {log.name} at version {snapshot.version}",
        f"Reading {snapshot.num_files:,} files",
        result_schema(snapshot.schema, readable=readable),
        parts,
        whole,
        readable,
        limit,
    )


def change_stream(
    log: DeltaLog,
    sources: ChangeSources,
    keys: Sequence[str] = (),
    *,
    readable: bool = False,
    limit: int | None = None,
) -> RowStream:
    """The rows of the change feed of a range of versions.

    Args:
        log: The table's log.
        sources: Where the changes are.
        keys: As in `explorer.spark.changes.changes.changes`.
        readable, limit: As in `RowStream`.
    """
    schema = log.snapshot(sources.schema_version).schema
    whole = holds(schema, "variant") and not readable

    def parts() -> Iterator[Part]:
        from explorer.spark.changes.changes import changes_of

        files = sources.files
        for begin, end in _groups(files.column("size").to_pylist(), sources.whole_until, single=whole):
            some = files.slice(begin, end - begin)
            yield Part.of(changes_of(log, msgspec.structs.replace(sources, files=some), keys), some)

    return RowStream(
        f"Changes of {log.name}, versions {sources.from_version} to {sources.to_version}",
        f"Reading the changes of {sources.files.num_rows:,} files",
        pa.schema([*result_schema(schema, readable=readable), *_CHANGE_FIELDS]),
        parts,
        whole,
        readable,
        limit,
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


def _groups(
    sizes: Sequence[int | None], whole_until: Callable[[int], int] = lambda end: end, *, single: bool
) -> Iterator[tuple[int, int]]:
    """Where to cut a list of files into parts, each as large as allowed, and of one file at least.

    Args:
        sizes: Of the files, in bytes.
        whole_until: The first place from one on at which the list may be cut.
        single: Cut wherever that is allowed.
    """
    begin, most = 0, 0 if single else _FIRST_PART_BYTES
    while begin < len(sizes):
        end = whole_until(begin + 1)
        size = sum(size or 0 for size in sizes[begin:end])
        while end < len(sizes):
            further = whole_until(end + 1)
            size += sum(size or 0 for size in sizes[end:further])
            if size > most:
                break
            end = further
        yield begin, end
        begin, most = end, min(most * _PART_GROWTH, _LARGEST_PART_BYTES)


def _produce(job: Job[None], stream: RowStream, batches: queue.Queue[pa.RecordBatch]) -> None:
    from explorer.spark.scan.results import to_arrow

    job.report(stream.phase)
    given = 0
    for part in stream.parts():
        # Spark cannot hand variants to Python functions.
        found = iter(to_arrow(part.planned, stream.limit).to_batches()) if stream.whole else _streamed(part, stream)
        for batch in found:
            _hand_over(job, batch, batches)
            given += batch.num_rows
        if stream.limit is not None and given >= stream.limit:
            return


def _streamed(part: Part, stream: RowStream) -> Iterator[pa.RecordBatch]:
    from explorer.spark.scan.results import SPARK_ERRORS, readable_frame

    few = None if stream.limit is None or stream.limit > _FEW else stream.limit
    pieces = part.pieces if few is None else 1

    # Defined here, so that it travels to Spark's workers by value: they may not have this package.
    def packed(batches: Any) -> Any:
        import pyarrow
        from pyspark import TaskContext

        # Each partition begins with another piece, so that many small ones do not all fill the first.
        task: Any = TaskContext.get()
        for number, batch in enumerate(batches, task.partitionId()):
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            columns = [pyarrow.array([number % pieces], pyarrow.int32()), pyarrow.array([sink.getvalue().to_pybytes()])]
            yield pyarrow.RecordBatch.from_arrays(columns, names=["piece", "batch"])

    frame = readable_frame(part.planned.frame) if stream.readable else part.planned.frame
    frame = frame if few is None else frame.limit(few)
    frame = frame.mapInArrow(packed, "piece int, batch binary")
    frame = frame.repartitionById(pieces, "piece") if pieces > 1 else frame
    try:
        found = _fetched(frame.select("batch"))
        while (row := next(found, None)) is not None:
            yield from pa.ipc.open_stream(row["batch"])
    except SPARK_ERRORS as error:
        raise part.planned.failure(error) from error


def _fetched(frame: DataFrame) -> Iterator[Row]:
    """The rows, a partition ahead.

    Not by the frame's own iterator where there is a choice: its jobs belong to one query, and Spark 4.2 keeps a query's
    jobs with all that they fetched until it ends (``DAGScheduler.activeQueryToJobs``). Those of an RDD are let go.
    """
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        return frame.toLocalIterator(prefetchPartitions=True)
    return frame.rdd.toLocalIterator(prefetchPartitions=True)


def _hand_over(job: Job[None], batch: pa.RecordBatch, batches: queue.Queue[pa.RecordBatch]) -> None:
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
