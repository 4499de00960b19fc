"""Rows of any number come in parts and pieces that Java can hold, and nothing that was fetched is kept there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, Final

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

import explorer
from explorer.core.errors import EngineUnavailable, ExplorerError, RequestError, StorageError
from explorer.spark.engine.session import Engine
from explorer.spark.rows import batches, row_streams
from explorer.spark.rows.batches import row_batches
from explorer.spark.rows.row_streams import RowStream, change_stream, version_stream
from tests.support.logs.spark_tables import DataFile, column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

FILES: Final = 5
ROWS: Final = 1_000
BATCH: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
FEED: Final = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def table(tmp_path: Path) -> explorer.Table:
    """A table of some files, one commit each, with a change feed."""
    for number in range(FILES):
        rows = pa.table({"x": range(number * ROWS, (number + 1) * ROWS)})
        deltalake.write_deltalake(tmp_path, rows, mode="append", configuration=FEED)
    return explorer.open_table(tmp_path)


@pytest.fixture
def small_batches(spark_engine: Engine) -> Iterator[None]:
    """Spark makes its batches of Arrow of fewer rows."""
    settings = spark_engine.session().conf
    before = settings.get(BATCH)
    settings.set(BATCH, "70")
    yield
    settings.set(BATCH, before)


@pytest.fixture(params=["parts", "pieces", "both"])
def divided(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, small_batches: None) -> None:
    """Files of a kilobyte count as large, and a hundred rows as many."""
    if request.param != "pieces":
        monkeypatch.setattr(row_streams, "_FIRST_PART_BYTES", 1)
        monkeypatch.setattr(row_streams, "_LARGEST_PART_BYTES", 20_000)
    if request.param != "parts":
        monkeypatch.setattr(row_streams, "_PIECE_ROWS", 100)


def _rows(stream: RowStream, name: str = "x") -> list[Any]:
    with closing(row_batches(stream, lambda _: nullcontext())) as found:
        return sorted(value for batch in found for value in batch.column(name).to_pylist())


@pytest.mark.whole("the case of parts and pieces at once", cases=["parts", "pieces"])
@pytest.mark.usefixtures("divided")
def test_rows_of_all_parts_and_pieces_are_the_version(table: explorer.Table) -> None:
    snapshot = table.snapshot()
    assert _rows(version_stream(table, snapshot, None)) == list(range(FILES * ROWS))
    assert _rows(version_stream(table, snapshot, "x % 1000 < 3")) == [
        n * ROWS + k for n in range(FILES) for k in range(3)
    ]
    assert _rows(version_stream(table, snapshot, "x >= 4500")) == list(range(4500, FILES * ROWS))


@pytest.mark.whole("test_rows_of_all_parts_and_pieces_are_the_version")
@pytest.mark.usefixtures("divided")
def test_changes_of_all_parts_and_pieces_are_the_feed(table: explorer.Table) -> None:
    stream = change_stream(table, table.change_sources(1, FILES - 1))
    assert _rows(stream) == list(range(ROWS, FILES * ROWS))
    assert _rows(stream, "_commit_version") == [version for version in range(1, FILES) for _ in range(ROWS)]


@pytest.mark.sampled(cases=2)
@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("limit", [1, 2_500, FILES * ROWS + 1])
def test_at_least_as_many_rows_come_as_are_wanted(table: explorer.Table, limit: int) -> None:
    found = _rows(version_stream(table, table.snapshot(), None, limit=limit))
    assert min(limit, FILES * ROWS) <= len(found) == len(set(found))


@pytest.mark.whole("test_rows_of_all_parts_and_pieces_are_the_version")
@pytest.mark.usefixtures("divided")
def test_masked_rows_stay_out_in_every_part(tmp_path: Path) -> None:
    rows = [pa.table({"x": range(number * ROWS, (number + 1) * ROWS)}) for number in range(FILES)]
    files = [DataFile(f"f{number}.parquet", each, masked=[0, number + 1]) for number, each in enumerate(rows)]
    table = explorer.open_table(write_table(tmp_path, [column("x", "long")], files))
    gone = {number * ROWS + place for number in range(FILES) for place in (0, number + 1)}
    assert _rows(version_stream(table, table.snapshot(), None)) == [x for x in range(FILES * ROWS) if x not in gone]


@pytest.mark.whole("tests/spark/changes/test_inferred_changes.py")
@pytest.mark.usefixtures("divided")
def test_what_a_version_only_rewrote_is_no_change_wherever_the_parts_are_cut(tmp_path: Path) -> None:
    for number in range(3):
        deltalake.write_deltalake(tmp_path, pa.table({"x": range(number * ROWS, (number + 1) * ROWS)}), mode="append")
    deltalake.DeltaTable(tmp_path).delete("x % 1000 = 5")
    table = explorer.open_table(tmp_path)
    sources = table.change_sources(2, 3, inferred=True)
    assert sources.files.num_rows == 1 + 3 + 1
    assert _rows(change_stream(table, sources)) == sorted([*range(2 * ROWS, 3 * ROWS), 5, ROWS + 5, 2 * ROWS + 5])


def test_a_range_without_changes_is_checked_like_any_other(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path, pa.table({"x": [1]}), configuration=FEED)
    deltalake.DeltaTable(tmp_path).alter.set_table_properties({"delta.appendOnly": "true"})
    table = explorer.open_table(tmp_path)
    sources = table.change_sources(1, 1)
    assert not sources.files.num_rows
    assert _rows(change_stream(table, sources)) == []
    with pytest.raises(RequestError, match="nosuch"):
        _rows(change_stream(table, sources, ["nosuch"]))


@pytest.mark.parametrize("rows", [[1, 2], []])
def test_a_condition_that_needs_no_file_is_checked_like_any_other(rows: list[int], tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path, pa.table({"x": pa.array(rows, pa.int64())}))
    table = explorer.open_table(tmp_path)
    assert _rows(version_stream(table, table.snapshot(), "x < 0")) == []
    for where in ("x < 0 AND reflect('java.lang.System', 'getenv') = 'a'", "nosuch < 0"):
        with pytest.raises(RequestError):
            _rows(version_stream(table, table.snapshot(), where))


@pytest.mark.whole("test_rows_of_all_parts_and_pieces_are_the_version")
def test_a_few_rows_may_come_in_pieces_too(table: explorer.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_streams, "_PIECE_BYTES", 1)
    monkeypatch.setattr(batches, "_BATCH_ROWS", 1_000)
    partitions: list[int] = []
    fetched = batches._fetched

    def watched(frame: DataFrame) -> Iterator[Row]:
        partitions.append(frame.rdd.getNumPartitions())
        return fetched(frame)

    monkeypatch.setattr(batches, "_fetched", watched)
    assert len(_rows(version_stream(table, table.snapshot(), None, limit=2_500))) == 2_500
    assert partitions == [3]


def test_rows_of_a_task_that_ran_again_are_refused(table: explorer.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a machine of a cluster is lost after some of its rows came."""
    monkeypatch.setattr(row_streams, "_PIECE_ROWS", 1_000)
    fetched = batches._fetched

    def again(frame: DataFrame) -> Iterator[Row]:
        rows = [row.asDict() for row in fetched(frame)]
        return (Row(**{**row, "attempt": row["attempt"] + place}) for place, row in enumerate([rows[0], *rows]))

    monkeypatch.setattr(batches, "_fetched", again)
    with pytest.raises(EngineUnavailable, match="missing or repeated"):
        _rows(version_stream(table, table.snapshot(), None))


