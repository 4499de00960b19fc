"""A log that changes without a new version: one `Table` that was open all the time sees it."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import VersionGap
from explorer.core.log.log_path import checkpoint_name, commit_name
from explorer.core.protocol.log_store import LogStore
from explorer.core.versions.open_log import current
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, write
from tests.support.logs.small_proposals import protocol

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


def test_what_was_read_of_a_checkpoint_is_dropped_where_another_has_its_name(tmp_path: Path) -> None:
    """A checkpoint that hides a file, and that is written again; the log has no new version."""
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, METADATA, add("a")), 1: (add("b"),)})
    write_checkpoint(store, 1, [PROTOCOL, METADATA, add("a")], "classic")
    table = explorer.Table(store)
    assert (table.snapshot().num_files, table.history().num_rows) == (1, 2)
    store.delete(checkpoint_name(1))
    write_checkpoint(store, 1, [PROTOCOL, METADATA, add("a"), add("b")], "classic")
    later = table.successor()
    table.refresh()
    for each in at_least_one([table, later]):
        assert (each.snapshot().num_files, each.history().num_rows) == (2, 2)


def test_one_request_shows_new_versions_and_a_clean_up_of_a_log_that_was_listed_whole() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA, add("a")), **{number: (add(f"{number}"),) for number in range(1, 5)}})
    counted = FaultyStore(store)
    table = explorer.Table(counted)
    assert table.version_range() == (0, 4)
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("a"), *(add(f"{n}") for n in range(1, 4))], "classic")
    for number in range(3):
        store.delete(commit_name(number))
    counted.requests.clear()
    table.refresh()
    assert counted.requests == ["list _delta_log"]
    assert table.version_range() == (3, 4)


def test_a_clean_up_of_a_long_log_is_noticed_without_listing_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current, "_PAGE", 3)
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA, add("a")), **{number: (add(f"{number}"),) for number in range(1, 5)}})
    counted = FaultyStore(store)
    table = explorer.Table(counted)
    assert table.version_range() == (0, 4)
    counted.requests.clear()
    table.refresh()
    assert counted.requests == [f"head {commit_name(0)}", "list _delta_log"]
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("a"), *(add(f"{n}") for n in range(1, 4))], "classic")
    for number in range(3):
        store.delete(commit_name(number))
    table.refresh()
    assert table.version_range() == (3, 4)


def test_a_hint_that_named_a_lost_version_and_was_deleted_keeps_no_table_closed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, METADATA, add("a"))})
    store.put("_delta_log/_last_checkpoint", b'{"version":5,"size":4}')
    table = explorer.Table(store)
    with pytest.raises(VersionGap):
        table.snapshot()
    store.delete("_delta_log/_last_checkpoint")
    table.refresh()
    assert (table.snapshot().version, table.version_range()) == (0, (0, 0))
