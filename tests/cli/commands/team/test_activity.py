"""``activity``: the record as lines, as JSON, as CloudEvents, and checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explorer
from explorer.activity.event import Event
from explorer.activity.files import RecordFiles
from explorer.activity.reading import entries
from explorer.activity.record import ActivityRecord
from explorer.core.errors import NotAllowed
from explorer.core.protocol.actions import Metadata
from explorer.core.transaction.intents.records import SetDescription
from explorer.jupyter.one_table import OneTable
from explorer.storage import open_store
from explorer.variables import ACTIVITY_VARIABLE
from tests.cli.conftest import Call
from tests.support.logs.small_logs import PROTOCOL, SCHEMA, add, write


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


def test_older_files_are_archived_and_both_parts_are_checked(cli: Call, record: ActivityRecord, tmp_path: Path) -> None:
    place, head = tmp_path / "archive", cli("activity", tmp_path, "--verify", "--json").document()["head"]
    nothing = cli("activity", tmp_path, "--archive", place, "--json").document()
    assert (nothing["files"], nothing["lastNumber"], nothing["head"]) == ([], None, None)
    done = cli("activity", tmp_path, "--archive", place, "--keep", "0 days", "--json").document()
    assert (done["files"], done["lastNumber"], done["head"]) == (["activity.000001.jsonl"], 2, head)
    rest = cli("activity", tmp_path, "--verify", "--json").document()
    assert (rest["valid"], rest["firstNumber"]) == (True, 3)
    assert f"--expect {head}" in cli("activity", tmp_path, "--verify").err
    kept = cli("activity", place, "--verify", "--expect", head, "--json").document()
    assert (kept["valid"], kept["lines"]) == (True, 2)
    assert [line["event"]["what"] for line in cli("activity", tmp_path, "--json").lines()] == ["archived", "closed"]
    (place / "activity.000001.jsonl").chmod(0o600)
    (place / "activity.000001.jsonl").write_text("")
    assert cli("activity", place, "--verify", "--json").code == 1


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize(
    ("arguments", "field", "said"),
    [
        (["--archive", "a", "--keep", "1 year"], "--keep", "--keep is '1 year', not an interval such as '7 days'"),
        (["--archive", "a", "--keep", "-3 days"], "--keep", "it must not be negative"),
        (["--archive", "a", "--verify"], "--verify", "--verify has no effect with --archive"),
        (["--verify", "--by", "ana"], "--by", "--by has no effect with --verify"),
        (["--expect", "0" * 64], "--expect", "--expect needs --verify"),
        (["--keep", "7 days"], "--keep", "--keep needs --archive"),
        (["--since", "-7 days"], "since", "--since is neither an interval"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    cli: Call, tmp_path: Path, arguments: list[str], field: str, said: str
) -> None:
    refused = cli("activity", tmp_path, *arguments, "--json")
    error = refused.error()
    assert (refused.code, error["field"], said in error["message"]) == (2, field, True), error


def test_an_interval_longer_than_the_calendar_keeps_all(cli: Call, record: ActivityRecord, tmp_path: Path) -> None:
    kept = cli("activity", tmp_path, "--archive", tmp_path / "a", "--keep", "999999999 days", "--json").document()
    assert kept["files"] == []
    assert len(cli("activity", tmp_path, "--since", "999999999 days", "--json").lines()) == 2


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


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    metadata = Metadata(id="6a7c0d36-6c5b-4a35-8a70-0f64e1b5a5a0", schema_string=SCHEMA)
    write(open_store(tmp_path / "orders"), {0: (PROTOCOL, metadata, add("a"))})
    return tmp_path / "orders"


def recorded(place: Path) -> list[Event]:
    return [entry.event for entry in reversed(list(entries(RecordFiles.at(place))))]


@pytest.mark.parametrize(("kind", "what"), [("commit", "set-description"), ("maintenance", "checkpoint")])
def test_a_commit_is_recorded_where_a_record_is_configured(
    cli: Call, orders: Path, monkeypatch: pytest.MonkeyPatch, kind: str, what: str
) -> None:
    tmp_path, words = orders.parent, {"description": "secret words"} if kind == "commit" else {}
    intent = json.dumps({"kind": what, **words})
    monkeypatch.setenv(ACTIVITY_VARIABLE, str(tmp_path / "kept"))
    done = cli("commit", orders, intent, "--reason", "why", "--user", "ada", "--yes", "--json").document()
    begun, ended = recorded(tmp_path / "kept")
    assert [(event.kind, event.what, event.person) for event in (begun, ended)] == 2 * [(kind, what, "ada")]
    assert begun.digest == ended.digest
    assert kind == "maintenance" or begun.digest == done["planDigest"]
    assert (begun.outcome, ended.outcome, ended.refers_to, ended.version) == ("begun", "committed", 1, done["version"])
    assert ended.table == explorer.open_table(orders).location
    assert "secret words" not in RecordFiles.at(tmp_path / "kept").current.read_text()


def test_an_undo_and_a_new_table_are_recorded_and_a_refused_plan_is_not(
    cli: Call, orders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ACTIVITY_VARIABLE, str(tmp_path / "kept"))
    described = '{"kind": "set-description", "description": "x"}'
    assert cli("commit", orders, described, "--reason", "why", "--yes").code == 0
    assert cli("undo", orders, "--commit", "--reason", "why", "--yes").code == 0
    schema = '{"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": true, "metadata": {}}]}'
    create = f'{{"kind": "create-table", "schema": {schema}}}'
    assert cli("commit", tmp_path / "new", create, "--reason", "why", "--yes").code == 0
    unknown = '{"kind": "drop-constraint", "name": "none"}'
    assert cli("commit", orders, unknown, "--reason", "why", "--yes").code != 0
    told = [(event.what, event.outcome) for event in recorded(tmp_path / "kept")]
    assert [what for what, outcome in told if outcome == "committed"][-1] == "create-table"
    assert len(told) == 6


def test_nothing_is_committed_while_the_configured_record_cannot_be_written(
    cli: Call, orders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept.jsonl" / "activity.jsonl").mkdir(parents=True)
    monkeypatch.setenv(ACTIVITY_VARIABLE, str(tmp_path / "kept.jsonl"))
    described = '{"kind": "set-description", "description": "x"}'
    result = cli("commit", orders, described, "--reason", "why", "--yes", "--json")
    assert result.error()["reason"] == "activity"
    assert explorer.open_table(orders).latest_version() == 0
    monkeypatch.setenv(ACTIVITY_VARIABLE, "off")
    assert cli("commit", orders, described, "--reason", "why", "--yes").code == 0


def test_a_notebook_and_a_program_are_recorded_and_a_read_only_table_is_not(
    orders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ACTIVITY_VARIABLE, str(tmp_path / "kept"))
    table = explorer.open_table(orders)
    desk_table = OneTable(table, allow_commits=True).open("")
    plan = desk_table.plan(SetDescription(description="x"), user="eva")
    assert desk_table.commit(plan, user="eva").outcome == "committed"
    assert [event.person for event in recorded(tmp_path / "kept")] == ["eva", "eva"]
    closed = explorer.open_table(orders, read_only=True)
    with pytest.raises(NotAllowed):
        closed.commit(table.plan(SetDescription(description="y")))
    assert len(recorded(tmp_path / "kept")) == 2
