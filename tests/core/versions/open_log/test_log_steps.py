"""From what an open log goes on: the newest state that it knows, its listing, and what vanished meanwhile."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from explorer.core.log.log_path import commit_name, compaction_name
from explorer.core.protocol.actions import Action, TransactionAction
from explorer.core.versions.delta_log import DeltaLog
from explorer.storage import open_store
from tests.core.versions.retention.test_log_facts import names
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines, new_store, paths, write, write_log

FIRST: list[Action] = [PROTOCOL, METADATA]
OTHER = msgspec.structs.replace(METADATA, id="other")


def log(commits: int = 6, checkpoint: int | None = None, *, odd: bool = False, hint: bool = False) -> FaultyStore:
    """A log whose every version adds a file and counts a batch; an odd checkpoint contradicts the commits."""
    store = new_store()
    write(store, {0: FIRST})
    write(store, {version: [add(f"{version}"), batch(version)] for version in range(1, commits)})
    if checkpoint is not None:
        files = [add("odd")] if odd else [add(f"{version}") for version in range(1, checkpoint + 1)]
        write_checkpoint(
            store, checkpoint, [PROTOCOL, OTHER if odd else METADATA, batch(checkpoint), *files], "classic"
        )
    if hint:
        store.put("_delta_log/_last_checkpoint", b'{"version":%d,"size":5}' % (checkpoint or 0))
    return FaultyStore(store)


def batch(version: int) -> TransactionAction:
    return TransactionAction(app_id="app", version=version)


def numbered(last: int) -> list[str]:
    return [f"{version}" for version in range(1, last + 1)]


def commits_read(store: FaultyStore) -> list[str]:
    return [request for request in store.requests if request.startswith(("read ", "open "))]


def test_only_commits_after_the_newest_known_state_are_read_whichever_version_was_asked_for_last() -> None:
    store = log()
    found = DeltaLog(store)
    assert [found.snapshot(version).transactions for version in (5, 2)] == [{"app": 5}, {"app": 2}]
    write(store, {6: [batch(6)], 7: [add("7")]})
    found.refresh()
    store.requests.clear()
    assert found.snapshot(6).transactions == found.snapshot(7).transactions == {"app": 6}
    assert commits_read(store) == ["read 1", "read 1"]
    store.requests.clear()
    assert found.snapshot(3).transactions == {"app": 3}
    assert commits_read(store) == ["read 4"]
    assert names(found, 7) == [*numbered(5), "7"]
    assert found.snapshot(7).transactions == {"app": 6}


def test_files_are_replayed_from_the_commits_that_were_read_for_the_state() -> None:
    store = log()
    found = DeltaLog(store)
    store.requests.clear()
    assert names(found) == numbered(5)
    assert commits_read(store) == ["read 6"]
    store.requests.clear()
    assert names(found) == numbered(5)
    assert commits_read(store) == []


@pytest.mark.parametrize(("known", "reads"), [(4, ["read 2"]), (5, ["read 1"])])
def test_a_state_is_carried_on_from_a_version_that_is_not_before_the_checkpoint(known: int, reads: list[str]) -> None:
    store = log(7, 4, odd=True)
    found = DeltaLog(store)
    assert found.snapshot(known).metadata.id == "other"
    store.requests.clear()
    newest = found.snapshot(6)
    assert (newest.metadata.id, newest.transactions) == ("other", {"app": 6})
    assert commits_read(store) == reads
    assert names(found, 6) == ["5", "6", "odd"]


def test_a_checkpoint_after_the_known_state_counts_as_its_files_do() -> None:
    found = DeltaLog(log(7, 4, odd=True))
    assert found.snapshot(3).metadata.id == METADATA.id
    newest = found.snapshot(6)
    assert (newest.metadata.id, names(found, 6)) == ("other", ["5", "6", "odd"])
    assert names(found, 3) == numbered(3)


def test_a_state_is_not_carried_on_over_commits_that_are_not_listed() -> None:
    store = log(7, 4)
    found = DeltaLog(store)
    assert found.snapshot(2).transactions == {"app": 2}
    store.delete(commit_name(3))
    again = DeltaLog(store)
    assert again.snapshot(2).transactions == {"app": 2}
    assert (names(again), again.snapshot().transactions) == (numbered(6), {"app": 6})


@pytest.mark.conformance("LOG-022")
def test_files_are_read_from_what_is_left_where_their_commits_vanished_after_the_state_was_read() -> None:
    store = log()
    found = DeltaLog(store)
    found.snapshot(2)
    newest = found.snapshot(5)
    write_checkpoint(store, 4, [*FIRST, *(add(name) for name in numbered(4)), add("more")], "classic")
    for version in range(5):
        store.delete(commit_name(version))
    assert sorted(path for path, _ in paths(newest)) == [*numbered(5), "more"]
    assert found.version_range() == (4, 5)


def test_a_hinted_log_lists_its_older_part_when_that_is_asked_for_and_new_versions_with_it() -> None:
    store = log(7, 4, hint=True)
    found = DeltaLog(store)
    assert names(found) == numbered(6)
    assert store.requests.count("list _delta_log") == 1
    assert list(found.listing.commits) == list(range(7))
    assert found.listing is found.listing
    assert store.requests.count("list _delta_log") == 2
    history, record = found.history(), found.provenance_record()
    write(store, {7: [add("7")]})
    assert found.latest_version() == 6
    found.refresh()
    assert (found.latest_version(), list(found.listing.commits)) == (7, list(range(8)))
    assert (found.history().num_rows, history.num_rows) == (8, 7)
    assert found.provenance_record() is not record
    write(store, {8: [add("8")]})
    found.outdate()
    assert list(found.listing.commits) == list(range(9))
    assert found.version_range() == (0, 8)
    later = found.successor()
    assert later.listing.latest == 8
    assert later.history_record() is found.history_record() or later.history().equals(found.history())


def test_a_log_of_another_table_forgets_what_was_read_of_the_one_before() -> None:
    for newer in (3, 6, 8):
        store = log()
        found = DeltaLog(store)
        before = found.snapshot(1), found.history_record()
        for version in range(6):
            store.delete(commit_name(version))
        write(store, {0: [PROTOCOL, OTHER]})
        write(store, {version: [add(f"x{version}")] for version in range(1, newer)})
        found.refresh()
        assert found.snapshot(1).metadata.id == found.snapshot().metadata.id == "other"
        assert names(found) == [f"x{version}" for version in range(1, newer)]
        assert found.history().num_rows == newer
        assert found.history_record() is not before[1]
        assert found.provenance_record().commits[0].metadata == OTHER
        assert names(found, 1) == ["x1"]


def test_the_time_of_a_version_that_a_compaction_holds_is_that_of_the_compaction(tmp_path: Path) -> None:
    folder = write_log(tmp_path, [FIRST, *([add(f"{version}")] for version in range(1, 4))])
    place = folder / compaction_name(1, 2)
    place.write_bytes(lines([add("1"), add("2")]))
    for version in (1, 2):
        (folder / commit_name(version)).unlink()
    for path, time in ((place, 1_700_000_009), (folder / commit_name(0), 1_700_000_500)):
        os.utime(path, (time, time))
    found = DeltaLog(open_store(folder))
    assert found.version_range() == (2, 3)
    assert found.snapshot(2).timestamp == datetime.fromtimestamp(1_700_000_009, UTC)
    assert names(found) == numbered(3)


def test_what_is_kept_is_asked_for_by_both_kinds_of_record_and_never_by_a_part() -> None:
    asked: list[int] = []
    store = log(7, 4)
    found = DeltaLog(store, indexes=lambda: asked.append(1))
    found.provenance_record()
    assert len(asked) == 1
    part = found.newest_part()
    assert part is not None
    assert part.history().column("version").to_pylist() == [6, 5]
    part.provenance_record()
    assert len(asked) == 1
    assert found.history().num_rows == 7
    assert len(asked) == 2
    again = found.newest_part()
    assert again is not None
    assert again.history().num_rows == 2
    assert found.history_record().latest == 6
    assert DeltaLog(store).provenance_record().latest == 6


def test_changes_that_no_feed_recorded_are_inferred_where_that_is_asked_for() -> None:
    store = log(2)
    store.put("1", b"x")
    sources = DeltaLog(store).change_sources(0, 1, True)
    assert [(each.version, each.source, each.recorded) for each in sources.versions] == [
        (0, "none", False),
        (1, "files", False),
    ]
    assert sources.schema_version == 1
