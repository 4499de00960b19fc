"""Failures of the machine, the network, and the cluster, each provoked in Java, and what a person reads of them."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import broadcast

from explorer.spark.engine.failures import failure_of
from explorer.spark.engine.session import Engine

pytestmark = pytest.mark.spark

JAVA = re.compile(r"\b(?:org|java|scala|com|py4j)\.[a-z]\w*\.|\bat \w+\.\w+\(|SQLSTATE|Traceback|\.(?:scala|java):\d")


def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        time.sleep(8)
        yield batch


def full_disk(session: SparkSession, _: Path) -> None:
    session._jvm.java.io.FileOutputStream("/dev/full").write(1)  # type: ignore[attr-defined]  # PySpark's own


def no_memory(session: SparkSession, _: Path) -> None:
    # Java refuses an array of that length, whatever memory it has.
    session._jvm.java.nio.ByteBuffer.allocate(2**31 - 1)  # type: ignore[attr-defined]


def closed_port(session: SparkSession, _: Path) -> None:
    session._jvm.java.net.Socket("127.0.0.1", 1)  # type: ignore[attr-defined]


def unknown_host(session: SparkSession, _: Path) -> None:
    session._jvm.java.net.InetAddress.getByName("no-such-host.invalid")  # type: ignore[attr-defined]


def silent_host(session: SparkSession, _: Path) -> None:
    waiting = session._jvm.java.net.ServerSocket(0)  # type: ignore[attr-defined]
    waiting.setSoTimeout(50)
    try:
        waiting.accept()
    finally:
        waiting.close()


def absent_class(session: SparkSession, _: Path) -> None:
    session._jvm.java.lang.Class.forName("org.absent.Thing")  # type: ignore[attr-defined]


def unserializable(session: SparkSession, _: Path) -> None:
    stream = session._jvm.java.io.ByteArrayOutputStream()  # type: ignore[attr-defined]
    session._jvm.java.io.ObjectOutputStream(stream).writeObject(  # type: ignore[attr-defined]
        session._jvm.java.lang.Object()  # type: ignore[attr-defined]
    )


def cancelled_job(session: SparkSession, _: Path) -> None:
    context, ended = session.sparkContext, threading.Event()

    def cancel() -> None:
        while not ended.wait(0.2):
            context.cancelAllJobs()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        session.range(1).mapInArrow(slow, "id long").collect()
    finally:
        ended.set()
        thread.join()


def late_broadcast(session: SparkSession, _: Path) -> None:
    own = session.newSession()
    own.conf.set("spark.sql.broadcastTimeout", "1")
    small = own.range(1).mapInArrow(slow, "id long")
    own.range(5).join(broadcast(small), "id").collect()


PROVOKED: list[tuple[Callable[[SparkSession, Path], None], str]] = [
    (full_disk, "A disk that Spark writes to is full"),
    (no_memory, "Spark ran out of memory"),
    (closed_port, "Spark cannot reach the store"),
    (unknown_host, "Spark cannot reach the store"),
    (silent_host, "Spark cannot reach the store"),
    (absent_class, "lacks a part that it needs: Thing"),
    (unserializable, "could not be sent to Spark's tasks"),
    (cancelled_job, "was cancelled"),
    (late_broadcast, "Spark took too long over a step"),
]


@pytest.mark.sampled(cases=4)
@pytest.mark.parametrize(("provoke", "words"), PROVOKED, ids=[provoke.__name__ for provoke, _ in PROVOKED])
def test_a_provoked_failure_is_said_in_words(
    spark_engine: Engine, provoke: Callable[[SparkSession, Path], None], words: str, tmp_path: Path
) -> None:
    if spark_engine.connected_remotely:
        pytest.skip("a Connect server's JVM is not at hand")
    with pytest.raises(Exception) as raised:  # noqa: PT011  # whatever is raised is the subject
        provoke(spark_engine.session(), tmp_path)
    found = failure_of(raised.value)
    assert words in found.message, (raised.value, found.message)
    assert JAVA.search(found.message) is None
