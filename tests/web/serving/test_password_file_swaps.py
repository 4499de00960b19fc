"""A password file that another user puts in place of the right one, or that is no file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from explorer.core.errors import RequestError
from explorer.web.serving.people.access import LoginSessions
from explorer.web.serving.people.password_file import PasswordFile, write_user

_OTHER_USER = 12_345


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_user(tmp_path / "users.json", "ana", "secret")
    return tmp_path / "users.json"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_refused_and_changes_nothing(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    people = PasswordFile(file)
    file.unlink()
    write_user(file, "mallory", "known")
    os.chown(file, _OTHER_USER, _OTHER_USER)
    with pytest.raises(RequestError, match=f"belongs to another user.*Run: chown {os.geteuid()} {file}"):
        PasswordFile(file)
    assert people.verified("mallory", "known") is None
    assert people.verified("ana", "secret") is not None
    assert "belongs to another user" in caplog.text


def test_a_file_that_is_swapped_while_it_is_read_is_judged_by_its_own_mode(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = file.with_name("right.json")
    file.rename(right)
    write_user(file, "mallory", "known")
    file.chmod(0o666)
    parsed = json.loads

    def then_swapped(text: str | bytes) -> object:
        if right.exists():
            right.replace(file)
        return parsed(text)

    monkeypatch.setattr(json, "loads", then_swapped)
    with pytest.raises(RequestError, match="its mode is 666"):
        PasswordFile(file)
    assert PasswordFile(file).hash_of("mallory") is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_file_keeps_the_last_good_state_and_nothing_waits(
    file: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    people = PasswordFile(file)
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file, 0o600)
    elif kind == "folder":
        file.mkdir(0o700)
    else:
        file.symlink_to("/dev/zero")
    assert people.hash_of("ana") is not None
    with pytest.raises(RequestError, match="not a file, but a folder, a pipe, or a device"):
        PasswordFile(file)
    assert "The users stay as they were." in caplog.text


def test_a_person_who_signs_in_again_and_again_ends_nobody_elses_session() -> None:
    sessions = LoginSessions()
    of_ana = sessions.begin("ana", "seal")
    first, *_, last = [sessions.begin("ben", "seal") for _ in range(10_050)]
    assert sessions.find(of_ana) is not None
    assert sessions.find(first) is None
    assert sessions.find(last) is not None
