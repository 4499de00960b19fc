"""Signing in and out, and the one-time token."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.core.errors import RequestError
from explorer.web.serving.people.password_file import PasswordFile, remove_user, write_user
from tests.support.own_loop import run_apart
from tests.support.pages.raw_pages import Answer, Pages, Talk, served_here

ORDERS = "/?t=w/orders"


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("people") / "users.json"
    for name in ("ana", "ben", "dan", "eve"):
        write_user(file, name, f"secret-of-{name}")
    return file


@pytest.fixture(scope="module")
def guarded(tables: Path, users: Path) -> Iterator[Pages]:
    with served_here(tables, allow_commits=True, basic_auth=users) as pages:
        yield pages


def test_nothing_is_shown_before_the_login_and_the_way_goes_on_to_what_was_asked_for(guarded: Pages) -> None:
    answer = guarded.ask(f"{ORDERS}&tab=files")
    assert (answer.status, answer.headers["location"]) == (303, "/login?next=%3Ft%3Dw%2Forders%26tab%3Dfiles")
    shown = guarded.ask(answer.headers["location"])
    assert "w/orders" in shown.text
    assert "<table" not in shown.text
    body = "name=ana&password=secret-of-ana&next=%3Ft%3Dw%2Forders%26tab%3Dfiles"
    signed_in = guarded.ask("/login", "POST", body, Origin=guarded.origin)
    assert (signed_in.status, signed_in.headers["location"]) == (303, "/?t=w/orders&tab=files")
    assert set(signed_in.headers["set-cookie"].split("; ")[1:]) == {"HttpOnly", "Path=/", "SameSite=Strict"}
    assert guarded.ask(ORDERS, Cookie=signed_in.cookie).status == 200


@pytest.mark.parametrize(
    "next_",
    [
        "https://evil.example/",
        "//evil.example/?t=w",
        "javascript:alert(1)",
        "\\\\evil.example?x",
        "?%0d%0aX:1",
        "//[",
        "?\u00e9",
    ],
)
def test_the_way_on_never_leads_elsewhere(guarded: Pages, next_: str) -> None:
    from urllib.parse import quote

    body = f"name=ana&password=secret-of-ana&next={quote(next_)}"
    location = guarded.ask("/login", "POST", body, Origin=guarded.origin).headers["location"]
    assert location == "/" or location.startswith("/?")
    assert "\n" not in location


def test_a_login_needs_a_right_origin(guarded: Pages) -> None:
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        answer = guarded.ask("/login", "POST", "name=ana&password=secret-of-ana", **headers)
        assert (answer.status, "set-cookie" in answer.headers) == (403, False)
    for path in ("/login", "/logout"):
        assert guarded.ask(f"{path}?name=ana&password=secret-of-ana").headers.get("set-cookie") is None


def test_guesses_are_slowed_down_and_in_the_log_without_the_password(
    tables: Path, users: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def attempt(name: str, password: str) -> Answer:
        return guessed.ask("/login", "POST", f"name={name}&password={password}", Origin=guessed.origin)

    with served_here(tables, basic_auth=users) as guessed, caplog.at_level(logging.WARNING):
        statuses: list[int] = []
        # The delay doubles, so that it is longer than an attempt soon, however slow this machine is.
        while 429 not in statuses and len(statuses) < 12:
            statuses.append(attempt("eve", f"guess-{len(statuses)}").status)
        right = attempt("eve", "secret-of-eve")
    assert statuses[:3] == [403] * 3
    assert statuses[-1] == 429
    assert (right.status, "Try again in" in right.text) == (429, True)
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "A login failed: name eve, address 127.0.0.1" in said
    assert "guess" not in said


def test_signing_out_ends_the_session_on_the_server_and_its_open_pages(guarded: Pages) -> None:
    cookie = guarded.ask("/login", "POST", "name=ben&password=secret-of-ben", Origin=guarded.origin).cookie

    async def talk() -> int | None:
        opened = await Talk.begin(guarded, guarded.ask(ORDERS, Cookie=cookie).token, Cookie=cookie)
        assert guarded.ask("/logout", Cookie=cookie).status == 200
        assert guarded.ask("/logout", "POST", "", Cookie=cookie, Origin=guarded.origin).status == 303
        code = await opened.close_code()
        await opened.close()
        return code

    assert run_apart(talk()) == 4401
    assert guarded.ask(ORDERS, Cookie=cookie).status == 303


def test_someone_who_is_removed_or_has_another_password_is_out_at_the_next_message(guarded: Pages, users: Path) -> None:
    async def talk(cookie: str) -> int | None:
        opened = await Talk.begin(guarded, guarded.ask(ORDERS, Cookie=cookie).token, Cookie=cookie)
        await opened.model("ReactiveESM")
        write_user(users, "dan", "another")
        await opened.ask("hello", query="?t=w/orders")
        code = await opened.close_code()
        await opened.close()
        return code

    cookie = guarded.ask("/login", "POST", "name=dan&password=secret-of-dan", Origin=guarded.origin).cookie
    assert run_apart(talk(cookie)) == 4401
    again = guarded.ask("/login", "POST", "name=dan&password=another", Origin=guarded.origin).cookie
    assert guarded.ask(ORDERS, Cookie=again).status == 200
    remove_user(users, "dan")
    assert guarded.ask(ORDERS, Cookie=again).status == 303


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("damage", ["gone", "broken", "open to others", "plain text", "empty"])
def test_a_damaged_file_keeps_the_last_good_state_and_is_in_the_log(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "users.json"
    write_user(file, "ana", "secret")
    people = PasswordFile(file)
    if damage == "gone":
        file.unlink()
    elif damage == "open to others":
        file.chmod(0o644)
    else:
        file.write_text({"broken": '{"ana"', "plain text": '{"ana": "secret", "eve": "x"}', "empty": ""}[damage])
    assert people.verified("ana", "secret") is not None
    # The path of a file that is gone was everybody's password.
    for name, password in (("ana", str(file)), ("", str(file)), ("eve", "x"), (str(file), str(file))):
        assert people.verified(name, password) is None
    assert len([record for record in caplog.records if "The users stay as they were." in record.getMessage()]) == 1
    write_user(file, "ana", "new") if damage in {"gone", "open to others"} else file.unlink() or write_user(
        file, "ana", "new"
    )
    assert people.verified("ana", "new") is not None


def test_the_file_holds_hashes_and_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "users.json"
    write_user(file, "ana", "secret")
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["ana"].startswith("$argon2id$")
    file.chmod(0o640)
    with pytest.raises(RequestError, match=f"chmod 600 {file}"):
        PasswordFile(file)
    file.write_text('{"ana": "secret"}')
    file.chmod(0o600)
    with pytest.raises(RequestError, match=f"not hashed. Run: delta-explorer passwd {file} ana"):
        PasswordFile(file)
    write_user(file, "ana", "secret")
    assert PasswordFile(file).verified("ana", "secret") is not None


@pytest.mark.parametrize("name", ["", " ana", "a\nb", "a" * 201, "\u202ea"])
def test_a_name_that_hides_something_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError):
        write_user(tmp_path / "users.json", name, "secret")


def test_the_token_opens_one_browser_once_and_another_one_is_told(committing: Pages) -> None:
    token = committing.access_token
    assert "Open the address that the server printed last" in committing.ask(ORDERS).text
    first = committing.ask(f"/?token={token}&t=w/orders")
    assert (first.status, first.headers["location"]) == (303, "/?t=w%2Forders")
    assert set(first.headers["set-cookie"].split("; ")[1:]) == {"HttpOnly", "Path=/", "SameSite=Strict"}
    assert committing.ask(ORDERS, Cookie=first.cookie).status == 200
    assert committing.access_token != token
    second = committing.ask(f"/?token={token}")
    assert (second.status, "set-cookie" in second.headers) == (403, False)
    for wrong in ("", "x", token[:-1], "%FF", committing.access_token + "x"):
        assert committing.ask(f"/?token={wrong}").status in {400, 403}
    # Whoever is in already may open the address again.
    assert committing.ask(f"/?token={token}", Cookie=first.cookie).status == 303


def test_without_the_cookie_nothing_answers_and_the_page_leads_back_to_itself(committing: Pages) -> None:
    answer = committing.ask("/?t=w/orders&q=%3Cb%3E%22", Sec_Fetch_Site="cross-site")
    assert answer.status == 403
    assert 'href="/?t=w/orders&amp;q=%3Cb%3E%22">Open this page again</a>' in answer.text
    assert "w/orders</" not in answer.text


def test_where_only_reading_is_allowed_the_plain_address_opens(reading: Pages) -> None:
    assert reading.urls == [f"{reading.origin}/"]
    assert (reading.ask().status, "set-cookie" in reading.ask().headers) == (200, False)