def test_of_a_few_rows_no_other_file_is_read(table: explorer.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_streams, "_FIRST_PART_BYTES", 1)
    snapshot = table.snapshot()
    first, *others = snapshot.files().column("path").to_pylist()
    folder = Path(table.location.removeprefix("file://"))
    for path in others:
        size = (folder / path).stat().st_size
        (folder / path).write_bytes(b"\0" * size)
    rows = pq.read_table(folder / first).column("x").to_pylist()
    assert _rows(version_stream(table, snapshot, None, limit=7)) == sorted(rows)[:7]
    with pytest.raises(ExplorerError):
        _rows(version_stream(table, snapshot, None, limit=ROWS + 1))


def test_a_missing_file_of_a_later_part_is_told_before_the_first_row(
    table: explorer.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_streams, "_FIRST_PART_BYTES", 1)
    snapshot = table.snapshot()
    last = snapshot.files().column("path").to_pylist()[-1]
    (Path(table.location.removeprefix("file://")) / last).unlink()
    with (
        closing(row_batches(version_stream(table, snapshot, None), lambda _: nullcontext())) as found,
        pytest.raises(StorageError, match="does not exist"),
    ):
        next(found)


@pytest.mark.whole("test_rows_of_all_parts_and_pieces_are_the_version")
@pytest.mark.usefixtures("small_batches")
def test_pieces_are_alike_in_size(table: explorer.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_streams, "_PIECE_ROWS", FILES * ROWS // 9)
    sizes: list[int] = []
    fetched = batches._fetched

    def watched(frame: DataFrame) -> Iterator[Row]:
        sizes.extend(row["count"] for row in frame.groupBy(sf.spark_partition_id()).count().collect())
        return fetched(frame)

    monkeypatch.setattr(batches, "_fetched", watched)
    assert _rows(version_stream(table, table.snapshot(), None)) == list(range(FILES * ROWS))
    assert len(sizes) == 10
    assert max(sizes) - min(sizes) <= 2


def test_spark_keeps_nothing_of_what_was_fetched(spark_engine: Engine, table: explorer.Table) -> None:
    """Spark 4.2 keeps the jobs of a query, with all that they gave, until the query ends."""
    if spark_engine.connected_remotely:
        pytest.skip("The scheduler of Spark Connect is in the server.")
    private: Any = spark_engine.session().sparkContext._jsc
    kept = private.sc().dagScheduler().activeQueryToJobs()
    with closing(row_batches(version_stream(table, table.snapshot(), None), lambda _: nullcontext())) as found:
        next(found)
        assert kept.isEmpty()


@pytest.mark.whole("test_spark_keeps_nothing_of_what_was_fetched")
def test_what_a_part_left_on_disk_goes_with_it(
    spark_engine: Engine, table: explorer.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spark_engine.connected_remotely:
        pytest.skip("The disk of Spark Connect is the server's.")
    monkeypatch.setattr(row_streams, "_PIECE_ROWS", 100)
    session: Any = spark_engine.session()
    folder = Path(session.conf.get("spark.local.dir"))

    def shuffled() -> set[Path]:
        return set(folder.glob("**/shuffle_*"))

    before = shuffled()
    with closing(row_batches(version_stream(table, table.snapshot(), None), lambda _: nullcontext())) as found:
        next(found)
        left = shuffled() - before
        assert left
        assert sum(batch.num_rows for batch in found) > 0
    for _ in range(100):
        # Java does so by itself as well, within half a minute.
        session.sparkContext._jvm.System.gc()
        if not left & shuffled():
            return
        time.sleep(0.2)
    raise AssertionError(f"still there: {sorted(left & shuffled())[:3]}")
