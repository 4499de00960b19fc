"""Approvals on the command line: asked for by one user of the system, and decided by another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.shared_tables import REPOSITORY

INTENT = '{"kind": "set-description", "description": "of the shop"}'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    small_logs.write_log(tmp_path / "lake" / "orders", [created, [small_logs.add("1.parquet", 3)]])
    configured(tmp_path)
    return tmp_path


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that other users of the system can open, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def configured(place: Path, rules: str = '[[two_people]]\ntables = ["lake"]', more: str = "") -> Path:
    path = place / "explorer.toml"
    path.write_text(
        f'{more}\n[[roots]]\nplace = "lake"\n{rules}\n[serve]\nactivity = "state/record"\n'
        'public_url = ["https://example.org/lake/"]\n[approvals]\nfolder = "state/requests"\n'
    )
    return path


def versions(place: Path) -> int:
    return len(list((place / "lake/orders/_delta_log").glob("*.json")))


def arguments(place: Path, *texts: str) -> list[str]:
    return [*texts, "--config", str(place / "explorer.toml"), "--json"]


def as_user(number: int, place: Path, *texts: str) -> dict[str, Any]:
    """Call the command as another user of the system, who may not be able to load Python: that is done before."""
    before = [arguments(place, "approvals"), arguments(place, "plan", str(place / "lake/orders"), INTENT)]
    program = (
        "import os, sys, explorer.approvals.notices, explorer.cli.notice_desk; from explorer.cli.app import run; "
        f"[run(each) for each in {before!r}]; "
        f"os.setgid(0); os.setuid({number}); sys.exit(run(sys.argv[1:]))"
    )
    names = {"LOGNAME": "ben", "USER": "ben", "SUDO_USER": "ben"}
    environment = os.environ | names | {"HOME": "/", "DELTA_EXPLORER_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", program, *texts],
        capture_output=True, check=False, cwd=REPOSITORY, env=environment, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads((done.stderr if done.returncode else done.stdout).splitlines()[-1])
    return found | {"exit": done.returncode, "said": done.stderr}


def test_a_commit_that_needs_a_second_person_is_refused_and_says_how_to_ask(cli: Call, place: Path) -> None:
    table = str(place / "lake" / "orders")
    error = cli(*arguments(place, "commit", table, INTENT, "--reason", "why", "--yes")).error()
    assert error["error"] == "NotAllowed"
    assert "delta-explorer plan --ask" in error["message"]
    undo = cli(*arguments(place, "undo", table, "--commit", "--reason", "why", "--yes"))
    assert undo.code == 2
    assert versions(place) == 2


def test_the_user_who_asked_cannot_approve_under_another_name(
    cli: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = str(place / "lake" / "orders")
    asked = cli(*arguments(place, "plan", table, INTENT, "--ask", "as agreed")).document()
    assert (asked["number"], asked["state"], asked["table"], asked["reason"]) == (
        1,
        "asked",
        "lake/orders",
        "as agreed",
    )
    assert asked["address"] == "https://example.org/lake/?t=lake/orders&tab=act&step=request&request=1"
    for name in at_least_one(["LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER"]):
        monkeypatch.setenv(name, "ben")
    error = cli(*arguments(place, "approve", "1")).error()
    assert error["message"].startswith("You asked for this change")
    assert cli(*arguments(place, "decline", "1", "--note", "no")).error()["error"] == "NotAllowed"
    (line,) = cli(*arguments(place, "approvals", "--all")).lines()
    assert line["state"] == "asked"
    assert cli(*arguments(place, "withdraw", "1")).document()["state"] == "withdrawn"
    assert cli(*arguments(place, "approvals")).lines() == []
    assert versions(place) == 2


def _for_two_users(place: Path) -> None:
    """A table, and requests that the users of a group share."""
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    small_logs.write_log(place / "lake" / "orders", [created, [small_logs.add("1.parquet", 3)]])
    configured(place)
    for folder in at_least_one(["state", "state/record", "state/requests"]):
        (place / folder).mkdir()
        (place / folder).chmod(0o2770)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can run a command as another user")
def test_who_may_not_read_the_notices_nor_their_secrets_approves_all_the_same(cli: Call, shared: Path) -> None:
    place = shared
    _for_two_users(place)
    with (place / "explorer.toml").open("a") as file:
        file.write('[notices]\nfolder = "notices"\n')
        file.write('[[webhooks]]\nurl = "https://hooks.invalid/x"\nsecret_file = "key"\n')
    (place / "key").write_text(f"whsec_{b64encode(bytes(24)).decode()}")
    (place / "key").chmod(0o600)
    table = str(place / "lake" / "orders")
    assert cli(*arguments(place, "plan", table, INTENT, "--ask", "as agreed")).document()["state"] == "asked"
    (notice,) = cli(*arguments(place, "notices")).lines()
    assert notice["notice"]["kind"] == "approval"
    approved = as_user(4321, place, *arguments(place, "approve", "1", "--note", "fine"))
    assert (approved.get("state"), approved["exit"]) == ("approved", 0), approved
    assert "The notices in" in approved["said"]
    assert cli(*arguments(place, "notices")).lines() == [], "whoever may write them closes it"
    (over,) = cli(*arguments(place, "notices", "--all")).lines()
    assert (over["state"], over["notice"]["text"]) == ("resolved", "Now approved by user 4321.")
    record = str(place / "state" / "record")
    archive = ["activity", record, "--archive", str(place / "archive"), "--keep", "0 days"]
    assert cli(*arguments(place, *archive)).document()["files"] == [], "the open request rests on these lines"
    result = cli(*arguments(place, "commit", table, INTENT, "--reason", "x", "--yes")).document()
    assert result["outcome"] == "committed"
    assert cli(*arguments(place, *archive)).document()["files"] == ["activity.000001.jsonl"]
    assert cli(*arguments(place, "activity", record, "--verify")).document()["valid"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can run a command as another user")
def test_another_user_approves_and_the_maker_commits(cli: Call, shared: Path) -> None:
    place = shared
    _for_two_users(place)
    table = str(place / "lake" / "orders")
    assert cli(*arguments(place, "plan", table, INTENT, "--ask", "as agreed")).document()["state"] == "asked"
    approved = as_user(4321, place, *arguments(place, "approve", "1", "--note", "fine"))
    assert (approved.get("state"), approved["exit"]) == ("approved", 0), approved
    assert approved["approvedBy"] == "user 4321", "by the number that the system gives, not by a variable"
    result = cli(*arguments(place, "commit", table, INTENT, "--reason", "another", "--yes")).document()
    assert result["outcome"] == "committed"
    tags = result["actions"][0]["commitInfo"]["tags"]
    assert tags["deltaTableExplorer.approvedBy"] == "user 4321"
    assert result["actions"][0]["commitInfo"]["userMetadata"] == "as agreed"
    (line,) = cli(*arguments(place, "approvals", table, "--all")).lines()
    assert (line["state"], line["version"]) == ("committed", 2)


def test_without_rules_nothing_changes_and_ask_says_what_is_missing(cli: Call, place: Path) -> None:
    configured(place, rules="")
    table = str(place / "lake" / "orders")
    assert "two_people" in cli(*arguments(place, "plan", table, INTENT, "--ask", "x")).error()["message"]
    assert "two_people" in cli(*arguments(place, "approvals")).error()["message"]
    assert cli(*arguments(place, "commit", table, INTENT, "--reason", "x", "--yes")).document()["version"] == 2


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ('[[two_people]]\nkinds = ["vacum"]', "Did you mean vacuum?"),
        ('[[two_people]]\ntables = ["lakes"]', "Did you mean lake?"),
        ('[[two_people]]\ntables = ["lake/order"]', "Did you mean lake/orders?"),
        ('[[two_people]]\ncommits = "itselve"', "Did you mean itself?"),
        ('[[two_people]]\ntable = ["lake"]', "Did you mean tables?"),
    ],
)
def test_a_typo_in_a_rule_stops_every_commit_and_is_found_by_the_check(
    cli: Call, place: Path, rules: str, said: str
) -> None:
    configured(place, rules)
    table = str(place / "lake" / "orders")
    for command in at_least_one([["commit", table, INTENT, "--reason", "x", "--yes"], ["config", "check"]]):
        assert said in cli(*arguments(place, *command)).error()["message"], command
    assert versions(place) == 2


def test_rules_need_the_record(cli: Call, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = configured(place)
    path.write_text(path.read_text().replace("state/record", "off"))
    table = str(place / "lake" / "orders")
    error = cli(*arguments(place, "commit", table, INTENT, "--reason", "x", "--yes")).error()
    assert "needs the activity record" in error["message"]
    assert versions(place) == 2
