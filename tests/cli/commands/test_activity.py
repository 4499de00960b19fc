"""``activity``: the record as lines, as JSON, as CloudEvents, and checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.activity.event import Event
from explorer.activity.record import ActivityRecord
from tests.cli.conftest import Call


@pytest.fixture
def record(tmp_path: Path) -> ActivityRecord:
    record = ActivityRecord(tmp_path / "activity.jsonl", program="tests/1")
    record.add(Event(kind="sign-in", person="ana", address="10.0.0.7", known_by="login"))
    record.add(Event(kind="commit", outcome="committed", person="ben", table="sales/orders", version=3))
    return record


def test_lines_are_filtered_and_newest_first(cli: Call, record: ActivityRecord, tmp_path: Path) -> None:
    lines = cli("activity", tmp_path, "--json").lines()
    assert [line["event"]["person"] for line in lines] == ["ben", "ana"]
    assert [line["number"] for line in cli("activity", tmp_path, "--by", "ana", "--json").lines()] == [1]
    assert [line["number"] for line in cli("activity", tmp_path, "--table", "sales", "--json").lines()] == [2]
    assert cli("activity", tmp_path, "--since", "1 minute", "--limit", "1", "--json").lines() == lines[:1]
    shown = cli("activity", tmp_path).out
    assert "10.0.0.7" in shown
    assert "sales/orders" in shown


def test_lines_are_cloud_events(cli: Call, record: ActivityRecord, tmp_path: Path) -> None:
    events = [json.loads(line) for line in cli("activity", tmp_path, "--cloud-events").out.splitlines()]
    assert [event["type"] for event in events] == [
        "delta-table-explorer.commit.committed",
        "delta-table-explorer.sign-in.done",
    ]


def test_a_changed_line_is_exit_code_1(cli: Call, record: ActivityRecord, tmp_path: Path) -> None:
    verified = cli("activity", tmp_path, "--verify", "--json").document()
    assert (verified["valid"], verified["lines"], verified["lastNumber"]) == (True, 2, 2)
    assert cli("activity", tmp_path, "--verify", "--expect", verified["head"]).code == 0
    text = record.files.current.read_text()
    record.files.current.write_text(text.replace("ben", "bob"))
    result = cli("activity", tmp_path, "--verify", "--json")
    assert result.code == 1
    assert [problem["kind"] for problem in json.loads(result.out)["problems"]] == ["head"]


@pytest.mark.parametrize("arguments", [("--since", "soon"), ("--kind", "rowz")])
def test_a_filter_that_means_nothing_is_refused(
    cli: Call, record: ActivityRecord, tmp_path: Path, arguments: tuple[str, str]
) -> None:
    assert cli("activity", tmp_path, *arguments).code == 2


def test_a_place_without_a_record_is_named(cli: Call, tmp_path: Path) -> None:
    result = cli("activity", tmp_path / "nowhere")
    assert result.code == 3
    assert "There is no activity record" in result.err
    assert cli("activity").code == 2, "the tests write no record"
