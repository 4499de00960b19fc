"""All rows of a plan as Arrow batches, a piece at a time, as a job with progress and cancel.

Spark packs its Arrow batches, compressed, into rows of bytes, which can be fetched one by one where whole results
cannot; as a Spark partition is fetched as a whole, and may hold a file of any size, the packed rows are divided by a
shuffle into partitions that Java can hold. Spark's work runs as a job on a thread of its own; the batches come through
a short queue, so that a slow writer slows Spark down instead of filling the memory. Invariants: this process holds some
batches; every packed row names the attempt of the task that made it, so that rows of a task that Spark ran again, and
may have divided in another way, are refused instead of lost or doubled.
"""

from __future__ import annotations

import contextlib
import gc
import queue
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from explorer.core.errors import EngineUnavailable
from explorer.spark.engine.session import is_connect
from explorer.spark.rows.row_streams import RowStream, StreamPart

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from explorer.job import Job

_WAITING_BATCHES: Final = 8
_POLL_SECONDS: Final = 0.1
_FEW: Final = 10_000
"""Up to so many rows Spark gets a limit, so that it reads no more of a file than they need."""
_BATCH_ROWS: Final = 1 << 12
"""How many rows Spark gives to a worker at once, at most."""


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
    given = 0
    for part in stream.parts():
        # Spark cannot hand variants to Python functions.
        rows = iter(to_arrow(part.planned, stream.limit).to_batches()) if stream.unstreamed else _streamed(part, stream)
        for batch in rows:
            _hand_over(job, batch, batches)
            given += batch.num_rows
        if stream.limit is not None and given >= stream.limit:
            return
        # PySpark's objects refer to each other, and what a shuffle left on disk is there for as long as they are.
        del part, rows
        gc.collect()


def _streamed(part: StreamPart, stream: RowStream) -> Iterator[pa.RecordBatch]:
    from explorer.spark.engine.failures import SPARK_ERRORS
    from explorer.spark.scan.results import readable_frame

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
                    "Spark lost rows that it had computed and computes them again, perhaps in another order, so rows "
                    "that were already read could be missing or repeated. Read them again.",
                    engine="spark",
                )
            yield from (batch.rename_columns(names) for batch in pa.ipc.open_stream(row["batch"]))
    except SPARK_ERRORS as error:
        raise part.planned.failure(error) from error


def _fetched(frame: DataFrame) -> Iterator[Row]:
    """Return the rows, a partition ahead.

    Not by the frame's own iterator where there is a choice: its jobs belong to one query, and Spark 4.2 keeps a query's
    jobs with all that they fetched until it ends (``DAGScheduler.activeQueryToJobs``). Those of an RDD are let go.
    """
    if is_connect(frame):
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
