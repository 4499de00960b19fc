"""A store that fails while the log is maintained: the table reads as before, and the next attempt comes through."""

from __future__ import annotations

import os
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import CommitError, StorageError
from explorer.core.log.log_segment import list_log
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.maintenance.log_cleanup import clean_log, plan_cleanup
from explorer.storage import open_store
from tests.support.attacks.faulty_store import Fault, FaultyStore
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, paths, remove, write
from tests.support.logs.written_checkpoints import LAYOUTS, NOW, V2, checkpoint_of, log_of

FAULTS: tuple[Fault, ...] = ("fails", "answer lost", "done late")
COMMITS = (V2, METADATA, *(add(f"f{number}") for number in range(5))), (remove("f1"),)


@pytest.mark.sampled(cases=6)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.conformance("CKPT-028", "V2CKPT-005")
def test_a_checkpoint_that_fails_at_any_request_leaves_the_table_as_it_was(layout: str, fault: Fault) -> None:
    meant = paths(explorer.Table(log_of(*COMMITS)).snapshot())
    failures = 0
    while True:
        store = log_of(*COMMITS)
        faulty = FaultyStore(store, {failures: fault})
        try:
            write_checkpoint(faulty, list_log(store), now=NOW, new_uuid=uuid.uuid4, layout=LAYOUTS[layout])
        except StorageError:
            failures += 1
        else:
            break
        assert paths(explorer.Table(store).snapshot()) == meant
        checkpoint_of(store, layout)
        table = explorer.Table(store)
        assert paths(table.snapshot()) == meant
        assert [problem for problem in table.verify().problems if problem.breaking] == []
    # At least the commits, the checkpoint, and the hint, which is read first.
    assert failures >= 4


@pytest.mark.whole("the case in which it is done late", cases=["answer lost", "fails"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_clean_up_that_fails_at_any_deletion_is_taken_up_again(fault: Fault) -> None:
    later = datetime.now(UTC) + timedelta(days=60)
    failures = 0
    while True:
        store = log_of(*COMMITS)
        checkpoint_of(store, "v2-sidecars")
        write(store, {2: (add("g"),), 3: (add("h"),)})
        checkpoint_of(store, "v2-sidecars")
        table = explorer.Table(store)
        state, meant = table.snapshot().state, paths(table.snapshot())
        plan = plan_cleanup(store, state, later)
        assert plan.first_version == 3
        try:
            clean_log(FaultyStore(store, {failures: fault}), plan)
        except StorageError:
            failures += 1
        else:
            break
        assert paths(explorer.Table(store).snapshot()) == meant
        clean_log(store, plan_cleanup(store, state, later))
        assert explorer.Table(store).version_range() == (3, 3)
        assert paths(explorer.Table(store).snapshot()) == meant
    assert failures == len(plan.files) > 5


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.conformance("VACUUM-001")
def test_a_vacuum_that_fails_at_any_request_leaves_what_is_needed(tmp_path: Path, fault: Fault) -> None:
    number = failures = 0
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        store = open_store(folder)
        write(store, {0: (PROTOCOL, METADATA, add("a"), add("b")), 1: (remove("b"), add("c"))})
        for name in ("a", "b", "c", "unused"):
            (folder / name).write_bytes(b"PAR1")
            os.utime(folder / name, (1e9, 1e9))
        faulty = FaultyStore(store, {number: fault})
        try:
            table = explorer.Table(faulty)
            table.commit(table.plan({"kind": "vacuum"}))
        except (StorageError, CommitError):
            failures += 1
        faulty.settle()
        if number >= len(faulty.requests):
            break
        number += 1
        assert {"a", "c"} <= {path.name for path in folder.iterdir()}
        table = explorer.Table(store)
        assert paths(table.snapshot()) == {("a", None), ("c", None)}
        assert table.commit(table.plan({"kind": "vacuum"})).outcome == "committed"
        assert {path.name for path in folder.iterdir()} == {"_delta_log", "a", "c"}
    # A commit whose answer is lost is found in the log, and what follows one may fail.
    assert number > failures > 5
