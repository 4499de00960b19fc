"""Files that are gone, and the versions without them; and the reason why each version can be read, or lost."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import RequestError, StorageError
from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.deletion_vectors import location
from explorer.core.versions.lifetimes.lifetimes import Lifetimes
from explorer.core.versions.retention.missing_files import MissingFiles, absent, data_locations
from explorer.core.versions.retention.version_retention import version_retention
from explorer.storage import open_store
from tests.core.versions.retention.test_freed_files import ONE, TWO, gone, vector
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.comparison.audited_tables import DAY, NOW, ago
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import begun_late
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, commit_info


def lifetimes_of(commits: dict[int, list[Any]]) -> Lifetimes:
    return small_logs.table(commits).history_record().lifetimes


def test_missing_files_are_counted_and_those_that_stay_longest_are_named() -> None:
    leaving: dict[int, list[Any]] = {version: [gone(f"f{version - 1}", 1)] for version in range(1, 12)}
    leaving[5].append(add("g"))
    life = lifetimes_of({0: [PROTOCOL, METADATA, *(add(f"f{place}") for place in range(12)), add("there")], **leaving})
    missing = {f"f{place}" for place in range(12)} | {"g", "stranger"}
    found = MissingFiles(life, missing)
    assert found.count.tolist() == [12, 11, 10, 9, 8, 8, 7, 6, 5, 4, 3, 2]
    names = [f"f{place}" for place in range(11, -1, -1)]
    expected = [names[: 12 - version][:10] for version in range(5)]
    expected += [["g", *names[: 12 - version]] for version in range(5, 12)]
    assert found.named == {version: tuple(each) for version, each in enumerate(expected)}
    assert found.instances.tolist() == [True] * 12 + [False, True]
    nothing = MissingFiles(life, frozenset())
    assert (nothing.count.tolist(), nothing.named, nothing.instances.tolist()) == ([0] * 12, {}, [False] * 14)
    strange = MissingFiles(life, {"stranger"})
    assert (strange.count.tolist(), strange.named, bool(strange.instances.any())) == ([0] * 12, {}, False)


def test_a_missing_file_of_vectors_is_named_after_the_file_that_it_masks() -> None:
    stored = location(ONE.id)
    commits: dict[int, list[Any]] = {
        0: [MASKED, METADATA, add("a", 9, vector=ONE), add("b", 9), add("c", 9, vector=vector("i", None, "p"))],
        1: [gone("a", 1, ONE), add("b", 9, vector=TWO)],
    }
    life = lifetimes_of(commits)
    assert data_locations(life) == ["a", "b", "c", stored, "/v/x.bin"]
    found = MissingFiles(life, {"a", stored or ""})
    assert (found.count.tolist(), found.named) == ([1, 1], {0: ("a", stored), 1: (stored,)})
    assert found.instances.tolist() == [True, False, False, True]


def test_only_what_a_readable_version_needs_is_looked_for() -> None:
    commits: dict[int, list[Any]] = {
        0: [MASKED, METADATA, add("a", 9, vector=ONE), add("b")],
        1: [],
        2: [gone("a", 1, ONE)],
        3: [add("c", 9, vector=vector("z"))],
    }
    life = begun_late(commits, 2, [MASKED, METADATA, add("b")], gone=1).history_record().lifetimes
    assert data_locations(life) == ["b", "c", location(vector("z").id)]


def test_a_look_for_many_files_is_one_at_the_tree() -> None:
    inner = small_logs.new_store()
    inner.put("a", b"x")
    store = FaultyStore(inner)
    for count, asked in ((256, [f"head {place}" for place in range(255)] + ["head a"]), (257, ["list"])):
        store.requests.clear()
        names = [f"{place}" for place in range(count - 1)]
        assert absent(store, [*names, "a"]) == frozenset(names)
        assert store.requests == asked


def test_a_location_that_climbs_is_looked_for_where_it_leads(tmp_path: Path) -> None:
    store = open_store(tmp_path / "ta ble")
    store.put("odd..name", b"x")
    (tmp_path / "beside").write_bytes(b"x")
    root = str(tmp_path / "ta ble")
    there = ["odd..name", "../beside", f"{root}/odd..name", f"{tmp_path}/beside"]
    lacking = ["no..name", "../no", f"{root}/no", f"{tmp_path}/no", "no"]
    assert absent(store, [*there, *lacking]) == frozenset(lacking)


def judged(
    commits: Iterable[list[Any]],
    properties: dict[str, str] | None = None,
    *,
    checkpoints: dict[int, int] | None = None,
    missing: frozenset[str] | None = frozenset(),
) -> pa.Table:
    """The verdicts on commits of so many days ago as there are commits after them."""
    first, *rest = commits
    metadata = small_logs.metadata({"id": "long"}, (), properties)
    history = small_logs.table(dict(enumerate([[MASKED, metadata, *first], *rest]))).history_record()
    times = {version: ago((len(rest) - version + 1) * DAY) for version in range(len(rest) + 1)}
    return version_retention(history, small_logs.listed(checkpoints or {}, times), NOW, missing)


FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
CLEANED = {"delta.enableExpiredLogCleanup": "false"}
SAFE = "none of its files was removed since, and no later checkpoint exists at which its log could be cut off"
LEFT: list[list[Any]] = [[add("a")], [gone("a", ago(3 * DAY))]]
MASKS: list[list[Any]] = [[add("a", 9, vector=ONE)], [gone("a", ago(3 * DAY), ONE), add("a", 9)]]


@pytest.mark.parametrize(
    ("commits", "properties", "reason", "by", "since"),
    [
        ([[add("a")], []], {}, SAFE, None, None),
        (
            [[add("a")], []],
            CLEANED,
            f"none of its files was removed since, and {next(iter(CLEANED))} is false",
            None,
            None,
        ),
        (LEFT, {}, "file a was removed in version 1; VACUUM keeps it for 7 days", FILES, 4 * DAY),
        (
            LEFT,
            {FILES: "interval 1 day"},
            "file a was removed in version 1; VACUUM keeps it for 1 day",
            FILES,
            -2 * DAY,
        ),
        (
            *(LEFT, {FILES: "interval 36 hours"}),
            *("file a was removed in version 1; VACUUM keeps it for 1 day, 12:00:00", FILES, -1.5 * DAY),
        ),
        (
            *(MASKS, {}),
            *("its deletion vector or file a was removed in version 1; VACUUM keeps it for 7 days", FILES, 4 * DAY),
        ),
    ],
)
def test_a_version_says_why_it_can_be_lost(
    commits: list[list[Any]], properties: dict[str, str], reason: str, by: str | None, since: float | None
) -> None:
    first, *_, last = judged(commits, properties).to_pylist()
    assert first == {
        "version": 0,
        "status": "at risk" if since is not None and since < 0 else "readable",
        "at_risk_from": None if since is None else NOW + timedelta(milliseconds=since),
        "by": by,
        "reason": reason,
        "missing_files": [],
        "num_missing_files": 0,
    }
    assert (last["reason"], last["by"], last["at_risk_from"]) == ("the newest version", None, None)


def test_a_version_whose_log_may_go_says_so() -> None:
    found = judged([[add("a")], [], []], {LOG: "interval 12 hours"}, checkpoints={1: ago(2 * DAY)}).to_pylist()
    assert [(row["by"], row["reason"]) for row in found] == [
        (LOG, "the log before the checkpoint of version 1 is kept for 12:00:00"),
        (None, SAFE),
        (None, "the newest version"),
    ]
    assert found[0]["at_risk_from"] == NOW - timedelta(days=1)


@pytest.mark.parametrize(("count", "said"), [(1, "1 file"), (2, "2 files"), (10, "10 files"), (1_000, "1,000 files")])
def test_a_version_without_its_files_says_how_many_lack(count: int, said: str) -> None:
    names = [f"f{place:04}" for place in range(count)]
    found = judged([[add("a"), *map(add, names)], [gone(name, 1) for name in names]], missing=frozenset(names))
    row = found.to_pylist()[0]
    assert (row["status"], row["reason"]) == ("data gone", f"{said} of it can no longer be read")
    assert (row["by"], row["at_risk_from"], row["num_missing_files"]) == (None, None, count)
    assert len(row["missing_files"]) == min(count, 10)
    assert [row["missing_files"] for row in found.to_pylist()[1:]] == [[]]


def test_what_a_vacuum_took_is_told_where_nobody_looked() -> None:
    start = commit_info("VACUUM START", timestamp=ago(DAY), operation_parameters={"defaultRetentionMillis": str(DAY)})
    end = commit_info("VACUUM END", operation_parameters={"status": "COMPLETED"})
    commits = [*LEFT, [start], [end]]
    assert [(row["status"], row["reason"]) for row in judged(commits, missing=None).to_pylist()[:2]] == [
        ("data gone", "version 3 records a VACUUM that deleted files of it; its files were not checked"),
        ("readable", SAFE),
    ]
    assert judged(commits).to_pylist()[0]["status"] == "readable"


def test_versions_whose_log_is_gone_say_what_lacks() -> None:
    live: list[Any] = [PROTOCOL, METADATA, add("a")]
    table = begun_late({0: live, **{version: [] for version in range(1, 6)}}, 4, live, gone=1)
    for version in (1, 3):
        table.store.delete(f"_delta_log/{version:020}.json")
    found = explorer.Table(table.store).retention(NOW)
    assert found.column("status").to_pylist() == ["log gone"] * 4 + ["data gone"] * 2
    reasons = ["the commit of version 0, which it is rebuilt from, is missing"] * 4
    assert found.column("reason").to_pylist() == [*reasons, *["1 file of it can no longer be read"] * 2]
    kept = begun_late({0: live, 1: [], 2: [], 3: []}, 3, live, gone=0)
    kept.store.delete(f"_delta_log/{2:020}.json")
    reasons = explorer.Table(kept.store).retention(NOW).column("reason").to_pylist()
    assert reasons[:2] == ["commits after it are missing in the log; its files were not checked"] * 2
    assert found.schema == pa.schema(
        [
            *(("version", pa.int64()), ("status", pa.string()), ("at_risk_from", pa.timestamp("ms", "UTC"))),
            *(("by", pa.string()), ("reason", pa.string()), ("missing_files", pa.list_(pa.string()))),
            ("num_missing_files", pa.int64()),
        ]
    )


def test_what_has_no_time_is_refused() -> None:
    history = small_logs.table({0: [PROTOCOL, METADATA]}).history_record()
    with pytest.raises(RequestError, match=r"^The time 2026-01-01 00:00:00 has no zone\. Give it in UTC\.$"):
        version_retention(history, LogListing({}, ()), datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_retention_past_the_calendar_is_no_date() -> None:
    first, last = judged(LEFT, {FILES: "interval 3000000 days"}).to_pylist()
    assert (first["status"], first["at_risk_from"], first["by"]) == ("readable", None, FILES)
    kept = "VACUUM keeps it for 3,000,000 days, past the year 9999"
    assert first["reason"] == f"file a was removed in version 1; {kept}"
    assert last["reason"] == "the newest version"


def test_a_folder_in_the_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    small_logs.write(store, {0: (PROTOCOL, METADATA, add("a.parquet"), add("b.parquet"))})
    (tmp_path / "a.parquet").mkdir()
    (tmp_path / "b.parquet").write_bytes(b"x")
    assert absent(store, ["a.parquet", "b.parquet"]) == {"a.parquet"}
    table = explorer.Table(store)
    found = {each.rule: each for each in table.audit(check_files=True).findings}
    assert found["missing-files"].files == 1
    with pytest.raises(StorageError, match="a folder, not a file"):
        store.open_input("a.parquet")
