"""The explorer served in a process of its own, and what goes wrong in a browser's page that shows it."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.shared_tables import REPOSITORY

__all__ = ["SERVE", "SERVE_COMMITS", "enter", "served", "watch"]

SERVE = "import sys; from explorer.web import serve; serve(sys.argv[1:], ready=lambda url: print(url, flush=True))"
SERVE_COMMITS = SERVE.replace("sys.argv[1:], ", "sys.argv[1:], allow_commits=True, ")
_COOKIES: dict[str, str] = {}
LOOPBACK = ("http://127.0.0.1:", "http://localhost:", "ws://127.0.0.1:", "ws://localhost:", "data:", "blob:", "about:")


@contextmanager
def served(root: Path, serve: str, log: Path) -> Iterator[str]:
    """Serve the tables under a folder.

    Args:
        root: The folder.
        serve: The program that serves: `SERVE`, or `SERVE_COMMITS` for tables that may be changed.
        log: The file that the server's log goes to.

    Yields:
        The URL, without its last slash; a browser gets in with `enter`.
    """
    with (
        log.open("w") as said,
        subprocess.Popen(
            [sys.executable, "-c", serve, str(root)], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=said, text=True
        ) as process,
    ):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            pytest.fail(f"the server did not start: {log.read_text()}")
        try:
            plain, _, token = url.partition("?token=")
            if token:
                _COOKIES[plain.rstrip("/")] = _cookie(url)
            yield plain.rstrip("/")
        finally:
            process.terminate()
            process.communicate(timeout=20)


def enter(context: Any, url: str) -> None:
    """Let the windows of a browser into a server that asks for a token, as if its address had been opened in them."""
    if url in _COOKIES:
        name, _, value = _COOKIES[url].partition("=")
        context.add_cookies([{"name": name, "value": value, "url": url, "httpOnly": True, "sameSite": "Strict"}])


def _cookie(url: str) -> str:
    """The cookie for which the server exchanges the token in its URL."""
    parts = urlsplit(url)
    client = http.client.HTTPConnection(parts.netloc, timeout=60)
    try:
        client.request("GET", f"/?{parts.query}")
        return str(client.getresponse().headers["Set-Cookie"]).partition(";")[0]
    finally:
        client.close()


def watch(page: Any) -> list[str]:
    """Watch a page from here on; the list takes up what goes wrong in it, in words.

    Wrong is a request off this machine, an HTTP status from 400, an error in the console and an uncaught error.
    """
    wrong: list[str] = []

    def off(url: str) -> None:
        if not url.startswith(LOOPBACK):
            wrong.append(f"request off the machine: {url}")

    page.on("request", lambda request: off(request.url))
    page.on("websocket", lambda socket: off(socket.url))
    page.on("response", lambda answer: wrong.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    page.on("console", lambda line: wrong.append(f"console: {line.text}") if line.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
    return wrong
