"""Versions whose log was cleaned up, in part or whole, and data that a recorded VACUUM took: to the version and to the
millisecond."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.writing.compaction import write_compaction
from explorer.core.versions.retention import version_states
from explorer.core.versions.retention.expiry import FOREVER, file_times, retention_terms
from explorer.core.versions.retention.version_states import VersionRisks, VersionStates
from tests.support.comparison.audited_tables import DAY, ago, loaded, timed, written
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint

NOW_MS = ago(0)


def _cleaned(last: int, gone: Iterable[int], checkpoints: Iterable[int]) -> explorer.Table:
    """A table of a file a version, some of whose commits are gone, with checkpoints."""
    store = small_logs.new_store()
    created = [small_logs.PROTOCOL, small_logs.METADATA]
    adds = [small_logs.add(f"{version}.parquet") for version in range(last + 1)]
    small_logs.write(store, {0: [*created, adds[0]]} | {version: [adds[version]] for version in range(1, last + 1)})
    for version in checkpoints:
        write_checkpoint(store, version, [*created, *adds[: version + 1]], "classic")
    for version in gone:
        store.delete(commit_name(version))
    return explorer.Table(store)


def _states(table: explorer.Table, **more: Any) -> VersionStates:
    return VersionRisks(table.history_record(), table.listing).at(NOW_MS, **more)


def _told(found: VersionStates) -> tuple[list[str], list[int]]:
    versions = range(found.first, found.first + len(found.codes))
    return [found.state(version) for version in versions], [int(version) for version in found.lacking]


GONE, LEFT, READ = "log gone", "at risk", "readable"


@pytest.mark.parametrize(
    ("gone", "checkpoints", "states", "lacking"),
    [
        pytest.param([0, 1, 2], [4], [GONE] * 4 + [READ] * 3, [0, 0, 0, 0], id="from the beginning"),
        pytest.param([0, 1, 3], [4], [GONE] * 4 + [READ] * 3, [0, 0, 0, 0], id="with one left"),
        pytest.param([3], [1, 5], [LEFT] * 3 + [GONE] * 2 + [READ] * 2, [-1, -1, -1, 3, 3], id="after a checkpoint"),
        pytest.param([3, 4], [5], [LEFT] * 3 + [GONE] * 2 + [READ] * 2, [-1, -1, -1, 3, 3], id="up to a checkpoint"),
        pytest.param([0, 1, 4], [2, 5], [GONE] * 2 + [LEFT] * 2 + [GONE] + [READ] * 2, [0, 0, -1, -1, 4], id="twice"),
        pytest.param([1, 2, 3, 4], [4], [LEFT] + [GONE] * 3 + [READ] * 3, [-1, 1, 1, 1], id="all but the first"),
    ],
)
def test_a_version_is_gone_from_the_first_commit_it_lacks_to_the_next_checkpoint(
    gone: list[int], checkpoints: list[int], states: list[str], lacking: list[int]
) -> None:
    found = _states(_cleaned(6, gone, checkpoints))
    assert found.first == 0
    assert found.readable_from == len(lacking)
    assert _told(found) == (states, lacking + [-1] * (7 - len(lacking)))
    assert found.versions("log gone").tolist() == [version for version, state in enumerate(states) if state == GONE]
    assert found.since.tolist() == [FOREVER] * len(lacking) + found.since.tolist()[len(lacking) :]
    assert found.vacuums.tolist() == [-1] * 7
    assert found.by_data.tolist()[: len(lacking)] == [False] * len(lacking)
    assert found.checked is False
    assert _states(_cleaned(6, gone, checkpoints), missing=frozenset()).checked is True


def test_a_compaction_stands_in_for_commits_that_are_gone() -> None:
    table = _cleaned(8, [], [3, 7])
    write_compaction(table.store, list_log(table.store), 1, 2)
    for version in (1, 2, 5):
        table.store.delete(commit_name(version))
    found = _states(explorer.Table(table.store))
    states, lacking = _told(found)
    assert states == [LEFT, GONE, LEFT, LEFT, LEFT, GONE, GONE, READ, READ]
    assert lacking == [-1, 1, -1, -1, -1, 5, 5, -1, -1]


def test_a_compaction_from_the_beginning_leaves_what_it_ends_with_and_nothing_after_it() -> None:
    table = _cleaned(6, [], [5])
    write_compaction(table.store, list_log(table.store), 0, 2)
    for version in (0, 1, 2, 3, 4):
        table.store.delete(commit_name(version))
    states, lacking = _told(_states(explorer.Table(table.store)))
    assert states == [GONE, GONE, LEFT, GONE, GONE, READ, READ]
    assert lacking == [0, 0, -1, 0, 0, -1, -1]


def test_versions_before_a_checkpoint_alone_lack_the_first_commit() -> None:
    states, lacking = _told(_states(_cleaned(4, [0, 1, 2, 3], [3])))
    assert (states, lacking) == ([GONE] * 3 + [READ] * 2, [0, 0, 0, -1, -1])


@pytest.mark.parametrize("readable_from", [1_000_000, 1_000_001])
def test_a_million_old_versions_have_a_row_and_no_more(readable_from: int) -> None:
    store = small_logs.new_store()
    created = [small_logs.PROTOCOL, small_logs.METADATA]
    write_checkpoint(store, readable_from, [*created, small_logs.add("a")], "classic")
    small_logs.write(store, {readable_from + 1: [small_logs.add("b")]})
    found = _states(explorer.Table(store))
    start = readable_from - 1_000_000
    assert (found.first, found.readable_from, len(found.lacking)) == (start, readable_from, 1_000_002)
    # Of a version in the middle the commit before the first row is missing, if there is one.
    assert set(found.lacking[:-2].tolist()) == {max(start - 1, 0)}
    assert found.lacking[-2:].tolist() == [-1, -1]
    assert found.lost_at(start - 1) is None


def test_what_was_never_asked_of_a_row_before_the_first_is_not_told() -> None:
    """Rows begin with version 5, which can be lost at 7, and 6 at 9."""
    made = VersionStates(
        first=5,
        readable_from=5,
        codes=np.zeros(2, np.int8),
        since=np.array([7, 9]),
        by_data=np.ones(2, bool),
        later=np.full(2, FOREVER),
        both=np.zeros(2, bool),
        vacuums=np.full(2, -1),
        unfinished=np.full(2, -1),
        lacking=np.full(2, -1),
        checked=False,
    )
    assert [made.lost_at(version) for version in (3, 4, 5, 6)] == [None, None, 7, 9]


def test_only_so_many_old_versions_have_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_states, "_MOST_LOST", 2)
    found = _states(_cleaned(6, [0, 1, 2], [5]))
    assert (found.first, found.readable_from) == (3, 5)
    assert _told(found) == ([GONE, GONE, READ, READ], [2, 2, -1, -1])
    assert [found.state(version) for version in (0, 2, 3, 5, 6)] == [GONE, GONE, GONE, READ, READ]
    assert [found.lost_at(version) for version in (0, 2, 3)] == [None, None, None]
    assert found.versions("readable").tolist() == [5, 6]
    assert found.versions("log gone").tolist() == [3, 4]


def _replaced(age: int) -> list[Any]:
    return [
        small_logs.commit_info("WRITE", timestamp=ago(age)),
        small_logs.remove("0.parquet", deletion_timestamp=ago(age)),
        small_logs.add("1.parquet"),
    ]


def _vacuum(retention: int, **written_at: int | None) -> list[list[Any]]:
    parameters = {"defaultRetentionMillis": str(retention)}
    start = small_logs.commit_info("VACUUM START", operation_parameters=parameters, **written_at)
    return [[start], [small_logs.commit_info("VACUUM END", operation_parameters={"status": "COMPLETED"})]]


def _taken(*commits: list[Any]) -> list[int]:
    return _states(written(loaded("0.parquet"), *commits)).vacuums.tolist()


@pytest.mark.parametrize(
    ("begun", "taken"),
    [(ago(90 * DAY) + 1, 4), (ago(90 * DAY), -1), (ago(90 * DAY) - 1, -1), (ago(200 * DAY), -1)],
)
def test_a_vacuum_took_what_was_removed_before_its_start_less_its_retention(begun: int, taken: int) -> None:
    """The time is that of the writer, not that of a file which may be a copy."""
    commits = [_replaced(100 * DAY), *_vacuum(10 * DAY, timestamp=begun)]
    assert _taken(*commits) == [-1, taken, -1, -1, -1]


def test_what_a_vacuum_took_can_not_be_lost_again_and_a_look_at_the_files_goes_before_its_record() -> None:
    table = written(loaded("0.parquet"), _replaced(100 * DAY), *_vacuum(10 * DAY, timestamp=ago(DAY)))
    told, looked = _states(table), _states(table, missing=frozenset())
    assert (told.state(1), told.lost_at(1), told.vacuums.tolist()) == ("data gone", None, [-1, 4, -1, -1, -1])
    assert (looked.state(1), looked.vacuums.tolist()) == ("at risk", [-1] * 5)
    assert looked.lost_at(1) == ago(100 * DAY) + 7 * DAY


def test_a_vacuum_without_a_time_of_its_writer_has_that_of_its_file() -> None:
    assert _taken(_replaced(100 * DAY), *_vacuum(10 * DAY, timestamp=None)) == [-1, 4, -1, -1, -1]


def test_a_retention_longer_than_a_removal_is_old_takes_nothing() -> None:
    assert _taken(_replaced(100 * DAY), *_vacuum(500 * DAY, timestamp=ago(DAY))) == [-1] * 5


def test_a_retention_of_very_many_digits_is_none() -> None:
    assert _taken(_replaced(100 * DAY), *_vacuum(10**18, timestamp=ago(DAY))) == [-1] * 5
    assert _taken(_replaced(100 * DAY), *_vacuum(int("9" * 18), timestamp=ago(DAY))) == [-1] * 5


def test_the_first_of_two_vacuums_took_it_and_none_that_came_before_the_removal() -> None:
    first, second = _vacuum(10 * DAY, timestamp=ago(50 * DAY)), _vacuum(10 * DAY, timestamp=ago(DAY))
    assert _taken(_replaced(100 * DAY), *first, *second) == [-1, 4, -1, -1, -1, -1, -1]
    assert _taken(*first, _replaced(100 * DAY), *second) == [-1, 6, 6, 6, -1, -1, -1]


def test_an_end_takes_nothing_after_another_end() -> None:
    start, end = _vacuum(10 * DAY, timestamp=ago(DAY))
    failed = [small_logs.commit_info("VACUUM END", operation_parameters={"status": "FAILED"})]
    assert _taken(_replaced(100 * DAY), start, failed, end) == [-1] * 6
    assert _taken(_replaced(100 * DAY), start, [small_logs.commit_info("WRITE")], end) == [-1, 5, -1, -1, -1, -1]
    assert _taken(_replaced(100 * DAY), start, [small_logs.commit_info("VACUUM END")], end) == [-1] * 6


def test_a_vacuum_of_a_table_with_times_in_its_commits_began_at_its_own() -> None:
    start = small_logs.commit_info(
        "VACUUM START",
        operation_parameters={"defaultRetentionMillis": str(10 * DAY)},
        in_commit_timestamp=ago(95 * DAY),
        timestamp=ago(DAY),
    )
    ended = {"in_commit_timestamp": ago(94 * DAY), "timestamp": ago(DAY)}
    end = small_logs.commit_info("VACUUM END", operation_parameters={"status": "COMPLETED"}, **ended)
    at = {"in_commit_timestamp": ago(200 * DAY), "timestamp": ago(200 * DAY)}
    removal = small_logs.remove("0.parquet", deletion_timestamp=ago(100 * DAY))
    commits = [
        [small_logs.commit_info("WRITE", **at), small_logs.add("0.parquet")],
        [small_logs.commit_info("WRITE", **at), removal, small_logs.add("1.parquet")],
    ]
    table = timed([*commits, [start], [end]])
    assert _states(table).vacuums.tolist() == [-1] * 5


def test_times_of_files_that_run_backwards_are_raised_by_a_millisecond_each() -> None:
    listing = _cleaned(3, [], []).listing
    paths = [listing.commits[version] for version in range(4)]
    times = [5_000, 4_000, 5_001, 9_000]
    commits = {version: msgspec.structs.replace(paths[version], modified=times[version]) for version in range(4)}
    assert file_times(msgspec.structs.replace(listing, commits=commits)) == {0: 5_000, 1: 5_001, 2: 5_002, 3: 9_000}
    early = {0: msgspec.structs.replace(paths[0], modified=0)}
    assert file_times(msgspec.structs.replace(listing, commits=early)) == {0: 0}


def test_partition_columns_are_told_by_both_names() -> None:
    plain = written(loaded("0.parquet"), partition_columns=["day"])
    assert retention_terms(plain.history_record()).partition_columns == ("day", "day")
    assert retention_terms(written(loaded("0.parquet")).history_record()).partition_columns == ()
