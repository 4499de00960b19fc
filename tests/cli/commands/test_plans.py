"""``plan`` and ``commit``: what they print, what they ask, and how they end."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import explorer
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.storage import open_store
from explorer.views.act.plan_view import commit_command
from tests.cli.conftest import Call
from tests.support.logs.small_logs import SCHEMA, add, write
from tests.support.shared_tables import REPOSITORY

PROTOCOL = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("domainMetadata",))
DESCRIBE = '{"kind": "set-description", "description": "Orders of the shop"}'
LOWER = '{"kind": "set-transaction", "appId": "loader", "version": 0}'


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    folder = tmp_path / "orders"
    metadata = Metadata(id="6a7c0d36-6c5b-4a35-8a70-0f64e1b5a5a0", schema_string=SCHEMA)
    taken = b'{"txn":{"appId":"loader","version":7}}'
    write(open_store(folder), {0: (PROTOCOL, metadata, add("a")), 1: (taken,)})
    return folder


def version(folder: Path) -> int:
    return explorer.open_table(folder).latest_version()


@pytest.mark.parametrize(
    "intent",
    [DESCRIBE, '{"kind": "set-properties", "properties": {"it\'s": "\\"$HOME\\" `x`"}}', '{"kind": "checkpoint"}'],
)
def test_the_command_that_a_page_offers_runs_as_it_is(intent: str, cli: Call, orders: Path) -> None:
    table = explorer.open_table(orders)
    program, *words = shlex.split(commit_command(table.location, table.plan(intent)))
    assert program == "delta-explorer"
    result = cli(*words, "--yes")
    assert (result.code, "Error" in result.err) == (0, False)


def test_a_plan_is_one_document_and_changes_nothing(cli: Call, orders: Path) -> None:
    document = cli("plan", orders, DESCRIBE, "--user", "Ada", "--json").document()
    assert list(document) == [
        "table",
        "readVersion",
        "commitVersion",
        "intent",
        "guards",
        "actions",
        "files",
        "consequences",
        "committable",
        "planDigest",
    ]
    assert document["table"] == orders.as_uri()
    assert (document["readVersion"], document["commitVersion"], document["committable"]) == (1, 2, True)
    assert document["intent"] == json.loads(DESCRIBE)
    assert {guard["status"] for guard in document["guards"]} == {"pass"}
    assert [next(iter(action)) for action in document["actions"]] == ["commitInfo", "metaData"]
    assert document["actions"][0]["commitInfo"]["userName"] == "Ada"
    assert set(document["consequences"]) == {"readers", "writers", "timeTravel", "changeFeed", "undo"}
    assert document["planDigest"] == cli("plan", orders, DESCRIBE, "--user", "Ada", "--json").document()["planDigest"]
    assert version(orders) == 1


def test_a_commit_carries_its_reason_and_its_user(cli: Call, orders: Path) -> None:
    document = cli("commit", orders, DESCRIBE, "--reason", "Ask\n#7", "--user", "Ada", "--yes", "--json").document()
    assert (document["outcome"], document["version"], document["conflict"], document["notes"]) == (
        "committed",
        2,
        None,
        [],
    )
    (newest,) = explorer.open_table(orders).history(1).to_pylist()
    assert (newest["operation"], newest["user_name"], newest["reason"]) == ("SET TBLPROPERTIES", "Ada", "Ask\n#7")
    assert explorer.open_table(orders).snapshot().metadata.description == "Orders of the shop"


def test_the_intent_may_stand_in_a_file_or_come_on_standard_input(
    cli: Call, orders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "intent.json"
    file.write_text(DESCRIBE)
    assert cli("plan", orders, f"@{file}", "--json").document()["intent"] == json.loads(DESCRIBE)
    monkeypatch.setattr("sys.stdin", io.StringIO(DESCRIBE))
    assert cli("plan", orders, "-", "--json").document()["intent"] == json.loads(DESCRIBE)
    missing = cli("plan", orders, f"@{tmp_path / 'nothing'}", "--json").error()
    assert missing["error"] == "RequestError"
    assert missing["message"] == f"{tmp_path / 'nothing'} cannot be read: No such file or directory."


def test_a_failed_guard_ends_with_5_and_the_document_says_why(cli: Call, orders: Path) -> None:
    for arguments in (("plan", orders, LOWER), ("commit", orders, LOWER, "--reason", "r", "--yes")):
        result = cli(*arguments, "--json")
        assert result.code == 5
        document, error = json.loads(result.out), json.loads(result.err)
        assert document["committable"] is False
        assert document.get("outcome") in {None, "rejected"}
        assert error["error"] == "GuardFailed"
        assert [guard["name"] for guard in error["results"]] == ["transaction-rises"]
        assert error["results"][0]["remedy"]
    assert version(orders) == 1


def test_the_guard_that_failed_is_the_first_that_is_printed(cli: Call, orders: Path) -> None:
    printed = cli("plan", orders, '{"kind": "set-column-mapping", "mode": "id"}').out
    statuses = [word for word in printed.split() if word in {"fail", "warn", "pass"}]
    assert statuses[:2] == ["fail", "warn"]
    assert set(statuses[2:]) == {"pass"}


@pytest.mark.parametrize(
    "intent",
    [
        "",
        "describe it",
        "[]",
        '{"kind": "set-descriptions", "description": "x"}',
        '{"kind": "set-description"}',
        '{"kind": "set-description", "description": 7}',
        '{"kind": "set-description", "description": "x", "colour": "red"}',
        '{"kind": "remove-domain", "domain": "nobody"}',
    ],
)
def test_a_bad_intent_is_a_bad_request(intent: str, cli: Call, orders: Path) -> None:
    for arguments in (("plan", orders, intent), ("commit", orders, intent, "--reason", "r", "--yes")):
        result = cli(*arguments, "--json")
        assert (result.code, result.error()["error"]) == (2, "InvalidIntent")
    assert version(orders) == 1


def test_a_commit_wants_a_reason(cli: Call, orders: Path) -> None:
    assert cli("commit", orders, DESCRIBE, "--yes", "--json").error()["error"] == "UsageError"
    assert cli("commit", orders, DESCRIBE, "--reason", " ", "--yes", "--json").error()["error"] == "RequestError"
    assert version(orders) == 1


def test_without_yes_the_name_of_the_table_is_asked_for(
    cli: Call, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for typed in ("", "yes\n", "order\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        result = cli("commit", orders, DESCRIBE, "--reason", "r", "--json")
        assert (result.code, result.error()["error"]) == (130, "Cancelled")
    assert version(orders) == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("orders\n"))
    assert cli("commit", orders, DESCRIBE, "--reason", "r", "--json").document()["outcome"] == "committed"
    assert version(orders) == 2


def test_a_guard_to_accept_must_be_one_of_the_plan(cli: Call, orders: Path) -> None:
    result = cli("plan", orders, DESCRIBE, "--accept", "everything", "--json")
    assert result.code == 2
    assert "committer" in result.error()["message"]


def test_people_see_guards_actions_consequences_and_the_receipt(cli: Call, orders: Path) -> None:
    seen = cli("plan", orders, DESCRIBE)
    assert (seen.code, seen.err) == (0, "")
    for part in ("protocol-allows-writer", "commitInfo", "metaData", "Consequences", "undo", "digest"):
        assert part in seen.out
    receipt = cli("commit", orders, DESCRIBE, "--reason", "r", "--yes")
    assert (receipt.code, receipt.err) == (0, "Committed version 2.\n")
    refused = cli("plan", orders, LOWER)
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert refused.err.startswith("Error: This change must not be committed: transaction-rises (fail)")


def test_text_of_an_intent_stays_text(cli: Call, orders: Path) -> None:
    evil = "[red]x[/red]\x1b[31m\r\nError: forged"
    for name, intent in (
        ("description", {"kind": "set-description", "description": evil}),
        ("domain", {"kind": "set-domain", "domain": evil, "configuration": evil}),
    ):
        result = cli("commit", orders, json.dumps(intent), "--reason", evil, "--user", evil, "--yes")
        assert result.code == 0
        assert "\x1b" not in result.out + result.err
        assert "\nError: forged" not in result.out + result.err
        assert "[red]x[/red]" in result.out, name
    snapshot = explorer.open_table(orders).snapshot()
    assert (snapshot.metadata.description, snapshot.domain_metadata) == (evil, {evil: evil})


def test_a_table_is_made_where_none_is(cli: Call, tmp_path: Path) -> None:
    place = tmp_path / "new" / "orders"
    intent = json.dumps({"kind": "create-table", "schema": json.loads(SCHEMA), "properties": {"shop.team": "north"}})
    assert cli("plan", place, DESCRIBE, "--json").error()["error"] == "TableNotFound"
    planned = cli("plan", place, intent, "--json").document()
    assert (planned["readVersion"], planned["commitVersion"], planned["committable"]) == (-1, 0, True)
    assert not place.exists()
    made = cli("commit", place, intent, "--reason", "First.", "--yes", "--json").document()
    assert (made["outcome"], made["version"], made["notes"]) == ("committed", 0, [])
    assert explorer.open_table(place).snapshot().properties["shop.team"] == "north"
    again = cli("commit", place, intent, "--reason", "Again.", "--yes", "--json")
    assert (again.code, again.error()["error"]) == (2, "InvalidIntent")


def test_files_to_be_deleted_are_listed_with_the_reason_and_deleted_once_confirmed(cli: Call, orders: Path) -> None:
    for name in ("a", "left", "behind"):
        (orders / name).write_bytes(b"PAR1")
        os.utime(orders / name, (1e9, 1e9))
    shown = cli("plan", orders, '{"kind": "vacuum"}')
    assert shown.code == 0
    assert "no action of the log names it" in shown.out
    assert "can no longer be read" not in shown.out
    document = cli("plan", orders, '{"kind": "vacuum"}', "--json").document()
    assert [(file["path"], file["change"], file["size"]) for file in document["files"]] == [
        ("behind", "delete", 4),
        ("left", "delete", 4),
    ]
    assert (document["commitVersion"], document["actions"]) == (None, [])
    assert cli("commit", orders, '{"kind": "vacuum"}', "--reason", "room", "--yes").code == 0
    assert sorted(path.name for path in orders.iterdir()) == ["_delta_log", "a"]
    short = cli("plan", orders, '{"kind": "vacuum", "olderThan": "interval 1 hour"}', "--json")
    assert short.code == 5


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("command", ["commit", "undo"])
@pytest.mark.parametrize(("event", "committed"), [("os.link", False), ("os.remove", True)])
def test_an_interrupt_while_committing_says_that_the_commit_may_be_there(
    orders: Path, event: str, committed: bool, command: str
) -> None:
    """The interrupt comes at the moment at which the file gets its name, or right after it."""
    if command == "undo":
        opened = explorer.open_table(orders)
        opened.commit(opened.plan({"kind": "set-description", "description": "old"}), reason="x")
    before = explorer.open_table(orders).latest_version()
    program = f"""
import sys
from explorer.cli import main

linked = False

def interrupt(event, arguments):
    global linked
    linked = linked or event == "os.link"
    if linked and event == "{event}":
        raise KeyboardInterrupt

sys.addaudithook(interrupt)
main()
"""
    change = ['{"kind":"set-description","description":"new"}'] if command == "commit" else ["--commit"]
    arguments = [command, str(orders), *change, "--reason", "x", "--yes", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, cwd=REPOSITORY
    )
    error = json.loads(done.stderr)
    assert (done.returncode, error["error"]) == (130, "Cancelled")
    table = explorer.open_table(orders)
    assert table.latest_version() == before + committed
    assert error["found"] in error["message"]
    if committed:
        assert error["found"].encode() in table.commit_actions(before + 1)[0]
