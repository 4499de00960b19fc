"""Case files: what each kind of pin says, and pins that hold no longer."""

import json
from pathlib import Path

import pytest

import explorer
from explorer.auditing.subject import Subject
from explorer.core.errors import RequestError
from explorer.report.case_file import (
    AnyPin,
    CaseFile,
    CommitPin,
    DiffPin,
    FilePin,
    FindingPin,
    RowsPin,
    read_case,
)
from explorer.report.document import Pin
from explorer.report.page import render
from explorer.report.pins import pinned
from tests.support.comparison.audited_tables import DAY, NOW, ago, loaded, written
from tests.support.logs import small_logs


def _table() -> explorer.Table:
    went = [
        small_logs.commit_info("DELETE", user_name="ben"),
        small_logs.remove("0.parquet", deletion_timestamp=ago(DAY)),
    ]
    return written(loaded("0.parquet", 5_000), loaded("1.parquet", 700), went)


def _pins(table: explorer.Table, *pins: AnyPin) -> tuple[Pin, ...]:
    report = table.report(NOW, case=CaseFile(title="The loss", author="ana", pins=pins))
    assert report.case is not None
    assert "The loss" in render(report)
    return report.case.pins


def _facts(pin: Pin) -> dict[str, str]:
    return {fact.name: fact.text for fact in pin.facts}


def test_each_pin_says_what_the_log_says() -> None:
    table = _table()
    plan = json.loads(json.dumps(table.plan({"kind": "restore", "version": 2}, check_rows=False).document()))
    case = read_case(
        json.dumps(
            {
                "title": "The loss",
                "pins": [
                    {"kind": "commit", "version": 3, "pinned": "2026-11-22T09:00:00Z", "note": "the delete"},
                    {"kind": "diff", "fromVersion": 2, "toVersion": 3},
                    {"kind": "finding", "id": "bulk-loss"},
                    {"kind": "file", "path": "0.parquet", "version": 2},
                    {"kind": "rows", "version": 2, "where": "id = 1", "rows": [{"id": 1}]},
                    {"kind": "plan", "plan": plan},
                ],
            }
        ).encode(),
        "case.json",
    )
    commit, diff, finding, file, rows, planned = _pins(table, *case.pins)
    assert all(pin.holds for pin in (commit, diff, finding, file, rows, planned)), planned
    assert (commit.pinned, commit.note) == ("2026-11-22T09:00:00+00:00", "the delete")
    assert (_facts(commit)["operation"], _facts(commit)["by"], _facts(commit)["rows removed"]) == (
        "DELETE",
        "ben",
        "5,000",
    )
    assert _facts(diff)["files"] == "+0, \u22121"
    assert _facts(finding)["claim"] == "5,000 rows fewer after one commit"
    assert (_facts(file)["size"], _facts(file)["rows in the file"]) == ("500.0 MB", "5,000")
    assert _facts(rows)["row"] == '{"id":1}'
    assert _facts(planned)["made on"] == "v3"


def test_a_property_that_was_not_set_is_said_to_be_so() -> None:
    table = _table()
    for intent in ({"kind": "set-properties", "properties": {"team": "ana"}},
                   {"kind": "unset-properties", "keys": ["team"]}):  # fmt: skip
        table.commit(table.plan(intent))
    pins = _pins(table, DiffPin(from_version=3, to_version=4), DiffPin(from_version=4, to_version=5))
    assert [_facts(pin)["changed"] for pin in pins] == ["team: not set \u2192 ana", "team: ana \u2192 not set"]


def test_pins_that_hold_no_longer_stay_and_say_so() -> None:
    table = _table()
    table.commit(table.plan({"kind": "checkpoint"}))
    table.store.delete_many([table.listing.commits[version].path for version in (0, 1)])
    later = explorer.Table(table.store)
    pins = _pins(
        later,
        CommitPin(version=0),
        CommitPin(version=3, digest="0" * 64),
        DiffPin(from_version=0, to_version=3),
        FindingPin(id="small-files"),
        FilePin(path="0.parquet", version=3),
        RowsPin(version=0, rows=({"id": 7},)),
    )
    assert [pin.holds for pin in pins] == [False] * 6
    problems = [pin.problem or "" for pin in pins]
    assert "not in the log" in problems[0]
    assert "not the one that was pinned" in problems[1]
    assert "does not find it" in problems[3]
    assert "No live file of v3" in problems[4]
    assert _facts(pins[5])["row"] == '{"id":7}'
    assert _facts(pins[1])["operation"] == "DELETE"


def test_a_pin_takes_the_digest_of_its_commit_and_is_refused_where_there_is_none() -> None:
    found = pinned(CommitPin(version=3), Subject(_table(), NOW), ())
    assert isinstance(found, CommitPin)
    (again,) = _pins(_table(), found)
    assert found.digest == _facts(again)["SHA-256 of its file"]
    with pytest.raises(RequestError, match="nothing to pin"):
        pinned(CommitPin(version=9), Subject(_table(), NOW), ())


def test_pins_of_another_table_are_left_out() -> None:
    assert _pins(_table(), CommitPin(version=3, table="elsewhere")) == ()


def test_the_report_of_a_case_begins_with_the_case() -> None:
    table = _table()
    page = render(table.report(NOW, case=CaseFile(title="The loss", author="ana", pins=(CommitPin(version=2),))))
    order = [
        page.index(text) for text in ("Report of a case", "Case: The loss", "commit v2", ">Findings", "Who can read")
    ]
    assert order == sorted(order)
    assert "Report of a case" not in render(table.report(NOW))


def test_toml_is_read_too_and_what_is_no_case_is_refused(tmp_path: Path) -> None:
    text = 'title = "The loss"\n[[pins]]\nkind = "commit"\nversion = 3\npinned = 2026-11-22T09:00:00\n'
    case = read_case(text.encode(), "case.toml")
    assert case == read_case(case.document(), "case.json")
    for wrong in (b"{", b'{"title": "x", "pins": [{"kind": "secret"}]}', b'{"pins": []}', b"\xff"):
        with pytest.raises(RequestError, match="is no case file"):
            read_case(wrong, "case.json")
    with pytest.raises(RequestError, match="is no case file"):
        read_case(b"title = ", "case.toml")
