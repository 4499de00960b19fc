"""What Spark raises, as people and logs get it: in words, with what to do, and without a word of Java."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from explorer.cli.errors import facts_of, typed
from explorer.core.errors import CorruptTable, EngineUnavailable, ExplorerError, StorageError, UnsupportedFeature
from explorer.debug import DEBUG_VARIABLE, OneLine, in_words, is_of_spark, log_failure
from explorer.spark.engine.failure_kinds import known_failure
from explorer.spark.engine.failures import failure_of
from explorer.spark.engine.session import engine
from explorer.spark.engine.spark_words import without_java
from explorer.views.problems import problem_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

JAVA = re.compile(r"\b(?:org|java|scala|com|py4j)\.[a-z]\w*\.|\bat \w+\.\w+\(|SQLSTATE|Traceback|\.(?:scala|java):\d")
Provoke = Callable[[SparkSession, Path], Any]


def broken(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        raise ZeroDivisionError
    return batches


def dead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        os._exit(3)
    return batches


def unsendable() -> Any:
    lock = threading.Lock()

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        assert lock
        return batches

    return work


def damaged(session: SparkSession, folder: Path) -> Any:
    (folder / "x.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    return session.read.schema("id long").parquet(str(folder / "x.parquet")).collect()


def unknown_codec(session: SparkSession, folder: Path) -> Any:
    pq.write_table(pa.table({"id": [1]}), folder / "x.parquet", compression="brotli")
    return session.read.parquet(str(folder / "x.parquet")).collect()


def other_type(session: SparkSession, folder: Path) -> Any:
    pq.write_table(pa.table({"id": [1]}), folder / "x.parquet")
    return session.read.schema("id timestamp").parquet(str(folder / "x.parquet")).collect()


REAL: list[tuple[Provoke, type[ExplorerError], str]] = [
    (lambda s, _: s.read.parquet("hdfx://h/x"), UnsupportedFeature, "no file system for hdfx://"),
    (lambda s, _: s.read.parquet("http://127.0.0.1:1/x"), UnsupportedFeature, "no file system for such addresses"),
    (lambda s, _: s.read.parquet("s3a://b/x"), EngineUnavailable, "lacks a part that it needs: S3AFileSystem"),
    (lambda s, _: s.read.format("com.absent.Source").load(), EngineUnavailable, "lacks a part"),
    (unknown_codec, UnsupportedFeature, "lacks the codec Brotli"),
    (damaged, CorruptTable, "cannot be read as the table's schema says"),
    (other_type, CorruptTable, "Expected Spark type timestamp"),
    (lambda s, f: s.read.parquet(str(f / "absent.parquet")), StorageError, "does not exist"),
    (lambda s, _: s.sql("select cast('x' as int)").collect(), StorageError, "cannot be cast"),
    (lambda s, _: s.sql("select raise_error('Permission denied')").collect(), StorageError, "rows: Permission denied."),
    (lambda s, _: s.sql("select nope"), StorageError, "cannot be resolved"),
    (lambda s, _: s.range(1).mapInArrow(broken, "id long").collect(), StorageError, "(PythonException). Run it again"),
    (
        lambda s, _: s.range(1).mapInArrow(dead, "id long").collect(),
        EngineUnavailable,
        "A Python worker of Spark ended",
    ),
    (lambda s, _: s.range(1).mapInArrow(unsendable(), "id long").collect(), EngineUnavailable, "This is a bug"),
    (
        lambda s, _: s._jvm.java.util.Objects.requireNonNull(None),  # type: ignore[attr-defined]  # PySpark's own
        StorageError,
        "(NullPointerException). Run it again with --debug",
    ),
]


@pytest.mark.sampled(cases=4)
@pytest.mark.parametrize(("provoke", "kind", "words"), REAL, ids=[words for _, _, words in REAL])
def test_a_failure_of_spark_is_said_in_words(
    provoke: Provoke, kind: type[ExplorerError], words: str, tmp_path: Path
) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011  # whatever Spark raises is the subject
        provoke(engine().session(), tmp_path)
    found = failure_of(raised.value)
    assert type(found) is kind
    assert words in found.message
    assert JAVA.search(found.message) is None
    assert JAVA.search(in_words(raised.value)) is None
    # Where one reaches a command or a page as it is, a person is told the same.
    if is_of_spark(raised.value):
        assert facts_of(typed(raised.value)) == found.facts()
        assert problem_of(raised.value) == problem_of(found)


# Written by hand in the shape that Java, Spark, Hadoop and gRPC give them; the ones above are raised by real runs.
KNOWN_SHAPES = [
    ("java.lang.OutOfMemoryError: Java heap space", "ran out of memory"),
    ("org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] Unable", "ran out of memory"),
    (
        "Job aborted: Total size of serialized results of 9 tasks (1 GiB) is bigger than spark.driver.maxResultSize",
        "larger",
    ),
    ("java.io.IOException: No space left on device", "is full"),
    ("java.io.FileNotFoundException: /data/a.parquet (Permission denied)", "permission denied"),
    ("org.apache.hadoop.security.AccessControlException: Permission denied: user=a", "permission denied"),
    ("java.net.ConnectException: Connection refused", "cannot reach the store"),
    ("java.net.UnknownHostException: bucket.example", "cannot reach the store"),
    ("java.net.SocketTimeoutException: Read timed out", "cannot reach the store"),
    ("java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.", "session ended"),
    ("org.apache.spark.SparkException: Job 3 cancelled because SparkContext was shut down", "session ended"),
    ("[INVALID_HANDLE.SESSION_NOT_FOUND] The handle is invalid. Session not found.", "session ended"),
    ('status = StatusCode.UNAVAILABLE\ndetails = "failed to connect"', "does not answer"),
    ('status = StatusCode.UNAUTHENTICATED\ndetails = ""', "refused this program"),
    ("org.apache.spark.SparkException: [SPARK_JOB_CANCELLED] Job 1 cancelled", "was cancelled"),
    ("java.io.NotSerializableException: a.B", "This is a bug"),
    ("ModuleNotFoundError: No module named 'pyarrow'", "package pyarrow is not installed"),
    ("CatalogNotFoundException: [CATALOG_NOT_FOUND] The catalog `mine` not found.", "name the catalog mine"),
    ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "another version of Python"),
    ("ExecutorLostFailure (executor 1 exited caused by one of the running tasks)", "process of Spark was lost"),
    ("java.util.concurrent.TimeoutException: Futures timed out after [300 seconds]", "took too long"),
]


@pytest.mark.parametrize(("text", "words"), KNOWN_SHAPES)
def test_a_text_of_a_known_shape_is_of_its_kind(text: str, words: str) -> None:
    found = known_failure(text)
    assert found is not None
    assert words in found.message
    assert JAVA.search(found.message) is None


def test_texts_lose_frames_packages_and_states() -> None:
    text = (
        "Job aborted due to stage failure: Task 0 in stage 5.0 failed 1 times, most recent failure: Lost task 0.0 in "
        "stage 5.0 (TID 5) (localhost executor driver): org.apache.spark.SparkException: It broke SQLSTATE: 12345\n"
        "\tat org.apache.spark.A.b(A.scala:1)\nDriver stacktrace:\n\tat x"
    )
    assert without_java(text) == "SparkException: It broke"


def test_a_log_has_one_line_in_words_and_the_traceback_only_when_debugging(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("explorer.tests.failures")
    error = ValueError("s3://u:CANARY@b/\x1b[31m\nsecond line")
    log_failure(log, "a\x1b[2J check failed", error)
    (record,) = caplog.records
    assert record.getMessage() == "a\ufffd[2J check failed: ValueError: s3://***@b/\ufffd[31m."
    assert record.exc_info is None
    monkeypatch.setenv(DEBUG_VARIABLE, "1")
    log_failure(log, "a check failed", error)
    assert caplog.records[1].exc_info is not None


def test_a_handler_of_a_server_writes_one_line_for_an_error_of_others() -> None:
    text = "Uncaught exception\nTraceback (most recent call last):\n  File x\nKeyError: 'https://h/?sig=CANARY'"
    for error in (None, ValueError("one\ntwo")):
        given = None if error is None else (type(error), error, None)
        record = logging.LogRecord("bokeh", logging.ERROR, "f.py", 1, text, (), given)
        assert OneLine().filter(record)
        assert record.getMessage() == "Uncaught exception" + ("" if error is None else ": ValueError: one.")
        assert record.exc_info is None
