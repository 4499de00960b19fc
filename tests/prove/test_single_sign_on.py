"""Single sign-on at a real issuer, Keycloak: Chromium signs in and out, and each failure is read as a person reads it.

The server is the command in a process of its own, with the issuer and the roles of its groups in its configuration. It
is at localhost and the issuer at 127.0.0.1, so to the browser these are two sites, as they are in the field.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from explorer.activity.event import Event
from explorer.activity.files import RecordFiles
from explorer.activity.reading import entries
from tests.e2e.conftest import CHROMIUM
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.issuers.keycloak import KEYCLOAK, NO_KEYCLOAK, REALM, Keycloak, keycloak, password_of
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.ports import free_port
from tests.support.pages.waiting import wait_until
from tests.support.shared_tables import REPOSITORY

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not WHOLE_DOSE,
        reason="needs Keycloak: only under make prove; tests/web/serving/test_single_sign_on.py has a small issuer",
    ),
    pytest.mark.skipif(not KEYCLOAK.is_file(), reason=NO_KEYCLOAK),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install the package chromium"),
    pytest.mark.timeout(2_400),
]

CLIENT: Final = "explorer"
SECRET: Final = "secret:of/the client"
PATIENT: Final = 120.0
"""Seconds; the machine may have other work."""
CONFIGURATION: Final = """
[[roots]]
name = "w"
place = "{root}"
[serve]
port = {port}
activity = "{folder}/activity"
[oidc]
issuer = "{issuer}"
client_id = "{client}"
client_secret_file = "{folder}/oidc-secret"
session_hours = {hours}
[[roles]]
role = "viewer"
groups = ["sales"]
tables = ["w/orders"]
[[roles]]
role = "auditor"
groups = ["audit"]
tables = ["w/orders"]
"""


@dataclass(frozen=True)
class Served:
    """A running server: its URL, its log, and its record."""

    url: str
    log: Path
    record: RecordFiles

    def recorded(self) -> list[Event]:
        """Return the events of its record, the oldest first."""
        return [entry.event for entry in entries(self.record)][::-1]

    def warnings(self) -> str:
        """Return what it wrote to its log."""
        return self.log.read_text("utf-8")


@pytest.fixture(scope="module")
def ports() -> list[int]:
    """The ports of servers, which the issuer has to know."""
    return [free_port() for _ in range(2)]


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory, ports: list[int]) -> Iterator[Keycloak]:
    with keycloak(tmp_path_factory.mktemp("issuer") / "keycloak") as made:
        groups = {
            "full.path": "false",
            "claim.name": "groups",
            "id.token.claim": "true",
            "access.token.claim": "false",
            "userinfo.token.claim": "false",
        }
        client = {
            "clientId": CLIENT,
            "secret": SECRET,
            "redirectUris": [f"http://localhost:{port}/login/callback" for port in ports],
            "attributes": {"pkce.code.challenge.method": "S256", "post.logout.redirect.uris": "+"},
            "protocolMappers": [
                {
                    "name": "groups",
                    "protocol": "openid-connect",
                    "protocolMapper": "oidc-group-membership-mapper",
                    "config": groups,
                }
            ],
        }
        people = {"ana": ["sales"], "ben": [], "cleo": ["audit"], "dan": ["sales"], "eve": ["sales"], "fay": ["sales"]}
        made.make_realm(client, people)
        yield made


@contextmanager
def server(issuer: Keycloak, folder: Path, port: int, *, hours: float = 8.0) -> Iterator[Served]:
    """Serve two tables to people who sign in at the issuer."""
    root = folder / "lake"
    for name in ("orders", "others"):
        small_logs.write_log(root / name, [hostile_tables.created({"id": "long"}), [small_logs.add("1.parquet", 3)]])
    (folder / "oidc-secret").write_text(SECRET, "utf-8")
    (folder / "oidc-secret").chmod(0o600)
    configuration = folder / "explorer.toml"
    configuration.write_text(
        CONFIGURATION.format(root=root, port=port, folder=folder, issuer=issuer.issuer, client=CLIENT, hours=hours),
        "utf-8",
    )
    log = folder / "server.log"
    command = [sys.executable, "-m", "explorer.cli", "serve"]
    environment = {**os.environ, "DELTA_EXPLORER_CONFIG": str(configuration)}
    environment.pop("DELTA_EXPLORER_ACTIVITY", None)
    with (
        log.open("w") as said,
        subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=said) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert "http://" in line, log.read_text()
        try:
            yield Served(f"http://localhost:{port}", log, RecordFiles.at(folder / "activity"))
        finally:
            process.terminate()
            process.communicate(timeout=60)


@pytest.fixture
def served(issuer: Keycloak, tmp_path: Path, ports: list[int]) -> Iterator[Served]:
    with server(issuer, tmp_path, ports[0]) as found:
        yield found


@pytest.fixture
def window(browser: Any) -> Iterator[Any]:
    """A window of a browser that nobody has signed in with."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENT * 1e3)
    yield page
    context.close()


