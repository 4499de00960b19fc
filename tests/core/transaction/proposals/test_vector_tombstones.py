"""What keeps files of vectors from clients that no longer know of vectors: the same as by the reference."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.log.writing.writer_state import carry_actions
from explorer.core.protocol.actions import DeletionVectorDescriptor, Remove
from explorer.core.protocol.deletion_vectors import z85_encode
from explorer.core.transaction.new_files.file_actions import vector_tombstones
from explorer.storage import open_store
from tests.support.logs.small_logs import MASKED, METADATA, add, new_store, write
from tests.support.shared_tables import reference_root

NOW = int(time.time() * 1000)
DAY = 86_400_000


@pytest.mark.reference
def test_the_same_tombstones_as_the_reference_wrote(tmp_path: Path) -> None:
    path = shutil.copytree(reference_root() / "tables" / "drop-feature", tmp_path / "table")
    log = path / "_delta_log"
    their = _removes(log / "00000000000000000008.json")
    for file in log.iterdir():
        if file.name[:20].isdigit() and int(file.name[:20]) > 7:
            file.unlink()
    (log / "_last_checkpoint").unlink()
    store = open_store(path)
    now = their[0]["deletionTimestamp"]
    ours = [found.to_wire() for found in vector_tombstones(carry_actions(store, list_log(store).segment()), now)]
    assert ours == their


def _removes(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [line["remove"] for line in lines if "remove" in line]


@pytest.mark.parametrize("by_checkpoint", [False, True])
def test_vectors_of_unexpired_removals_get_a_tombstone_once(by_checkpoint: bool) -> None:
    store = new_store()
    vectors = {name: DeletionVectorDescriptor("u", z85_encode(name.encode() * 16), 34, 1, 1) for name in "abcde"}
    elsewhere = DeletionVectorDescriptor("p", "file:///origin/v.bin", 34, 1, 1)
    inline = DeletionVectorDescriptor("i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 44, 6)
    ages = [
        ("a", vectors["a"], 1),
        ("b", vectors["b"], 8),
        ("c", elsewhere, 1),
        ("d", inline, 1),
        ("e", vectors["a"], 2),
    ]
    gone = [
        Remove(path=path, deletion_timestamp=NOW - days * DAY, deletion_vector=vector, data_change=False)
        for path, vector, days in ages
    ]
    write(store, {0: (MASKED, METADATA, *(add(path, 30, vector=vector) for path, vector, _ in ages)), 1: tuple(gone)})
    write_checkpoint(store, list_log(store), now=datetime.now(UTC), new_uuid=uuid.uuid4)
    if by_checkpoint:
        for version in range(2):
            store.delete(commit_name(version))
    table = explorer.Table(store)
    plan = table.plan({"kind": "drop-feature", "feature": "deletionVectors"}, user="tester")
    assert [guard.name for guard in plan.guards if guard.status == "fail"] == []
    (found,) = [line["remove"] for line in plan.actions if "remove" in line]
    name = f"deletion_vector_{uuid.UUID(bytes=b'a' * 16)}.bin"
    assert (found["path"], found["dataChange"], "size" in found) == (name, False, False)
    assert plan.actions[0]["commitInfo"]["isBlindAppend"] is False
    assert table.commit(plan).outcome == "committed"
    assert table.snapshot().num_files == 0
    assert table.verify().problems == ()
    assert table.history().column("num_files_removed").to_pylist()[0] == 0
    # Whoever knows no vectors finds the tombstone, and what has one gets none again.
    carried = carry_actions(store, list_log(store).segment())
    assert vector_tombstones(carried, NOW) == ()
