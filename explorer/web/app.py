"""The Panel application: one address for the list of tables and for each table.

The page of a request is made before Bokeh makes its session; meanwhile the server answers other windows.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import unquote, urlencode
from weakref import WeakKeyDictionary

import jinja2
import panel as pn
from bokeh.application import Application
from bokeh.application.application import SessionContext
from bokeh.application.handlers import Handler
from bokeh.document import Document
from bokeh.server.contexts import BokehServerContext, BokehSessionContext
from panel.io import handlers
from panel.io.resources import get_dist_path
from panel.io.state import set_curdoc
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from explorer.activity.newest import NewestEntries
from explorer.activity.record import ActivityRecord
from explorer.approvals.rules import GivenApprovals
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.commit_times import moment
from explorer.debug import log_failure
from explorer.given_roles import GivenRole, resolved_roles
from explorer.page.address import address_of
from explorer.page.approvals import Approvals
from explorer.page.drawing import first_figures, window_values
from explorer.page.host import Identity
from explorer.page.session import Session
from explorer.page.strip import Screen
from explorer.page.table_session import TableSession
from explorer.report.signature import SigningKey
from explorer.rights import PersonalRights
from explorer.storage.served_root import GivenRoots
from explorer.storage.served_roots import MOST_TABLES
from explorer.views.many_tables.record import KeptRecord
from explorer.web.home.session import HomeSession, names_in
from explorer.web.home.tables import ListView
from explorer.web.html import (
    environment,
    head_styles,
    icon,
    lake_tags,
    lanes_tag,
    module_tag,
    nonce_of,
    plotly_tag,
    preload_tags,
    script_addresses,
    script_json,
    script_tag,
    sessions_json,
)
from explorer.web.limits import ServerLimits
from explorer.web.notice_board import ServedNotices
from explorer.web.panel_host import PanelHost
from explorer.web.personal_approvals import ServerApprovals
from explorer.web.personal_tables import PersonalEntry, PersonalTables
from explorer.web.recorder import Recorder
from explorer.web.served_tables import Catalog
from explorer.web.visible_tables import visible_catalog


class FirstPages(Handler):
    """Prepares the session of each document, which Bokeh then hands to the application.

    Args:
        begin: Makes the session of the current document, which is to be prepared.
    """

    def __init__(self, begin: Callable[[], Session]) -> None:
        super().__init__()
        self._begin = begin
        self._prepared: WeakKeyDictionary[Document, Session] = WeakKeyDictionary()

    def join(self, application: Application) -> None:
        """Take part in an application, from its next session on."""
        if self not in application.handlers:
            application.add(self)

    def take(self, document: Document | None) -> Session:
        """Return the session of a document; one that was not prepared makes its page while the server waits."""
        prepared = None if document is None else self._prepared.pop(document, None)
        return self._begin() if prepared is None else prepared

    async def on_session_created(self, session_context: SessionContext) -> None:
        """Prepare the session of a new document."""
        await session_context.with_locked_document(self._prepare)

    async def _prepare(self, document: Document) -> None:
        with set_curdoc(document):
            session = self._begin()
        await session.prepare()
        self._prepared[document] = session

    def modify_document(self, doc: Document) -> None:
        """Leave the document to the application."""


_log = logging.getLogger(__name__)
_VISIT = 4 * 3_600_000  # ms without a page that end a visit; first.js has the same


def create_app(
    roots: GivenRoots,
    *,
    allow_commits: bool = False,
    key: SigningKey | None = None,
    most_tables: int | None = MOST_TABLES,
    record: ActivityRecord | None = None,
    roles: Sequence[GivenRole] = (),
    contact: str = "",
    limits: ServerLimits | None = None,
    notices: ServedNotices | None = None,
    approvals: GivenApprovals | None = None,
    has_account: Callable[[str], bool] | None = None,
) -> Callable[[], pn.Template]:
    """Return the application: a function that makes the page of one request.

    Args:
        roots: Places that hold Delta tables: folders, or URLs of stores. Nothing outside them is shown.
        allow_commits: Allow commits; otherwise tables are opened read-only.
        key: Signs the reports and statements that are downloaded.
        most_tables: How many tables are listed under a root; None for all of them.
        record: Where to record who does what; None for nowhere.
        roles: Who may do what; without any, everyone who may open the pages may do all that the server allows.
        contact: Whom people ask for more rights.
        limits: What the people of the server have at the moment; None for a server without limits.
        notices: The notices that are shown on the list of tables; None for none.
        approvals: Which changes a second person must approve; None for none. They need a record.
        has_account: Says whether the password file has a name; None without such a file.

    Raises:
        TableNotFound: A root on this machine does not exist.
        RequestError: A root names no place, its name or its options do not fit, or a role does not fit the roots.
    """
    lines = None if record is None else NewestEntries(record.files)
    catalog = Catalog(roots, allow_commits=allow_commits, key=key, most=most_tables, record=lines, notices=notices)
    if limits is not None:
        catalog.server_state = limits.statement
    given = resolved_roles(roles, catalog.roots, contact)
    of_all = None
    if approvals is not None and record is not None:
        of_all = ServerApprovals(
            approvals,
            catalog,
            record,
            given,
            has_account=has_account,
            notices=None if notices is None else notices.book,
        )
        if notices is not None:
            notices.settle = of_all.settle
    catalog.list.begin()
    pn.extension(exception_handler=_log_fault, design=None)
    # Panel looks up each module that was loaded while a page was made, to watch its file. The page fails if one is gone
    # by then, as one of pandas is that is for another system, while a thread that makes another page loads it.
    handlers.record_modules = _watch_nothing  # type: ignore[attr-defined]  # it imports it from its own reload
    for name in ("asyncio", "bokeh.server.views.ws"):
        logging.getLogger(name).addFilter(_is_no_closed_window)
    # What is loaded now stays for good: scanned again and again, it takes a tenth of the time of a large log.
    gc.collect()
    gc.freeze()

    def begin() -> Session:
        identity = _identity()
        query, host = _query(), PanelHost(identity, unquote(pn.state.cookies.get("explorer-person", ""))[:200])
        theme, screen, recorder = _theme(), _screen(), Recorder(record, identity)
        rights = PersonalRights() if given is None else given.of(identity.name, identity.groups)
        visible = visible_catalog(catalog, rights)
        own = None if of_all is None else of_all.of(identity, visible, recorder, rights)
        tables = PersonalTables(visible, recorder, rights, own)
        entry = PersonalEntry(tables, recorder, limits)
        if address_of(query).table:
            return TableSession(tables, host, query, theme, screen=screen, entry=entry, early_spark=True, later=True)
        return HomeSession(visible, host, query, theme, screen=screen, entry=entry, list_view=_kept(own), later=True)

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
        assert isinstance(session.host, PanelHost)
        session.host.open()
        return _template(session, session.host)

    return app


def _is_no_closed_window(record: logging.LogRecord) -> bool:
    """False for a record that says only that a window was closed while something was on its way to it."""
    error = record.exc_info[1] if record.exc_info else None
    closed = isinstance(error, WebSocketClosedError | StreamClosedError)
    return not closed and record.getMessage() != "Failed sending message as connection was closed"


def _serve_styles_from_here() -> None:
    """Name this server as the source of Panel's style sheets: a late session would name Panel's public server."""
    if pn.state.curdoc is not None:
        pn.state.curdoc.template_variables["dist_url"] = get_dist_path()


def _template(session: Session, host: PanelHost) -> pn.Template:
    shown, nonce = session.shown, _nonce()
    template = pn.Template(_page())
    template.add_panel("page", host.bridge)
    values: dict[str, Any] = {
        "theme": session.theme,
        "mark": session.mark,
        "page_title": shown.title,
        "icon": icon(),
        "nonce": nonce,
        "head_styles": head_styles(nonce),
        "scripts": {name: script_tag(name, nonce) for name in ("theme", "styled", "first", "unconnected", "connect")},
        "preload": preload_tags(nonce),
        "start": module_tag(nonce),
        "plotly": plotly_tag(nonce),
        "lake": lake_tags(nonce),
        "lanes": lanes_tag(nonce),
        "figures": script_json(first_figures(shown)),
    } | window_values(shown, session.kind)
    for name, value in values.items():
        template.add_variable(name, value)
    return template


@contextmanager
def _watch_nothing(*_given: object, **_named: object) -> Iterator[None]:
    """Take the place of Panel's watch of files."""
    yield