def begin(page: Any, served: Served, query: str = "?t=w/orders") -> None:
    """Open a page that needs a person, and press Sign in."""
    page.goto(f"{served.url}/{query}")
    page.get_by_role("link", name="Sign in", exact=True).click()


def at_issuer(page: Any, name: str) -> None:
    """Fill in the form of the issuer."""
    page.locator("#username").fill(name)
    page.locator("#password").fill(password_of(name))
    page.locator("#kc-login").click()


def sign_in(page: Any, served: Served, name: str, query: str = "?t=w/orders") -> None:
    """Sign in, and come to the page that was asked for."""
    begin(page, served, query)
    at_issuer(page, name)
    page.wait_for_url(f"{served.url}/{query}")
    drawn(page)


def heading(page: Any) -> str:
    """The heading of a page that says something alone."""
    return str(page.locator("main h1").first.inner_text()).splitlines()[-1]


def shown(page: Any, served: Served, query: str = "?t=w/orders") -> str:
    """Open an address anew; return the text of the page."""
    page.goto(f"{served.url}/{query}")
    if "/login" not in page.url:
        drawn(page)
    return str(page.locator("body").inner_text())


def drawn(page: Any) -> None:
    """Wait until the server has answered what the page asked for, or has closed its connection."""
    answered = "window.explorerPage && explorerPage.answered >= explorerPage.sent"
    wait_until(page, f"document.documentElement.dataset.silence || ({answered})", within=int(PATIENT * 1e3))


def until(reached: Any, what: str, every: float = 2.0) -> None:
    """Wait until something is so."""
    ends = time.monotonic() + PATIENT
    while not reached():
        assert time.monotonic() < ends, what
        time.sleep(every)


def sees(page: Any, served: Served) -> bool:
    """Return whether the person sees the table."""
    text = shown(page, served)
    return "not in a served folder" not in text and "/login" not in page.url


# --- signing in and out


def test_a_group_at_the_issuer_decides_what_a_person_sees(window: Any, served: Served) -> None:
    sign_in(window, served, "ana")
    assert window.title().startswith("orders")
    (cookie,) = [each for each in window.context.cookies() if each["name"].startswith("explorer-session-")]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert "No Delta table here" in shown(window, served, "?t=w/others"), "the role is for one table alone"
    text = shown(window, served, "?")
    assert ("orders" in text, "others" in text) == (True, False)


def test_roles_go_by_the_groups_of_the_token(window: Any, served: Served) -> None:
    sign_in(window, served, "cleo", "?t=w/orders&tab=data")
    assert "You may not read rows of this table." in str(window.locator("body").inner_text()), "an auditor"


def test_a_person_without_a_group_sees_no_table(window: Any, served: Served) -> None:
    sign_in(window, served, "ben")
    assert "'w/orders' is not in a served folder." in str(window.locator("body").inner_text())
    assert "orders" not in shown(window, served, "?")


def test_a_person_signs_out_here_and_at_the_issuer(window: Any, served: Served) -> None:
    sign_in(window, served, "ana")
    window.goto(f"{served.url}/logout")
    window.get_by_role("button", name="Sign out").click()
    assert heading(window) == "Signed out"
    window.goto(f"{served.url}/?t=w/orders")
    assert "/login" in window.url
    # The issuer still knows the person: it asks for nothing.
    window.get_by_role("link", name="Sign in", exact=True).click()
    window.wait_for_url(f"{served.url}/?t=w/orders")
    window.goto(f"{served.url}/logout")
    window.get_by_role("button", name="Sign out").click()
    window.get_by_role("link", name=re.compile("Sign out at 127.0.0.1")).click()
    window.locator("#kc-logout").click()
    window.get_by_text("You are logged out").first.wait_for()
    begin(window, served)
    assert window.locator("#password").is_visible(), "the issuer asks for the password again"
    kinds = [(event.kind, event.person, event.known_by) for event in served.recorded() if "sign" in event.kind]
    assert kinds == [(kind, "ana", "single sign-on") for kind in ("sign-in", "sign-out") * 2]


