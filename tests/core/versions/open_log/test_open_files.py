"""How often the files of a checkpoint are opened, and how many of them stay open."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import IncompleteCheckpoint
from explorer.core.protocol.arrow import open_parquet, row_groups
from explorer.core.versions.delta_log import DeltaLog
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store

HELD = (PROTOCOL, METADATA, *(add(name) for name in "abcde"))


@pytest.fixture
def few_files() -> Iterator[None]:
    """This process may open a hundred and fifty files more than those that other tests left open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 150, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_snapshot_and_its_files_open_each_file_of_the_checkpoint_once(shape: Shape) -> None:
    inner = new_store()
    keys = write_checkpoint(inner, 4, HELD, shape)
    store = FaultyStore(inner)
    found = DeltaLog(store).snapshot()
    assert sorted(found.files(["path"]).column("path").to_pylist()) == list("abcde")
    assert found.files().num_rows == 5
    opened = [each.removeprefix("open ") for each in store.requests if each.startswith("open ")]
    assert sorted(opened) == sorted(key for key in keys if key.endswith(".parquet"))


@pytest.mark.usefixtures("few_files")
def test_any_number_of_snapshots_and_their_files_may_be_held(demo_warehouse: Path) -> None:
    table = demo_warehouse / "sales/orders"
    held = []
    for _ in range(300):
        snapshot = explorer.open_table(table, cache=False).snapshot()
        held.append((snapshot, snapshot.files(["path"])))
    counts: set[Any] = {(snapshot.files().num_rows, files.num_rows) for snapshot, files in held}
    assert len(counts) == 1


def test_a_checkpoint_that_vanished_since_its_files_were_listed_is_said_to_be_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_groups, "LATEST", open_parquet._Latest(0))
    store = new_store()
    (key,) = write_checkpoint(store, 4, HELD, "classic")
    found = DeltaLog(store).snapshot()
    assert found.files(["path"]).num_rows == 5
    store.delete(key)
    with pytest.raises(IncompleteCheckpoint, match=f"{key} is missing") as caught:
        found.files(["tags"])
    assert caught.value.vanished
