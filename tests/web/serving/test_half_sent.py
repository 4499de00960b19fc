"""Requests that are never sent to their end."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from explorer.web.serving import listener
from tests.support.pages.raw_pages import Pages, served_here

HALVES = (
    b"GET / HTTP/1.1\r\nHost: x",
    b"POST /login HTTP/1.1\r\nHost: %b\r\nOrigin: http://%b\r\nContent-Length: 9\r\n\r\nx",
    b"",
)


def test_four_hundred_half_sent_requests_keep_no_page_from_opening(reading: Pages) -> None:
    with ExitStack() as stack:
        for number in range(400):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", reading.port), timeout=30))
            half.sendall(HALVES[number % 3].replace(b"%b", reading.host.encode()))
        assert reading.ask("/?t=w/orders").status == 200
        waiting = reading.server._http._waiting
        assert len(waiting) <= listener.MOST_WAITING


def test_a_request_that_is_not_sent_in_time_is_dropped(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "REQUEST_SECONDS", 0.5)
    with served_here(tables) as pages:
        for half in HALVES:
            with socket.create_connection(("127.0.0.1", pages.port), timeout=30) as client:
                client.sendall(half.replace(b"%b", pages.host.encode()))
                began = time.monotonic()
                assert b"200" not in client.recv(100)
                assert time.monotonic() - began < 20


@pytest.mark.parametrize("size", [70_000, 10_000_000])
def test_what_is_too_large_is_refused_before_it_is_read(reading: Pages, size: int) -> None:
    with socket.create_connection(("127.0.0.1", reading.port), timeout=30) as client:
        head = f"POST / HTTP/1.1\r\nHost: {reading.host}\r\nOrigin: {reading.origin}\r\nContent-Length: {size}\r\n\r\n"
        client.sendall(head.encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 400")
