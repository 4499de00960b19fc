"""The server of the pages: where it listens, who may come, and how it ends."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

import panel as pn

from explorer.auditing.report.signature import SigningKey
from explorer.core.errors import RequestError
from explorer.views.rows.spark_work import start_early, stop_engine
from explorer.web.app import create_app
from explorer.web.serving.headers import SecurityHeaders
from explorer.web.serving.ports import check_port
from explorer.web.serving.unknown_address import UnknownAddress

__all__ = ["serve"]

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def serve(
    roots: Sequence[str],
    *,
    port: int = 0,
    address: str = "127.0.0.1",
    show: bool = False,
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
        show: Open a browser.
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
    if allow_commits and not basic_auth and address not in _LOOPBACK:
        raise RequestError(
            f"With commits allowed, anyone who reaches {address} could change the tables. Require a name and password "
            "(--basic-auth FILE), or listen only on this machine (127.0.0.1).",
            field="allow_commits",
        )
    if key is not None and not basic_auth and address not in _LOOPBACK:
        raise RequestError(
            f"With a key to sign, anyone who reaches {address} could have reports signed. Require a name and password "
            "(--basic-auth FILE), or listen only on this machine (127.0.0.1).",
            field="sign",
        )
    if port:
        check_port(port)
    app = create_app(roots, allow_commits=allow_commits, key=key)
    chosen = port or _free_port(address)
    url = f"http://{_shown_host(address)}:{chosen}/"
    guarded = {"basic_auth": basic_auth, "cookie_secret": secrets.token_hex(32)} if basic_auth else {}
    try:
        server = pn.serve(
            {"/": app}, port=chosen, address=address, show=show, start=False, verbose=False,
            websocket_origin=_origins(address, chosen), title="Delta Table Explorer",
            default_handler_class=UnknownAddress, **guarded,
        )  # fmt: skip
    except OSError as error:
        raise RequestError(
            f"Cannot listen on {address}:{chosen}: {error}. Choose another port.", field="port"
        ) from error
    server._tornado.transforms.append(SecurityHeaders)
    if ready is not None:
        ready(url)
    if spark_start:
        start_early()
    if start:
        server.start()
        try:
            server.io_loop.start()
        except KeyboardInterrupt:
            server.stop()
        finally:
            stop_engine()
    return server


def _free_port(address: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def _origins(address: str, port: int) -> list[str]:
    hosts = {address} if address not in _LOOPBACK else {"127.0.0.1", "localhost"}
    if address in {"0.0.0.0", "::"}:  # noqa: S104  # the person asked to listen everywhere
        hosts = {"127.0.0.1", "localhost", socket.gethostname(), socket.getfqdn()}
    return sorted(f"{host}:{port}" for host in hosts)


def _shown_host(address: str) -> str:
    return "localhost" if address in {"0.0.0.0", "::"} else f"[{address}]" if ":" in address else address  # noqa: S104  # as above
