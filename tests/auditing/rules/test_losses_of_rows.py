"""Losses of many rows, at the edges of what counts as one, as reloaded and as restored."""

from __future__ import annotations

import pytest

import explorer
from explorer.auditing import Finding, Subject, audit
from explorer.core.transaction.intents.records import Restore
from tests.support.comparison.audited_tables import HOUR, NOW, ago, loaded, written
from tests.support.logs import small_logs
from tests.support.logs.small_logs import Line

FILES = "delta.deletedFileRetentionDuration"


def found(table: explorer.Table, rule: str) -> list[Finding]:
    return [each for each in audit(Subject(table, NOW)).findings if each.rule == rule]


def gone(*names: str, operation: str = "DELETE") -> list[Line]:
    removes = [small_logs.remove(name, deletion_timestamp=ago(HOUR)) for name in names]
    return [small_logs.commit_info(operation, user_name="ben"), *removes]


@pytest.mark.parametrize(
    ("stays", "goes", "lost"),
    [(400, 100, True), (401, 100, False), (99, 99, False), (0, 100, True)],
    ids=["a fifth", "less than a fifth", "fewer than a hundred", "all"],
)
def test_a_loss_is_a_fifth_of_the_rows_and_a_hundred_at_least(stays: int, goes: int, lost: bool) -> None:
    table = written(loaded("stays.parquet", stays), loaded("goes.parquet", goes), gone("goes.parquet"))
    assert [each.rows for each in found(table, "bulk-loss")] == ([goes] if lost else [])


@pytest.mark.parametrize(("after", "reloaded"), [(4, True), (5, False)])
def test_rows_that_come_again_within_five_commits_were_reloaded(after: int, reloaded: bool) -> None:
    small = [loaded(f"small{number}.parquet", 1) for number in range(after)]
    table = written(loaded("old.parquet"), gone("old.parquet"), *small, loaded("new.parquet", 900))
    assert [each.versions for each in found(table, "bulk-loss")] == ([] if reloaded else [((2, 2),)])


def test_a_restore_that_came_before_the_loss_brought_nothing_of_it_back() -> None:
    restored = [small_logs.commit_info("RESTORE"), small_logs.add("more.parquet", 1_000)]
    table = written(loaded("old.parquet"), restored, gone("more.parquet"))
    (finding,) = found(table, "bulk-loss")
    assert (finding.severity, finding.remedy and finding.remedy.intent) == ("warning", Restore(version=2))


@pytest.mark.parametrize(("amount", "back"), [(500, True), (499, False)])
def test_a_restore_of_half_of_what_went_is_said_to_have_brought_it_back(amount: int, back: bool) -> None:
    restored = [small_logs.commit_info("RESTORE"), small_logs.add("again.parquet", amount)]
    table = written(loaded("stays.parquet", 100), loaded("old.parquet"), gone("old.parquet"), restored)
    (finding,) = found(table, "bulk-loss")
    assert (finding.severity == "info", "restored" in finding.title) == (back, back)


@pytest.mark.parametrize(("seconds", "severity"), [(3_599, "error"), (3_600, "warning")])
def test_a_retention_under_an_hour_reaches_running_writers(seconds: int, severity: str) -> None:
    table = written(loaded("0.parquet"), properties={FILES: f"interval {seconds} seconds"})
    (finding,) = found(table, "short-retention")
    assert finding.severity == severity
    assert ("about to commit" in finding.effect) == (severity == "error")
