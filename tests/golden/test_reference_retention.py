"""Retention of the reference writer's tables: the versions that its own reader opens, and those that it does not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

import explorer
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import expected
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.reference

ROOT = reference_root()
EXPECTED = expected(ROOT)
CLOCK = "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _open(name: str) -> explorer.Table:
    return explorer.open_table(str(ROOT / "tables" / name))


def _status(version: dict[str, Any]) -> set[str]:
    """What the reference met: no error; a version that it does not find; or files that it does not find."""
    match version.get("error", {}).get("condition", "files" if "error" in version else "none"):
        case "none" | "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION":
            return {"readable", "at risk"}
        case "DELTA_VERSION_NOT_FOUND":
            return {"log gone"}
        case _:
            return {"data gone"}


@pytest.mark.conformance("LOG-012", "LOG-013")
@pytest.mark.parametrize("name", EXPECTED)
def test_versions_that_open_and_those_lost_are_those_of_the_reference(name: str) -> None:
    verdicts = {row["version"]: row for row in _open(name).retention(NOW).to_pylist()}
    assert len(verdicts) == EXPECTED[name]["latest_version"] + 1
    for version in EXPECTED[name]["versions"]:
        verdict = verdicts[version["version"]]
        assert verdict["status"] in _status(version), verdict
        for path in verdict["missing_files"]:
            assert not (ROOT / "tables" / name / path).exists()


@pytest.mark.conformance("FILE-014")
def test_the_date_is_that_of_the_first_tombstone_in_the_log() -> None:
    """Computed from the lines of the log alone: the earliest deletionTimestamp of what a version holds and lost."""
    name = "deletion-vectors"
    log = ROOT / "tables" / name / "_delta_log"
    actions = [
        [json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in sorted(log.glob("0*.json"))
    ]
    table = _open(name)
    last = set(table.snapshot().files().column("raw_path").to_pylist())
    stamps: dict[str, int] = {}
    for commit in actions:
        for remove in (action["remove"] for action in commit if "remove" in action):
            stamps[remove["path"]] = remove["deletionTimestamp"]
    seen = 0
    for row in table.retention(NOW).to_pylist():
        gone = set(table.snapshot(row["version"]).files().column("raw_path").to_pylist()) - last
        if row["by"] == "delta.deletedFileRetentionDuration" and "vector" not in row["reason"]:
            since = min(stamps[path] for path in gone) + 7 * 86_400_000
            assert int(row["at_risk_from"].timestamp() * 1000) == since
            seen += 1
    assert seen > 0


@pytest.mark.conformance("ROWTRACK-007")
@pytest.mark.parametrize("name", ["row-tracking", "domain-metadata", "checkpoint-without-checksum"])
def test_base_row_ids_lie_below_the_high_water_mark(name: str) -> None:
    table, seen = _open(name), 0
    for version in range(table.latest_version() + 1):
        snapshot = table.snapshot(version)
        tracking = snapshot.row_tracking
        files = snapshot.files(["base_row_id", "num_records"]).to_pylist()
        if tracking.enabled and files:
            assert tracking.high_water_mark is not None
            assert max(file["base_row_id"] + file["num_records"] - 1 for file in files) <= tracking.high_water_mark
            assert tracking.row_id_column not in [field.name for field in snapshot.schema.fields]
            seen += 1
    assert seen


def test_row_tracking_follows_the_commands() -> None:
    table = _open("row-tracking")
    states = [table.snapshot(version).row_tracking for version in range(table.latest_version() + 1)]
    assert [state.enabled for state in states] == [True] * 10 + [False] * 6
    assert [state.supported for state in states] == [True] * 14 + [False] * 2
    assert [state.suspended for state in states] == [False] * 12 + [True] * 2 + [False] * 2


def test_clustering_columns_follow_the_commands() -> None:
    table = _open("clustering")
    found = [table.snapshot(version).clustering_columns for version in range(table.latest_version() + 1)]
    assert found == [
        *[("a", "b")] * 4,
        *[("s.x", "b")] * 4,
        ("s.x", "bb"),
        *[()] * 3,
        *[("a",)] * 3,
        *[("k",)] * 2,
        *[("a",)] * 2,
    ]


@pytest.mark.conformance("ICT-004", "ICT-005")
def test_commit_times_of_a_table_that_got_and_lost_in_commit_timestamps() -> None:
    """The commits say themselves which of them were made under in-commit timestamps; the others have their file's."""
    table = _open("in-commit-timestamps")
    log = ROOT / "tables" / "in-commit-timestamps" / "_delta_log"
    times = {row["version"]: int(row["timestamp"].timestamp() * 1000) for row in table.history().to_pylist()}
    enabled = {3, 4, 5, 8, 12, 13}
    for version, time in at_least_one(times.items()):
        path = log / f"{version:020d}.json"
        infos = [json.loads(line).get("commitInfo") for line in path.read_text("utf-8").splitlines()]
        stamp = next(info for info in infos if info is not None).get("inCommitTimestamp")
        assert (stamp is not None) is (version in enabled)
        if stamp is not None:
            assert time == stamp
        else:
            assert 0 <= time - path.stat().st_mtime_ns // 1_000_000 < 1000
        assert int(table.snapshot(version).timestamp.timestamp() * 1000) == time
