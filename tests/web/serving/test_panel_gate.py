"""The server of ``panel serve``: read only, behind the same gate."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.core.errors import NotAllowed
from explorer.web.main import check_read_only
from tests.support.ports import free_port, listens
from tests.support.raw_pages import Pages
from tests.support.shared_tables import REPOSITORY


@pytest.fixture(scope="module")
def panel(tables: Path) -> Iterator[Pages]:
    """Panel's own server of the tables."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "panel",
        "serve",
        "explorer/web/main.py",
        "--port",
        str(port),
        "--args",
        str(tables),
    ]
    with subprocess.Popen(
        command, cwd=REPOSITORY, env=dict(os.environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            until = time.monotonic() + 120
            while not listens(port):
                assert process.poll() is None, "panel serve has ended"
                assert time.monotonic() < until, "panel serve does not answer"
                time.sleep(0.1)
            yield Pages(port)
        finally:
            process.terminate()


def test_the_gate_is_there_from_the_first_page_on(panel: Pages) -> None:
    # The gate is put in place by the page that is asked for first; that page checks its own request.
    first = panel.ask("/main", Host="evil.example")
    assert "orders" not in first.text
    assert panel.ask("/main", Host="evil.example").status == 403
    assert panel.ask("/main", Host=f"localhost:{panel.port}").status == 200
    for path in ("/main/autoload.js?bokeh-autoload-element=1", "/main/metadata", "/components/this/x/__css__/y"):
        assert panel.ask(path).status == 404
    for headers in ({}, {"Origin": "http://evil.example"}):
        answer = panel.ask("/main/ws", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Key="eA==", **headers)
        assert (answer.status, "What to do." in answer.text) == (403, True)
    assert panel.ask("/main?bokeh-session-id=x").status == 403


@pytest.mark.parametrize(("arguments", "variable"), [(["w", "--allow-commits"], ""), (["w"], "yes"), (["w"], "1")])
def test_commits_are_refused_with_the_command_that_allows_them(arguments: list[str], variable: str) -> None:
    with pytest.raises(NotAllowed, match="delta-explorer serve --allow-commits"):
        check_read_only(arguments, variable)
