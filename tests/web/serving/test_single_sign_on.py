"""Signing in at an issuer of OpenID Connect, what is refused, and what a person reads at every failure."""

from __future__ import annotations

import gc
import http.client
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from explorer.activity.files import RecordFiles
from explorer.core.errors import RequestError
from explorer.web import serve
from explorer.web.serving.people.access import Rights
from explorer.web.serving.people.oidc.access import OidcAccess
from explorer.web.serving.people.oidc.provider import Provider
from explorer.web.serving.people.oidc.settings import OidcSettings
from tests.support.issuers.small_issuer import CLIENT, SECRET, Issuer, issuer
from tests.support.lines_of_records import lines_once
from tests.support.logs import hostile_tables, small_logs
from tests.support.own_loop import run_apart
from tests.support.pages.raw_pages import Answer, Pages, Talk, served_here


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served") / "w"
    small_logs.write_log(root / "orders", [hostile_tables.created({"id": "long"})])
    return root


@pytest.fixture
def one() -> Iterator[Issuer]:
    with issuer() as made:
        yield made


@pytest.fixture
def pages(root: Path, one: Issuer, tmp_path: Path) -> Iterator[Pages]:
    with served_here(root, oidc=settings(one), activity=tmp_path / "record.jsonl") as pages:
        yield pages


def settings(one: Issuer, **others: Any) -> OidcSettings:
    return OidcSettings(one.url, CLIENT, SECRET, **others)


def started(pages: Pages, query: str = "") -> tuple[str, str]:
    """Press Sign in: the address at the issuer, and the cookie of the login."""
    answer = pages.ask(f"/login/start{query}")
    assert answer.status == 303, answer.text
    return answer.headers["location"], answer.cookie


def at_issuer(address: str) -> str:
    """Sign in at the issuer: the path to which it sends the person back."""
    parts = urlsplit(address)
    client = http.client.HTTPConnection(parts.netloc, timeout=20)
    client.request("GET", f"{parts.path}?{parts.query}")
    with client.getresponse() as answer:
        back = urlsplit(answer.headers["Location"])
    client.close()
    return f"{back.path}?{back.query}"


def back(pages: Pages, path: str, cookie: str) -> Answer:
    return pages.ask(path, Cookie=cookie)


def signed_in(pages: Pages) -> str:
    """Sign in; the cookie of the session."""
    address, cookie = started(pages)
    answer = back(pages, at_issuer(address), cookie)
    assert answer.status == 200, answer.text
    return session_of(answer)


def session_of(answer: Answer) -> str:
    return next(each for each in answer.cookies if each.startswith("explorer-session-") and not each.endswith("="))


def refused(pages: Pages) -> Answer:
    """Sign in, in vain."""
    address, cookie = started(pages)
    answer = back(pages, at_issuer(address), cookie)
    assert answer.status in (403, 502)
    assert not any(each.startswith("explorer-session-") for each in answer.cookies)
    assert SECRET not in answer.text
    return answer


def test_a_person_signs_in_and_comes_to_the_page_that_was_asked_for(pages: Pages, one: Issuer, tmp_path: Path) -> None:
    asked = pages.ask("/?t=w/orders")
    assert (asked.status, asked.headers["location"]) == (303, "/login?next=%3Ft%3Dw%2Forders")
    login = pages.ask(asked.headers["location"])
    assert "Sign in" in login.text
    address, cookie = started(pages, "?next=%3Ft%3Dw%2Forders")
    sent = {name: texts[0] for name, texts in parse_qs(urlsplit(address).query).items()}
    assert (sent["response_type"], sent["code_challenge_method"], sent["scope"]) == ("code", "S256", "openid profile")
    answer = back(pages, at_issuer(address), cookie)
    assert re.search(r'http-equiv="refresh" content="0; url=/\?t=w/orders"', answer.text)
    session = session_of(answer)
    assert pages.ask("/?t=w/orders", Cookie=session).status == 200
    out = pages.ask("/logout", "POST", "", Origin=pages.origin, Cookie=session)
    assert f"{one.url}/end?client_id=explorer" in out.text
    assert pages.ask("/", Cookie=session).status == 303
    record = lines_once(RecordFiles.at(tmp_path / "record.jsonl"), 2)
    assert [(event.kind, event.person, event.known_by) for event in record] == [
        ("sign-out", "ana", "single sign-on"),
        ("sign-in", "ana", "single sign-on"),
    ]


def test_the_cookie_of_a_session_is_strict_and_that_of_a_login_comes_back_from_the_issuer(pages: Pages) -> None:
    start = pages.ask("/login/start").headers["set-cookie"]
    assert "SameSite=Lax" in start
    assert "HttpOnly" in start


