"""Which versions can be read, from when they could be lost, and which are lost."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import explorer
from explorer.core.errors import CorruptTable, RequestError
from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.actions import Action, Metadata
from explorer.core.versions.retention.expiry import _earliest, is_hidden
from explorer.core.versions.retention.missing_files import MOST_NAMED, absent, data_locations
from explorer.core.versions.retention.version_retention import version_retention
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint

DAY = 86_400_000
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"


def _metadata(**properties: str) -> Metadata:
    return msgspec.structs.replace(small_logs.METADATA, configuration=properties)


def _ms(time: datetime) -> int:
    return int(time.timestamp()) * 1000


def _removed(path: str, time: datetime | None, **more: Any) -> Any:
    return msgspec.structs.replace(
        small_logs.remove(path, **more), deletion_timestamp=None if time is None else _ms(time)
    )


def _judge(
    commits: Sequence[Iterable[Action | bytes]],
    *,
    now: datetime = NOW,
    properties: Mapping[str, str] | None = None,
    missing: Iterable[str] = (),
    checkpoints: Mapping[int, datetime] | None = None,
    times: Mapping[int, datetime] | None = None,
) -> list[dict[str, Any]]:
    """The verdicts on a table with these commits; checkpoints and file times are as told, not as stored."""
    first = [small_logs.PROTOCOL, _metadata(**(properties or {})), *commits[0]]
    table = small_logs.table(dict(enumerate([first, *commits[1:]])))
    history = table.history_record()
    made = dict.fromkeys(range(len(commits)), NOW) | dict(times or {})
    listing = small_logs.listed(
        {version: _ms(time) for version, time in (checkpoints or {}).items()},
        {version: _ms(time) for version, time in made.items()},
    )
    verdicts: list[dict[str, Any]] = version_retention(history, listing, now, frozenset(missing)).to_pylist()
    return verdicts


@pytest.mark.conformance("FILE-014")
def test_a_version_is_at_risk_once_the_first_of_its_tombstones_expired() -> None:
    commits = [
        [small_logs.add("a"), small_logs.add("b")],
        [_removed("b", NOW - timedelta(days=6))],
        [_removed("a", NOW - timedelta(days=8)), small_logs.add("c")],
        [small_logs.add("d")],
    ]
    verdicts = _judge(commits)
    assert [v["status"] for v in verdicts] == ["at risk", "at risk", "readable", "readable"]
    assert [v["at_risk_from"] for v in verdicts[:2]] == [NOW - timedelta(days=1)] * 2
    assert [v["by"] for v in verdicts] == [FILES, FILES, None, None]
    assert "file a was removed in version 2" in verdicts[0]["reason"]
    earlier = _judge(commits, now=NOW - timedelta(days=2))
    assert [v["status"] for v in earlier] == ["readable"] * 4
    assert earlier[0]["at_risk_from"] == NOW - timedelta(days=1)


@pytest.mark.conformance("FILE-014")
def test_a_tombstone_expires_after_its_last_moment() -> None:
    commits = [[small_logs.add("a")], [_removed("a", NOW - timedelta(days=7))]]
    assert _judge(commits)[0]["status"] == "readable"
    assert _judge(commits, now=NOW + timedelta(milliseconds=1))[0]["status"] == "at risk"


@pytest.mark.conformance("FILE-003")
def test_a_remove_without_a_time_has_expired_already() -> None:
    verdict = _judge([[small_logs.add("a")], [_removed("a", None)]])[0]
    assert (verdict["status"], verdict["at_risk_from"]) == ("at risk", None)


def test_the_retention_of_the_newest_version_is_the_one_in_force() -> None:
    commits = [
        [small_logs.add("a")],
        [_removed("a", NOW - timedelta(days=2))],
        [_metadata(**{FILES: "interval 36 hours"})],
    ]
    verdict = _judge(commits, properties={FILES: "interval 30 days"})[0]
    assert (verdict["status"], verdict["at_risk_from"]) == ("at risk", NOW - timedelta(hours=12))


@pytest.mark.conformance("REPLAY-003")
def test_a_file_that_came_back_is_not_deleted() -> None:
    """A RESTORE adds removed files again; a live file is kept whatever its tombstones say."""
    commits = [[small_logs.add("a")], [_removed("a", NOW - timedelta(days=90))], [small_logs.add("a")]]
    assert [(v["status"], v["at_risk_from"]) for v in _judge(commits)] == [("readable", None)] * 3
    again = [*commits, [_removed("a", NOW)]]
    assert [v["at_risk_from"] for v in _judge(again)] == [NOW + timedelta(days=7), None, NOW + timedelta(days=7), None]


def test_a_file_of_deletion_vectors_is_kept_while_one_of_them_is_referenced() -> None:
    one, two = small_logs.vector("v"), msgspec.structs.replace(small_logs.vector("v"), offset=99)
    other = small_logs.vector("w")
    times = [NOW - timedelta(days=days) for days in (20, 15, 10)]
    commits = [
        [small_logs.MASKED, small_logs.add("a", records=9), small_logs.add("b", records=9)],
        [_removed("a", times[0]), small_logs.add("a", records=9, vector=one)],
        [_removed("b", times[1]), small_logs.add("b", records=9, vector=two)],
        [_removed("a", times[2], vector=one), small_logs.add("a", records=9, vector=other)],
        [_removed("b", NOW, vector=two), small_logs.add("b", records=9)],
    ]
    table = small_logs.table({0: [small_logs.METADATA, *commits[0]], **dict(enumerate(commits[1:], 1))})
    verdicts = version_retention(table.history_record(), LogListing({}, ()), NOW).to_pylist()
    # v.bin is referenced until version 4 gave up its last vector; the data files never left.
    week = NOW + timedelta(days=7)
    assert [v["at_risk_from"] for v in verdicts] == [None, week, week, week, None]


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("part-1.parquet", False),
        ("a_b/c.d/part_1", False),
        ("_x/part-1", True),
        (".x/part-1", True),
        ("a/_x/part-1", True),
        ("a/_part-1", True),
        ("_change_data/part-1", False),
        ("_delta_index/part-1", False),
        ("_p=1/part-1", False),
        ("_q=1/part-1", True),
        ("_change_data/_x/part-1", True),
    ],
)
def test_vacuum_passes_over_hidden_names_but_not_partition_folders(path: str, hidden: bool) -> None:
    assert is_hidden(path, ["_p"]) is hidden


@pytest.mark.parametrize("path", ["_x/part-1", "s3://elsewhere/part-1", "/elsewhere/part-1"])
def test_a_file_that_vacuum_does_not_reach_puts_no_version_at_risk(path: str) -> None:
    verdict = _judge([[small_logs.add(path)], [_removed(path, NOW - timedelta(days=90))]])[0]
    assert (verdict["status"], verdict["at_risk_from"]) == ("readable", None)


def test_the_log_before_a_checkpoint_may_go_after_the_midnight_that_makes_it_the_cut_off() -> None:
    commits = [[small_logs.add(f"f{v}")] for v in range(6)]
    times = {v: datetime(2026, 1, 1 + v, 6, tzinfo=UTC) for v in range(6)}
    verdicts = _judge(commits, times=times, checkpoints={2: times[2], 4: times[4]})
    # Version 2 was committed on 3 January: midnight after it, and 30 days.
    assert [v["at_risk_from"] for v in verdicts] == [
        *[datetime(2026, 2, 3, tzinfo=UTC)] * 2,
        *[datetime(2026, 2, 5, tzinfo=UTC)] * 2,
        None,
        None,
    ]
    assert [v["by"] for v in verdicts] == [LOG] * 4 + [None] * 2
    assert [v["status"] for v in verdicts] == ["at risk"] * 4 + ["readable"] * 2
    assert "before the checkpoint of version 2 is kept for 30 days" in verdicts[0]["reason"]
    assert "no later checkpoint" in verdicts[4]["reason"]
    early = _judge(commits, times=times, checkpoints={2: times[2]}, now=datetime(2026, 2, 2, 23, 59, 59, tzinfo=UTC))
    assert early[0]["status"] == "readable"
    punctual = _judge(commits, times=times, checkpoints={2: times[2]}, now=datetime(2026, 2, 3, tzinfo=UTC))
    assert punctual[0]["status"] == "at risk"


@pytest.mark.parametrize("seed", range(20))
def test_the_log_is_at_risk_exactly_when_a_clean_up_by_the_rules_would_take_it(seed: int) -> None:
    """The rules, played: choose the cut-off commit and checkpoint, delete what is before, see what can be rebuilt."""
    dice = random.Random(seed)
    count = dice.randint(2, 12)
    hours = sorted(dice.choices(range(0, 40 * 24, 6), k=count))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = {v: start + timedelta(hours=hour, minutes=v) for v, hour in enumerate(hours)}
    checkpoints = {v: times[v] for v in sorted(dice.sample(range(count), dice.randint(0, count - 1)))}
    now = start + timedelta(hours=dice.randrange(0, 60 * 24, 3))
    kept = timedelta(days=dice.randint(0, 20))
    verdicts = _judge(
        [[small_logs.add(f"f{v}")] for v in range(count)],
        now=now,
        properties={LOG: f"interval {kept.days} days"},
        times=times,
        checkpoints=checkpoints,
    )
    midnight = (now - kept).replace(hour=0, minute=0, second=0, microsecond=0)
    cut_off_commit = max((v for v, time in times.items() if time <= midnight), default=-1)
    cut_off = max((v for v in checkpoints if v <= cut_off_commit), default=None)
    lost = {v for v in range(count) if cut_off is not None and v < cut_off}
    assert {v["version"] for v in verdicts if v["status"] == "at risk"} == lost


def test_where_expired_logs_are_kept_the_log_is_never_at_risk() -> None:
    times = {v: datetime(2020, 1, 1 + v, tzinfo=UTC) for v in range(3)}
    verdicts = _judge(
        [[], [], []],
        times=times,
        checkpoints={2: times[2]},
        properties={"delta.enableExpiredLogCleanup": "false"},
    )
    assert {(v["status"], v["at_risk_from"]) for v in verdicts} == {("readable", None)}


def test_the_earlier_of_two_dates_counts() -> None:
    times = {v: datetime(2026, 1, 1 + v, tzinfo=UTC) for v in range(3)}
    for removed, by in ((datetime(2026, 1, 20, tzinfo=UTC), FILES), (datetime(2026, 2, 20, tzinfo=UTC), LOG)):
        commits: list[list[Any]] = [[small_logs.add("a")], [small_logs.add("b")], [_removed("a", removed)]]
        verdict = _judge(commits, times=times, checkpoints={2: times[2]})[0]
        assert verdict["by"] == by


@pytest.mark.conformance("LOG-013")
def test_versions_whose_log_is_gone_say_which_commit_is() -> None:
    store = small_logs.new_store()
    write_checkpoint(store, 3, [small_logs.PROTOCOL, small_logs.METADATA], "classic")
    table = small_logs.table({2: [], 3: [], 4: []}, store)
    verdicts = table.retention(NOW).to_pylist()
    assert [v["status"] for v in verdicts] == ["log gone"] * 3 + ["readable"] * 2
    assert "commit of version 0" in verdicts[2]["reason"]


def test_versions_before_a_gap_can_be_read_but_are_at_risk() -> None:
    store = small_logs.new_store()
    write_checkpoint(store, 4, [small_logs.PROTOCOL, small_logs.METADATA], "classic")
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA], 1: [], 3: [], 5: []}, store)
    verdicts = table.retention(NOW).to_pylist()
    assert [v["status"] for v in verdicts] == ["at risk", "at risk", "log gone", "log gone", "readable", "readable"]
    assert "commit of version 2" in verdicts[3]["reason"]
    assert table.snapshot(1).version == 1


def test_missing_files_break_the_versions_that_need_them_and_are_named() -> None:
    commits = [
        [small_logs.add("a"), small_logs.add("b")],
        [_removed("a", NOW)],
        [_removed("b", NOW), small_logs.add("c")],
        [small_logs.add("d")],
    ]
    verdicts = _judge(commits, missing=["a", "b", "stranger"])
    assert [v["status"] for v in verdicts] == ["data gone", "data gone", "readable", "readable"]
    assert [sorted(v["missing_files"]) for v in verdicts] == [["a", "b"], ["b"], [], []]
    assert [v["num_missing_files"] for v in verdicts] == [2, 1, 0, 0]
    assert [v["at_risk_from"] for v in verdicts[:2]] == [None, None]


def test_a_live_file_that_is_missing_breaks_the_newest_version() -> None:
    assert _judge([[small_logs.add("a")]], missing=["a"])[0]["status"] == "data gone"


def test_a_missing_deletion_vector_breaks_a_version_as_well() -> None:
    vector = small_logs.vector("v")
    table = small_logs.table(
        {
            0: [small_logs.MASKED, small_logs.METADATA, small_logs.add("a", records=5)],
            1: [_removed("a", NOW), small_logs.add("a", records=5, vector=vector)],
        }
    )
    verdicts = version_retention(table.history_record(), LogListing({}, ()), NOW, {"/vectors/v.bin"}).to_pylist()
    assert [(v["status"], v["missing_files"]) for v in verdicts] == [
        ("readable", []),
        ("data gone", ["/vectors/v.bin"]),
    ]
    assert set(data_locations(table.history_record().lifetimes)) == {"a", "/vectors/v.bin"}


@pytest.mark.parametrize("seed", range(25))
def test_verdicts_on_random_tables_are_those_of_looking_at_each_version_by_itself(seed: int) -> None:
    dice = random.Random(seed)
    commits, live, names = [], dict[str, None](), itertools.count()
    removed_at: dict[str, datetime] = {}
    for version in range(dice.randint(1, 40)):
        actions: list[Any] = []
        for path in dice.sample(list(live), dice.randint(0, len(live)) // 2):
            del live[path]
            removed_at[path] = NOW + timedelta(hours=dice.randint(-400, 100))
            actions.append(_removed(path, removed_at[path]))
        back = [path for path in removed_at if path not in live and dice.random() < 0.05]
        new = [f"f{next(names)}" for _ in range(dice.randint(0, 14))]
        fresh = [path for path in [*new, *back] if path not in {action.path for action in actions}]
        actions += [small_logs.add(path) for path in fresh]
        live |= dict.fromkeys(fresh)
        commits.append(actions if version else [small_logs.PROTOCOL, small_logs.METADATA, *actions])
    table = small_logs.table(dict(enumerate(commits)))
    missing = {path for path in [*removed_at, *live] if dice.random() < dice.choice([0.0, 0.02, 0.5])}
    history = table.history_record()
    verdicts = version_retention(history, LogListing({}, ()), NOW, missing).to_pylist()
    last = {path for path, _ in small_logs.paths(table.snapshot())}
    for version, verdict in at_least_one(enumerate(verdicts)):
        files = {path for path, _ in small_logs.paths(table.snapshot(version))}
        gone = files & missing
        assert verdict["num_missing_files"] == len(gone)
        assert len(verdict["missing_files"]) == min(len(gone), MOST_NAMED)
        assert set(verdict["missing_files"]) <= gone
        expiry = [removed_at[path] + timedelta(days=7) for path in files - last]
        assert verdict["at_risk_from"] == (None if gone or not expiry else min(expiry))
        assert (verdict["status"] == "data gone") is bool(gone)


def test_a_property_that_is_no_interval_is_an_error_that_names_it() -> None:
    with pytest.raises(CorruptTable, match=FILES):
        _judge([[small_logs.add("a")]], properties={FILES: "soon"})


def test_the_present_needs_a_zone() -> None:
    with pytest.raises(RequestError, match="zone"):
        small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]}).retention(NOW.replace(tzinfo=None))


@pytest.mark.parametrize("many", [False, True])
def test_files_on_disk_are_looked_for_where_the_log_says_they_are(tmp_path: Path, many: bool) -> None:
    root, other = tmp_path / "table", tmp_path / "other"
    (root / "p=a b").mkdir(parents=True)
    other.mkdir()
    for path in (root / "p=a b" / "x", root / "y%20z", other / "clone"):
        path.write_bytes(b"data")
    (root / "linked").symlink_to(other, target_is_directory=True)
    (other / "circle").symlink_to(root, target_is_directory=True)
    store = open_store(root)
    locations = [
        "p=a b/x",
        "y%20z",
        "y z",
        "linked/clone",
        "nowhere/x",
        f"{other}/clone",
        f"{other}/x",
        f"{root}/y%20z",
    ]
    more = [f"f{number}" for number in range(300)] if many else []
    assert absent(store, [*locations, *more]) == {"y z", "nowhere/x", f"{other}/x", *more}


def test_table_retention_finds_what_is_on_disk(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    small_logs.write(
        store,
        {
            0: [small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("a")],
            1: [_removed("a", NOW), small_logs.add("b%20c")],
        },
    )
    (tmp_path / "b c").write_bytes(b"data")
    statuses = explorer.open_table(str(tmp_path)).retention(NOW).column("status").to_pylist()
    assert statuses == ["data gone", "readable"]


def test_the_earliest_of_many_spans_is_found_for_every_version() -> None:
    """Spans of every length meet in one minimum, the same as that of looking at a version by itself."""
    dice = np.random.default_rng(7)
    count, spans = 5000, 20_000
    start = dice.integers(0, count, spans)
    stop = np.minimum(start + dice.integers(1, count, spans), count)
    expiry = dice.integers(0, 10**12, spans)
    risk = _earliest(start, stop, np.arange(spans), expiry, count)
    for version in at_least_one(dice.integers(0, count, 50).tolist()):
        covering = (start <= version) & (stop > version)
        assert int(risk.since[version]) == int(expiry[covering].min(initial=np.iinfo(np.int64).max))
