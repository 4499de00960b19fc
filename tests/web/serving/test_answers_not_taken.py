"""Clients that ask, and do not take the answer."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from explorer.web.serving import listener
from tests.support.pages.raw_pages import Pages, served_here

LARGE = "/static/js/bokeh.min.js"


def asking(pages: Pages, path: str, times: int, room: int = 2_048) -> socket.socket:
    """A client that sends a request so many times, and has room for so many bytes of the answers."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    client.settimeout(30)
    client.connect(("127.0.0.1", pages.port))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: {pages.host}\r\n\r\n".encode() * times)
    assert client.recv(1)
    return client


def open_connections(pages: Pages) -> int:
    return len(pages.server._http._connections)


def test_answers_that_many_clients_do_not_take_keep_no_page_from_opening(
    tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "MOST_WAITING", 10)
    with served_here(tables) as pages, ExitStack() as stack:
        for _ in range(25):
            # More than the buffers between the two take.
            stack.enter_context(asking(pages, LARGE, 8))
        ends = time.monotonic() + 20
        while open_connections(pages) > listener.MOST_WAITING and time.monotonic() < ends:
            time.sleep(0.1)
        assert open_connections(pages) <= listener.MOST_WAITING
        assert pages.ask("/?t=w/orders").status == 200


def test_an_answer_that_is_not_taken_in_time_is_dropped_and_a_slow_client_gets_its_own(
    tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "ANSWER_SECONDS", 1.0)
    with served_here(tables) as pages:
        whole = len(pages.ask(LARGE).text.encode())
        with asking(pages, LARGE, 8) as idle, asking(pages, LARGE, 8, 200_000) as slow:
            taken, began = 1, time.monotonic()
            while taken < 8 * whole and time.monotonic() - began < 60:
                # Several times as long as an answer may stay where it is.
                if time.monotonic() - began < 3:
                    time.sleep(0.2)
                part = slow.recv(400_000)
                assert part
                taken += len(part)
            assert taken >= 8 * whole
            received = 0
            with suppress(OSError):
                while part := idle.recv(1_000_000):
                    received += len(part)
            assert received < 8 * whole
