"""What the benchmark of reading times: all readers count the same, and the bare limit sums up what the history does."""

from __future__ import annotations

from pathlib import Path

import deltalake
import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.log.log_segment import list_log
from explorer.core.versions.cached_history import read_history
from explorer.storage.index_folder import IndexFolder
from tests.benchmarks.floor import KEPT_OF, _Line, _Totals, kept
from tests.benchmarks.operation import AGAIN, READERS
from tests.benchmarks.parts import audits
from tests.benchmarks.parts.replay import GOALS
from tests.benchmarks.runs import run

COMMITS = 14


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a checkpoint, whose files were also replaced."""
    folder = tmp_path_factory.mktemp("bench")
    for number in range(COMMITS - 2):
        deltalake.write_deltalake(folder, pa.table({"x": range(number, number + 3)}), mode="append")
        if number == COMMITS - 6:
            deltalake.DeltaTable(folder).create_checkpoint()
    deltalake.DeltaTable(folder).delete("x = 5")
    deltalake.DeltaTable(folder).delete("x < 2")
    return folder


def test_a_part_runs_in_a_process_of_its_own(table: Path) -> None:
    assert run(audits.__name__, "explorer", str(table))["counted"] == 1


@pytest.mark.parametrize("name", [name for name in GOALS if name not in AGAIN])
def test_every_reader_counts_the_same(name: str, table: Path) -> None:
    counted = {READERS[reader](name, str(table))() for reader in ("explorer", "deltalake")}
    assert len(counted) == 1
    assert counted.pop() > 0
    log = sum(file.stat().st_size for file in table.glob("_delta_log/*"))
    assert 0 < READERS["floor"](name, str(table))() <= log * 10


def test_the_bare_limit_sums_up_what_the_history_does(table: Path) -> None:
    decode, totals = msgspec.json.Decoder(_Line).decode_lines, _Totals()
    for commit in sorted(table.glob("_delta_log/*.json")):
        totals.take(decode(commit.read_bytes()))
    history = explorer.open_table(table).history().sort_by("version")
    names = ("num_files", "num_bytes", "num_rows", "num_deleted_rows")
    assert [sums.tolist() for sums in totals.sums()] == [history.column(name).to_pylist() for name in names]
    assert history.num_rows == COMMITS


def test_the_bare_limit_reads_what_is_kept_of_a_log_that_is_as_it_was(table: Path, tmp_path: Path) -> None:
    indexes = IndexFolder(tmp_path, "test", worth=(1, 0), settled=0)
    store = explorer.open_table(table).store
    history, _ = read_history(store, list_log(store), indexes)
    assert kept(table, indexes, KEPT_OF["history again"]) >= history.table().nbytes
    commit = min(table.glob("_delta_log/*.json"))
    commit.write_bytes(commit.read_bytes())
    with pytest.raises(AssertionError):
        kept(table, indexes, KEPT_OF["history again"])
