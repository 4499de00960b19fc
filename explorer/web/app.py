"""The Panel application: one address for the list of tables and for each table."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import unquote, urlencode

import jinja2
import panel as pn
from bokeh.server.contexts import BokehServerContext, BokehSessionContext
from markupsafe import Markup
from panel.io.resources import get_dist_path
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from explorer.core.protocol.times import milliseconds
from explorer.core.versions.commit_times import moment
from explorer.report.signature import SigningKey
from explorer.web.figure_pane import load_figures
from explorer.web.first_page import FirstPages
from explorer.web.html.nonce import nonce_of
from explorer.web.html.page_scripts import script_addresses, script_json, sessions_json
from explorer.web.identity import Identity
from explorer.web.page import SCRIPTS, head_styles, icon, script_tag
from explorer.web.pages import TABLE_REGIONS
from explorer.web.render import environment, render
from explorer.web.served_tables import Catalog
from explorer.web.session import Session, show_failure
from explorer.web.strip import Screen

__all__ = ["create_app"]

_log = logging.getLogger(__name__)
_VISIT = 4 * 3_600_000  # ms without a page that end a visit; first.js has the same


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
        return Session(
            catalog, _query(), _theme(), unquote(pn.state.cookies.get("explorer-person", ""))[:200],
            identity=_identity(), screen=_screen(), since=_since(), early_spark=True, later=True,
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
    shown, nonce = session.shown, _nonce()
    template = pn.Template(_page())
    template.add_panel("page", session.page)
    values: dict[str, Any] = {
        "theme": session.theme,
        "mark": session.mark,
        "kind": session.kind,
        "page_title": shown.title,
        "icon": icon(),
        "nonce": nonce,
        "head_styles": head_styles(nonce),
        "scripts": {name: script_tag(name, nonce) for name in SCRIPTS},
        # Each is HTML of a template, which escaped what it shows.
        "regions": {name: Markup(shown.regions.get(name, "")) for name in TABLE_REGIONS},  # noqa: S704
        "hidden": {"timeline-slot": False, "chart-card": False} | shown.hidden,
        "chart_height": session.chart.height,
        "shortcuts": Markup(render("shortcuts")),  # noqa: S704  # as above
        "strip_height": 208 if shown.timeline is None else shown.timeline.figure["layout"]["height"],
        "strip_figure": script_json(None if shown.timeline is None else shown.timeline.message(None)),
    }
    if session.kind == "table":
        template.add_panel("chart", session.chart.pane)
    for name, value in values.items():
        template.add_variable(name, value)
    return template


@cache
def _page() -> jinja2.Template:
    made = environment().overlay()
    made.filters = made.filters | {"script_addresses": script_addresses, "sessions_json": sessions_json}
    return made.get_template("page.html")


def _nonce() -> str:
    """The nonce of the request for the page that is made."""
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    request = context.request if isinstance(context, BokehSessionContext) else None
    return "" if request is None else nonce_of(request)


def _query() -> str:
    request = _request()
    arguments = request.arguments if request is not None else {}

    return "?" + urlencode({key: values[-1] for key, values in arguments.items()}, safe="/")


def _request() -> Any:
    """The request of the current document; None outside of a server."""
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    return context.request if isinstance(context, BokehSessionContext) else None


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


def _identity() -> Identity:
    """Who asks for the page, as the server knows it; `panel serve` knows nobody, and lets nobody commit."""
    found = getattr(_request(), "identity", None)
    return found if isinstance(found, Identity) else Identity(may_commit=False, may_sign=False)
