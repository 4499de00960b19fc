"""The server of the pages: its address, its access, and its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bokeh.server.server import BaseServer

from explorer.activity.configured import PROGRAM
from explorer.activity.event import Event
from explorer.activity.record import ActivityRecord
from explorer.approvals.rules import GivenApprovals
from explorer.core.errors import RequestError
from explorer.given_roles import GivenRole
from explorer.notices.sender import Sender
from explorer.report.signature import SigningKey
from explorer.storage.served_root import GivenRoots
from explorer.storage.served_roots import MOST_TABLES
from explorer.views.rows.spark_work import start_early, stop_engine
from explorer.web.app import create_app
from explorer.web.limits import PersonLimits, ServerLimits
from explorer.web.notice_board import ServedNotices
from explorer.web.serving.application import ExplorerApplication, LoginPages
from explorer.web.serving.gate import LOOPBACK, Gate
from explorer.web.serving.listener import bind, check_port, listen
from explorer.web.serving.people.access import Access, AccessToken, LoginAccess, OpenAccess, Rights, TokenAccess
from explorer.web.serving.people.oidc.settings import OidcSettings
from explorer.web.serving.people.password_file import PasswordFile
from explorer.web.serving.people.proxy_login import ProxyAccess, ProxyLogin
from explorer.web.serving.public_urls import THIS_MACHINE, read_public_url, read_trusted_proxies


def serve(
    roots: GivenRoots,
    *,
    port: int = 0,
    address: str = "127.0.0.1",
    allow_commits: bool = False,
    basic_auth: Path | str | None = None,
    public_urls: Sequence[str] = (),
    trusted_proxies: Sequence[str] = (),
    ready: Callable[[str], None] | None = None,
    renewed: Callable[[str], None] | None = None,
    start: bool = True,
    spark_start: bool = False,
    key: SigningKey | None = None,
    most_tables: int | None = MOST_TABLES,
    activity: Path | str | None = None,
    oidc: OidcSettings | None = None,
    proxy_login: ProxyLogin | None = None,
    roles: Sequence[GivenRole] = (),
    contact: str = "",
    limits: PersonLimits | None = None,
    notices: ServedNotices | None = None,
    approvals: GivenApprovals | None = None,
) -> Any:
    """Serve the tables under some roots until interrupted.

    Args:
        roots: As for `explorer.web.app.create_app`.
        port: TCP port; 0 takes a free one.
        address: Where to listen; the default is only this machine.
        allow_commits: Allow commits from the pages; the default is read-only.
        basic_auth: The file of names and hashed passwords that visitors sign in with, as ``delta-explorer passwd``
            writes it.
        public_urls: The addresses at which people reach the server through a proxy, such as
            ``https://example.org/lake/``.
        trusted_proxies: Addresses or networks of the proxies whose X-Forwarded headers are believed, such as
            ``10.0.0.5`` or ``10.0.0.0/24``. The default is this machine if there are public URLs.
        ready: Called with the URL before the first request is answered. Where changes can be committed or reports be
            signed without a login, it contains a token that opens the server to one browser, once.
        renewed: Called with the URL for another browser each time that such a token was used.
        start: Run the server's loop; False returns the server unstarted, for tests.
        spark_start: Start Spark with the server; by default, the first tab that needs it starts it. It stops with the
            server.
        key: Signs the reports and statements that visitors download, so a password is needed where others can visit.
        most_tables: As for `explorer.web.app.create_app`.
        activity: The file or the folder of the record of who does what; None for no record. While it cannot be
            written, nothing is committed, and no rows are read or exported.
        oidc: The issuer of OpenID Connect that visitors sign in at.
        roles, contact: As for `explorer.web.app.create_app`.
        notices: The notices that are shown, and sent while the server runs; None for none.
        approvals: Which changes a second person must approve; None for none. They need a login, and a record.
        proxy_login: The headers in which the trusted proxies name the people whom they signed in.
        limits: How much one person may have at once; None for the defaults.

    Returns:
        The Bokeh server.

    Raises:
        TableNotFound: If a root on this machine does not exist.
        RequestError: If the port is taken, or browsers refuse to open it; if the password file, a public URL, or a
            trusted proxy is invalid; or if anyone who reaches this machine could commit or have reports signed.
        StorageError: If the record cannot be written, or was changed.
    """
    login = _login(basic_auth, oidc, proxy_login, trusted_proxies)
    _check_reach(address, commits=allow_commits, signs=key is not None, login=login)
    if trusted_proxies and not public_urls:
        raise RequestError(
            "--trusted-proxy needs --public-url, the address that people open. Give both.", field="trusted_proxy"
        )
    _check_approvals(approvals, commits=allow_commits, login=login, record=activity is not None)
    if port:
        check_port(port)
    public = [read_public_url(text) for text in public_urls]
    proxies = read_trusted_proxies(trusted_proxies or (THIS_MACHINE if public else ()))
    users = None if basic_auth is None else PasswordFile(Path(basic_auth))
    record = None if activity is None else ActivityRecord(activity, program=PROGRAM)
    counted = ServerLimits(limits or PersonLimits())
    app = create_app(
        roots,
        allow_commits=allow_commits,
        key=key,
        most_tables=most_tables,
        record=record,
        roles=roles,
        contact=contact,
        limits=counted,
        notices=notices,
        approvals=approvals,
        has_account=None if users is None else users.has,
    )
    sender = None if notices is None or notices.sender is None else notices.sender(_telling(record))
    if notices is not None and sender is not None:
        sender.before = notices.settle_now_and_then
    sockets = bind(address, port)
    chosen = int(sockets[0].getsockname()[1])
    url = str(public[0]) if public else f"http://{_shown_host(address)}:{chosen}/"
    rights = Rights(commit=allow_commits, sign=key is not None)
    announced = _Announced(url, ready, renewed)
    access: Access
    pages: LoginPages = ()
    if oidc is not None:
        access, pages = _single_sign_on(oidc, rights, chosen)
    elif proxy_login is not None:
        access = ProxyAccess(rights, proxy_login, proxies)
    else:
        access = _access(rights, chosen, users, announced)
    gate = Gate(address, chosen, public, proxies)
    server = listen(ExplorerApplication(app, gate, access, record, pages, limits=counted), sockets)
    if start:
        _heed_signals(server)
    if isinstance(access, TokenAccess):
        access.token.renew()
    else:
        announced.plainly()
    if spark_start:
        start_early()
    if start:
        _run(server, record, sender)
    return server


def _telling(record: ActivityRecord | None) -> Callable[[Event], None]:
    return (lambda _: None) if record is None else record.tell


def _login(password_file: object, oidc: object, proxy: object, proxies: Sequence[str]) -> bool:
    """Return whether people sign in, by the one way that is given.

    Raises:
        RequestError: Several are given, or a proxy that is not named.
    """
    given = sum(each is not None for each in (password_file, oidc, proxy))
    if given > 1:
        raise RequestError(
            "Only one way of signing in is possible: a password file, single sign-on, or a proxy. Give one of them.",
            field="login",
        )
    if proxy is not None and not proxies:
        raise RequestError(
            "A proxy that signs people in must be named by its address: anyone else could send its header. Give "
            "--trusted-proxy.",
            field="trusted_proxy",
        )
    return bool(given)


def _access(rights: Rights, port: int, users: PasswordFile | None, announced: _Announced) -> Access:
    if users is not None:
        return LoginAccess(rights, port, users)
    if rights.commit or rights.sign:
        return TokenAccess(rights, port, AccessToken(announced.with_token))
    return OpenAccess(rights)


def _single_sign_on(settings: OidcSettings, rights: Rights, port: int) -> tuple[Access, LoginPages]:
    # Its package is an extra.
    from explorer.web.serving.oidc_login import PAGES
    from explorer.web.serving.people.oidc.access import OidcAccess
    from explorer.web.serving.people.oidc.provider import Provider

    return OidcAccess(rights, port, Provider(settings)), PAGES


def _check_reach(address: str, *, commits: bool, signs: bool, login: bool) -> None:
    """Raise `RequestError` if everyone who reaches this machine could commit or sign."""
    if login or address in LOOPBACK:
        return
    remedy = "Require a name and a password (--basic-auth FILE), or listen only on this machine (127.0.0.1)."
    if commits:
        raise RequestError(
            f"With commits allowed, anyone who reaches {address} could change the tables. {remedy}",
            field="allow_commits",
        )
    if signs:
        raise RequestError(
            f"With a key to sign, anyone who reaches {address} could have reports signed. {remedy}", field="sign"
        )


def _check_approvals(approvals: GivenApprovals | None, *, commits: bool, login: bool, record: bool) -> None:
    """Raise `RequestError` if a second person could not be told from the first, or approvals not be proven."""
    if approvals is None or not commits:
        return
    if not login:
        raise RequestError(
            "[[two_people]] needs to know who people are: without a login, everyone is the same person. Give a "
            "password file (--basic-auth FILE), single sign-on, or a proxy that signs people in.",
            field="two_people",
        )
    if not record:
        raise RequestError(
            "[[two_people]] needs the activity record, which proves who approved what. Give --activity a place, not "
            "off.",
            field="two_people",
        )


class _Announced:
    """Reports the URL of the server: first when it is ready, then for each other browser."""

    def __init__(self, url: str, ready: Callable[[str], None] | None, renewed: Callable[[str], None] | None) -> None:
        self._url = url
        self._tell, self._then = ready, renewed

    def plainly(self) -> None:
        """Report the URL."""
        if self._tell is not None:
            self._tell(self._url)

    def with_token(self, token: str) -> None:
        """Report the URL with a token in it."""
        if self._tell is not None:
            self._tell(f"{self._url}?token={token}")
        self._tell = self._then


def _heed_signals(server: BaseServer) -> None:
    """Let an interrupt end the server, and SIGTERM, which the first process of a container does not heed by itself."""
    loop = server.io_loop
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: loop.add_callback_from_signal(loop.stop))


def _run(server: BaseServer, record: ActivityRecord | None, sender: Sender | None) -> None:
    """Serve, and send notices, until interrupted."""
    loop = server.io_loop
    server.start()
    if sender is not None:
        sender.begin()
    try:
        loop.start()
    finally:
        server.stop()
        if sender is not None:
            sender.end()
        stop_engine()
        if record is not None:
            record.writer.flush()


def _shown_host(address: str) -> str:
    return "localhost" if address in {"0.0.0.0", "::"} else f"[{address}]" if ":" in address else address  # noqa: S104  # as above
