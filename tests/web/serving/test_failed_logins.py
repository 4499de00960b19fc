"""Delays after failed logins: they cannot be evaded, and they do not lock others out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from explorer.core.errors import RequestError
from explorer.web import serve
from explorer.web.serving.people.access import KnownBrowsers
from explorer.web.serving.people.failed_logins import FailedLogins, LoginAttempt
from explorer.web.serving.people.password_file import PasswordFile, write_user
from tests.support.pages.raw_pages import Answer, Pages, served_here

PUBLIC = "https://example.org/"


class Clock:
    """Time that passes when it is waited for."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def failures(clock: Clock) -> FailedLogins:
    return FailedLogins(clock)


def guess(failures: FailedLogins, clock: Clock, attempt: LoginAttempt) -> float:
    """Wait as long as it takes, and fail; return the wait."""
    wait = failures.wait(attempt)
    clock.now += wait
    assert failures.wait(attempt) == 0
    failures.count(attempt)
    return wait


def test_the_delay_of_a_client_grows_and_ends(failures: FailedLogins, clock: Clock) -> None:
    attempt = LoginAttempt("ana", "192.0.2.1")
    waits = [guess(failures, clock, attempt) for _ in range(14)]
    assert waits == [0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    clock.now += 300
    assert failures.wait(attempt) == 0
    failures.forget(attempt)
    assert failures.wait(attempt) == 0
    assert guess(failures, clock, attempt) == 0


def test_other_names_do_not_help_a_client(failures: FailedLogins, clock: Clock) -> None:
    waits = [guess(failures, clock, LoginAttempt(f"name-{number}", "192.0.2.1")) for number in range(8)]
    assert waits == [0, 0, 0, 1, 2, 4, 8, 16]


def test_a_login_of_ones_own_does_not_erase_the_guesses_at_another_name(failures: FailedLogins, clock: Clock) -> None:
    waits = []
    for _ in range(8):
        waits.append(guess(failures, clock, LoginAttempt("ana", "192.0.2.1")))
        mine = LoginAttempt("eve", "192.0.2.1")
        clock.now += failures.wait(mine)
        failures.count(mine)
        failures.forget(mine)
    assert max(waits) >= 8


def test_one_client_that_guesses_without_end_does_not_lock_the_person_out(failures: FailedLogins, clock: Clock) -> None:
    for _ in range(40):
        guess(failures, clock, LoginAttempt("ana", "192.0.2.1"))
        assert failures.wait(LoginAttempt("ana", "192.0.2.2")) <= 1
        assert failures.wait(LoginAttempt("ben", "192.0.2.2")) == 0


def test_many_clients_that_guess_at_one_name_wait_for_each_other(failures: FailedLogins, clock: Clock) -> None:
    waits = [guess(failures, clock, LoginAttempt("ana", f"192.0.2.{number}")) for number in range(100)]
    assert waits[50:] == [30] * 50
    # The browser that the person has used before does not wait for them.
    assert failures.wait(LoginAttempt("ana", "browser", known=True)) == 0
    # Guesses with a stolen mark wait for each other.
    assert [guess(failures, clock, LoginAttempt("ana", "browser", known=True)) for _ in range(5)] == [0, 0, 0, 1, 2]


def test_a_mark_of_a_browser_is_worthless_for_another_name_and_another_server() -> None:
    browsers = KnownBrowsers()
    mark = browsers.mark("ana")
    assert browsers.browser_of(mark, "ana") == mark.partition(".")[0]
    for other in ("ben", "", "ana "):
        assert browsers.browser_of(mark, other) is None
    for text in ("", ".", "x", mark + "0", mark.upper(), mark[1:], "\u00e9.\u00e9"):
        assert browsers.browser_of(text, "ana") is None
    assert KnownBrowsers().browser_of(mark, "ana") is None


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("people") / "users.json"
    for name in ("ana", "ben"):
        write_user(file, name, f"secret-of-{name}")
    return file


@pytest.fixture
def guarded(tables: Path, users: Path) -> Iterator[Pages]:
    """A server that its clients reach directly, or through a proxy on another machine."""
    with served_here(tables, basic_auth=users, public_urls=[PUBLIC], trusted_proxies=["192.0.2.0/24"]) as pages:
        yield pages


def attempted(pages: Pages, name: str, password: str, **headers: str) -> Answer:
    return pages.ask("/login", "POST", f"name={name}&password={password}", Origin=pages.origin, **headers)


def test_a_direct_client_cannot_name_another_address(guarded: Pages, caplog: pytest.LogCaptureFixture) -> None:
    statuses = [
        attempted(guarded, f"name-{number}", "x", X_Forwarded_For=f"198.51.100.{number}").status for number in range(12)
    ]
    assert 429 in statuses
    failed = [record.getMessage() for record in caplog.records if "A login failed" in record.getMessage()]
    assert len(failed) >= 3
    assert all(line.endswith("address 127.0.0.1") for line in failed)
    warned = [record.getMessage() for record in caplog.records if "--trusted-proxy 127.0.0.1" in record.getMessage()]
    assert len(warned) == 1


def test_clients_behind_a_trusted_proxy_do_not_wait_for_each_other(tables: Path, users: Path) -> None:
    with served_here(tables, basic_auth=users, public_urls=[PUBLIC]) as pages:
        statuses = [
            # What the client itself sends stands before what the proxy appends.
            attempted(pages, "ben", "x", X_Forwarded_For=f"203.0.113.{number}, 198.51.100.1").status
            for number in range(12)
        ]
        assert 429 in statuses
        assert attempted(pages, "ana", "secret-of-ana", X_Forwarded_For="198.51.100.2").status == 303


def test_a_browser_with_an_earlier_login_signs_in_while_its_address_has_to_wait(guarded: Pages) -> None:
    signed_in = attempted(guarded, "ana", "secret-of-ana")
    assert signed_in.status == 303
    marks = [text for text in signed_in.cookies if text.startswith("explorer-browser-")]
    assert len(marks) == 1
    for _ in range(12):
        if attempted(guarded, "ana", "guess").status == 429:
            break
    assert attempted(guarded, "ana", "secret-of-ana").status == 429
    assert attempted(guarded, "ben", "secret-of-ben", Cookie=marks[0]).status == 429
    assert attempted(guarded, "ana", "secret-of-ana", Cookie=marks[0]).status == 303


@pytest.mark.parametrize("text", ["", "proxy.example", "10.0.0.0/33", "10.0.0", "*"])
def test_what_is_not_an_address_is_refused(text: str, tables: Path) -> None:
    with pytest.raises(RequestError, match="--trusted-proxy must be an IP address or a network"):
        serve([str(tables)], start=False, public_urls=[PUBLIC], trusted_proxies=[text])


def test_a_trusted_proxy_needs_the_address_that_people_open(tables: Path) -> None:
    with pytest.raises(RequestError, match="--trusted-proxy needs --public-url"):
        serve([str(tables)], start=False, trusted_proxies=["10.0.0.1"])


def test_an_unknown_name_takes_as_long_as_the_names_of_the_file(tmp_path: Path) -> None:
    """Hashes of another program can cost far less, or more, than those that this program writes."""
    cheap = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    file = tmp_path / "users.json"
    file.write_text(json.dumps({name: cheap.hash(f"secret-of-{name}") for name in ("ana", "ben")}))
    file.chmod(0o600)
    users = PasswordFile(file)

    def cost(name: str) -> float:
        began = time.process_time()
        for _ in range(5):
            assert users.verified(name, "a wrong guess") is None
        return time.process_time() - began

    assert cost("stranger") < 20 * max(cost("ana"), 0.001)
    # Whose hash is checked in vain lets nobody in.
    assert [users.verified("stranger", f"secret-of-{name}") for name in ("ana", "ben")] == [None, None]
    assert users.verified("ana", "secret-of-ana") is not None
