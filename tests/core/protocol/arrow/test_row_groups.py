"""Files of checkpoints: one read by several threads at once, and many of which few are open."""

from __future__ import annotations

import io
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.protocol.arrow import open_parquet, row_groups
from explorer.core.protocol.arrow.row_groups import RowGroups
from tests.support.at_least_one import at_least_one

_GROUPS, _ROWS = 2, 3
_COLUMNS = ("first", "second", "third")


def test_threads_that_read_one_file_do_not_disturb_each_other() -> None:
    """Arrow's readers are not made for it: where threads share one, the process crashes within a few hundred turns."""
    rows = range(_GROUPS * _ROWS)
    table = pa.table({column: pa.array([f"{column} {row}" for row in rows]) for column in _COLUMNS})
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=_ROWS)

    def agrees(groups: RowGroups, turn: int) -> bool:
        group, column = turn % _GROUPS, _COLUMNS[turn % len(_COLUMNS)]
        read = groups.read(group, [column], alone=False)
        (batch,) = groups.batches(group, _ROWS, [column])
        wanted = table.column(column).slice(group * _ROWS, _ROWS)
        return bool(read.column(column).equals(wanted)) and bool(pa.chunked_array(batch.columns).equals(wanted))

    with ThreadPoolExecutor(4) as pool:
        for _ in range(500):
            groups = RowGroups(lambda: pa.BufferReader(file.getvalue()))
            assert list(pool.map(agrees, [groups] * 12, range(12))) == [True] * 12


class Opened:
    """Files of one row, each with its own number, and the names of those that were opened, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[int] = []

    def file(self, name: int, *, holds: int | None = None) -> RowGroups:
        """Write a file and open it."""
        pq.write_table(pa.table({"number": [name if holds is None else holds]}), self.folder / f"{name}")
        return RowGroups(partial(self.open, name))

    def open(self, name: int) -> pa.NativeFile:
        """Open a file."""
        self.names.append(name)
        return pa.OSFile(str(self.folder / f"{name}"), "rb")

    def held(self) -> list[str]:
        """The files that this process holds open."""
        ends = [os.readlink(f"/proc/self/fd/{end}") for end in os.listdir("/proc/self/fd") if _is_open(end)]
        return sorted(Path(end).name for end in ends if end.startswith(str(self.folder)))


def _is_open(end: str) -> bool:
    # The listing itself is one of them, and is closed by now.
    return os.path.lexists(f"/proc/self/fd/{end}")


def number(rows: RowGroups) -> int:
    (value,) = rows.read(0, ["number"]).column("number").to_pylist()
    return int(value)


def test_of_many_files_those_read_last_stay_open_and_the_others_are_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "LATEST", open_parquet._Latest(2))
    opened = Opened(tmp_path)
    first, second = opened.file(1), opened.file(2)
    assert [number(first), number(second), number(first)] == [1, 2, 1]
    assert opened.names == [1, 2]
    third = opened.file(3)
    assert opened.held() == ["1", "3"]
    assert [number(third), number(first)] == [3, 1]
    assert opened.names == [1, 2, 3]
    assert number(second) == 2
    assert (opened.names, opened.held()) == ([1, 2, 3, 2], ["1", "2"])
    del first
    assert opened.held() == ["2"]
    assert number(third) == 3
    assert (opened.names, opened.held()) == ([1, 2, 3, 2, 3], ["2", "3"])


def test_a_file_that_is_read_stays_open_until_that_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_groups, "LATEST", open_parquet._Latest(1))
    opened = Opened(tmp_path)
    first = opened.file(1)
    batches = first.batches(0, 1, ["number"])
    (row,) = next(batches).to_pylist()
    opened.file(2)
    assert (row, list(batches), opened.names) == ({"number": 1}, [], [1, 2])


def test_a_file_that_was_closed_and_is_another_now_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_groups, "LATEST", open_parquet._Latest(1))
    opened = Opened(tmp_path)
    first, second = opened.file(1), opened.file(2)
    opened.file(1, holds=7)
    with pytest.raises(ValueError, match=r"^it was written again since it was opened$"):
        number(first)
    os.unlink(tmp_path / "2")
    with pytest.raises(FileNotFoundError):
        number(second)
    assert number(opened.file(1, holds=1)) == number(first) == 1


def test_no_more_than_sixty_four_files_stay_open(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    rows = [opened.file(each) for each in range(70)]
    assert len(opened.held()) == 64
    assert [number(each) for each in at_least_one(rows)] == list(range(70))
    assert len(opened.held()) == 64
