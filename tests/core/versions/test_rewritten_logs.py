"""A log that changes without a new version: one `Table` that was open all the time sees it."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import explorer
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.small_logs import METADATA, PROTOCOL, add, new_store, write
from tests.support.small_proposals import protocol

DAY = 86_400
CHECKPOINT, CLEAN = {"kind": "checkpoint"}, {"kind": "clean-log"}
NOW = datetime.now(UTC)


def old_log(folder: Path) -> LogStore:
    """A log of six versions, all of which but the newest are older than its retention."""
    store = open_store(folder)
    for name in ("a", *map(str, range(1, 6))):
        store.put(name, b"rows")
    write(store, {0: (PROTOCOL, METADATA, add("a")), **{number: (add(f"{number}"),) for number in range(1, 5)}})
    return store


def aged(folder: Path) -> None:
    """All files of the log but the newest commit are old."""
    for file in (folder / "_delta_log").iterdir():
        if not file.name.startswith(f"{5:020d}"):
            os.utime(file, (time.time() - 60 * DAY,) * 2)


def statuses(table: explorer.Table) -> list[str]:
    return table.retention(NOW).column("status").to_pylist()


def test_versions_are_gone_after_an_own_clean_up(tmp_path: Path) -> None:
    store = old_log(tmp_path)
    table = explorer.Table(store)
    assert statuses(table) == ["readable"] * 5
    table.commit(table.plan(CHECKPOINT))
    write(store, {5: (add("5"),)})
    aged(tmp_path)
    table = explorer.Table(store)
    assert statuses(table) == [*["at risk"] * 4, "readable", "readable"]
    result = table.commit(table.plan(CLEAN))
    assert result.outcome == "committed"
    assert len(result.plan.files) > 0
    for refreshed in at_least_one([True, False]):
        if refreshed:
            table.refresh()
        assert statuses(table) == statuses(explorer.Table(store)) == [*["log gone"] * 4, "readable", "readable"]
        assert table.version_range() == explorer.Table(store).version_range() == (4, 5)


def test_versions_are_gone_after_the_clean_up_of_another(tmp_path: Path) -> None:
    store = old_log(tmp_path)
    other = explorer.Table(store)
    other.commit(other.plan(CHECKPOINT))
    write(store, {5: (add("5"),)})
    aged(tmp_path)
    table = explorer.Table(store)
    assert table.snapshot(1).version == 1
    assert statuses(table)[0] == "at risk"
    other.refresh()
    other.commit(other.plan(CLEAN))
    later = table.successor()
    table.refresh()
    for each in at_least_one([table, later]):
        assert statuses(each) == [*["log gone"] * 4, "readable", "readable"]
        assert [record.version for record in each.history_record().commits] == [4, 5]


def test_a_checkpoint_that_a_plan_asked_for_is_found_by_the_table_that_asked() -> None:
    store = new_store()
    rules = protocol(3, 7, r="deletionVectors", w="deletionVectors")
    write(store, {0: (rules, METADATA, add("a")), 1: (add("b"),)})
    explorer.Table(store).commit(explorer.Table(store).plan(CHECKPOINT))
    write(store, {2: (add("c"),)})
    table = explorer.Table(store)
    assert [found.version for found in table.listing.checkpoints] == [1]
    drop = {"kind": "drop-feature", "feature": "deletionVectors"}
    assert [guard.name for guard in table.plan(drop).blocking] == ["history-barrier"]
    for opened in at_least_one([table, explorer.Table(store)]):
        opened.commit(opened.plan(CHECKPOINT))
        table.refresh()
        assert [found.version for found in table.listing.checkpoints] == [1, 2]
        assert table.plan(drop).blocking == ()
