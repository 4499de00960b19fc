"""``panel serve explorer/web/main.py``: the pages under Panel's own command."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import settle
from tests.support.dose import WHOLE_DOSE
from tests.support.pages.ports import free_port, listens
from tests.support.shared_tables import REPOSITORY

pytestmark = [pytest.mark.e2e, pytest.mark.whole("tests/cli/commands/test_serving.py")]


@contextmanager
def panel_serve(*arguments: str, variables: dict[str, str]) -> Iterator[str]:
    """Serve with Panel on a free port until it answers; the address of the pages."""
    port = free_port()
    command = [sys.executable, "-m", "panel", "serve", "explorer/web/main.py", "--port", str(port), *arguments]
    with subprocess.Popen(
        command, cwd=REPOSITORY, env={**os.environ, **variables}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            until = time.monotonic() + 60
            while not listens(port):
                assert process.poll() is None, "panel serve has ended"
                assert time.monotonic() < until, "panel serve does not answer"
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/main"
        finally:
            process.terminate()


@pytest.mark.parametrize("by_variable", [False, True] if WHOLE_DOSE else [True])
def test_the_roots_are_arguments_or_a_variable(by_variable: bool, warehouse: Path, watched: Any) -> None:
    arguments = [] if by_variable else ["--args", str(warehouse)]
    variables = {"DELTA_EXPLORER_ROOTS": str(warehouse)} if by_variable else {}
    with panel_serve(*arguments, variables=variables) as address:
        watched.goto(address)
        settle(watched)
        watched.locator("table.tables").get_by_role("link", name="change-feed").click()
        watched.get_by_role("link", name="Diff", exact=True).click()
        settle(watched)
        assert "tab=diff" in watched.url
        watched.goto("about:blank")
