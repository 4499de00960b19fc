"""A list of files out of Spark comes in small pieces, so that Java holds none of it as a whole."""

from __future__ import annotations

import json
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Final

import deltalake
import pyarrow as pa
import pytest

import explorer
from explorer.cli.app import run
from explorer.core.protocol.logical_files import PUBLIC_COLUMNS
from explorer.spark.log.live_files import FileDecisions, FilesToRead, plain_files
from explorer.spark.rows import row_streams
from explorer.spark.rows.batches import row_batches
from explorer.spark.rows.row_streams import file_stream
from tests.spark.log.test_file_commands import HERE

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

FILES: Final = 300
PIECES: Final = 10


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> explorer.Table:
    """A table whose checkpoint, of one row group, is some pieces large."""
    deltalake.write_deltalake(tmp_path, pa.table({"p": range(FILES), "x": range(FILES)}), partition_by=["p"])
    deltalake.DeltaTable(tmp_path).create_checkpoint()
    (checkpoint,) = tmp_path.glob("_delta_log/*.parquet")
    monkeypatch.setattr(row_streams, "_CHECKPOINT_BYTES", checkpoint.stat().st_size // (PIECES - 1))
    return explorer.open_table(tmp_path)


@pytest.mark.whole("test_of_a_few_rows_no_more_than_wanted_are_fetched")
def test_a_list_is_divided_by_the_size_of_its_checkpoint(table: explorer.Table) -> None:
    stream = file_stream(table, table.snapshot(), partial(plain_files, ("path",)))
    (part,) = stream.parts()
    assert part.pieces == PIECES
    with closing(row_batches(stream, lambda _: nullcontext())) as found:
        paths = [path for batch in found for path in batch.column("path").to_pylist()]
    assert sorted(paths) == sorted(table.snapshot().files().column("path").to_pylist())


@pytest.mark.parametrize("limit", [1, 7, FILES + 1])
def test_of_a_few_rows_no_more_than_wanted_are_fetched(table: explorer.Table, limit: int) -> None:
    stream = file_stream(table, table.snapshot(), partial(plain_files, ("path",)), limit)
    with closing(row_batches(stream, lambda _: nullcontext())) as found:
        assert sum(batch.num_rows for batch in found) == min(limit, FILES)


def test_files_that_a_condition_does_not_need_stay_in_spark(table: explorer.Table) -> None:
    snapshot = table.snapshot()
    (part,) = file_stream(table, snapshot, FilesToRead(FileDecisions.of(snapshot, "x >= 290"))).parts()
    frame = part.planned.frame
    kept = snapshot.skipping("x >= 290").files
    assert frame.columns == list(PUBLIC_COLUMNS)
    assert sorted(row["path"] for row in frame.collect()) == sorted(
        kept.filter(kept.column("kept")).column("path").to_pylist()
    )
    assert frame.count() == 10


@pytest.mark.whole("tests/spark/log/test_file_commands.py, and the other tests of this file")
def test_the_command_lists_all_pieces_or_as_many_files_as_asked(
    table: explorer.Table, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def listed(*options: str) -> list[str]:
        assert run(["files", str(tmp_path), "--json", *options]) == 0, capfd.readouterr().err
        return sorted(json.loads(line)["path"] for line in capfd.readouterr().out.splitlines())

    everything = listed()
    assert len(everything) == FILES
    assert listed("--spark", HERE) == everything
    assert len(listed("--spark", HERE, "--limit", "3")) == 3
    assert set(listed("--spark", HERE, "--limit", "3")) <= set(everything)
    assert listed("--spark", HERE, "--where", "x < 5") == listed("--where", "x < 5")
