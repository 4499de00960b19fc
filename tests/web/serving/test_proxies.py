"""Behind a proxy: whole with --public-url, and otherwise told what to set."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tornado.httpclient import HTTPClientError

from explorer.core.errors import RequestError
from explorer.web.serving.people.password_file import write_user
from explorer.web.serving.public_urls import read_public_url
from tests.support.at_least_one import at_least_one
from tests.support.own_loop import run_apart
from tests.support.pages.raw_pages import Pages, Talk, served_here
from tests.support.pages.small_proxy import small_proxy

PUBLIC = "https://example.org/lake/"
ORIGIN = "https://example.org"
# What proxies do: pass the host on or not, take the prefix away or not.
PROXIES = {
    "host and prefix as they are": {"added": (("Host", "example.org"),)},
    "without the prefix": {"strip": "/lake", "added": (("Host", "example.org"),)},
    "another host": {"strip": "/lake", "added": (("X-Forwarded-Host", "example.org"),)},
    "another host, only the scheme told": {"strip": "/lake", "added": (("X-Forwarded-Proto", "https"),)},
}


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("people") / "users.json"
    write_user(file, "ana", "secret")
    return file


def through(pages: Pages, port: int) -> Pages:
    """The server as it is reached through a proxy."""
    return replace(pages, port=port)


@pytest.mark.parametrize("proxy", PROXIES)
def test_with_the_public_url_login_page_socket_and_logout_work(tables: Path, users: Path, proxy: str) -> None:
    options = PROXIES[proxy]
    with served_here(tables, basic_auth=users, allow_commits=True, public_urls=[PUBLIC]) as pages:
        host = {} if dict(options["added"]).get("Host") else {"host": f"127.0.0.1:{pages.port}"}
        assert pages.urls == [PUBLIC]
        with small_proxy(pages.port, **options, **host) as port:  # type: ignore[arg-type]  # of one test
            proxied = through(pages, port)
            asked = proxied.ask("/lake/?t=w/orders")
            assert (asked.status, asked.headers["location"]) == (303, "/lake/login?next=%3Ft%3Dw%2Forders")
            form = proxied.ask(asked.headers["location"])
            assert 'action="/lake/login"' in form.text
            for file in at_least_one(re.findall(r'(?:src|href)="(?!data:)([^"#?]+)[^"]*"', form.text)):
                assert file.startswith("/lake/")
                assert proxied.ask(file, "HEAD" if file != "/lake/" else "GET").status in {200, 303}
            body = "name=ana&password=secret&next=%3Ft%3Dw%2Forders"
            login = proxied.ask("/lake/login", "POST", body, Origin=ORIGIN)
            assert (login.status, login.headers["location"]) == (303, "/lake/?t=w/orders")
            assert set(login.headers["set-cookie"].split("; ")[1:]) == {
                "HttpOnly", "Path=/lake/", "SameSite=Strict", "Secure",
            }  # fmt: skip
            page = proxied.ask("/lake/?t=w/orders", Cookie=login.cookie)
            assert page.status == 200
            outside = page.text.partition("<body>")[0] + page.text.rpartition("</main>")[2]
            for file in at_least_one(re.findall(r'(?:src|href)="(?!data:)([^"#?]+)[^"]*"', outside)):
                assert not file.startswith("/")
                assert proxied.ask(f"/lake/{file}", "HEAD").status == 200

            async def talk() -> bool:
                headers = {"Cookie": login.cookie, "Origin": ORIGIN}
                opened = await Talk.begin(proxied, page.token, path="/lake/ws", **headers)
                await opened.ask("hello", query="?t=w/orders")
                heard = await opened.hears('"patch"')
                await opened.close()
                return heard

            assert run_apart(talk())
            logout = proxied.ask("/lake/logout", "POST", "", Cookie=login.cookie, Origin=ORIGIN)
            assert (logout.status, logout.headers["location"]) == (303, "/lake/login")


def test_behind_a_proxy_that_changes_the_host_it_says_what_to_set(reading: Pages) -> None:
    with small_proxy(reading.port, host=f"127.0.0.1:{reading.port}") as port:
        proxied = through(reading, port)
        token = proxied.ask().token
        with pytest.raises(HTTPClientError) as refused:
            run_apart(Talk.begin(proxied, token, Origin=f"http://localhost:{port}"))
        assert refused.value.code == 403
        posted = proxied.ask("/", "POST", "", Origin=f"http://localhost:{port}")
        assert (posted.status, "--public-url" in posted.text) == (403, True)
    with small_proxy(reading.port) as port:
        shown = through(reading, port).ask(Host=f"lake.example:{port}")
        assert (shown.status, "--public-url" in shown.text) == (403, True)


@pytest.mark.parametrize(
    ("text", "origin", "prefix"),
    [
        ("https://example.org/lake/", "https://example.org", "/lake"),
        ("https://Example.ORG", "https://example.org", ""),
        ("http://[::1]:8080/a/b", "http://[::1]:8080", "/a/b"),
        ("https://example.org:443/", "https://example.org", ""),
    ],
)
def test_a_public_url_is_an_origin_and_a_prefix(text: str, origin: str, prefix: str) -> None:
    url = read_public_url(text)
    assert (url.origin, url.prefix) == (origin, prefix)


@pytest.mark.parametrize(
    "text",
    ["", "example.org", "ftp://example.org/", "https://", "https://ana:secret@example.org/", "https://example.org/?x=1",
     "https://example.org/#x", "https://example.org:99999/", "https://exa mple.org/", "https://example.org/../x",
     "https://example.org/<b>", "https://*.example.org/"],
)  # fmt: skip
def test_what_is_no_address_of_a_server_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="--public-url must be the address that people open") as refused:
        read_public_url(text)
    assert "secret" not in str(refused.value)
