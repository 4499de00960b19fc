"""When commits were made: times of files and in-commit timestamps, and versions looked up by time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import CorruptTable, TimestampOutOfRange
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Action, CommitInfo, Metadata, Protocol
from explorer.core.versions.commit_times import enablement, is_doubtful, mentions_in_commit_timestamps, moment
from explorer.storage import open_store
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint

START = datetime(2026, 1, 1, tzinfo=UTC)
PROTOCOL = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp",))


def _at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def _ms(minutes: float) -> int:
    return int(_at(minutes).timestamp() * 1000)


def _metadata(*, enabled: bool = True, since: tuple[int, float] | None = None) -> Metadata:
    properties = {"delta.enableInCommitTimestamps": str(enabled).lower()}
    if since is not None:
        properties["delta.inCommitTimestampEnablementVersion"] = str(since[0])
        properties["delta.inCommitTimestampEnablementTimestamp"] = str(_ms(since[1]))
    return msgspec.structs.replace(small_logs.METADATA, configuration=properties)


def _info(minutes: float | None) -> CommitInfo:
    return CommitInfo(operation="WRITE", in_commit_timestamp=None if minutes is None else _ms(minutes))


def _table(folder: Path, commits: Mapping[int, tuple[float, Iterable[Action]]]) -> explorer.Table:
    """A table whose commit files have these times, in minutes."""
    small_logs.write(open_store(folder), {version: actions for version, (_, actions) in commits.items()})
    for version, (minutes, _) in commits.items():
        os.utime(folder / commit_name(version), (_ms(minutes) / 1000, _ms(minutes) / 1000))
    return explorer.open_table(str(folder))


def _times(table: explorer.Table) -> list[float]:
    rows = table.history().to_pylist()[::-1]
    return [(row["timestamp"] - START) / timedelta(minutes=1) for row in rows]


def _first(*actions: Any) -> list[Any]:
    return [PROTOCOL, small_logs.METADATA, *actions]


@pytest.mark.conformance("LOG-025")
def test_times_of_files_that_run_backwards_are_raised(tmp_path: Path) -> None:
    table = _table(tmp_path, {0: (5, _first()), 1: (3, []), 2: (9, [])})
    millisecond = 1 / 60_000
    assert _times(table) == pytest.approx([5, 5 + millisecond, 9])
    assert table.snapshot(1).timestamp == _at(5) + timedelta(milliseconds=1)
    assert table.snapshot(timestamp=_at(6)).version == 1


@pytest.mark.conformance("ICT-004")
def test_in_commit_timestamps_are_the_time_from_the_version_that_enabled_them(tmp_path: Path) -> None:
    table = _table(
        tmp_path,
        {
            0: (0, _first()),
            1: (1, []),
            2: (50, [_info(2), _metadata(since=(2, 2))]),
            3: (51, [_info(3)]),
        },
    )
    assert _times(table) == [0, 1, 2, 3]
    assert [table.snapshot(version).timestamp for version in range(4)] == [_at(0), _at(1), _at(2), _at(3)]


@pytest.mark.conformance("ICT-004")
def test_a_timestamp_in_a_commit_counts_only_where_they_are_enabled(tmp_path: Path) -> None:
    table = _table(
        tmp_path,
        {
            0: (10, _first(_info(1))),
            1: (20, [_info(2), _metadata(since=(1, 2))]),
            2: (30, [_info(3), _metadata(enabled=False)]),
            3: (1, [_info(4)]),
        },
    )
    assert _times(table) == pytest.approx([10, 2, 30, 30 + 1 / 60_000])
    assert [table.snapshot(version).timestamp for version in (2, 3)] == [_at(30), _at(30) + timedelta(milliseconds=1)]


@pytest.mark.conformance("LOG-025", "ICT-004")
@pytest.mark.parametrize("history_first", [False, True])
def test_after_they_were_disabled_files_are_not_older_than_the_timestamps(tmp_path: Path, history_first: bool) -> None:
    table = _table(
        tmp_path,
        {0: (0, [PROTOCOL, _info(100), _metadata()]), 1: (1, [_metadata(enabled=False)]), 2: (2, [])},
    )
    if history_first:
        table.history()
    assert table.snapshot(2).timestamp == _at(100) + timedelta(milliseconds=2)
    assert _times(table)[2] == pytest.approx(100 + 2 / 60_000)


@pytest.mark.conformance("LOG-025", "ICT-004")
@pytest.mark.parametrize("read_before", [None, 0, 1])
@pytest.mark.parametrize("checkpoint", [None, 0, 1])
def test_after_the_feature_was_dropped_files_are_not_older_than_the_timestamps(
    tmp_path: Path, read_before: int | None, checkpoint: int | None
) -> None:
    """Nothing in force mentions them any more. A store may keep whole seconds: the files look older than they are."""
    table = _table(
        tmp_path,
        {
            0: (0, [PROTOCOL, _info(0.01), _metadata()]),
            1: (0, [_info(0.015)]),
            2: (0, [small_logs.PROTOCOL, small_logs.METADATA]),
            3: (0, []),
            4: (1, []),
        },
    )
    if checkpoint is not None:
        write_checkpoint(open_store(tmp_path), checkpoint, [PROTOCOL, _metadata()], "classic")
        table = explorer.open_table(str(tmp_path))
    if read_before is not None:
        assert table.snapshot(read_before).version == read_before
    found = [table.snapshot(version).timestamp for version in (2, 3, 4)]
    assert found == [_at(0.015) + timedelta(milliseconds=1), _at(0.015) + timedelta(milliseconds=2), _at(1)]
    assert _times(table)[2:] == pytest.approx([(time - START) / timedelta(minutes=1) for time in found])


@pytest.mark.conformance("ICT-005")
def test_a_moment_is_looked_up_only_on_its_side_of_enablement(tmp_path: Path) -> None:
    """The files were copied an hour later: those from before in-commit timestamps look newer than what follows."""
    table = _table(
        tmp_path,
        {
            0: (60, _first()),
            1: (61, []),
            2: (62, [_info(2), _metadata(since=(2, 2))]),
            3: (63, [_info(90)]),
        },
    )
    assert _times(table) == [60, 61, 2, 90]
    assert table.snapshot(timestamp=_at(2)).version == 2
    # Versions 0 and 1 have file times of 60 and 61 minutes, and yet came before.
    assert table.snapshot(timestamp=_at(75)).version == 2
    assert table.snapshot(timestamp=_at(90)).version == 3
    with pytest.raises(TimestampOutOfRange) as caught:
        table.snapshot(timestamp=_at(1))
    assert caught.value.nearest == 0
    with pytest.raises(TimestampOutOfRange) as caught:
        table.snapshot(timestamp=_at(91))
    assert caught.value.nearest == 3


@pytest.mark.conformance("ICT-005")
def test_before_enablement_the_earlier_versions_are_searched(tmp_path: Path) -> None:
    table = _table(
        tmp_path,
        {0: (0, _first()), 1: (1, []), 2: (9, [_info(8), _metadata(since=(2, 8))]), 3: (9, [_info(9)])},
    )
    found = [table.snapshot(timestamp=_at(minutes)).version for minutes in (0, 0.5, 1, 7.9, 8, 8.5, 9)]
    assert found == [0, 0, 1, 1, 2, 2, 3]


@pytest.mark.conformance("ICT-004")
def test_a_checkpoint_tells_since_when_the_commits_before_it_have_timestamps(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write_checkpoint(store, 4, [PROTOCOL, _metadata(since=(3, 3))], "classic")
    table = _table(tmp_path, {2: (70, [_info(1)]), 3: (71, [_info(3)]), 4: (72, [_info(4)]), 5: (73, [_info(5)])})
    assert _times(table) == [70, 3, 4, 5]
    assert table.snapshot(4).timestamp == _at(4)


def test_no_version_is_found_by_time_where_a_timestamp_is_lacking(tmp_path: Path) -> None:
    table = _table(tmp_path, {0: (0, [PROTOCOL, _info(1), _metadata()]), 1: (5, [_info(None)]), 2: (6, [_info(6)])})
    with pytest.raises(CorruptTable, match="no inCommitTimestamp") as caught:
        table.snapshot(timestamp=_at(6))
    assert caught.value.version == 1
    assert table.snapshot(1).version == 1


def test_a_time_that_no_calendar_has_is_an_error(tmp_path: Path) -> None:
    table = _table(tmp_path, {0: (0, [PROTOCOL, _metadata(), CommitInfo(in_commit_timestamp=1 << 60)])})
    with pytest.raises(CorruptTable, match="not a valid date"):
        _ = table.snapshot().timestamp


@pytest.mark.conformance("LOG-025")
def test_milliseconds_are_exact(tmp_path: Path) -> None:
    times = [1_700_000_000_001 + 7 * number for number in range(200)]
    first: list[Action] = [PROTOCOL, _metadata()]
    table = small_logs.table(
        {
            number: [CommitInfo(in_commit_timestamp=time), *(first if not number else [])]
            for number, time in enumerate(times)
        },
        open_store(tmp_path),
    )
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for number, time in enumerate(times):
        assert table.snapshot(timestamp=epoch + timedelta(milliseconds=time)).version == number
        assert table.snapshot(number).timestamp == epoch + timedelta(milliseconds=time)


@pytest.mark.conformance("ICT-004", "LOG-025")
def test_history_says_which_times_are_in_commits_and_which_are_of_files(tmp_path: Path) -> None:
    written = CommitInfo(operation="WRITE", timestamp=_ms(-600_000), in_commit_timestamp=_ms(20))
    unset = CommitInfo(operation="WRITE", timestamp=2**62)
    table = _table(
        tmp_path,
        {
            0: (0, _first(unset)),
            1: (10, [_metadata(since=(2, 20))]),
            2: (30, [written]),
        },
    )
    rows = table.history().to_pylist()[::-1]
    assert [row["timestamp_basis"] for row in rows] == ["file", "file", "in-commit"]
    assert [row["commit_info_timestamp"] for row in rows] == [None, None, _at(-600_000)]
    assert _times(table)[2] == 20


def test_a_file_time_an_hour_from_the_clock_of_its_writer_is_doubtful_and_a_time_in_the_commit_is_not() -> None:
    for minutes, doubtful in ((0, False), (59, False), (60, True), (-60, True)):
        assert is_doubtful(_at(minutes), "file", _at(0)) is doubtful
        assert not is_doubtful(_at(minutes), "in-commit", _at(0))
    assert not is_doubtful(_at(0), "file", None)


SINCE_VERSION, SINCE_TIME = "delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"


@pytest.mark.conformance("ICT-003")
@pytest.mark.parametrize(
    ("properties", "since"),
    [
        ({SINCE_VERSION: "3", SINCE_TIME: "1700000000000"}, (3, 1_700_000_000_000)),
        # one without the other says nothing: they were enabled from the first commit on
        ({SINCE_VERSION: "3"}, (0, 0)),
        ({SINCE_TIME: "1700000000000"}, (0, 0)),
        ({}, (0, 0)),
    ],
)
def test_when_in_commit_timestamps_were_enabled(properties: dict[str, str], since: tuple[int, int]) -> None:
    assert enablement(properties) == since


@pytest.mark.parametrize(
    ("features", "properties", "mentioned"),
    [
        (None, {}, False),
        ((), {}, False),
        (("appendOnly",), {}, False),
        (("appendOnly", "inCommitTimestamp"), {}, True),
        (("inCommitTimestamp-preview",), {}, True),
        (None, {"delta.enableInCommitTimestamps": "false"}, True),
        (("appendOnly",), {SINCE_VERSION: "1"}, True),
        ((), {SINCE_TIME: "1"}, True),
        ((), {"delta.appendOnly": "true"}, False),
    ],
)
def test_whether_in_commit_timestamps_may_ever_have_been_enabled(
    features: tuple[str, ...] | None, properties: dict[str, str], mentioned: bool
) -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=7, writer_features=features)
    metadata = msgspec.structs.replace(small_logs.METADATA, configuration=properties)
    assert mentions_in_commit_timestamps(protocol, metadata) is mentioned


def test_a_time_outside_the_calendar_is_told_as_it_is() -> None:
    assert moment(1_700_000_000_123) == datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)
    with pytest.raises(CorruptTable, match=r"^A commit's time is 9223372036854775807 ms since 1970, ") as caught:
        moment((1 << 63) - 1)
    assert caught.value.found == (1 << 63) - 1
