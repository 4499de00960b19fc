"""A log that is followed: the history read commit by commit is the one that is read at once, and old ones stay."""

import gc
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import explorer
from explorer.core.log.log_path import parse_log_name
from explorer.core.versions.history import History
from explorer.core.versions.open_log.current import CurrentLog
from explorer.storage import open_store
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs import small_logs
from tests.support.shared_tables import golden_root, reference_root

INTERVALS = ("added", "removed", "previous", "removed_data_change", "deletion_times", "data_change")


def _same(one: explorer.Table, other: explorer.Table) -> None:
    assert one.history().equals(other.history())
    mine, meant = one.history_record().lifetimes, other.history_record().lifetimes
    for name in INTERVALS:
        assert np.array_equal(getattr(mine, name), getattr(meant, name)), name
    for version in range(meant.readable_from, meant.last + 1):
        assert mine.files_at(version).equals(meant.files_at(version)), version


def _followed_to_the_end(source: Path, folder: Path, steps: int) -> int:
    """Follow a copy of a log that grows, and compare at each step; returns how many steps read new commits alone."""
    (folder / "_delta_log").mkdir(parents=True)
    names = sorted(path.name for path in (source / "_delta_log").iterdir() if path.is_file())
    commits = [name for name in names if name.endswith(".json") and len(name) == 25 and name[:20].isdecimal()]
    if len(commits) < 3:
        return 0
    others = [name for name in names if name not in commits and name != "_last_checkpoint"]
    first = int(commits[0][:20])
    cuts = sorted({first + (len(commits) * step) // steps for step in range(1, steps)} | {int(commits[-1][:20]) + 1})
    table: explorer.Table | None = None
    before: list[tuple[explorer.Table, pa.Table]] = []
    continued = 0
    for cut in cuts:
        for name in (*commits, *others):
            path = parse_log_name(name)
            newest = -1 if path is None else max(path.version, path.last_version)
            if newest < cut and not (folder / "_delta_log" / name).exists():
                shutil.copy2(source / "_delta_log" / name, folder / "_delta_log" / name)
        try:
            meant = explorer.open_table(folder)
            meant.history_record()
        except explorer.ExplorerError:
            return continued
        if table is None:
            table = explorer.open_table(folder)
            table.follow()
        else:
            held, table = table, table.successor()
            read_before: list[int] = []
            table.watch(lambda done, _, read=read_before: read.append(done))
            table.history_record()
            continued += any(read_before[:1])
            before.append((held, held.history()))
        _same(table, meant)
    # What was on show meanwhile is unchanged.
    for held, shown in before:
        assert held.history().equals(shown)
    return continued


@pytest.mark.whole("the case golden", cases=["reference"])
@pytest.mark.parametrize(
    "root",
    [pytest.param("golden", marks=pytest.mark.golden), pytest.param("reference", marks=pytest.mark.reference)],
)
def test_every_log_is_the_same_when_it_is_followed(root: str, tmp_path: Path) -> None:
    tables = (golden_root() if root == "golden" else reference_root()) / "tables"
    logs = [path for path in sorted(tables.iterdir()) if (path / "_delta_log").is_dir()]
    steps = [_followed_to_the_end(path, tmp_path / path.name, 4) for path in logs]
    assert sum(map(bool, steps)) >= 20


def test_only_new_commits_are_read(tmp_path: Path) -> None:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    folder = small_logs.write_log(tmp_path / "t", [created, *([small_logs.add(f"{n}", 1)] for n in range(30))])
    store = FaultyStore(open_store(str(folder), None, None))
    table = explorer.Table(store)
    table.follow()
    assert table.history().num_rows == 31
    small_logs.write_log(folder, [[small_logs.add("31", 1)]], 31)
    store.requests.clear()
    found = table.successor()
    assert found.history().num_rows == 32
    assert sum(int(request.split()[1]) for request in store.requests if request.startswith("read ")) == 1
    assert table.history_record().latest == 30


@pytest.mark.parametrize("files", [["x", "yy"], ["x", "yy", "z"], ["x"]])
def test_a_log_that_is_another_one_is_read_whole(tmp_path: Path, files: list[str]) -> None:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    folder = small_logs.write_log(tmp_path / "t", [created, [small_logs.add("a", 1)], [small_logs.add("b", 1)]])
    table = explorer.open_table(folder)
    table.follow()
    assert isinstance(table.history_record(), History)
    shutil.rmtree(folder)
    small_logs.write_log(folder, [created, *([small_logs.add(name, 7)] for name in files)])
    _same(table.successor(), explorer.open_table(folder))
    table.refresh()
    _same(table, explorer.open_table(folder))


def test_a_log_that_is_followed_for_days_keeps_no_earlier_one(tmp_path: Path) -> None:
    """Of each version, the last that read it would be kept by the next, and with it all that it had read."""

    def kept() -> int:
        gc.collect()
        return sum(isinstance(each, CurrentLog) for each in gc.get_objects())

    small_logs.write_log(tmp_path, [[small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.METADATA]])
    table, before = explorer.open_table(tmp_path, cache=False), kept()
    table.follow()
    first = table.snapshot(0)
    for version in range(1, 13):
        small_logs.write_log(tmp_path, [[small_logs.commit_info("WRITE"), small_logs.add(f"{version}")]], version)
        table = table.successor()
        table.history_record()
        assert table.snapshot(version).num_files == version
        assert table.snapshot(version - 1).timestamp <= table.snapshot(version).timestamp
        # What was read before is still there, loaded or not.
        assert table.snapshot(0).num_files == 0
        assert table.snapshot(0).schema is first.schema
    assert kept() == before + 1, "the one that is followed, and that of the version which a window still shows"
    assert first.num_files == 0
    del first
    assert kept() == before