def test_an_answer_counts_once_and_in_its_own_browser_alone(pages: Pages) -> None:
    address, cookie = started(pages)
    path = at_issuer(address)
    _, other = started(pages)
    for wrong in ("", other, f"{cookie[:-1]}{'0' if cookie[-1] != '0' else '1'}", "explorer-sign-in=e30.00"):
        answer = back(pages, path, wrong) if wrong else pages.ask(path)
        assert (answer.status, "was not begun in this browser" in answer.text) == (403, True), wrong
    assert back(pages, path, cookie).status == 200
    again = back(pages, path, cookie)
    assert (again.status, "The login is over" in again.text) == (403, True)


def test_a_code_of_another_login_is_refused(pages: Pages) -> None:
    """A person cannot be signed in as another one by a code that this one obtained."""
    (first, _), (second, cookie) = started(pages), started(pages)
    stolen = parse_qs(urlsplit(at_issuer(first)).query)["code"][0]
    state = parse_qs(urlsplit(second).query)["state"][0]
    answer = back(pages, f"/login/callback?code={stolen}&state={state}", cookie)
    assert (answer.status, "invalid_grant" in answer.text) == (403, True)


@pytest.mark.sampled(cases=6)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nonce": "of another login"}, "another login"),
        ({"nonce": None}, "another login"),
        ({"aud": "another-client"}, "InvalidAudienceError"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "another program"),
        ({"iss": "http://127.0.0.1:1"}, "InvalidIssuerError"),
        ({"exp": 1_000}, "clock is wrong by more than 60 s"),
        ({"iat": time.time() + 10_000}, "clock is wrong by more than 60 s"),
        ({"exp": None}, "MissingRequiredClaimError"),
        ({"sub": None}, "MissingRequiredClaimError"),
        ({"preferred_username": None}, "no name in its claim preferred_username"),
        ({"preferred_username": "ana\nben"}, "no name in its claim preferred_username"),
        ({"preferred_username": ["ana"]}, "no name in its claim preferred_username"),
    ],
)
def test_a_token_that_says_something_else_is_refused(
    pages: Pages, one: Issuer, changes: dict[str, Any], said: str
) -> None:
    one.changes = changes
    assert said in refused(pages).text


@pytest.mark.parametrize("algorithm", ["none", "HS256", "HS512", "RS512"])
def test_a_token_without_the_signature_that_the_issuer_announces_is_refused(
    pages: Pages, one: Issuer, algorithm: str
) -> None:
    one.algorithm = algorithm
    assert "not signed with RS256" in refused(pages).text


def test_a_token_of_another_key_is_refused(pages: Pages, one: Issuer) -> None:
    one.published = {"one": rsa.generate_private_key(65537, 2048).public_key()}
    assert "InvalidSignatureError" in refused(pages).text


def test_a_token_of_a_key_that_is_not_published_is_refused(pages: Pages, one: Issuer) -> None:
    one.published = {"two": one.key.public_key()}
    assert "a key that the issuer does not have" in refused(pages).text


def test_clocks_may_differ_by_half_a_minute(pages: Pages, one: Issuer) -> None:
    one.changes = {"iat": time.time() + 30}
    assert signed_in(pages)


def test_an_issuer_that_is_down_is_said_and_keeps_people_who_are_signed_in(pages: Pages, one: Issuer) -> None:
    session = signed_in(pages)
    address, cookie = started(pages)
    path = at_issuer(address)
    one.is_down = True
    answer = back(pages, path, cookie)
    assert (answer.status, "does not answer" in answer.text) == (502, True)
    assert pages.ask("/", Cookie=session).status == 200
    one.is_down = False
    assert signed_in(pages)


def test_a_person_whom_the_issuer_refuses_reads_so(pages: Pages, one: Issuer) -> None:
    one.refuses = "access_denied"
    assert "access_denied" in refused(pages).text
    one.refuses = "<script>"
    assert "&lt;script" not in (text := refused(pages).text)
    assert "no reason" in text


def test_the_page_to_go_to_is_always_on_this_server(pages: Pages) -> None:
    for evil in ("https://evil.example/", "//evil.example/?x", "javascript:alert(1)", "?t=a%22%3E%3Cscript%3E"):
        address, cookie = started(pages, f"?next={evil}")
        text = back(pages, at_issuer(address), cookie).text
        (target,) = re.findall(r'content="0; url=([^"]*)"', text)
        assert target.startswith("/")
        assert not target.startswith("//")
        assert "<script>alert" not in text


