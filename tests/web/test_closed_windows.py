"""Work that ends as its window is closed: its result is dropped, and nothing is raised on its thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from bokeh.document import Document
from bokeh.server.server import Server
from panel.io.state import set_curdoc
from tornado.httpclient import AsyncHTTPClient

from explorer.page.host import Identity
from explorer.web.panel_host import PanelHost
from tests.support.own_loop import run_apart


async def after_the_session(called: Callable[[], None]) -> list[BaseException]:
    """Ask a host for a call, from a thread, when its session has ended and its hooks have not run yet."""
    hosts: list[PanelHost] = []

    def page(document: Document) -> None:
        with set_curdoc(document):
            hosts.append(PanelHost(Identity()))
            hosts[0].open()
        document.title = "x"

    server: Any = Server({"/": page}, port=0, address="127.0.0.1")
    raised: list[BaseException] = []
    try:
        server.start()
        await AsyncHTTPClient().fetch(f"http://127.0.0.1:{server.port}/")
        (session,) = server.get_sessions("/")

        def ask() -> None:
            try:
                hosts[0].later(called)
            except BaseException as error:  # noqa: BLE001  # handed to the test
                raised.append(error)

        before = threading.Thread(target=ask)
        before.start()
        await asyncio.to_thread(before.join)
        await asyncio.sleep(0.2)
        session.destroy()
        after = threading.Thread(target=ask)
        after.start()
        await asyncio.to_thread(after.join)
        await asyncio.sleep(0.2)
    finally:
        server.stop()
    return raised


def test_a_result_for_a_session_that_has_ended_is_dropped() -> None:
    calls: list[str] = []
    assert run_apart(after_the_session(lambda: calls.append("called"))) == []
    assert calls == ["called"]
