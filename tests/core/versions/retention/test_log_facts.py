"""An open log: what it is asked for and refuses, what it keeps, and what it does where a file of it is gone."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from explorer.core.errors import IncompleteCheckpoint, RequestError, VersionGap, VersionNotFound
from explorer.core.log.catalog_commits import CatalogCommits
from explorer.core.log.log_path import checkpoint_name, commit_name
from explorer.core.log.verify.hash_chain import START, CommitSeal, link
from explorer.core.protocol.actions import Action, CommitInfo
from explorer.core.protocol.log_store import LogStore
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.retention.horizon import horizon
from explorer.core.versions.retention.version_states import VersionRisks
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import (
    METADATA,
    PROTOCOL,
    add,
    lines,
    metadata,
    new_store,
    paths,
    remove,
    write,
    write_log,
)
from tests.support.logs.small_proposals import protocol

LATER = datetime(2026, 5, 1, tzinfo=UTC)
FIRST: list[Action] = [PROTOCOL, METADATA]


def files(count: int) -> list[Action]:
    return [*FIRST, *(add(f"{version}") for version in range(1, count))]


def log(commits: int, checkpoint: int | None = None) -> tuple[DeltaLog, FaultyStore]:
    """A log of so many versions, each of which adds a file named after it; and its store, which counts."""
    store = new_store()
    write(store, {0: FIRST} | {version: [add(f"{version}")] for version in range(1, commits)})
    if checkpoint is not None:
        write_checkpoint(store, checkpoint, files(checkpoint + 1), "classic")
    counted = FaultyStore(store)
    return DeltaLog(counted), counted


def names(found: DeltaLog, version: int | None = None) -> list[str]:
    return sorted(path for path, _ in paths(found.snapshot(version)))


def test_a_log_is_named_after_its_folder(tmp_path: Path) -> None:
    found = DeltaLog(open_store(write_log(tmp_path / "orders", [FIRST])))
    assert found.location == (tmp_path / "orders").as_uri()
    assert (found.name, repr(found)) == ("orders", f"DeltaLog('{found.location}')")
    assert (found.time_zone, found.latest_version(), found.version_range()) == (UTC, 0, (0, 0))


@pytest.mark.parametrize("late", [False, True])
def test_a_version_is_asked_for_by_its_number_or_its_time_and_kept(late: bool, tmp_path: Path) -> None:
    write_log(tmp_path, [FIRST, [add("a")], [add("b")]])
    for version in range(3):
        os.utime(tmp_path / commit_name(version), (1_700_000_000 + version,) * 2)
    zone = timezone(timedelta(hours=5))
    found = DeltaLog(open_store(tmp_path), time_zone=zone)
    shown = found.snapshot()
    assert (shown.version, shown.time_zone, found.time_zone) == (2, zone, zone)
    assert found.snapshot(2) is shown
    moment = datetime(2023, 11, 14, 22, 13, 21, tzinfo=UTC)
    assert (
        found.snapshot(timestamp=moment).version == found.snapshot(timestamp="2023-11-15T03:13:21+05:00").version == 1
    )
    assert found.snapshot(0).version == 0
    with pytest.raises(RequestError) as refused:
        found.snapshot(1, moment)
    assert str(refused.value) == "Give a version or a timestamp, not both."
    assert refused.value.table == found.location


def test_the_versions_that_were_asked_for_last_are_kept() -> None:
    found, _ = log(20)
    seen = [found.snapshot(version) for version in range(16)]
    assert found.snapshot(0) is seen[0]
    seen.append(found.snapshot(16))
    assert [found.snapshot(version) is seen[version] for version in (0, *range(2, 17))] == [True] * 16
    assert found.snapshot(1) is not seen[1]


def test_what_was_read_is_the_same_object_until_the_log_is_looked_at_again() -> None:
    found, store = log(3)
    before = found.provenance_record()
    assert found.provenance_record() is before
    whole = found.history_record()
    assert found.history_record() is whole is found.provenance_record()
    assert (type(before).__name__, type(whole).__name__) == ("Provenance", "History")
    found.refresh()
    assert found.history_record() is whole
    write(store, {3: [add("3")]})
    found.outdate()
    assert [record.version for record in found.provenance_record().commits] == [0, 1, 2, 3]
    assert found.history_record().latest == 3
    assert whole.latest == 2
    assert found.history().column("version").to_pylist() == [3, 2, 1, 0]
    assert found.history(2).column("version").to_pylist() == [3, 2]
    assert found.history(0).num_rows == 0
    assert not found.is_history_cached


def test_commits_are_read_as_far_as_they_are_there() -> None:
    found, store = log(5, 2)
    for version in (0, 1):
        store.delete(commit_name(version))
    found.refresh()
    found = DeltaLog(store)
    assert [commit.version for commit in found.commits(0, 3)] == [2, 3]
    assert [commit.version for commit in found.commits(3, 3)] == [3]
    assert list(found.commits(5, 9)) == []
    for ask in (found.commit_actions, found.commit_seal):
        with pytest.raises(VersionNotFound) as refused:
            ask(1)
        assert str(refused.value) == "The commit of version 1 is not in the log."
        assert (refused.value.version, refused.value.table) == (1, found.location)


def test_a_commit_is_shown_and_sealed_as_it_is_written() -> None:
    store = new_store()
    written = [lines(FIRST), b'\r\n {"add" : 1} \r\n\n{"x":2}', b'{"y":3}\n']
    for version, data in enumerate(written):
        store.put(commit_name(version), data)
    found = DeltaLog(store)
    assert found.commit_actions(1) == [b' {"add" : 1} ', b'{"x":2}']
    head = START
    for version in (0, 1):
        head = link(head, version, written[version].split(b"\n"))
    digest = hashlib.sha256(written[1]).hexdigest()
    assert found.commit_seal(1) == CommitSeal(commit_name(1), digest, head.hex())


def test_facts_of_the_future_are_those_of_the_record_and_the_listing() -> None:
    store = new_store()
    properties = {"delta.enableChangeDataFeed": "true"}
    first: list[Action] = [protocol(1, 4), metadata({"id": "long"}, configuration=properties), add("a"), add("b")]
    write(store, {0: first, 1: [remove("a", deletion_timestamp=5)]})
    store.put("b", b"x")
    found = DeltaLog(store)
    assert type(found.version_risks()) is VersionRisks
    history = found.history_record()
    meant = horizon(history, VersionRisks(history, found.listing), LATER, None)
    assert found.horizon(LATER).what_if().dates.equals(meant.what_if().dates)
    rows = found.retention(LATER).to_pylist()
    assert [(row["version"], row["status"], row["missing_files"]) for row in rows] == [
        (0, "data gone", ["a"]),
        (1, "readable", []),
    ]
    with pytest.raises(RequestError, match="their file a is no longer"):
        found.change_sources(0, 1)
    left = found.change_sources(0, 1, skip=True)
    assert [hole.kind for hole in left.skipped] == ["vacuumed", "vacuumed"]
    store.put("a", b"x")
    assert found.change_sources(0, 1, True, schema_version=0).schema_version == 0
    assert found.verify().last_version == 1
    assert [row["kind"] for row in found.blame("id").to_pylist()] == ["column"]
    assert found.settings_history().column("version").to_pylist()[:1] == [0]
    assert [line.path for line in found.column_lineage().columns] == [("id",)]
    assert found.diff(0, 1).totals.files_removed == 1
    assert found.diff(1, 0).totals.files_added == 1


@pytest.mark.parametrize(
    ("checkpoints", "commits", "gone", "part"),
    [
        ([], 5, [], None),
        ([2], 5, [], (2, [3, 4])),
        ([1, 3], 6, [], (3, [4, 5])),
        ([1, 2, 3], 6, [], (3, [4, 5])),
        ([4], 5, [], None),
        ([2, 4], 5, [], (2, [3, 4])),
        ([2], 5, [0, 1], None),
        ([2], 5, [0, 1, 2], None),
        ([1, 3], 6, [0], (3, [4, 5])),
        ([1, 2], 6, [0, 1, 2], None),
    ],
)
def test_the_newest_part_begins_with_the_newest_checkpoint_before_the_latest_version(
    checkpoints: list[int], commits: int, gone: list[int], part: tuple[int, list[int]] | None
) -> None:
    store = new_store()
    write(store, {0: FIRST} | {version: [add(f"{version}")] for version in range(1, commits)})
    for version in checkpoints:
        write_checkpoint(store, version, files(version + 1), "classic")
    for version in gone:
        store.delete(commit_name(version))
    for hint in (None, *checkpoints):
        if hint is not None:
            store.put("_delta_log/_last_checkpoint", b'{"version":%d,"size":5}' % hint)
        whole = DeltaLog(store)
        kept = whole.snapshot()
        found = whole.newest_part()
        assert (found is None) is (part is None)
        if found is None or part is None:
            continue
        assert (found.version_range(), list(found.listing.commits)) == ((part[0], commits - 1), part[1])
        assert [checkpoint.version for checkpoint in found.listing.checkpoints] == [part[0]]
        assert found.snapshot() is kept
        assert found.history().column("version").to_pylist() == part[1][::-1]
        assert names(found) == [f"{version}" for version in range(1, commits)]
        assert whole.history_record().first_readable == min([*checkpoints, 0] if not gone else checkpoints)
        assert names(whole, part[0]) == names(found, part[0])


def test_a_log_with_a_gap_after_its_newest_checkpoint_has_no_newest_part() -> None:
    _, store = log(6, 2)
    store.delete(commit_name(3))
    assert DeltaLog(store).newest_part() is None


def test_a_part_and_a_successor_leave_the_log_as_it_is() -> None:
    found, store = log(6, 3)
    calls: list[tuple[int, int]] = []
    found.watch(lambda read, all_of_them: calls.append((read, all_of_them)))
    part = found.newest_part()
    assert part is not None
    part.history()
    assert calls == []
    found.follow()
    found.history()
    assert calls == [(0, 6)]
    write(store, {6: [add("6")]})
    later = found.successor()
    later.history()
    assert (calls, later.latest_version(), found.latest_version()) == ([(0, 6)], 6, 5)
    assert names(later, 6)[-1] == "6"
    with pytest.raises(VersionNotFound):
        found.snapshot(6)


def test_a_log_that_is_followed_reads_new_commits_alone_and_another_one_reads_all() -> None:
    for follows, read in ((True, 1), (False, 7)):
        found, store = log(6)
        if follows:
            found.follow()
        found.history()
        write(store, {6: [add("6")]})
        store.requests.clear()
        assert found.successor().history().num_rows == 7
        assert [request for request in store.requests if request.startswith("read ")] == [f"read {read}"]


def test_the_newest_commit_is_the_file_that_is_listed() -> None:
    found, store = log(3, 2)
    newest = found.newest_commit()
    assert newest is not None
    assert newest.path == commit_name(2)
    store.delete(commit_name(2))
    assert DeltaLog(store).newest_commit() is None
    assert found.segment(2).version == found.segment(2).checkpoint.version == 2  # type: ignore[union-attr] # it has one
    assert found.segment(1).checkpoint is None


@pytest.mark.conformance("LOG-022")
def test_a_version_is_read_from_what_is_left_where_a_clean_up_runs() -> None:
    found, store = log(6)
    write_checkpoint(store, 4, files(5), "classic")
    for version in range(4):
        store.delete(commit_name(version))
    store.requests.clear()
    assert names(found) == ["1", "2", "3", "4", "5"]
    assert store.requests.count("list _delta_log") == 1
    assert found.version_range() == (4, 5)
    with pytest.raises(VersionNotFound) as gone:
        found.snapshot(2)
    assert (gone.value.table, gone.value.earliest) == (found.location, 4)


@pytest.mark.conformance("V2CKPT-007")
def test_a_checkpoint_that_lost_its_file_is_used_once_it_is_written_again() -> None:
    found, store = log(6)
    damaged = b"PAR1 and no more"
    store.put(checkpoint_name(4), damaged)
    for _ in range(2):
        found.refresh()
        assert names(found) == ["1", "2", "3", "4", "5"]
        assert found.segment(5).checkpoint is None
        assert list(found.unusable_checkpoints) == [4]
        assert found.successor().segment(5).checkpoint is None
    store.delete(checkpoint_name(4))
    write_checkpoint(store, 4, files(5), "classic")
    later = found.successor()
    found.refresh()
    for each in at_least_one([found, later]):
        assert each.segment(5).checkpoint is not None
        assert (names(each), dict(each.unusable_checkpoints)) == (["1", "2", "3", "4", "5"], {})


@pytest.mark.parametrize(
    ("error", "times"),
    [
        (VersionGap("x"), 1),
        (VersionGap("x", vanished=True, version=4), 2),
        (IncompleteCheckpoint("x"), 1),
        (IncompleteCheckpoint("x", version=4), 2),  # the commits give the same state
        (IncompleteCheckpoint("x", vanished=True), 2),
        (IncompleteCheckpoint("x", vanished=True, version=4), 2),
        (RequestError("x"), 1),
    ],
)
def test_what_vanished_or_can_be_done_without_is_read_once_more_and_all_else_once(error: Exception, times: int) -> None:
    found, store = log(6, 4)
    assert found.segment(5).checkpoint is not None
    store.requests.clear()
    calls, raised = _failing(found, error)
    assert (calls, raised) == ([5] * times, error)
    assert store.requests.count("list _delta_log") == times - 1
    assert (found.segment(5).checkpoint is None) == (isinstance(error, IncompleteCheckpoint) and error.version == 4)


def test_a_broken_checkpoint_without_the_commits_before_it_is_read_once() -> None:
    _, store = log(6, 4)
    for version in range(4):
        store.delete(commit_name(version))
    found = DeltaLog(store)
    assert found.segment(5).checkpoint is not None
    store.requests.clear()
    error = IncompleteCheckpoint("x", version=4)
    assert _failing(found, error) == ([5], error)
    assert store.requests.count("list _delta_log") == 0
    assert found.segment(5).checkpoint is not None


def _failing(found: DeltaLog, error: Exception) -> tuple[list[int], Exception]:
    """Run a step that always fails on the newest version: the version of each run, and what was raised."""
    calls: list[int] = []

    def step(segment: Any) -> None:
        calls.append(segment.version)
        raise error

    with pytest.raises(type(error)) as raised:
        found.on_segment(5, step)
    return calls, raised.value


def test_a_log_of_a_catalog_ends_with_what_the_catalog_ratified() -> None:
    store = new_store()
    rules = protocol(
        3, 7, r="catalogManaged vacuumProtocolCheck", w="catalogManaged vacuumProtocolCheck inCommitTimestamp"
    )
    timed = metadata({"id": "long"}, configuration={"delta.enableInCommitTimestamps": "true"})
    first: list[Any] = [CommitInfo(in_commit_timestamp=5), rules, timed]
    write(store, {0: first, 1: [CommitInfo(in_commit_timestamp=6), add("published")], 2: [add("beyond")]})
    given = lines([CommitInfo(in_commit_timestamp=7), add("given")])
    kept: list[int] = []
    found = DeltaLog(store, CatalogCommits(1, {1: given}), indexes=lambda: kept.append(1))
    for _ in range(2):
        assert (found.latest_version(), names(found)) == (1, ["given"])
        assert found.history_record().by_catalog
        assert found.snapshot().timestamp == datetime.fromtimestamp(0.007, UTC)
        found.refresh()
    assert kept == []
    plain: LogStore = new_store()
    write(plain, {0: FIRST})
    other = DeltaLog(plain, indexes=lambda: kept.append(1))
    assert (other.history().num_rows, other.history_record().by_catalog) == (1, False)
    assert kept == [1]
