"""Retention that makes no sense, and removes without a time: no vacuum by them, and no date that nobody knows."""

from __future__ import annotations

import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.auditing.finding import Finding
from explorer.core.errors import GuardFailed
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.commit.conflicts import error_of
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import PROTOCOL, add, metadata, remove, write
from tests.support.shared_tables import field_table

DAY = 86_400
NOW = datetime.now(UTC)
FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
VACUUM = {"kind": "vacuum"}


def table(tmp_path: Path, configuration: dict[str, str], **removed: Any) -> LogStore:
    """A table on disk whose file ``a`` was removed ten days ago, and a file that a running writer just wrote."""
    store = open_store(tmp_path / "table")
    write(store, {0: (PROTOCOL, metadata({"id": "long"}, configuration=configuration), add("a"), add("b"))})
    write(store, {1: (remove("a", **{"deletion_timestamp": int((time.time() - 10 * DAY) * 1000), **removed}),)})
    for name in ("a", "b", "running"):
        store.put(name, b"rows")
    for name in ("a", "b"):
        os.utime(tmp_path / "table" / name, (time.time() - 20 * DAY,) * 2)
    return store


def guard(store: LogStore, intent: dict[str, Any]) -> Any:
    plan = explorer.Table(store).plan(intent)
    return next(each for each in plan.guards if each.name == "retention")


def finding(store: LogStore, rule: str) -> Finding:
    return next(each for each in explorer.Table(store).audit().findings if each.rule == rule)


@pytest.mark.parametrize("kept", ["interval -1 days", "interval -1 seconds", "interval 1 hour -2 hours", "-7 days"])
def test_no_vacuum_goes_by_a_negative_retention(tmp_path: Path, kept: str) -> None:
    store = table(tmp_path, {FILES: kept})
    judged = guard(store, VACUUM)
    assert judged.status == "fail"
    assert judged.evidence["detail"].startswith(f"The retention is negative ({kept})")
    assert "interval 1 week" in judged.remedy
    opened = explorer.Table(store)
    result = opened.commit(opened.plan(VACUUM))
    assert result.outcome == "rejected"
    assert isinstance(error_of(result), GuardFailed)
    assert set(store.list_tree()) >= {"a", "b", "running"}
    assert guard(store, {**VACUUM, "olderThan": "interval 7 days"}).status == "pass"
    told = finding(store, "short-retention")
    assert (told.severity, told.title[:28]) == ("error", "File retention is negative: ")
    assert opened.horizon().what_if().retention == 0


@pytest.mark.parametrize(
    ("kept", "status", "severity"),
    [
        ("interval 0 days", "unknown", "error"),
        ("interval 5 minutes", "unknown", "error"),
        ("interval 59 minutes", "unknown", "error"),
        ("interval 2 hours", "pass", "warning"),
    ],
)
def test_a_vacuum_that_reaches_running_writers_has_to_be_accepted(
    tmp_path: Path, kept: str, status: str, severity: str
) -> None:
    store = table(tmp_path, {FILES: kept})
    judged = guard(store, VACUUM)
    assert judged.status == status
    assert ("running writer" in judged.evidence["detail"]) is (status == "unknown")
    assert finding(store, "short-retention").severity == severity
    assert explorer.Table(store).plan(VACUUM, accept=["retention"]).committable


def test_no_cleanup_of_the_log_goes_by_a_negative_retention(tmp_path: Path) -> None:
    store = table(tmp_path, {LOG: "interval -1 days"})
    explorer.Table(store).commit(explorer.Table(store).plan({"kind": "checkpoint"}))
    assert guard(store, {"kind": "clean-log"}).status == "fail"
    told = finding(store, "short-log-retention")
    assert (told.severity, told.title) == ("error", "Log retention is negative: −1 day")
    assert told.remedy is not None
    assert told.remedy.intent is not None


@pytest.mark.parametrize("stated", [None, 0, -5])
def test_a_remove_without_a_time_puts_its_versions_at_risk_now_and_at_no_date(
    tmp_path: Path, stated: int | None
) -> None:
    store = table(tmp_path, {}, deletion_timestamp=stated)
    opened = explorer.Table(store)
    row = opened.retention(NOW).to_pylist()[0]
    assert (row["version"], row["status"], row["at_risk_from"], row["by"]) == (0, "at risk", None, FILES)
    assert row["reason"] == (
        "file a was removed in version 1, at a time that the log does not record; VACUUM may delete it now"
    )
    told = finding(store, "versions-at-risk")
    assert "removed at a time not recorded in the log" in told.evidence[1].text
    assert told.deadline is None
    assert told.remedy is not None
    assert told.remedy.label == "Copy what you need of these versions before a vacuum runs"
    assert [row["lost_from"] for row in opened.horizon().what_if().dates.to_pylist()] == [None, None]
    assert [file.path for file in opened.plan(VACUUM).files] == ["a"]


def test_a_removal_with_a_time_keeps_its_date_beside_one_without(tmp_path: Path) -> None:
    store = table(tmp_path, {})
    write(store, {2: (remove("b", deletion_timestamp=None), add("c"))})
    rows = explorer.Table(store).retention(NOW).to_pylist()
    assert [row["at_risk_from"] is None for row in rows] == [True, True, True]
    write(store, {3: (remove("c", deletion_timestamp=int((time.time() - 9 * DAY) * 1000)), add("d"))})
    assert (
        finding(store, "versions-at-risk")
        .evidence[1]
        .text.endswith("removed more than 7 days ago, or at a time not recorded in the log")
    )


def test_a_removal_past_all_dates_is_kept_for_ever_as_vacuum_keeps_it(tmp_path: Path) -> None:
    for stated in at_least_one([2**63 - 1, 2**61]):
        store = table(tmp_path / str(stated), {}, deletion_timestamp=stated)
        row = explorer.Table(store).retention(NOW).to_pylist()[0]
        assert (row["status"], row["at_risk_from"]) == ("readable", None)
        assert row["reason"].endswith("VACUUM keeps it for 7 days, past the year 9999")
        assert list(explorer.Table(store).plan(VACUUM).files) == []


def test_tables_after_public_reports_are_judged_so(tmp_path: Path) -> None:
    for name in at_least_one(["retention-negative", "remove-without-timestamp"]):
        shutil.copytree(field_table(name), tmp_path / name)
    negative = open_store(tmp_path / "retention-negative")
    assert guard(negative, VACUUM).status == "fail"
    assert finding(negative, "short-retention").severity == "error"
    rows = explorer.open_table(tmp_path / "remove-without-timestamp").retention(NOW).to_pylist()
    assert [(row["status"], row["at_risk_from"]) for row in rows] == [
        *[("at risk", None)] * 3,
        *[("readable", None)] * 2,
    ]
