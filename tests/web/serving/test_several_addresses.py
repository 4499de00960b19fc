"""A server with several addresses: a page may send messages only to the address that it was opened at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pages.raw_pages import Pages, served_here

LAKE, CORP, PLAIN = "https://lake.example/", "https://corp.example:8443/lake/", "http://lake.example:8080/"


@pytest.fixture(scope="module")
def several(tables: Path) -> Iterator[Pages]:
    with served_here(tables, public_urls=[LAKE, CORP, PLAIN]) as pages:
        yield pages


def posted(pages: Pages, **headers: str) -> tuple[int, str]:
    """Send a message that the gate alone can refuse: a page takes no POST."""
    answer = pages.ask("/", "POST", "", **headers)
    return answer.status, answer.text


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("lake.example", "https://lake.example"),
        ("LAKE.example", "https://Lake.example"),
        ("corp.example:8443", "https://corp.example:8443"),
        ("corp.example", "https://corp.example:8443"),
        ("lake.example:8080", "http://lake.example:8080"),
        ("127.0.0.1:{port}", "http://127.0.0.1:{port}"),
        ("localhost:{port}", "http://localhost:{port}"),
    ],
)
def test_a_page_may_ask_its_own_address(several: Pages, host: str, origin: str) -> None:
    named = {"Host": host.format(port=several.port), "Origin": origin.format(port=several.port)}
    assert posted(several, **named)[0] == 405


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("lake.example", "https://corp.example:8443"),
        ("corp.example:8443", "https://lake.example"),
        ("lake.example:8080", "https://lake.example"),
        ("lake.example", "http://127.0.0.1:{port}"),
        ("127.0.0.1:{port}", "http://localhost:{port}"),
        ("localhost:{port}", "http://127.0.0.1:{port}"),
    ],
)
def test_a_page_may_not_ask_another_address_of_the_server(several: Pages, host: str, origin: str) -> None:
    named = {"Host": host.format(port=several.port), "Origin": origin.format(port=several.port)}
    status, text = posted(several, **named)
    assert (status, "Request from another site" in text) == (403, True)
    handshake = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Key": "eA=="}
    assert several.ask("/ws", **named, **handshake).status == 403


@pytest.mark.parametrize("origin", ["https://lake.example", "https://corp.example:8443"])
def test_behind_a_proxy_that_changes_the_host_it_has_to_report_the_host(several: Pages, origin: str) -> None:
    status, text = posted(several, Origin=origin)
    assert (status, "X-Forwarded-Host" in text, "--trusted-proxy" in text) == (403, True, True)
    reported = posted(several, Origin=origin, X_Forwarded_Host="corp.example:8443")[0]
    assert reported == (405 if origin == "https://corp.example:8443" else 403)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("host", ["lake.example", "127.0.0.1:{port}"])
def test_a_request_that_the_browser_calls_foreign_is_refused_whatever_its_origin(
    several: Pages, host: str, site: str
) -> None:
    named = host.format(port=several.port)
    origin = f"https://{named}" if named == "lake.example" else f"http://{named}"
    assert posted(several, Host=named, Origin=origin, Sec_Fetch_Site=site)[0] == 403
    assert posted(several, Host=named, Origin=origin, Sec_Fetch_Site="same-origin")[0] == 405


def test_what_a_proxy_that_is_not_trusted_reports_is_ignored(tables: Path) -> None:
    with served_here(tables, public_urls=[LAKE, CORP], trusted_proxies=["192.0.2.1"]) as pages:
        assert posted(pages, Origin="https://lake.example", X_Forwarded_Host="lake.example")[0] == 403
        assert posted(pages, Host="lake.example", Origin="https://lake.example")[0] == 405
