"""``passwd``: hashes in a file that its owner alone may read."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.web.serving.people.password_file import PasswordFile
from tests.cli.conftest import Call
from tests.support.shared_tables import REPOSITORY

COMMAND = [sys.executable, "-c", "from explorer.cli import main; main()", "passwd"]


def test_a_password_is_read_from_standard_input_and_kept_as_a_hash(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "users.json"
    for name, password in (("ana", "p\u00e4ss word\n"), ("ben", "other\r\n"), ("ana", "new")):
        monkeypatch.setattr("sys.stdin", io.StringIO(password))
        result = cli("passwd", file, name, "--json")
        assert result.document() == {"file": str(file), "name": name, "removed": False}
    people = PasswordFile(file)
    assert people.verified("ana", "new") is not None
    assert people.verified("ben", "other") is not None
    assert people.verified("ana", "p\u00e4ss word") is None
    assert file.stat().st_mode & 0o777 == 0o600
    assert cli("passwd", file, "ana", "--remove", "--json").document()["removed"] is True
    assert set(json.loads(file.read_text())) == {"ben"}


@pytest.mark.parametrize(("name", "password"), [("ana", ""), ("", "x"), (" ana", "x"), ("ana", "x" * 1001)])
def test_what_cannot_be_used_is_refused_and_changes_nothing(
    cli: Call, tmp_path: Path, name: str, password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(password))
    result = cli("passwd", tmp_path / "users.json", name, "--json")
    assert (result.code, result.error()["error"]) == (2, "RequestError")
    assert list(tmp_path.iterdir()) == []


def test_someone_who_is_not_in_the_file_cannot_be_removed(cli: Call, tmp_path: Path) -> None:
    (tmp_path / "users.json").write_text("{}")
    result = cli("passwd", tmp_path / "users.json", "ana", "--remove", "--json")
    assert (result.code, result.error()["field"]) == (2, "name")


def test_at_a_terminal_it_is_asked_for_twice_without_an_echo(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    file = tmp_path / "users.json"
    with subprocess.Popen(
        [*COMMAND, str(file), "ana"], cwd=REPOSITORY, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        for prompt in (b"Password: ", b"The same again: "):
            while not shown.endswith(prompt):
                shown += os.read(ours, 1000)
            os.write(ours, b"secret\n")
        while b"Saved" not in shown:
            shown += os.read(ours, 1000)
        assert process.wait(60) == 0
    os.close(ours)
    assert b"secret" not in shown
    assert PasswordFile(file).verified("ana", "secret") is not None
