"""The warehouse as a folder: whole or not at all, the same in every build, and small."""

import hashlib
import shutil
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import RequestError, StorageError
from explorer.demo import build_warehouse, default_folder, demo_warehouse, ensure_warehouse, is_warehouse
from explorer.demo import warehouse as module

Build = tuple[Path, dict[str, dict[int, pa.Table]]]


@pytest.mark.whole("test_empty_folder_is_filled, and tests/demo/test_readers.py")
def test_second_build_of_a_week_is_the_same_byte_for_byte(demo_build: Build, tmp_path: Path) -> None:
    folder, rows = demo_build
    again = build_warehouse(tmp_path / "again", date(2026, 4, 20))
    assert _digests(folder) == _digests(tmp_path / "again")
    assert rows == again


@pytest.mark.whole("test_empty_folder_is_filled, and tests/demo/test_readers.py")
def test_build_of_another_week_differs_in_times_alone(demo_warehouse: Path, tmp_path: Path) -> None:
    build_warehouse(tmp_path / "later", date(2026, 11, 21))
    for name in ("sales/orders", "web/events"):
        here, there = (explorer.open_table(root / name).history() for root in (demo_warehouse, tmp_path / "later"))
        same = [
            "version",
            "operation",
            "user_name",
            "num_files",
            "num_rows",
            "rows_added",
            "rows_removed",
            "rows_masked",
        ]
        assert here.select(same) == there.select(same)
        moved = {
            (after - before).days
            for before, after in zip(
                here.column("timestamp").to_pylist(), there.column("timestamp").to_pylist(), strict=True
            )
        }
        assert moved == {30 * 7}


def test_warehouse_is_small(demo_warehouse: Path) -> None:
    sizes = [path.stat().st_size for path in demo_warehouse.rglob("*") if path.is_file()]
    assert sum(sizes) < 15_000_000
    assert len(sizes) < 1000


def test_present_warehouse_is_left_alone(demo_warehouse: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(demo_warehouse, tmp_path / "demo")
    before = _digests(folder)
    assert not ensure_warehouse(folder)
    assert _digests(folder) == before


def test_empty_folder_is_filled(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert ensure_warehouse(folder)
    assert is_warehouse(folder)


@pytest.mark.whole("test_empty_folder_is_filled")
def test_older_edition_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / ".delta-table-explorer-demo").write_text("0\n")
    (folder / "left-over").write_text("")
    assert ensure_warehouse(folder)
    assert not (folder / "left-over").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_folder_with_other_content_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("words")
    with pytest.raises(RequestError, match="not empty"):
        ensure_warehouse(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_failing_build_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(module._STORIES, "web/events", (fail, 1))
    with pytest.raises(StorageError, match="No space left"):
        build_warehouse(tmp_path / "demo", date(2026, 4, 20))
    assert list(tmp_path.iterdir()) == []


def test_default_folder_is_in_the_data_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DELTA_DEMO", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "delta-table-explorer" / "demo"


# tests/notebooks/test_make_notebook.py has it built there.
@pytest.mark.whole("test_present_warehouse_is_left_alone")
def test_demo_warehouse_where_the_variable_says_is_left_alone(
    demo_build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(demo_build[0], tmp_path / "mine")
    monkeypatch.setenv("DELTA_DEMO", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine"
    before = _digests(tmp_path / "mine")
    assert demo_warehouse() == tmp_path / "mine"
    assert _digests(tmp_path / "mine") == before


def _digests(folder: Path) -> dict[str, tuple[str, int]]:
    """Content and modification time of each file."""
    return {
        path.relative_to(folder).as_posix(): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".delta-table-explorer-demo"
    }
