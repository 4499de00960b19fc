"""The address of the server's health: answered to any proxy, without a login, and with nothing of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.web.serving.people.password_file import write_user
from tests.support.pages.raw_pages import Answer, Pages, served_here


@pytest.fixture
def guarded(tables: Path, tmp_path: Path) -> Iterator[Pages]:
    write_user(tmp_path / "users.json", "ana", "secret")
    with served_here(tables, basic_auth=tmp_path / "users.json") as pages:
        yield pages


def _same(answer: Answer) -> bool:
    return (answer.status, answer.text, answer.cookies) == (200, "ok\n", ())


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "10.0.0.7:5007", "pod.example", "evil.example:1"])
def test_the_health_of_a_server_is_answered_whatever_host_is_asked(reading: Pages, host: str) -> None:
    answer = reading.ask("/healthz", Host=host.format(port=reading.port))
    assert _same(answer)
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["cache-control"] == "no-cache"
    assert "sandbox" in answer.headers["content-security-policy"]


def test_it_needs_no_login_and_no_token(guarded: Pages, committing: Pages) -> None:
    for pages in (guarded, committing):
        assert _same(pages.ask("/healthz"))
        assert _same(pages.ask("/healthz?t=w/orders&token=x"))
        assert pages.ask("/healthz", "HEAD").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_it_can_only_be_read(reading: Pages, method: str) -> None:
    assert reading.ask("/healthz", method, "x", Content_Length="1").status == 405


@pytest.mark.parametrize("path", ["/healthz/", "/healthzz", "/w/healthz", "/Healthz", "/healthz/.."])
def test_addresses_like_it_are_answered_as_others(reading: Pages, path: str) -> None:
    assert reading.ask(path).status == 404
    assert reading.ask(path, Host="evil.example").status == 403
