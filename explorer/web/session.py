"""One browser window: it asks for addresses, and is sent what changed.

The work of a page runs on a thread, so that a long log keeps no other window waiting; only the newest request is
answered. Whatever fails is shown in the page and logged.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn
from bokeh.document import Document

from explorer.core.errors import ExplorerError, RequestError
from explorer.views import TableFacts, TableView, as_plotly
from explorer.views.figures.plotly import Figure
from explorer.views.listing import Listing
from explorer.views.problems import problem_of
from explorer.web.act_messages import ChangeMessages
from explorer.web.address import Address
from explorer.web.data_messages import RowMessages
from explorer.web.page import Page
from explorer.web.pages import Rendered, home_page, notice, problem_page, table_page, waiting_page
from explorer.web.served_tables import Catalog, TableSummary
from explorer.web.tabs import arranged, listing_of
from explorer.web.window_work import Works

__all__ = ["Session", "show_failure"]

_log = logging.getLogger(__name__)
_WORKERS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="explorer-page")
_PATIENCE = 0.6
_CHUNK = 1_000_000
_LOOK = 15_000
_sessions: WeakKeyDictionary[Document, Session] = WeakKeyDictionary()


class Session:
    """The server's side of one window.

    Args:
        catalog: The served tables.
        query: The query string the window was opened with.
        theme: ``light`` or ``dark``, as far as the request tells.
        person: Who looks at it; empty if not known.
        signed_in: The server knows the person.
    """

    def __init__(self, catalog: Catalog, query: str, theme: str, person: str = "", *, signed_in: bool = False) -> None:
        self.catalog = catalog
        self.page: Page = Page(width=0, height=0)  # type: ignore[no-untyped-call]  # param
        self.page.on_msg(self._receive)
        self.theme = theme
        self.works = Works.of(catalog, person, signed_in=signed_in, changed=self.show_again)
        self._rows, self._changes = RowMessages(self), ChangeMessages(self, _WORKERS)
        self.query = query
        self._newest = 0
        self._sent: dict[str, str] = {}
        self._summaries: dict[str, TableSummary] = {}
        self.kind = "table" if _table_named(query) else "home"
        self._future = _WORKERS.submit(self._render, query, theme)
        self.shown, self.complete = self._first()
        self._sent = dict(self.shown.regions)
        config = {"displayModeBar": False, "responsive": False, "scrollZoom": False, "doubleClick": False}
        self.timeline = pn.pane.Plotly(_object(self.shown.timeline), config=config, **_sized(self.shown.timeline, 146))
        self.chart = pn.pane.Plotly(_object(self.shown.chart), config=config, **_sized(self.shown.chart, 210))
        self.document: Document | None = pn.state.curdoc
        if self.document is not None:
            _sessions[self.document] = self
            pn.state.on_session_destroyed(self._close)
            if self.kind == "table":
                pn.state.add_periodic_callback(self._look, period=_LOOK)

    # --- what the window asks for

    def _receive(self, event: Any) -> None:
        message = event.data
        handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "hello": self._hello,
            "go": self._go,
            "theme": self._set_theme,
            "download": self._download,
            "raw": self._raw,
        }
        handlers |= self._rows.handlers | self._changes.handlers
        handler = handlers.get(message.get("kind", "")) if isinstance(message, dict) else None
        if handler is None:
            return
        try:
            handler(message)
        except ExplorerError as error:
            self.tell(error, number=message.get("number", 0))

    def _hello(self, message: dict[str, Any]) -> None:
        self.theme = "dark" if message.get("theme") == "dark" else "light"
        if not self.complete or message.get("theme") != message.get("shown") or message.get("query", "") != self.query:
            self._go(message)
        else:
            self.acknowledge(message)

    def _go(self, message: dict[str, Any]) -> None:
        self.query = str(message.get("query", ""))
        number = int(message.get("number", 0))
        self._newest = max(self._newest, number)
        kind = "table" if _table_named(self.query) else "home"
        if kind != self.kind:
            # The two kinds of page have different skeletons.
            self.page.send({"kind": "reload"})
            return
        future = _WORKERS.submit(self._render, self.query, self.theme)
        future.add_done_callback(lambda done: self.later(partial(self._arrived, number, done)))

    def _set_theme(self, message: dict[str, Any]) -> None:
        self.theme = "dark" if message.get("theme") == "dark" else "light"
        self._go(message)

    def _raw(self, message: dict[str, Any]) -> None:
        view = self.shown.view
        if view is not None:
            lines = view.facts.table.commit_actions(view.version)
            text = "\n".join(line.decode("utf-8", "replace") for line in lines[:200])
            self.patch({"side": self._side_with(text[:200_000])}, message)

    def _side_with(self, raw: str) -> str:
        from explorer.web.render import render_blocks
        from explorer.web.tabs import tab_of

        view, address = self.shown.view, Address.parse(self.query)
        if view is None:
            return ""
        values = tab_of(view, address).values | {
            "raw": raw,
            "address": address,
            "version": view.version,
            "commit": view.commit,
        }
        return render_blocks("overview", **values)["side"]

    def _download(self, message: dict[str, Any]) -> None:
        view, name, kind = self.shown.view, str(message.get("list", "")), message.get("format")
        if view is None:
            raise RequestError("There is nothing to export on this page.", field="list")
        file: dict[str, Any] = {"kind": "file", "id": f"{name}-{message.get('number')}", "copy": kind == "copy"}
        if name == "plan":
            text = json.dumps(self.works.desk.document(), ensure_ascii=False, indent=2)
            file |= {"name": f"{view.facts.name}-plan.json", "type": "application/json", "what": "plan"}
        else:
            listing = self._listing(name, view)
            suffix, media = ("json", "application/json") if kind == "json" else ("csv", "text/csv")
            text = listing.to_json() if kind == "json" else listing.to_csv()
            file |= {"name": f"{listing.name}.{suffix}", "type": media, "what": "list"}
        for start in range(0, max(len(text), 1), _CHUNK):
            self.page.send({**file, "text": text[start : start + _CHUNK], "done": start + _CHUNK >= len(text)})
        self.acknowledge(message)

    def _listing(self, name: str, view: TableView) -> Listing:
        address = Address.parse(self.query)
        match name:
            case "data":
                return arranged(self.works.rows.listing_required(), address)
            case "changes":
                return arranged(self.works.feed.listing_required(), address)
            case _:
                return listing_of(name, view, address)

    def show_again(self) -> None:
        """Draw the page anew; from any thread."""
        self.later(lambda: self._go({"query": self.query, "number": self._newest}))

    def _look(self) -> None:
        """See whether the table has moved on; the version on show stays, the newest one is offered."""
        view = self.shown.view
        if view is not None:
            name = Address.parse(self.query).table
            _WORKERS.submit(self.catalog.facts, name).add_done_callback(lambda done: self._looked(view.facts, done))

    def _looked(self, known: TableFacts, done: Future[TableFacts]) -> None:
        if done.exception() is None and done.result().last != known.last:
            self.later(self._stay)

    def _stay(self) -> None:
        view = self.shown.view
        if view is not None:
            query = Address.parse(self.query).to(version=view.version)
            self.page.send({"kind": "patch", "regions": {}, "hidden": {}, "number": self._newest, "query": query})
            self._go({"query": query, "number": self._newest})

    # --- what the window is sent

    def tell(self, error: Exception, number: int = 0) -> None:
        """Show an error above the page's content."""
        self.patch({"notice": notice(problem_of(error))}, {"number": number})

    def _arrived(self, number: int, done: Future[Rendered]) -> None:
        if number < self._newest:
            return
        rendered = done.result()
        changed = {id_: html for id_, html in rendered.regions.items() if self._sent.get(id_) != html}
        before, self.shown, self.complete = self.shown, rendered, True
        self._sent |= changed
        with pn.io.hold():
            self._draw(self.timeline, rendered.timeline, before.timeline_key == rendered.timeline_key)
            self._draw(self.chart, rendered.chart, before.chart_key == rendered.chart_key)
            message = {"kind": "patch", "regions": changed, "hidden": rendered.hidden, "number": number}
            self.page.send(message | {"title": rendered.title})

    def _draw(self, pane: pn.pane.Plotly, figure: Figure | None, same_data: bool) -> None:
        if figure is None:
            return
        if same_data and pane.object is not None:
            if list(pane.object.layout.shapes) != figure["layout"]["shapes"]:
                pane.object.layout.shapes = figure["layout"]["shapes"]
            return
        pane.param.update(object=as_plotly(figure), height=figure["layout"]["height"])

    def patch(self, regions: dict[str, str], message: dict[str, Any], **more: str) -> None:
        """Send parts of the page, as the answer to a message."""
        self._sent |= regions
        self.page.send({"kind": "patch", "regions": regions, "hidden": {}, "number": message.get("number", 0), **more})

    def acknowledge(self, message: dict[str, Any]) -> None:
        """Tell the window that its message has arrived."""
        self.patch({}, message)

    def later(self, then: Callable[[], None]) -> None:
        """Do something on the server's loop, if the window is still there; from any thread."""
        if self.document is not None and self.document.session_context is not None:
            self.document.add_next_tick_callback(then)

    def _close(self, _context: Any) -> None:
        self.works.cancel()
        self.document = None

    # --- on a worker's thread

    def _first(self) -> tuple[Rendered, bool]:
        try:
            return self._future.result(timeout=_PATIENCE), True
        except NotYet:
            address = _address(self.query)
            if self.kind == "table":
                return waiting_page(address, may_commit=self.catalog.allow_commits), False
            return self._home(address, wait=False), False

    def _render(self, query: str, theme: str) -> Rendered:
        try:
            address = Address.parse(query)
        except ExplorerError as error:
            return problem_page(Address(table=_table_named(query)), error, may_commit=self.catalog.allow_commits)
        if not address.table:
            return self._home(address, wait=True)
        return table_page(self.catalog, address, theme, self.works)

    def _home(self, address: Address, *, wait: bool) -> Rendered:
        try:
            refs = self.catalog.refs()
            if wait:
                for summary in _WORKERS_HOME.map(self.catalog.summary, refs):
                    self._summaries[summary.ref.name] = summary
            rows = [self._summaries.get(ref.name) or TableSummary(ref, pending=True) for ref in refs]
            return home_page(self.catalog, address, rows)
        except Exception as error:  # noqa: BLE001  # shown and logged: a page must never stay blank
            rendered = problem_page(address, error, may_commit=self.catalog.allow_commits)
            return Rendered({key: rendered.regions[key] for key in ("bar", "lead", "notice")}, {}, rendered.title)


_WORKERS_HOME = ThreadPoolExecutor(max_workers=4, thread_name_prefix="explorer-home")


def show_failure(error: Exception) -> None:
    """Log an error that no handler caught, and show it in the window it arose for (Panel's exception handler)."""
    _log.error("a callback failed", exc_info=error)
    document = pn.state.curdoc
    session = _sessions.get(document) if document is not None else None
    if session is not None:
        session.tell(error)


def _table_named(query: str) -> str:
    try:
        return Address.parse(query).table
    except ExplorerError:
        from urllib.parse import parse_qs

        return parse_qs(query.removeprefix("?")).get("t", [""])[-1]


def _address(query: str) -> Address:
    try:
        return Address.parse(query)
    except ExplorerError:
        return Address(table=_table_named(query))


def _object(figure: Figure | None) -> Any:
    return as_plotly(
        figure
        or {
            "data": [],
            "layout": {
                "template": "none",
                "paper_bgcolor": "rgba(0,0,0,0)",
                "xaxis": {"visible": False},
                "yaxis": {"visible": False},
            },
        }
    )


def _sized(figure: Figure | None, height: int) -> dict[str, Any]:
    return {"sizing_mode": "stretch_width", "height": figure["layout"]["height"] if figure else height, "margin": 0}
