"""The folder of what is kept of tables: bounded, private, whole files only, and nothing in it that must stay secret."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.storage.index_folder import IndexFolder, user_indexes
from explorer.variables import CACHE_VARIABLE
from tests.support.logs import small_logs

TABLE = pa.table({"text": ["x" * 100] * 100})


def _folder(place: Path, **options: int) -> IndexFolder:
    return IndexFolder(place, "test", worth=(1, 0), settled=0, **options)


def _locations(folder: IndexFolder) -> list[str | None]:
    return [each.location for each in folder.files()]


def test_a_table_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.keep("s3://bucket/t", (), lambda: {"one": TABLE, "none": TABLE.slice(0, 0)})
    found = folder.find("s3://bucket/t")
    assert found is not None
    assert (found.table("one"), found.table("none"), found.table("other")) == (TABLE, TABLE.slice(0, 0), None)
    assert folder.find("s3://bucket/u") is None


def test_no_user_password_or_query_is_kept(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.keep("s3://user:hush@bucket/t?token=hush#hush", (), lambda: {"one": TABLE})
    assert _locations(folder) == ["s3://bucket/t"]
    (path,) = tmp_path.iterdir()
    assert b"hush" not in path.read_bytes()
    assert "hush" not in path.name
    assert folder.find("s3://bucket/t") is not None


def test_tables_in_memory_are_not_kept(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.keep("memory://a/t", (), lambda: {"one": TABLE})
    assert folder.files() == []


def test_the_least_recently_used_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    folder = _folder(tmp_path, most_bytes=40_000)
    for number in range(3):
        folder.keep(f"s3://bucket/{number}", (), lambda: {"one": TABLE})
        for place, path in enumerate(sorted(tmp_path.iterdir(), key=lambda each: each.stat().st_mtime_ns)):
            os.utime(path, (place, place))
    assert folder.find("s3://bucket/0") is not None
    folder.keep("s3://bucket/3", (), lambda: {"one": TABLE})
    assert _locations(folder) == ["s3://bucket/3", "s3://bucket/0", "s3://bucket/2"]


def test_what_a_stopped_writer_left_goes_too(tmp_path: Path) -> None:
    folder = _folder(tmp_path, most_bytes=40_000)
    left = tmp_path / ".x.v1.index.0123.tmp"
    left.write_bytes(bytes(39_000))
    os.utime(left, (1, 1))
    folder.keep("s3://bucket/t", (), lambda: {"one": TABLE})
    assert _locations(folder) == ["s3://bucket/t"]
    assert not left.exists()


def test_what_is_larger_than_all_that_may_be_kept_is_not_kept(tmp_path: Path) -> None:
    folder = _folder(tmp_path, most_bytes=1000)
    folder.keep("s3://bucket/t", (), lambda: {"one": TABLE})
    assert list(tmp_path.iterdir()) == []


def test_writers_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    location = "s3://bucket/t"

    def keep_and_find(number: int) -> None:
        folder = _folder(tmp_path)
        for step in range(20):
            folder.keep(location, (), lambda: {"one": TABLE.slice(0, number + 1), "step": pa.table({"n": [step]})})  # noqa: B023 - called at once
            found = folder.find(location)
            assert found is not None
            table = found.table("one")
            assert table is not None
            assert table.equals(TABLE.slice(0, table.num_rows))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(keep_and_find, range(4)))
    assert len(list(tmp_path.iterdir())) == 1


def test_it_can_be_switched_off_and_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_indexes("test") is None
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    moved = user_indexes("test")
    assert moved is not None
    assert moved.folder == tmp_path / "elsewhere"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(CACHE_VARIABLE)
    usual = user_indexes("test")
    assert usual is not None
    assert usual.folder.name == "delta-table-explorer"


def test_a_small_log_is_read_again_rather_than_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "kept"))
    folder = small_logs.write_log(tmp_path / "t", [[small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]])
    explorer.open_table(folder).history()
    assert not (tmp_path / "kept").exists()
