"""What is kept of a log that was cleaned up, restored, cut or written again: it is of another log then."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.core.log.log_path import checkpoint_name, commit_name
from explorer.storage import open_store
from tests.core.versions.test_kept_history import commits_read, folder, kept_in, opened
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.same_histories import same

__all__ = ["folder"]


def _checkpoint(folder: Path, version: int, files: int) -> None:
    """Write the checkpoint of a version of the folder's table, with so many files, in place of one that is there."""
    store = open_store(folder)
    (folder / checkpoint_name(version)).unlink(missing_ok=True)
    live = [small_logs.add(f"f{number}", 1) for number in range(files)]
    write_checkpoint(store, version, [small_logs.PROTOCOL, small_logs.metadata({"id": "long"}), *live], "classic")


def _without(folder: Path, *versions: int) -> None:
    for version in versions:
        (folder / commit_name(version)).unlink()


@pytest.mark.parametrize("gone", [1, 5, 10, 11, 20])
def test_a_log_that_was_cleaned_up_is_another_log(folder: Path, tmp_path: Path, gone: int) -> None:
    _checkpoint(folder, 10, 10)
    _checkpoint(folder, 20, 20)
    indexes = kept_in(tmp_path / "kept")
    opened(folder, indexes)[0].history()
    _without(folder, *range(gone))
    table, store = opened(folder, indexes)
    table.history()
    assert commits_read(store) > 0, "what was kept is of another log"
    same(table, explorer.open_table(folder))
    again, store = opened(folder, indexes)
    same(again, explorer.open_table(folder))
    assert commits_read(store) == 0
    assert again.version_range() == (10 if gone <= 11 else 20, 29)


def test_commits_that_come_back_are_another_log(folder: Path, tmp_path: Path) -> None:
    _checkpoint(folder, 10, 10)
    taken = {version: (folder / commit_name(version)).read_bytes() for version in (8, 9, 10)}
    _without(folder, *range(11))
    indexes = kept_in(tmp_path / "kept")
    opened(folder, indexes)[0].history()
    for version, data in taken.items():
        (folder / commit_name(version)).write_bytes(data)
    table, _ = opened(folder, indexes)
    same(table, explorer.open_table(folder))
    assert table.history().num_rows == 22


@pytest.mark.parametrize("gone", [3, 11])
def test_a_first_checkpoint_that_was_written_again_is_noticed(folder: Path, tmp_path: Path, gone: int) -> None:
    _checkpoint(folder, 10, 10)
    _without(folder, *range(gone))
    indexes = kept_in(tmp_path / "kept")
    table, store = opened(folder, indexes)
    table.history()
    again, store = opened(folder, indexes)
    again.history()
    assert commits_read(store) == 0
    for files in (9, 10):
        _checkpoint(folder, 10, files)
        table, store = opened(folder, indexes)
        # Commit 11 adds a file; where commit 10 is there, it says of the checkpoint's last file that it was added.
        first = table.history().sort_by("version").column("num_files")[max(0, 11 - gone)].as_py()
        assert first == (11 if gone == 3 else files + 1)
        assert commits_read(store) > 0
        same(table, explorer.open_table(folder))


def test_a_log_that_lost_its_newest_commits_is_another_log(folder: Path, tmp_path: Path) -> None:
    indexes = kept_in(tmp_path / "kept")
    opened(folder, indexes)[0].history()
    _without(folder, 28, 29)
    table, _ = opened(folder, indexes)
    assert table.history().num_rows == 28
    same(table, explorer.open_table(folder))


@pytest.mark.parametrize("gone", [3, 11])
def test_a_log_that_begins_late_and_grows_goes_on_from_what_is_kept(folder: Path, tmp_path: Path, gone: int) -> None:
    _checkpoint(folder, 10, 10)
    _without(folder, *range(gone))
    indexes = kept_in(tmp_path / "kept")
    opened(folder, indexes)[0].history()
    small_logs.write_log(folder, [[small_logs.remove("f3")], [small_logs.add("new", 1)]], 30)
    table, store = opened(folder, indexes)
    table.history()
    assert commits_read(store) == 2
    same(table, explorer.open_table(folder))
    assert table.provenance_record().commits == explorer.open_table(folder).provenance_record().commits
