"""Pipes and sockets in the place of files: reading one would wait for a writer forever."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import StorageError
from explorer.storage import open_store
from tests.support.logs import hostile_tables, small_logs


@pytest.fixture
def table(tmp_path: Path) -> Path:
    created = hostile_tables.created({"id": "long"})
    return small_logs.write_log(tmp_path / "t", [created, [small_logs.add("1.parquet", 3)]])


def put_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize("put", [os.mkfifo, put_socket])
@pytest.mark.timeout(60)
def test_a_hint_that_is_no_file_is_ignored(table: Path, put: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(table / "_delta_log")  # the path of a socket has to be short
    assert callable(put)
    put(Path("_last_checkpoint"))
    assert explorer.open_table(str(table)).snapshot().version == 1


@pytest.mark.timeout(60)
def test_no_way_to_read_waits_for_a_pipe(table: Path) -> None:
    os.mkfifo(table / "pipe")
    store = open_store(str(table))
    ways = (
        lambda: store.read("pipe"),
        lambda: store.read_range("pipe", 1, 8),
        lambda: store.read_many(["pipe"]),
        lambda: store.read_starts(["pipe"], [8]),
        lambda: store.read_joined(["pipe"], [8]),
        lambda: store.open_input("pipe"),
    )
    for way in ways:
        with pytest.raises(StorageError, match="it is not a file, but a pipe, a socket, or a device"):
            way()
