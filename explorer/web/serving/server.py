"""The server of the pages: where it listens, who may come, and how it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

from bokeh.server.server import BaseServer

from explorer.auditing.report.signature import SigningKey
from explorer.core.errors import RequestError
from explorer.views.rows.spark_work import start_early, stop_engine
from explorer.web.app import create_app
from explorer.web.serving.application import ExplorerApplication
from explorer.web.serving.gate import LOOPBACK, Gate
from explorer.web.serving.listener import bind, listen
from explorer.web.serving.ports import check_port

__all__ = ["serve"]


def serve(
    roots: Sequence[str],
    *,
    port: int = 0,
    address: str = "127.0.0.1",
    allow_commits: bool = False,
    basic_auth: str | None = None,
    ready: Callable[[str], None] | None = None,
    start: bool = True,
    spark_start: bool = False,
    key: SigningKey | None = None,
) -> Any:
    """Serve the tables under some roots until interrupted.

    Args:
        roots: As for `explorer.web.app.create_app`.
        port: TCP port; 0 takes a free one.
        address: Where to listen; the default is only this machine.
        allow_commits: Let changes be committed from the pages. Off, every table refuses to be written to.
        basic_auth: A password, or a file of users and passwords (JSON), that a visitor must give.
        ready: Called with the URL before the first request is answered.
        start: Run the server's loop; False returns the server unstarted, for tests.
        spark_start: Start Spark with the server; otherwise when a person first opens a tab that needs it. It is stopped
            with the server.
        key: Signs the reports and statements that visitors download, so a password is needed where others can visit.

    Returns:
        The Bokeh server.

    Raises:
        TableNotFound: A root does not exist.
        RequestError: The port is taken, or browsers refuse to open it; or commits would be allowed, or reports signed,
            without a password for anyone who reaches this machine.
    """
    if allow_commits and not basic_auth and address not in LOOPBACK:
        raise RequestError(
            f"With commits allowed, anyone who reaches {address} could change the tables. Require a name and password "
            "(--basic-auth FILE), or listen only on this machine (127.0.0.1).",
            field="allow_commits",
        )
    if key is not None and not basic_auth and address not in LOOPBACK:
        raise RequestError(
            f"With a key to sign, anyone who reaches {address} could have reports signed. Require a name and password "
            "(--basic-auth FILE), or listen only on this machine (127.0.0.1).",
            field="sign",
        )
    if port:
        check_port(port)
    app = create_app(roots, allow_commits=allow_commits, key=key)
    sockets = bind(address, port)
    chosen = int(sockets[0].getsockname()[1])
    url = f"http://{_shown_host(address)}:{chosen}/"
    server = listen(ExplorerApplication(app, Gate(address, chosen)), sockets)
    if ready is not None:
        ready(url)
    if spark_start:
        start_early()
    if start:
        _run(server)
    return server


def _run(server: BaseServer) -> None:
    """Serve until the person interrupts it."""
    loop = server.io_loop
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda *_: loop.add_callback_from_signal(loop.stop))
    server.start()
    try:
        loop.start()
    finally:
        server.stop()
        stop_engine()


def _shown_host(address: str) -> str:
    return "localhost" if address in {"0.0.0.0", "::"} else f"[{address}]" if ":" in address else address  # noqa: S104  # as above
