"""The Panel application: one address for the list of tables and for each table, served by `serve` or `panel serve`."""

from __future__ import annotations

import base64
import gc
import json
import logging
import secrets
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

import jinja2
import panel as pn
from bokeh.server.contexts import BokehServerContext, BokehSessionContext
from panel.io.resources import get_dist_path
from tornado.iostream import StreamClosedError
from tornado.web import decode_signed_value
from tornado.websocket import WebSocketClosedError

from explorer.auditing.report.signature import SigningKey
from explorer.core.errors import RequestError
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.commit_times import moment
from explorer.views.rows.spark_work import start_early, stop_engine
from explorer.web.figure_pane import load_figures
from explorer.web.first_page import FirstPages
from explorer.web.page import head_styles
from explorer.web.pages import TABLE_REGIONS
from explorer.web.ports import check_port
from explorer.web.render import environment, render
from explorer.web.served_tables import Catalog
from explorer.web.session import Session, show_failure
from explorer.web.strip import Screen

__all__ = ["create_app", "serve"]

_log = logging.getLogger(__name__)
_HERE = Path(__file__).parent
_VISIT = 4 * 3_600_000  # ms without a page that end a visit; page.html has the same
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def create_app(
    roots: Sequence[str], *, allow_commits: bool = False, key: SigningKey | None = None
) -> Callable[[], pn.Template]:
    """Return the application: a function that makes the page of one request.

    Args:
        roots: Folders that hold Delta tables. Nothing outside them is shown.
        allow_commits: Allow commits; otherwise tables are opened for reading only.
        key: Signs the reports and statements that are downloaded.

    Raises:
        TableNotFound: A root does not exist.
    """
    catalog = Catalog(roots, allow_commits=allow_commits, key=key)
    load_figures()
    pn.extension("plotly", exception_handler=show_failure, design=None)
    for name in ("asyncio", "bokeh.server.views.ws"):
        logging.getLogger(name).addFilter(_is_no_closed_window)
    # What is loaded now stays for good: looked through again and again, it takes a tenth of the time of a large log.
    gc.collect()
    gc.freeze()

    def begin() -> Session:
        signed_in = _signed_in()
        person = signed_in if signed_in is not None else unquote(pn.state.cookies.get("explorer-person", ""))[:200]
        return Session(
            catalog, _query(), _theme(), person, signed_in=signed_in is not None, screen=_screen(), since=_since(),
            early_spark=True, later=True,
        )  # fmt: skip

    pages = FirstPages(begin)

    def app() -> pn.Template:
        _serve_styles_from_here()
        document = pn.state.curdoc
        context = document.session_context if document else None
        server = context.server_context if isinstance(context, BokehSessionContext) else None
        if isinstance(server, BokehServerContext) and server.application_context is not None:
            pages.join(server.application_context.application)
        session = pages.take(document)
        session.open()
        return _template(session)

    return app


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
        roots: As for `create_app`.
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
            websocket_origin=_origins(address, chosen), title="Delta Table Explorer", **guarded,
        )  # fmt: skip
    except OSError as error:
        raise RequestError(
            f"Cannot listen on {address}:{chosen}: {error}. Choose another port.", field="port"
        ) from error
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


def _is_no_closed_window(record: logging.LogRecord) -> bool:
    """False for a record that says only that a window was closed while something was on its way to it."""
    error = record.exc_info[1] if record.exc_info else None
    closed = isinstance(error, WebSocketClosedError | StreamClosedError)
    return not closed and record.getMessage() != "Failed sending message as connection was closed"


def _serve_styles_from_here() -> None:
    """Name this server as the one that Panel's style sheets come from.

    Panel does so when it answers the request for a page. A session that is made after it, for a browser that was too
    slow to open its socket, would else name Panel's public server.
    """
    if pn.state.curdoc is not None:
        pn.state.curdoc.template_variables["dist_url"] = get_dist_path()


def _template(session: Session) -> pn.Template:
    shown = session.shown
    template = pn.Template(_page())
    template.add_panel("page", session.page)
    values: dict[str, Any] = {
        "theme": session.theme,
        "mark": session.mark,
        "kind": session.kind,
        "page_title": shown.title,
        "icon": _icon(),
        "head_styles": head_styles(),
        "regions": {name: shown.regions.get(name, "") for name in TABLE_REGIONS},
        "hidden": {"timeline-slot": False, "chart-card": False} | shown.hidden,
        "chart_height": session.chart.height,
        "shortcuts": render("shortcuts"),
        "strip_script": _strip_script(),
        "strip_height": 208 if shown.timeline is None else shown.timeline.figure["layout"]["height"],
        "strip_figure": _script_json(None if shown.timeline is None else shown.timeline.message(None)),
    }
    if session.kind == "table":
        template.add_panel("chart", session.chart.pane)
    for name, value in values.items():
        template.add_variable(name, value)
    return template


@cache
def _page() -> jinja2.Template:
    # Panel's own environment knows the macros that place the roots; the regions come in as HTML, rendered and escaped.
    from panel.io.resources import _env

    source, _, _ = environment().loader.get_source(environment(), "page.html")  # type: ignore[union-attr]
    page: jinja2.Template = _env.from_string(source)
    return page


@cache
def _strip_script() -> str:
    return (_HERE / "static" / "strip.js").read_text(encoding="utf-8")


@cache
def _icon() -> str:
    svg = (_HERE / "static" / "icon.svg").read_bytes()
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


def _query() -> str:
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    request = context.request if isinstance(context, BokehSessionContext) else None
    arguments = request.arguments if request is not None else {}

    return "?" + urlencode({key: values[-1] for key, values in arguments.items()}, safe="/")


def _theme() -> str:
    return "dark" if pn.state.cookies.get("explorer-theme") == "dark" else "light"


def _screen() -> Screen | None:
    """The window's size as the page before said it."""
    width, _, height = pn.state.cookies.get("explorer-screen", "").partition("x")
    if not (width.isdecimal() and height.isdecimal() and len(width + height) < 9):
        return None
    return Screen(int(width), int(height))


def _since() -> datetime | None:
    """When the person's last visit ended, by the browser's two cookies: this visit goes on, or another one begins."""
    looked, since = _milliseconds("explorer-looked"), _milliseconds("explorer-since")
    begins = looked is not None and milliseconds(datetime.now(UTC)) - looked > _VISIT
    known = looked if begins else since
    return None if known is None else moment(known)


def _milliseconds(cookie: str) -> int | None:
    text = pn.state.cookies.get(cookie, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 14 else None


def _script_json(value: object) -> str:
    """JSON that can stand in a script element: no character of it can end the element."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _signed_in() -> str | None:
    """The name under which the person signed in, or None if the server asks for none.

    The cookie is signed with the server's secret. Panel's own answer is not asked, as an unsigned cookie makes it
    "guest".
    """
    user, secret = pn.state.cookies.get("user"), pn.config.cookie_secret
    found = None if user is None or secret is None else decode_signed_value(secret, "user", user)
    return None if found is None else found.decode("utf-8", "replace")


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
