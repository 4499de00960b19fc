"""Jobs: progress, cancel, typed errors; previews: what they read and what they say."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import Cancelled, EngineUnavailable, RequestError, StorageError
from explorer.job import Job
from explorer.spark.engine.job import submit
from explorer.spark.engine.session import Engine
from explorer.spark.rows.preview import Preview, preview
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=6)]

LONG = 60


def _busy(engine: Engine, entered: threading.Event | None = None) -> Any:
    """Work that takes minutes."""

    def work(job: Job[Any]) -> Any:
        job.report("Summing")
        if entered is not None:
            entered.set()
        return engine.session().range(10**11).repartition(4).selectExpr("sum(id % 7)").toArrow()

    return work


def _wait_until(condition: Any, seconds: float = LONG) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def _wait_until_free(engine: Engine) -> None:
    """Wait until Spark has no work left: by its own account, or as a small job gets through."""
    if engine.connected_remotely:
        assert submit("Count", lambda job: engine.session().range(10).count()).result(20) == 10
    else:
        tracker = engine.session().sparkContext.statusTracker()
        _wait_until(lambda: not tracker.getActiveJobsIds(), 10)


def test_a_job_gives_its_result_and_ends_once(spark_engine: Engine) -> None:
    seen: list[tuple[str, str]] = []
    job = submit("Count", lambda job: (job.report("Counting"), spark_engine.session().range(1000).count())[1])
    job.subscribe(lambda job: seen.append((job.state, job.phase)))
    assert job.result(LONG) == 1000
    assert (job.state, job.error) == ("done", None)
    _wait_until(lambda: seen and seen[-1] == ("done", "Counting"))
    assert [state for state, _ in seen].count("done") == 1
    elapsed = job.elapsed
    time.sleep(0.05)
    assert elapsed == job.elapsed


def test_tasks_are_counted_while_the_work_runs(spark_engine: Engine) -> None:
    job = submit("Busy", _busy(spark_engine))
    _wait_until(lambda: job.total > 0)
    assert 0 <= job.done <= job.total
    assert (job.state, job.phase) == ("running", "Summing")
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(LONG)


def test_cancel_ends_a_running_job_within_a_second_and_frees_spark(spark_engine: Engine) -> None:
    job = submit("Busy", _busy(spark_engine))
    _wait_until(lambda: job.total > 0)
    asked = time.monotonic()
    job.cancel()
    with pytest.raises(Cancelled) as caught:
        job.result(LONG)
    assert time.monotonic() - asked < 1
    assert (job.state, caught.value.operation) == ("cancelled", "Busy")
    _wait_until_free(spark_engine)


def test_cancel_before_spark_knows_the_job_is_not_lost(spark_engine: Engine) -> None:
    entered = threading.Event()
    job = submit("Busy", _busy(spark_engine, entered))
    entered.wait(LONG)
    asked = time.monotonic()
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(LONG)
    assert time.monotonic() - asked < 1
    _wait_until_free(spark_engine)


def test_cancel_is_heard_by_work_that_never_asks_spark(spark_engine: Engine) -> None:
    release = threading.Event()
    job = submit("Deaf", lambda job: release.wait(LONG))
    time.sleep(0.2)
    asked = time.monotonic()
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(LONG)
    assert time.monotonic() - asked < 1
    release.set()
    time.sleep(0.1)
    assert job.state == "cancelled", "a late result does not undo a cancel"


def test_cancelling_one_job_leaves_another_alone(spark_engine: Engine) -> None:
    doomed = submit("Busy", _busy(spark_engine))
    _wait_until(lambda: doomed.total > 0)
    other = submit("Count", lambda job: spark_engine.session().range(10**6).selectExpr("sum(id)").collect()[0][0])
    doomed.cancel()
    assert sum(range(10**6)) == other.result(LONG)


def test_a_failure_is_typed_and_keeps_its_cause(spark_engine: Engine) -> None:
    job = submit("Broken", lambda job: spark_engine.session().sql("SELECT 1 / 0").collect())
    with pytest.raises(StorageError, match="Division by zero") as caught:
        job.result(LONG)
    assert job.state == "failed"
    assert caught.value.__cause__ is not None


def test_a_package_that_the_workers_lack_is_named_with_what_to_install(spark_engine: Engine) -> None:
    def lacking(batches: Any) -> Any:
        import package_that_no_worker_has  # type: ignore[import-not-found]  # noqa: F401

        yield from batches

    job = submit("Map", lambda job: spark_engine.session().range(2).mapInArrow(lacking, "id long").toArrow())
    with pytest.raises(EngineUnavailable, match="package_that_no_worker_has is not installed") as caught:
        job.result(LONG)
    assert caught.value.install is not None
    assert "pip install" in caught.value.install


def test_waiting_too_long_says_what_the_job_is_at(spark_engine: Engine) -> None:
    job = submit("Busy", _busy(spark_engine))
    with pytest.raises(TimeoutError, match="Busy still runs"):
        job.result(0.05)
    job.cancel()


def _table(root: Path, files: int, rows: int, masked: tuple[int, ...] = ()) -> explorer.Table:
    parts = [
        DataFile(f"f{i:03}.parquet", pa.table({"n": range(i * rows, (i + 1) * rows)}), masked=masked)
        for i in range(files)
    ]
    return explorer.open_table(write_table(root, [column("n", "long")], parts))


def _preview(table: explorer.Table, limit: int, where: str | None = None) -> Preview:
    return preview(table, table.snapshot(), limit, where).result(LONG)


@pytest.mark.parametrize(
    ("asked", "rows", "files_read", "note"),
    [
        ((5, None), 5, 1, "5 rows of 72 from the first of 8 files."),
        ((9, None), 9, 1, "9 rows of 72 from the first of 8 files."),
        ((10, None), 10, 2, "10 rows of 72 from the first 2 of 8 files."),
        ((72, None), 72, 8, "All 72 rows, from 8 files."),
        ((100, None), 72, 8, "All 72 rows, from 8 files."),
        ((3, "n % 10 = 5"), 3, 4, "3 rows that match from the first 4 of 8 files."),
        ((100, "n % 10 = 5"), 8, 8, "All 8 rows that match, from 8 files."),
        ((2, "n >= 70"), 2, 8, "2 rows that match from 8 files."),
        ((10, "n < 0"), 0, 8, "No row matches in 8 files."),
        ((10, "n = 0"), 0, 8, "No row matches in 8 files."),
    ],
)
def test_a_preview_reads_the_first_files_that_suffice_and_says_so(
    tmp_path: Path, asked: tuple[int, str | None], rows: int, files_read: int, note: str
) -> None:
    found = _preview(_table(tmp_path, 8, 10, masked=(0,)), *asked)
    assert (rows, files_read, note) == (found.table.num_rows, found.files_read, found.note)
    assert found.complete == note.startswith(("All", "No"))
    assert len(set(found.table.column("n").to_pylist())) == rows


def test_a_preview_of_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    found = _preview(_table(tmp_path, 0, 0), 10)
    assert (found.table.column_names, found.table.num_rows, found.complete) == (["n"], 0, True)
    assert found.note == "The table has no files at this version."


def test_a_preview_refuses_a_bad_predicate_as_the_scan_does(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="Did you mean") as caught:
        _preview(_table(tmp_path, 1, 1), 10, "m > 1")
    assert caught.value.nearest == ["n"]


def test_a_preview_names_a_missing_file(tmp_path: Path) -> None:
    table = _table(tmp_path, 2, 10)
    (tmp_path / "f000.parquet").unlink()
    with pytest.raises(StorageError) as caught:
        _preview(table, 5)
    assert (caught.value.path, caught.value.version) == ("f000.parquet", 0)
