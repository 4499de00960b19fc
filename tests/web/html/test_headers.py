"""What every answer of the server tells a browser: what may run, who may frame it, and what is kept of it."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from explorer.page.resources import FOLDER
from explorer.web.html import environment
from tests.support.at_least_one import at_least_one
from tests.support.logs import hostile_tables
from tests.support.pages.server_thread import served_in_thread

PAGES = ("", "?t=w/hostile", "?t=w/hostile&tab=statistics", "?t=w/none", "?show=activity")


class Answer(NamedTuple):
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: str

    @property
    def policy(self) -> dict[str, list[str]]:
        """The sources that the policy allows, by directive."""
        parts = (part.split() for part in self.headers["content-security-policy"].split(";"))
        return {name: sources for name, *sources in parts}


class Elements(HTMLParser):
    """The elements of a page: names with attributes, and the text of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            attributes, text = self.scripts.pop()
            self.scripts.append((attributes, text + data))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("headers") / "w"
    hostile_tables.hostile_table(root / "hostile")
    with served_in_thread(root) as address:
        yield address


def ask(url: str, path: str = "", method: str = "GET", **headers: str) -> Answer:
    """Ask as a browser would, and follow nothing."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, f"/{path}", headers=named)
    answer = connection.getresponse()
    body = b"" if answer.status == 101 else answer.read()
    connection.close()
    return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, body.decode("latin-1"))


def addresses(page: str) -> list[str]:
    """The addresses of the scripts, style sheets and fonts of a page."""
    linked = [
        address
        for tag, attributes in Elements(page).found
        if (address := attributes.get("src") or (attributes.get("href") if tag == "link" else None))
    ]
    return [address for address in [*linked, *re.findall(r'url\("([^"]+)"\)', page)] if not address.startswith("data:")]


def test_every_answer_carries_the_headers_whatever_it_is(url: str) -> None:
    files = at_least_one(addresses(ask(url, "?t=w/hostile").body))
    asked = {
        **{f"/{page}": ask(url, page) for page in PAGES},
        **{f"/{file}": ask(url, file) for file in files},
        "unknown": ask(url, "no/such/page"),
        "refused": ask(url, "ws"),
        "other method": ask(url, method="DELETE"),
        "head": ask(url, "no/such/page", method="HEAD"),
        "file that is absent": ask(url, "static/js/none.js"),
        "component that is absent": ask(url, "page/0123456789ab/script/none.js"),
        "socket": ask(
            url, "ws", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13",
            Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", Origin="http://elsewhere.example",
        ),
    }  # fmt: skip
    for name, answer in asked.items():
        told = answer.headers
        assert "server" not in told, name
        assert not [header for header in told if header.startswith("access-control-")], name
        assert told["x-content-type-options"] == "nosniff", name
        assert told["x-frame-options"] == "DENY", name
        assert told["referrer-policy"] == "same-origin", name
        assert told["cross-origin-resource-policy"] == "same-origin", name
        assert told["cross-origin-opener-policy"] == "same-origin", name
        assert "camera=()" in told["permissions-policy"], name
        assert answer.policy["default-src"] == ["'none'"], name
        assert answer.policy["frame-ancestors"] == ["'none'"], name
        assert answer.policy["base-uri"] == ["'none'"], name
        assert "unsafe" not in told["content-security-policy"], name
        assert "Traceback" not in answer.body, name
    assert {answer.status for answer in asked.values()} >= {200, 403, 404}


def test_a_page_runs_only_what_carries_the_nonce_of_its_own_request(url: str) -> None:
    nonces = set()
    for page in at_least_one([*PAGES, "no/such/page"]):
        answer = ask(url, page)
        (source,) = answer.policy["script-src"]
        nonce = source.removeprefix("'nonce-").removesuffix("'")
        assert len(nonce) >= 22
        assert answer.policy["style-src"] == ["'self'", source]
        nonces.add(nonce)
        parsed = Elements(answer.body)
        for attributes, text in at_least_one(parsed.scripts):
            if attributes.get("type") == "application/json":
                assert "nonce" not in attributes
            else:
                assert (attributes["nonce"], text) == (nonce, "")
                assert attributes["src"]
        for tag, attributes in parsed.found:
            assert "style" not in attributes, attributes
            assert not [name for name in attributes if name.startswith("on")], attributes
            assert not (attributes.get("href") or "").lower().startswith("javascript:"), attributes
            assert tag not in {"base", "iframe", "object", "embed"}
            assert tag != "style" or attributes == {"nonce": nonce}
    assert len(nonces) == len(PAGES) + 1


def test_a_page_is_never_kept_and_a_file_whose_address_names_its_edition_always(url: str) -> None:
    for page in at_least_one([*PAGES, "?t=w/hostile&v=0", "no/such/page?v=1", "no/such/file.js?v=1"]):
        assert ask(url, page).headers["cache-control"] == "no-store", page
    files = at_least_one(addresses(ask(url, "?t=w/hostile").body))
    for file in files:
        answer = ask(url, file)
        assert (answer.status, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable"), file
        edition = "?" if "?" in file else f"/{file.split('/')[1]}"
        assert ask(url, file.partition(edition)[0]).headers["cache-control"] != answer.headers["cache-control"], file
    assert sum(file.partition("?")[0].endswith(".woff2") for file in files) == 4
    assert sum(file.partition("?")[0].endswith(".js") for file in files) >= 8


def test_a_page_names_no_address_of_another_server(url: str) -> None:
    for page in at_least_one([*PAGES, "no/such/page"]):
        body = ask(url, page).body
        assert [address for address in addresses(body) if "//" in address] == []
        assert re.findall(r"https?://(?!www\.w3\.org/)[\w.-]*(?:cdn|unpkg|jsdelivr|holoviz)[^\s\"']*", body) == []


def test_what_a_template_styles_by_data_is_what_the_first_script_lets_it() -> None:
    loader, styled = environment().loader, (FOLDER / "script" / "styled.js").read_text(encoding="utf-8")
    assert loader is not None
    allowed = set(re.findall(r'"([a-z-]+)"', styled.partition("PROPERTIES = new Set(")[2].partition(")")[0]))
    used: set[str] = set()
    for name in at_least_one(environment().list_templates()):
        source = loader.get_source(environment(), name)[0]
        assert not re.search(r"(?<![\w-])style\s*=|<style|\bon[a-z]+\s*=\s*[\"']", source), name
        for styled in re.findall(r'data-style="([^"]*)"', source):
            used |= set(re.findall(r"(?:^|})([a-z-]+)(?::|{)", styled))
    assert used == allowed
