"""All rows of a plan as Arrow batches, a piece at a time, as a job with progress and cancel.

Spark packs its Arrow batches, compressed, into rows of bytes, which can be fetched one by one where whole results
cannot; as a Spark partition is fetched as a whole, and may hold a file of any size, the packed rows are divided by a
shuffle into partitions that Java can hold. Spark's work runs as a job on a thread of its own; the batches come through
a short queue, so that a slow writer slows Spark down instead of filling the memory. Invariants: this process holds some
batches; every packed row says which attempt of which task made it, so that rows of a task that Spark ran again, and
may have divided in another way, are refused instead of lost or doubled.
"""

from __future__ import annotations

import contextlib
import gc
import queue
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import EngineUnavailable
from explorer.core.protocol.arrow.arrow_types import json_variant_schema, nullable_arrow_schema
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.schema.nested_types import holds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from explorer.core.versions.change_feed.feed import ChangeSources
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.job import Job
    from explorer.spark.scan.results import Planned

__all__ = ["Part", "RowStream", "change_stream", "result_schema", "row_batches", "version_stream"]

_WAITING_BATCHES: Final = 8
_POLL_SECONDS: Final = 0.1
# What a piece of the result is made of: bytes of Parquet, or rows. Java holds two, compressed, several times each.
_PIECE_BYTES: Final = 8 << 20
_PIECE_ROWS: Final = 250_000
_MOST_PIECES: Final = 1_000
# Parts grow up to what Spark's disks may have to hold: the first rows come soon, and a limit is reached in few files.
_FIRST_PART_BYTES: Final = 64 << 20
_PART_GROWTH: Final = 4
_LARGEST_PART_BYTES: Final = 1 << 30
_FEW: Final = 10_000
"""Of so few rows Spark is told, so that it reads no more of a file than they need."""
_BATCH_ROWS: Final = 1 << 12
"""How many rows Spark gives to a worker at once, at most."""
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
    in_one_piece = holds(snapshot.schema, "variant") and not readable

    def parts() -> Iterator[Part]:
        from explorer.spark.scan.scan import files_to_read, scan

        for files in _groups(files_to_read(log, snapshot, where), single=in_one_piece):
            yield Part.of(scan(log, snapshot, files, where, needed=True), files)

    return RowStream(
        f"Rows of {log.name} at version {snapshot.version}",
        f"Reading {snapshot.num_files:,} files",
        result_schema(snapshot.schema, readable=readable),
        parts,
        in_one_piece,
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
    in_one_piece = holds(schema, "variant") and not readable

    def parts() -> Iterator[Part]:
        from explorer.spark.changes.changes import changes_of

        for files in _groups(sources.files, sources.next_cut, single=in_one_piece):
            yield Part.of(changes_of(log, msgspec.structs.replace(sources, files=files), keys), files)

    return RowStream(
        f"Changes of {log.name}, versions {sources.from_version} to {sources.to_version}",
        f"Reading the changes of {sources.files.num_rows:,} files",
        pa.schema([*result_schema(schema, readable=readable), *_CHANGE_FIELDS]),
        parts,
        in_one_piece,
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


def _groups(files: pa.Table, next_cut: Callable[[int], int] = lambda end: end, *, single: bool) -> Iterator[pa.Table]:
    """Files in parts, each of about the size that is allowed, and of one file at least.

    No files are one part: nothing is read of it, but what was asked is checked when it is planned.

    Args:
        files: With their ``size`` in bytes.
        next_cut: The first place from one on at which they may be cut.
        single: Cut wherever that is allowed.
    """
    if not files.num_rows:
        yield files
    ends = np.cumsum([size or 0 for size in files.column("size").to_pylist()])
    begin, most = 0, 0 if single else _FIRST_PART_BYTES
    while begin < len(ends):
        before = ends[begin - 1] if begin else 0
        end = next_cut(max(begin + 1, int(np.searchsorted(ends, before + most, "right"))))
        yield files.slice(begin, end - begin)
        begin, most = end, min(most * _PART_GROWTH, _LARGEST_PART_BYTES)


def _produce(job: Job[None], stream: RowStream, batches: queue.Queue[pa.RecordBatch]) -> None:
    from explorer.spark.scan.results import to_arrow

    job.report(stream.phase)
    given = 0
    for part in stream.parts():
        # Spark cannot hand variants to Python functions.
        fetched = iter(to_arrow(part.planned, stream.limit).to_batches()) if stream.whole else _streamed(part, stream)
        for batch in fetched:
            _hand_over(job, batch, batches)
            given += batch.num_rows
        if stream.limit is not None and given >= stream.limit:
            return
        # PySpark's objects refer to each other, and what a shuffle left on disk is there for as long as they are.
        del part, fetched
        gc.collect()


def _streamed(part: Part, stream: RowStream) -> Iterator[pa.RecordBatch]:
    from explorer.spark.scan.results import SPARK_ERRORS, readable_frame

    few = None if stream.limit is None or stream.limit > _FEW else stream.limit
    pieces = part.pieces if few is None else min(part.pieces, 1 + few // _BATCH_ROWS)

    # Defined here, so that it travels to Spark's workers by value: they may not have this package.
    def packed(batches: Any) -> Any:
        import pyarrow
        from pyspark import TaskContext

        task: Any = TaskContext.get()
        options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
        # Each task begins with another piece, so that many small ones do not all fill the first.
        for number, batch in enumerate(batches, task.partitionId()):
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema, options=options) as writer:
                writer.write_batch(batch)
            row = {"piece": number % pieces, "task": task.partitionId(), "attempt": task.taskAttemptId()}
            yield pyarrow.RecordBatch.from_pylist([{**row, "batch": sink.getvalue().to_pybytes()}])

    frame = readable_frame(part.planned.frame) if stream.readable else part.planned.frame
    frame = frame if few is None else frame.limit(few)
    names = frame.columns
    # PySpark takes the names of columns for expressions here: those of a table, which may hold anything, stay outside.
    frame = frame.toDF(*(f"c{place}" for place in range(len(names))))
    frame = frame.mapInArrow(packed, "piece bigint, task bigint, attempt bigint, batch binary")
    frame = frame.repartitionById(pieces, frame["piece"].cast("int")) if pieces > 1 else frame
    attempts: dict[int, int] = {}
    try:
        fetched = _fetched(frame)
        while (row := next(fetched, None)) is not None:
            if attempts.setdefault(row["task"], row["attempt"]) != row["attempt"]:
                raise EngineUnavailable(
                    "Spark lost rows that it had made and makes them again, perhaps in another order, so that some of "
                    "those that already came could be missing or there twice. Read them again.",
                    engine="spark",
                )
            yield from (batch.rename_columns(names) for batch in pa.ipc.open_stream(row["batch"]))
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
