"""Cards of what verifying, retention and skipping found, beside what is in the files of the golden tables."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import explorer
from explorer.core.log.verify.integrity import IntegrityReport, LogProblem
from explorer.core.transaction.row_engine import CheckReport
from explorer.views.cards import card_of
from tests.support.comparison.audited_tables import DAY, NOW, ago
from tests.support.logs import small_logs
from tests.support.shared_tables import golden_root


def _golden(name: str) -> Path:
    (log,) = (golden_root() / "tables" / name).glob("**/_delta_log")
    return log.parent


def test_a_sound_log_is_said_to_have_no_problems() -> None:
    card = card_of(explorer.open_table(_golden("dat__deletion_vectors")).verify())
    assert (card.title, card.tone, card.rows) == ("No problems", "ok", None)
    assert dict(card.facts)["oldest readable version"] == "v0"
    assert dict(card.facts)["newest in the log"] == "v2"


def test_a_hint_that_its_writer_corrupted_is_a_problem_that_keeps_no_version_from_being_read() -> None:
    card = card_of(explorer.open_table(_golden("delta__corrupted-last-checkpoint-kernel")).verify())
    assert (card.title, card.tone) == ("1 problem of the log", "warning")
    assert card.rows is not None
    assert card.rows.cells[0][2] == "_delta_log/_last_checkpoint"


def test_a_log_whose_writer_left_out_the_protocol_cannot_be_read() -> None:
    card = card_of(explorer.open_table(_golden("delta__deltalog-state-reconstruction-without-protocol")).verify())
    assert (card.title, card.tone) == ("1 problem of the log; 1 keeps versions from being read", "danger")
    assert dict(card.facts)["oldest readable version"] == "none"


def test_of_many_problems_those_that_keep_versions_from_being_read_come_first() -> None:
    harmless = [LogProblem("stale-hint", None, "a", "b")] * 10
    report = IntegrityReport((*harmless, LogProblem("gap", 7, "c", "d")), 8, 9, "abc")
    card = card_of(report)
    assert card.title == "11 problems of the log; 1 keeps versions from being read"
    assert card.rows is not None
    assert card.rows.cells[0] == ("gap", "v7", "c", "d")
    assert (len(card.rows.cells), card.rows.more) == (8, 3)
    assert dict(card.facts)["kinds"] == "gap 1, stale-hint 10"
    assert repr(report) == "IntegrityReport(11 problems, 1 of them breaking, versions 8 to 9)"


def test_rows_that_are_masked_no_more_are_shown_again() -> None:
    table = explorer.open_table(_golden("dat__deletion_vectors"))
    masked = table.snapshot(2).num_deleted_records - table.snapshot(1).num_deleted_records
    assert masked > 0
    rows = {back: dict(card_of(table.diff(*((2, 1) if back else (1, 2)))).facts)["rows"] for back in (False, True)}
    assert rows[False].endswith(f", {masked} more row{'s' * (masked > 1)} hidden")
    assert rows[True].endswith(f", {masked} row{'s' * (masked > 1)} shown again")


@pytest.fixture
def emptied() -> explorer.Table:
    """v0 adds three files; v1 and v2 removed one each, ten days and an hour ago."""
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.METADATA]
    files = [small_logs.add(name, 1, size=1_000_000) for name in ("a", "b", "c")]
    removals = [
        [small_logs.commit_info("DELETE"), small_logs.remove(name, deletion_timestamp=ago(age), size=1_000_000)]
        for name, age in (("a", 10 * DAY), ("b", DAY // 24))
    ]
    return small_logs.table(dict(enumerate([[*created, *files], *removals])))


def test_a_horizon_says_what_a_vacuum_takes_now_and_what_it_may_take_when(emptied: explorer.Table) -> None:
    horizon = emptied.horizon(NOW)
    card = card_of(horizon)
    assert card.title == "3 of 3 versions can be read, 2 after a VACUUM now"
    facts = dict(card.facts)
    assert (facts["readable"], facts["versions lost"], facts["versions remaining"]) == ("v0 to v2", "v0", "2")
    assert facts["retention"] == "7 days, the table's own"
    assert facts["files deleted"] == "1 file, 1.0 MB"
    assert card.rows is not None
    expected = [NOW - timedelta(days=3), NOW - timedelta(hours=1) + timedelta(days=7)]
    assert [datetime.fromisoformat(time.replace(" UTC", "+00:00")) for _, time in card.rows.cells] == expected
    assert [versions for versions, _ in card.rows.cells] == ["v0", "v1"]
    assert repr(horizon) == f"Horizon(3 of 3 versions readable, retention={7 * DAY}, basis='log')"


def test_a_horizon_warns_of_what_is_unusual_and_not_of_what_a_vacuum_is_for(tmp_path: Path) -> None:
    def tone(table: explorer.Table, *, look: bool = False) -> str:
        return card_of(table.horizon(NOW, folder=look)).tone

    def written(name: str, retention: str | None, *, vacuumed: bool = False) -> explorer.Table:
        configuration = {} if retention is None else {"delta.deletedFileRetentionDuration": retention}
        created = [small_logs.PROTOCOL, small_logs.metadata({"id": "long"}, (), configuration)]
        commits = [[*created, small_logs.add("a"), small_logs.add("b")],
                   [small_logs.remove("a", deletion_timestamp=ago(10 * DAY))]]  # fmt: skip
        folder = small_logs.write_log(tmp_path / name, commits)
        for file in ("b",) if vacuumed else ("a", "b"):
            (folder / file).write_bytes(bytes(100))
        return explorer.open_table(folder)

    healthy = written("usual", None)
    assert healthy.horizon(NOW).what_if().versions == ((0, 0),)
    assert tone(healthy) == tone(healthy, look=True) == ""
    assert tone(written("as-usual", "interval 7 days")) == ""
    assert tone(written("short", "interval 167 hours")) == "warning"
    taken = written("taken", None, vacuumed=True)
    assert (tone(taken), tone(taken, look=True)) == ("", "warning")
    broken = written("broken", "interval 30 days")
    (tmp_path / "broken" / "b").unlink()
    assert tone(broken, look=True) == "warning"


def test_what_a_vacuum_without_retention_takes(emptied: explorer.Table) -> None:
    found = emptied.horizon(NOW).what_if(0)
    card = card_of(found)
    assert card.title == "A VACUUM now with a retention period of 0 days"
    assert dict(card.facts)["versions lost"] == "v0 to v1"
    assert dict(card.facts)["files deleted"] == "2 files, 2.0 MB"
    assert repr(found) == "WhatIf(retention=0, 1 versions kept, 2 files freed)"


def test_skipping_counts_the_files_that_the_log_names_for_a_partition() -> None:
    root = _golden("dat__partitioned_with_null")
    lines = [json.loads(line) for log in (root / "_delta_log").glob("*.json") for line in log.read_text().splitlines()]
    adds = [line["add"] for line in lines if "add" in line]
    assert not [line for line in lines if "remove" in line]
    letters = Counter(add["partitionValues"]["letter"] for add in adds)
    found = explorer.open_table(root).snapshot().skipping("letter = 'a'")
    card = card_of(found)
    assert card.title == f"{letters['a']} of {len(adds)} files must be read"
    assert card.rows is not None
    assert card.rows.cells[0] == (f"{len(adds) - letters['a']} files", "skipped by its partition values")
    assert repr(found) == f"SkippingResult({letters['a']} of {len(adds)} files kept)"


def test_a_report_is_shown_with_its_sentence_and_its_digest() -> None:
    report = explorer.open_table(_golden("dat__deletion_vectors")).report(NOW, by="ana")
    card = card_of(report)
    assert card.title.endswith(f"v2: {len(report.findings)} findings")
    facts = dict(card.facts)
    assert facts["digest"] == report.digest
    assert facts["made"] == "Sun 22 Nov 2026 12:00:00 UTC by ana, from log and replay"
    assert facts["summary"] == "".join(phrase.text for phrase in report.sentence)
    assert card.tone == "info", "few masked rows in small files are no warning"
    assert "\n" not in repr(report)


def test_no_rules_are_no_rules_kept() -> None:
    assert card_of(CheckReport(3, ())).title == "v3: no rule was checked"