# --- renewal


def test_groups_follow_the_issuer_and_a_person_who_is_locked_out_there_is_out_here(
    window: Any, served: Served, issuer: Keycloak
) -> None:
    sign_in(window, served, "dan")
    person, group = issuer.person("dan"), issuer.group("sales")
    issuer.admin("DELETE", f"{person}/groups/{group}")
    until(lambda: not sees(window, served), "the session is renewed, and the group is gone")
    assert "/login" not in window.url, "the person is still signed in"
    issuer.admin("PUT", f"{person}/groups/{group}")
    # A refresh token counts once at this issuer, so the second renewal is one with the token of the first.
    until(lambda: sees(window, served), "the session is renewed again, and the group is there")
    issuer.admin("PUT", person, {"enabled": False})
    until(lambda: "/login" in (shown(window, served), window.url)[1], "the issuer refuses, and the session ends")
    assert "session of a person ended" in served.warnings()
    begin(window, served)
    assert "/realms/" in window.url, "the issuer lets nobody in"


def test_a_session_that_an_administrator_ends_at_the_issuer_ends_here(
    window: Any, served: Served, issuer: Keycloak
) -> None:
    sign_in(window, served, "eve")
    issuer.admin("POST", f"{issuer.person('eve')}/logout")
    until(lambda: "/login" in (shown(window, served), window.url)[1], "the session is over")
    assert "/login" in window.url


def test_a_session_ends_after_its_hours_and_the_issuer_signs_the_person_in_again(
    window: Any, issuer: Keycloak, tmp_path: Path, ports: list[int]
) -> None:
    with server(issuer, tmp_path, ports[1], hours=0.01) as served:
        sign_in(window, served, "ana")
        assert sees(window, served)
        until(lambda: "/login" in (shown(window, served), window.url)[1], "36 s have gone by")
        window.get_by_role("link", name="Sign in", exact=True).click()
        window.wait_for_url(f"{served.url}/?t=w/orders")


# --- what goes wrong


def test_an_issuer_that_is_down_is_said_and_ends_no_session(
    window: Any, browser: Any, served: Served, issuer: Keycloak
) -> None:
    sign_in(window, served, "fay")
    person, group = issuer.person("fay"), issuer.group("sales")
    issuer.admin("DELETE", f"{person}/groups/{group}")
    issuer.stop()
    try:
        until(lambda: _looked_in_vain(window, served), "a renewal is tried, and fails")
        assert sees(window, served), "the person goes on"
        context = browser.new_context()
        other = context.new_page()
        begin(other, served)
        # What the issuer is was asked when the other person signed in: the way to it is known, and leads nowhere.
        assert other.url.startswith(("chrome-error://", issuer.issuer))
        context.close()
    finally:
        issuer.start()
    until(lambda: not sees(window, served), "the session is renewed once the issuer is back")
    assert "/login" not in window.url


def _looked_in_vain(page: Any, served: Served) -> bool:
    assert sees(page, served)
    return "could not be renewed" in served.warnings()


def test_an_issuer_that_is_down_when_nobody_asked_it_before_is_said(
    window: Any, issuer: Keycloak, tmp_path: Path, ports: list[int]
) -> None:
    issuer.stop()
    try:
        with server(issuer, tmp_path, ports[1]) as served:
            begin(window, served)
            assert heading(window) == "The sign-in service does not answer"
            assert "Try again in a minute." in str(window.locator("main").inner_text())
    finally:
        issuer.start()


def test_an_issuer_that_takes_connections_and_does_not_answer_is_said(
    window: Any, issuer: Keycloak, tmp_path: Path, ports: list[int]
) -> None:
    with server(issuer, tmp_path, ports[1]) as served:
        with issuer.silent():
            begin(window, served)
            assert heading(window) == "The sign-in service does not answer"
        sign_in(window, served, "ana")


