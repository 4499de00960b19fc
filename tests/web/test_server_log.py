"""The server's log: quiet about windows that were closed, and about nothing else."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tornado.websocket import WebSocketClosedError

from explorer.web import app
from explorer.web.app import create_app
from tests.support.pages.raw_pages import served_here


async def _fail(error: Exception) -> None:
    """End a task with an error that nobody asks for, which asyncio logs when the task is collected."""

    async def send() -> None:
        raise error

    task = asyncio.ensure_future(send())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del task
    gc.collect()


def _fail_elsewhere(error: Exception) -> None:
    """Do so on a thread of its own: on the main one, a browser's tests leave a loop that runs."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(_fail(error))).result()


def _said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The first lines of the log, without what Panel says of the loops of other servers in this process."""
    return [each.getMessage().split("\n")[0] for each in caplog.records if not each.name.startswith("panel")]


def test_a_window_closed_while_something_is_sent_to_it_is_not_in_the_log(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    create_app([str(tmp_path)])
    _fail_elsewhere(WebSocketClosedError())
    logging.getLogger("bokeh.server.views.ws").warning("Failed sending message as connection was closed")
    assert _said(caplog) == []


def test_every_other_fault_is(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    create_app([str(tmp_path)])
    _fail_elsewhere(ValueError("another"))
    logging.getLogger("bokeh.server.views.ws").error("Refusing websocket connection")
    assert _said(caplog) == [
        "Task exception was never retrieved",
        "Refusing websocket connection",
    ]


class _Gone(str):
    """The name of a module that is gone from the loaded ones as soon as one looks at its name."""

    __slots__ = ()

    def startswith(self, *given: Any) -> bool:
        sys.modules.pop(self, None)
        return super().startswith(*given)


def test_a_page_is_made_while_another_thread_loads_modules_in_vain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name, before = _Gone("dateutil.tz.win"), app._query

    def query() -> str:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        return before()

    monkeypatch.setattr(app, "_query", query)
    with served_here(tmp_path) as pages:
        assert pages.ask("/").status == 200