# --- sessions, with a clock of the tests


def access(one: Issuer, now: list[float], **others: Any) -> OidcAccess:
    return OidcAccess(Rights(commit=True), 5007, Provider(settings(one, **others)), lambda: now[0])


def session(one: Issuer, access: OidcAccess) -> str:
    address, cookie = access.begin("http://localhost/login/callback", "")
    answer = parse_qs(urlsplit(at_issuer(address)).query)
    login = access.pending(cookie, answer["state"][0])
    return access.keep(*access.finish(login, answer["code"][0], "http://localhost/login/callback"))


def identity(access: OidcAccess, session_id: str) -> Any:
    headers = HTTPHeaders({"Host": "localhost", "Cookie": f"{access.cookie}={session_id}"})
    line = RequestStartLine("GET", "/", "HTTP/1.1")
    return access.identity(HTTPServerRequest(start_line=line, headers=headers))


def until(reached: Any) -> None:
    ends = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_session_ends_after_its_hours(one: Issuer) -> None:
    now = [0.0]
    people = access(one, now, session_hours=1)
    known = session(one, people)
    one.refresh_tokens.clear()
    assert identity(people, known).name == "ana"
    now[0] = 3600
    assert identity(people, known) is None


def test_groups_follow_the_issuer_when_a_session_is_renewed(one: Issuer) -> None:
    now = [0.0]
    people, one.claims = access(one, now), {"sub": "1", "preferred_username": "ana", "groups": ["eng", 7, "ops"]}
    known = session(one, people)
    assert identity(people, known).groups == ("eng", "ops")
    one.claims["groups"] = ["ops"]
    now[0] = 299
    identity(people, known)
    until(lambda: identity(people, known).groups == ("ops",))
    assert one.refreshed == 1


def test_a_session_that_the_issuer_refuses_to_renew_ends(one: Issuer) -> None:
    now = [0.0]
    people = access(one, now)
    known = session(one, people)
    one.refresh_tokens.clear()
    now[0] = 299
    assert identity(people, known) is not None
    until(lambda: identity(people, known) is None)


@pytest.mark.parametrize(
    "down",
    [
        (503, {}),
        (404, {"error": "Realm does not exist"}),
        (429, {"error": "too_many_requests"}),
        (400, {}),
        (400, {"error": "temporarily_unavailable"}),
        (403, {"message": "blocked by a proxy"}),
    ],
)
def test_a_session_outlives_an_issuer_that_is_down_for_a_while(one: Issuer, down: tuple[int, dict[str, Any]]) -> None:
    now, one.down = [0.0], down
    people = access(one, now)
    known = session(one, people)
    one.is_down, now[0] = True, 299
    assert identity(people, known) is not None
    until(lambda: not people._known[known].renewing)
    one.is_down, now[0] = False, 340
    assert identity(people, known) is not None
    until(lambda: one.refreshed == 1)


@pytest.mark.parametrize("url", ["http://login.example.org", "ftp://x", "https://a@b/", "https://", "login"])
def test_an_issuer_without_tls_is_refused(url: str) -> None:
    with pytest.raises(RequestError, match="https URL"):
        OidcSettings(url, CLIENT)


def test_two_ways_to_sign_in_are_refused(root: Path, one: Issuer, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="Only one way"):
        serve(root, oidc=settings(one), basic_auth=tmp_path, start=False)


def test_an_open_page_ends_with_the_groups_that_it_was_opened_with(pages: Pages, one: Issuer) -> None:
    """What it shows was decided by them; the next page is of the groups that the person has now."""
    one.claims = {"sub": "1", "preferred_username": "ana", "groups": ["eng"]}
    cookie = signed_in(pages)
    session_id = cookie.partition("=")[2]
    access = next(each for each in gc.get_objects() if isinstance(each, OidcAccess) and session_id in each._known)

    async def talk() -> int | None:
        opened = await Talk.begin(pages, pages.ask("/?t=w/orders", Cookie=cookie).token, Cookie=cookie)
        await opened.model("ReactiveESM")
        one.claims["groups"] = ["ops"]
        access._known[session_id] = replace(access._known[session_id], renews=0.0)
        await opened.ask("hello", query="?t=w/orders")
        until(lambda: access._known[session_id].person.groups == ("ops",))
        await opened.ask("hello", query="?t=w/orders")
        code = await opened.close_code()
        await opened.close()
        return code

    assert run_apart(talk()) == 4401
    assert pages.ask("/?t=w/orders", Cookie=cookie).status == 200, "the person is still signed in"