def test_a_secret_that_is_wrong_is_said_without_it(window: Any, served: Served, issuer: Keycloak) -> None:
    issuer.change_client(CLIENT, secret="another")
    try:
        begin(window, served)
        at_issuer(window, "ana")
        window.wait_for_url(f"{served.url}/login/callback**")
        text = str(window.locator("main").inner_text())
        assert heading(window) == "Sign-in refused"
        assert "refused with unauthorized_client" in text
        assert "another" not in text
    finally:
        issuer.change_client(CLIENT, secret=SECRET)


def test_a_person_who_does_not_consent_is_not_signed_in(window: Any, served: Served, issuer: Keycloak) -> None:
    issuer.change_client(CLIENT, consentRequired=True)
    try:
        begin(window, served)
        at_issuer(window, "ana")
        window.locator("#kc-cancel").click()
        window.wait_for_url(f"{served.url}/login/callback**")
        assert "The sign-in service answered with access_denied." in str(window.locator("main").inner_text())
    finally:
        issuer.change_client(CLIENT, consentRequired=False)


def test_an_answer_that_was_used_is_refused(window: Any, served: Served) -> None:
    callbacks: list[str] = []
    window.on("request", lambda each: callbacks.append(each.url) if "/login/callback" in each.url else None)
    sign_in(window, served, "ana")
    window.goto(callbacks[0])
    assert "was not begun in this browser" in str(window.locator("main").inner_text())


# --- keys and signatures


def test_a_new_key_of_the_issuer_is_taken(window: Any, browser: Any, served: Served, issuer: Keycloak) -> None:
    sign_in(window, served, "ana")
    realm = issuer.admin("GET", f"/{REALM}")["id"]
    key = {"priority": ["1000"], "enabled": ["true"], "active": ["true"], "algorithm": ["RS256"]}
    provider = "org.keycloak.keys.KeyProvider"
    made = {"name": "newer", "providerId": "rsa-generated", "providerType": provider, "parentId": realm, "config": key}
    issuer.admin("POST", f"/{REALM}/components", made)
    time.sleep(30)  # the keys are asked for again half a minute later at the earliest, whatever a token names
    context = browser.new_context()
    other = context.new_page()
    other.set_default_timeout(PATIENT * 1e3)
    sign_in(other, served, "ana")
    assert other.title().startswith("orders")
    context.close()


def test_each_signature_with_a_public_key_is_taken_and_one_with_a_secret_is_not(
    browser: Any, served: Served, issuer: Keycloak
) -> None:
    try:
        for algorithm in at_least_one(["RS512", "PS256", "ES256", "ES384", "EdDSA"]):
            issuer.change_client(CLIENT, attributes={"id.token.signed.response.alg": algorithm})
            context = browser.new_context()
            page = context.new_page()
            page.set_default_timeout(PATIENT * 1e3)
            # Keycloak makes a key of a kind when it first needs one: a key that was not there is asked for again.
            begin(page, served)
            at_issuer(page, "ana")
            page.wait_for_url(re.compile(re.escape(served.url)))
            if "/login/callback" in page.url and "does not have" in str(page.locator("main").inner_text()):
                time.sleep(30)
                begin(page, served)
                page.wait_for_url(f"{served.url}/?t=w/orders")
            drawn(page)
            assert page.url == f"{served.url}/?t=w/orders", algorithm
            context.close()
        issuer.change_client(CLIENT, attributes={"id.token.signed.response.alg": "HS256"})
        context = browser.new_context()
        page = context.new_page()
        begin(page, served)
        at_issuer(page, "ana")
        page.wait_for_url(f"{served.url}/login/callback**")
        assert "not signed with" in str(page.locator("main").inner_text())
        context.close()
    finally:
        issuer.change_client(CLIENT, attributes={"id.token.signed.response.alg": "RS256"})


def test_no_secret_code_or_token_is_in_a_log_or_the_record(window: Any, served: Served) -> None:
    asked: list[str] = []
    window.on("request", lambda each: asked.append(each.url) if "/login/callback" in each.url else None)
    sign_in(window, served, "ana")
    (code,) = {each.partition("&code=")[2].partition("&")[0] for each in asked}
    assert code
    record = "".join(path.read_text("utf-8") for path in served.record.current.parent.glob("*") if path.is_file())
    for secret in at_least_one([code, SECRET, password_of("ana"), "eyJ"]):
        assert secret not in served.warnings()
        assert secret not in record
    assert "ana" in record
