"""The server of ``panel serve``: from the second request on, our own application answers, which only reads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from explorer.core.errors import NotAllowed
from explorer.web.main import check_read_only
from tests.support.own_loop import run_apart
from tests.support.pages.ports import free_port, listens
from tests.support.pages.raw_pages import Answer, Pages, Talk
from tests.support.shared_tables import REPOSITORY


@contextmanager
def panel_serve(tables: Path, *options: str) -> Iterator[Pages]:
    """Run Panel's own server of the tables."""
    port = free_port()
    command = [sys.executable, "-m", "panel", "serve", "explorer/web/main.py", "--port", str(port), *options]
    with subprocess.Popen(
        [*command, "--args", str(tables)], cwd=REPOSITORY, env=dict(os.environ), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            until = time.monotonic() + 120
            while not listens(port):
                assert process.poll() is None, "panel serve has ended"
                assert time.monotonic() < until, "panel serve does not answer"
                time.sleep(0.1)
            yield Pages(port)
        finally:
            # The whole group: of several processes the first ends without the others.
            os.killpg(process.pid, signal.SIGTERM)


@pytest.fixture(scope="module")
def began(tables: Path) -> Iterator[tuple[Answer, Pages]]:
    """Panel's own server, with a name besides those of this machine, and its answer to the first request."""
    with panel_serve(tables, "--allow-websocket-origin", "lake.example:8443") as pages:
        yield pages.ask("/main?t=w/orders", Host="evil.example"), pages


@pytest.fixture
def panel(began: tuple[Answer, Pages]) -> Pages:
    return began[1]


def test_the_first_page_shows_nothing_and_opens_itself_again(began: tuple[Answer, Pages]) -> None:
    # Panel answers it, as our application is there only from then on.
    first, panel = began
    assert 'http-equiv="refresh"' in first.text
    for content in ("orders", "token", "<script"):
        assert content not in first.text
    assert panel.ask("/main", Host="evil.example").status == 403


@pytest.mark.whole("test_a_warm_server_answers_below_its_prefix_from_the_first_request_on")
def test_our_own_application_answers_every_later_request(panel: Pages) -> None:
    moved = panel.ask("/main?t=w/orders", Host=f"localhost:{panel.port}")
    assert (moved.status, moved.headers["location"]) == (302, "./?t=w%2Forders")
    for host in (f"localhost:{panel.port}", f"127.0.0.1:{panel.port}", "lake.example:8443"):
        page = panel.ask("/?t=w/orders", Host=host)
        assert (page.status, "nonce-" in page.headers["content-security-policy"]) == (200, True)
    for path in ("/main/autoload.js?bokeh-autoload-element=1", "/main/metadata", "/main/ws", "/components/x", "/login"):
        assert panel.ask(path).status == 404
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "https://lake.example:8443"}):
        answer = panel.ask("/ws", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Key="eA==", **headers)
        assert (answer.status, "What to do." in answer.text) == (403, True)
    assert panel.ask("/?bokeh-session-id=x").status == 403


def test_a_page_of_panel_serve_is_drawn_over_its_socket(panel: Pages) -> None:
    async def talk() -> bool:
        opened = await Talk.begin(panel, panel.ask("/?t=w/orders").token)
        await opened.ask("hello", query="?t=w/orders&tab=files")
        heard = await opened.hears("1.parquet")
        await opened.close()
        return heard

    assert run_apart(talk())


@pytest.mark.whole("test_several_processes_of_panel_are_refused_with_what_to_do")
def test_a_login_of_panel_is_refused_in_words_instead_of_forgotten(tables: Path) -> None:
    options = ("--basic-auth", "secret", "--cookie-secret", "c", "--warm", "--prefix", "lake")
    with panel_serve(tables, *options) as pages:
        for path in ("/main", "/lake/main", "/", "/lake/login"):
            answer = pages.ask(path)
            assert (answer.status, "delta-explorer serve ROOT --basic-auth FILE" in answer.text) == (403, True)


def test_a_warm_server_answers_below_its_prefix_from_the_first_request_on(tables: Path) -> None:
    with panel_serve(tables, "--warm", "--prefix", "lake") as pages:
        named = f"localhost:{pages.port}"
        moved = pages.ask("/lake/main", Host=named)
        assert (moved.status, moved.headers["location"]) == (302, "./")
        assert "orders" in pages.ask("/lake/", Host=named).text
        assert 'href="/lake/"' in pages.ask("/lake/nowhere", Host=named).text


@pytest.mark.parametrize(("arguments", "variable"), [(["w", "--allow-commits"], ""), (["w"], "yes"), (["w"], "1")])
def test_commits_are_refused_with_the_command_that_allows_them(arguments: list[str], variable: str) -> None:
    with pytest.raises(NotAllowed, match="delta-explorer serve --allow-commits"):
        check_read_only(arguments, variable)


def test_several_processes_of_panel_are_refused_with_what_to_do(tables: Path) -> None:
    # A page and its socket may reach different processes, which know nothing of each other.
    with panel_serve(tables, "--num-procs", "2") as pages:
        until = time.monotonic() + 60
        while (answer := pages.ask("/main")).status != 403:
            assert time.monotonic() < until, answer
    assert "Panel was started with --num-procs" in answer.text
    assert "behind a proxy" in answer.text
