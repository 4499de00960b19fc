"""The memory of versions: the last sixteen snapshots, and the newest state."""

from __future__ import annotations

from datetime import UTC, datetime

from explorer.core.log.table_state import TableState
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.versions.open_log.log_state import MOST_SNAPSHOTS, NewestState, ReadVersions
from explorer.core.versions.snapshot import Snapshot
from tests.support.logs.small_logs import METADATA, PROTOCOL, new_store

STATE = TableState(PROTOCOL, METADATA, {}, {})


def snapshot(version: int) -> Snapshot:
    return Snapshot(new_store(), version, STATE, lambda: LogicalFiles([]), lambda: datetime(2026, 3, 2, tzinfo=UTC))


def test_the_snapshots_that_were_used_last_stay() -> None:
    versions = ReadVersions()
    kept = [versions.keep(snapshot(version)) for version in range(MOST_SNAPSHOTS)]
    assert versions.find(0) is kept[0]
    newest = versions.keep(snapshot(MOST_SNAPSHOTS))
    found = [versions.find(version) for version in range(MOST_SNAPSHOTS + 1)]
    assert found == [kept[0], None, *kept[2:], newest]


def test_of_one_version_all_get_the_snapshot_that_was_kept_first() -> None:
    versions = ReadVersions()
    first = versions.keep(snapshot(3))
    assert versions.keep(snapshot(3)) is first is versions.find(3)


def test_the_state_of_the_newest_version_is_known_whichever_was_read_last() -> None:
    versions = ReadVersions()
    assert (versions.newest, versions.timed) == (None, False)
    versions.learn(4, STATE, timed=True)
    versions.learn(2, STATE, timed=False)
    assert (versions.newest, versions.timed) == (NewestState(4, STATE), True)
    versions.learn(5, STATE, timed=False)
    assert (versions.newest, versions.timed) == (NewestState(5, STATE), True)


def test_a_copy_goes_on_apart() -> None:
    versions = ReadVersions()
    first = versions.keep(snapshot(1))
    versions.learn(1, STATE, timed=False)
    copied = versions.copy()
    copied.learn(2, STATE, timed=True)
    copied.keep(snapshot(2))
    assert copied.find(1) is first
    assert (versions.find(2), versions.newest, versions.timed) == (None, NewestState(1, STATE), False)
    assert (copied.newest, copied.timed) == (NewestState(2, STATE), True)