@cache
def _page() -> jinja2.Template:
    made = environment().overlay()
    made.filters = made.filters | {"script_addresses": script_addresses, "sessions_json": sessions_json}
    return made.get_template("page.html")


def _log_fault(error: Exception) -> None:
    """Log an error that no handler caught (Panel's exception handler)."""
    log_failure(_log, "a callback failed", error)


def _nonce() -> str:
    """Return the nonce of the request for the page that is made."""
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    request = context.request if isinstance(context, BokehSessionContext) else None
    return "" if request is None else nonce_of(request)


def _query() -> str:
    request = _request()
    arguments = request.arguments if request is not None else {}

    return "?" + urlencode({key: values[-1] for key, values in arguments.items()}, safe="/")


def _request() -> Any:
    """Return the request of the current document; None outside of a server."""
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    return context.request if isinstance(context, BokehSessionContext) else None


def _theme() -> str:
    return "dark" if pn.state.cookies.get("explorer-theme") == "dark" else "light"


def _screen() -> Screen | None:
    """Return the size of the window in the cookie of the page before."""
    width, _, height = pn.state.cookies.get("explorer-screen", "").partition("x")
    if not (width.isdecimal() and height.isdecimal() and len(width + height) < 9):
        return None
    return Screen(int(width), int(height))


def _kept(approvals: Approvals | None) -> ListView:
    """Return how the person has the list of tables, by the browser's cookies."""
    pins, recent = (_names(f"explorer-{name}") for name in ("pins", "recent"))
    return ListView(_since(), pins, recent, KeptRecord(), approvals=approvals)


def _names(cookie: str) -> tuple[str, ...]:
    return names_in(unquote(pn.state.cookies.get(cookie, "")))


def _since() -> datetime | None:
    """When the person's last visit ended, by the browser's two cookies: this visit goes on, or another one begins."""
    visited, since = _milliseconds("explorer-looked"), _milliseconds("explorer-since")
    begins = visited is not None and milliseconds(datetime.now(UTC)) - visited > _VISIT
    known = visited if begins else since
    return None if known is None else moment(known)


def _milliseconds(cookie: str) -> int | None:
    text = pn.state.cookies.get(cookie, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 14 else None


def _identity() -> Identity:
    """Return the person of the request, as the server knows it; `panel serve` knows no one, and refuses commits."""
    identity = getattr(_request(), "identity", None)
    return identity if isinstance(identity, Identity) else Identity(may_commit=False, may_sign=False)
