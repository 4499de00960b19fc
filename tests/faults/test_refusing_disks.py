"""Disks that are full and folders that may not be written to: nothing is half-visible, and the table goes on."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

import explorer
from explorer.core.errors import StorageError
from explorer.core.protocol.actions import TransactionAction
from explorer.storage import open_store
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write

NOBODY = 65_534
TEXT = "x" * 2000
LIMITS = (0, 1, 1000, 4800, 7000, 60_000)

# Processes for commits under a limit: each is a copy of one that has loaded what they need.
_PROCESSES: Final = get_context("forkserver")
# The committer too: another user may not read the folder that it lies in.
_PROCESSES.set_forkserver_preload(["tests.faults.test_refusing_disks", "explorer.core.transaction.commit.committer"])


@pytest.fixture
def folder() -> Iterator[Path]:
    """A table in a folder that any user may look into."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        metadata = msgspec.structs.replace(METADATA, configuration={"delta.checkpointInterval": "1"})
        applications = [TransactionAction(app_id=f"loader {number}", version=1) for number in range(40)]
        write(open_store(f"{place}/orders"), {0: (PROTOCOL, metadata, add("a"), *applications)})
        yield Path(place) / "orders"


def commit(folder: Path, *, limit: int = -1, user: int = 0, text: str = TEXT) -> dict[str, Any]:
    """Commit in a process of its own, under a limit on the size of files or as another user; what came of it."""
    with ProcessPoolExecutor(1, mp_context=_PROCESSES) as process:
        return process.submit(_commit_here, folder, limit, user, text).result(60)


def _commit_here(folder: Path, limit: int, user: int, text: str) -> dict[str, Any]:
    table = explorer.open_table(folder)
    table.snapshot()
    plan = table.plan({"kind": "set-description", "description": text})
    if limit >= 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if user:
        os.setgid(user)
        os.setuid(user)
    try:
        result = table.commit(plan)
    except StorageError as error:
        return {"error": str(error)}
    return {"outcome": result.outcome, "notes": list(result.notes)}


def names(folder: Path) -> set[str]:
    return {path.name for path in (folder / "_delta_log").iterdir()}


@pytest.mark.sampled(cases=3)
@pytest.mark.conformance("LOG-006")
@pytest.mark.parametrize("limit", LIMITS)
def test_a_full_disk_leaves_a_whole_commit_or_none(folder: Path, limit: int) -> None:
    """The limit is on the size of each file: the commit is the smallest, the checkpoint the largest."""
    before = names(folder)
    told = commit(folder, limit=limit)
    table = explorer.open_table(folder)
    assert not [name for name in names(folder) if ".tmp" in name]
    assert [problem for problem in table.verify().problems if problem.kind != "stale-hint"] == []
    if "error" in told:
        assert "Check the disk" in told["error"]
        assert names(folder) == before
    else:
        assert told["outcome"] == "committed"
        assert table.latest_version() == 1
        assert table.snapshot().metadata.description == TEXT
        written = {"00000000000000000001.crc", "00000000000000000001.checkpoint.parquet", "_last_checkpoint"}
        assert bool(told["notes"]) == (not written <= names(folder))
    assert commit(folder, text="again")["outcome"] == "committed"


def test_the_sizes_tried_strike_each_of_the_files(folder: Path) -> None:
    assert commit(folder)["notes"] == []
    sizes = [
        (folder / "_delta_log" / f"{1:020}.{name}").stat().st_size for name in ("json", "crc", "checkpoint.parquet")
    ]
    below = [sum(size > limit for size in sizes) for limit in LIMITS]
    assert below == [3, 3, 3, 2, 1, 0], (sizes, below)


@pytest.mark.conformance("LOG-006")
def test_a_folder_that_may_not_be_written_to_is_left_as_it_is(folder: Path) -> None:
    log = folder / "_delta_log"
    before = names(folder)
    log.chmod(0o555)
    told = commit(folder, user=NOBODY if os.getuid() == 0 else 0)
    log.chmod(0o755)
    assert "Permission denied" in told["error"]
    assert names(folder) == before
    assert commit(folder)["outcome"] == "committed"
