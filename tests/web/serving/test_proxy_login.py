"""People whom a proxy names in a header: from its address alone, and once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from explorer.core.errors import RequestError
from explorer.page.host import Identity
from explorer.web import serve
from explorer.web.serving.people.access import Rights
from explorer.web.serving.people.proxy_login import ProxyAccess, ProxyLogin
from explorer.web.serving.public_urls import read_trusted_proxies
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.raw_pages import Pages, served_here

LOGIN = ProxyLogin("X-Forwarded-User", "X-Forwarded-Groups")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served") / "w"
    small_logs.write_log(root / "orders", [hostile_tables.created({"id": "long"})])
    return root


def serving(root: Path, proxy: str) -> Iterator[Pages]:
    options = {"public_urls": ["http://lake.example.org/"], "trusted_proxies": [proxy], "proxy_login": LOGIN}
    with served_here(root, **options) as pages:
        yield pages


@pytest.fixture(scope="module")
def behind(root: Path) -> Iterator[Pages]:
    """A server whose proxy is this machine."""
    yield from serving(root, "127.0.0.1")


@pytest.fixture(scope="module")
def beside(root: Path) -> Iterator[Pages]:
    """A server whose proxy is another machine."""
    yield from serving(root, "192.0.2.7")


def named(peer: str, *headers: tuple[str, str]) -> Identity | None:
    access = ProxyAccess(Rights(commit=True), LOGIN, read_trusted_proxies(["10.0.0.5"]))
    sent = HTTPHeaders({"Host": "lake.example.org"})
    for name, value in headers:
        sent.add(name, value)
    request = HTTPServerRequest(start_line=RequestStartLine("GET", "/", "HTTP/1.1"), headers=sent)
    request.remote_ip = peer
    found = access.identity(request)
    if peer != "10.0.0.5":
        assert not set(request.headers) & {"X-Forwarded-User", "X-Forwarded-Groups"}, "nobody can read it any more"
    return found


def test_the_proxy_names_a_person_and_its_groups() -> None:
    found = named("10.0.0.5", ("X-Forwarded-User", "ana"), ("X-Forwarded-Groups", "eng, ops,,eng"))
    assert found is not None
    assert (found.name, found.groups, found.may_commit) == ("ana", ("eng", "ops"), True)


@pytest.mark.parametrize("peer", ["10.0.0.6", "127.0.0.1", "::1", ""])
def test_nobody_else_does(peer: str) -> None:
    assert named(peer, ("X-Forwarded-User", "ana"), ("X-Forwarded-For", "10.0.0.5")) is None


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("X-Forwarded-User", ""),),
        (("X-Forwarded-User", "ana"), ("X-Forwarded-User", "root")),
        (("X-Forwarded-User", "a" * 201),),
        (("X-Forwarded-User", "an\xff"),),
        (("X_Forwarded_User", "ana"),),
    ],
)
def test_a_name_that_is_none_or_two_is_none(headers: tuple[tuple[str, str], ...]) -> None:
    assert named("10.0.0.5", *headers) is None


def test_names_in_utf_8_are_read() -> None:
    found = named("10.0.0.5", ("X-Forwarded-User", "J\u00f6rg".encode().decode("latin-1")))
    assert found is not None
    assert found.name == "J\u00f6rg"


def test_pages_of_two_people_have_two_sessions(behind: Pages) -> None:
    ana = behind.ask("/", Host="lake.example.org", X_Forwarded_User="ana")
    assert ana.status == 200
    refused = behind.ask(
        "/ws",
        Host="lake.example.org",
        Origin="http://lake.example.org",
        X_Forwarded_User="ben",
        Upgrade="websocket",
        Connection="Upgrade",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
        Sec_WebSocket_Version="13",
        Sec_WebSocket_Protocol=f"bokeh, {ana.token}",
    )
    assert refused.status == 403


def test_a_request_without_a_name_is_explained(behind: Pages) -> None:
    answer = behind.ask("/", Host="lake.example.org")
    assert (answer.status, "sign in at the proxy" in answer.text) == (403, True)


def test_a_forged_header_opens_nothing(beside: Pages) -> None:
    forged = {"X_Forwarded_User": "ana", "X_Forwarded_For": "192.0.2.7", "Forwarded": "for=192.0.2.7"}
    assert beside.ask("/", Host="lake.example.org", **forged).status == 403
    assert beside.ask("/", **forged).status == 403


def test_a_proxy_must_be_named(root: Path) -> None:
    with pytest.raises(RequestError, match="must be named by its address"):
        serve(root, public_urls=["http://lake.example.org/"], proxy_login=LOGIN, start=False)


@pytest.mark.parametrize("header", ["Host", "Cookie", "X-Forwarded-For", "X Y", "", "x:y"])
def test_a_header_with_another_meaning_is_refused(header: str) -> None:
    with pytest.raises(RequestError, match="cannot be the header"):
        ProxyLogin("X-User", header) if header else ProxyLogin("")
