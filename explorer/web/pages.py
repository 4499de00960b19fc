"""An address becomes a page: its regions as HTML, its two figures, or the state that says why not.

Nothing here knows of a session or a browser; the same address gives the same page. This may take long (a log is read)
and is called off the server's loop.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from explorer.core.errors import ExplorerError
from explorer.views import TableFacts, TableView
from explorer.views.figures.plotly import Figure
from explorer.views.problems import Problem, problem_of
from explorer.views.table.commits import CommitRecord
from explorer.views.table.overview import findings_of
from explorer.views.table.timeline import MARKS, Timeline
from explorer.web.act_page import change_page
from explorer.web.address import Address
from explorer.web.render import render, render_blocks
from explorer.web.served_tables import Catalog, TableSummary
from explorer.web.tabs import TITLES, Tab, tab_of
from explorer.web.window_work import Works

__all__ = ["TABLE_REGIONS", "Rendered", "home_page", "problem_page", "table_page", "waiting_page"]

_log = logging.getLogger(__name__)
TABLE_REGIONS = ("bar", "strip", "still", "commits", "tabs", "notice", "lead", "charthead", "chartfoot", "rest", "side")
_TABLE_ROWS = 60


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page.

    Attributes:
        regions: HTML by the id of its element.
        hidden: Whether an element is out of sight, by its id.
        title: The document's title.
        timeline, timeline_key: The timeline and what its data follow from; equal keys differ in shapes alone.
        chart, chart_key: The same for the tab's chart.
        view: The state, for what is asked of it later (exports, rows); None where there is no table to show.
    """

    regions: dict[str, str]
    hidden: dict[str, bool] = field(default_factory=dict)
    title: str = "Delta Table Explorer"
    timeline: Figure | None = None
    timeline_key: tuple[object, ...] = ()
    chart: Figure | None = None
    chart_key: tuple[object, ...] = ()
    view: TableView | None = None


def table_page(catalog: Catalog, address: Address, theme: str, works: Works) -> Rendered:
    """Return the page of a table; every error becomes the state that shows it.

    Args:
        catalog: The served tables.
        address: What to show.
        theme: ``light`` or ``dark``, for the figures.
        works: What the session has under way: rows, changes, a change of the table.
    """
    try:
        facts = catalog.facts(address.table)
    except Exception as error:  # noqa: BLE001  # shown and logged: a page must never stay blank
        return problem_page(address, error, may_commit=catalog.allow_commits)
    try:
        view = _view(facts, address, theme)
        return _table(view, _numbered(address, view), works, may_commit=catalog.allow_commits)
    except Exception as error:  # noqa: BLE001  # as above
        return problem_page(address, error, facts, may_commit=catalog.allow_commits)


def problem_page(address: Address, error: Exception, facts: TableFacts | None = None, *, may_commit: bool) -> Rendered:
    """Return the page of an error."""
    if not isinstance(error, ExplorerError):
        _log.error("page %s failed", address.to(), exc_info=error)
    problem = problem_of(error)
    regions = dict.fromkeys(TABLE_REGIONS, "")
    regions |= render_blocks("problem", p=problem, address=address)
    regions["bar"] = _bar(address, facts.location if facts else "", may_commit=may_commit)
    title = f"{problem.title} \u00b7 {address.table or 'Delta Table Explorer'}"
    return Rendered(regions, {"timeline-slot": True, "chart-card": True, "time": True, "tabs": True}, title)


def waiting_page(address: Address, *, may_commit: bool) -> Rendered:
    """Return the page of a table whose log is still being read."""
    regions = dict.fromkeys(TABLE_REGIONS, "")
    regions["bar"] = _bar(address, "", may_commit=may_commit)
    regions["lead"] = render("skeleton", name=address.table)
    return Rendered(regions, {"chart-card": True}, address.table)


def home_page(catalog: Catalog, address: Address, summaries: list[TableSummary]) -> Rendered:
    """Return the list of tables."""
    key = address.sort.removeprefix("-") or "name"
    descending = address.sort.startswith("-")
    rows = [row for row in summaries if address.find.casefold() in row.ref.name.casefold()]
    known = [row for row in rows if _sort_value(row, key) is not None]
    unknown = [row for row in rows if _sort_value(row, key) is None]
    known.sort(key=lambda row: _sort_value(row, key), reverse=descending)
    values = {
        "rows": [*known, *unknown], "total": len(summaries), "address": address, "sort": key, "descending": descending,
        "roots": catalog.roots.locations, "counts": _counts(summaries),
    }  # fmt: skip
    bar = _bar(address, "", may_commit=catalog.allow_commits)
    regions = {"bar": bar, "notice": ""} | render_blocks("home", **values)
    return Rendered(regions)


def notice(problem: Problem | None) -> str:
    """Return the HTML of a notice above the page's content."""
    return render("notice", p=problem)


def _counts(summaries: list[TableSummary]) -> dict[str, int]:
    return {health: sum(row.health == health for row in summaries) for health in ("danger", "warning", "info", "ok")}


def _sort_value(row: TableSummary, key: str) -> Any:
    match key:
        case "name":
            return row.ref.name.casefold()
        case "health":
            return ("danger", "warning", "info", "ok").index(row.health)
        case "operation" | "version" | "timestamp" | "rows" | "size":
            value = getattr(row, key)
            return None if value == "" else value
        case _:
            return row.ref.name.casefold()


def _view(facts: TableFacts, address: Address, theme: str) -> TableView:
    return TableView(
        facts,
        version=facts.version_named(address.version) if address.version else facts.last,
        compared=facts.version_named(address.compared) if address.compared else None,
        tab=address.tab,
        column=address.column,
        file=address.file,
        metric=address.metric,
        theme=theme,
        zoomed=address.zoom == "1",
    )


def _numbered(address: Address, view: TableView) -> Address:
    """The address with versions by number, so that the page's links stay where they are while time goes on."""
    version, compared = (
        text if not text or text.removeprefix("v").isdecimal() else str(number)
        for text, number in ((address.version, view.version), (address.compared, view.compared))
    )
    return replace(address, version=version, compared=compared)


def _table(view: TableView, address: Address, works: Works, *, may_commit: bool) -> Rendered:
    facts, version = view.facts, view.version
    shared = {"address": address, "version": version, "commit": view.commit}
    regions = dict.fromkeys(TABLE_REGIONS, "")
    regions["tabs"] = render("tabs", titles=TITLES, **shared)
    regions["strip"] = render("strip", **shared, **_steps(view))
    try:
        snapshot = facts.snapshot(version)
        template, tab = _tab(view, address, works)
        regions |= render_blocks(template, **tab.values, **shared)
        regions["bar"] = _bar(
            address, facts.location, commit=view.commit, protocol=snapshot.protocol,
            findings=facts.keep(("findings", version), lambda: findings_of(facts, version)), may_commit=may_commit,
            person=works.desk.person,
        )  # fmt: skip
        figure, drawn = tab.figure, tab.drawn
    except ExplorerError as error:
        # The version cannot be shown; the history around it can, and is the way to one that can.
        regions |= render_blocks("problem", p=problem_of(error, _before(error, facts)), address=address)
        regions["bar"] = _bar(
            address, facts.location, commit=view.commit, may_commit=may_commit, person=works.desk.person
        )
        figure, drawn = None, ()
    as_table, folded = address.view == "table", address.fold == "1"
    if as_table and not folded and len(facts.commits):
        regions["commits"] = _commits(view, address)
    window, timeline = view.window, None
    if len(facts.commits):
        regions["still"] = _still(facts.timeline(window))
        timeline = view.timeline()
    elif facts.problem is not None and facts.snapshot_works(version):
        regions["notice"] = notice(problem_of(facts.problem))
    hidden = {
        "timeline-slot": as_table or folded or timeline is None,
        "chart-card": figure is None,
        "time": False,
        "tabs": False,
    }
    return Rendered(
        regions, hidden, f"{facts.name} v{version} \u00b7 {dict(TITLES)[address.tab]}", timeline,
        (id(facts), window, view.theme), figure, (id(facts), address.tab, view.theme, *drawn), view,
    )  # fmt: skip


def _tab(view: TableView, address: Address, works: Works) -> tuple[str, Tab]:
    """The template of the chosen tab and what it shows; some of it is what the session holds."""
    match address.tab:
        case "data":
            return "data", Tab(works.rows.values(view, address))
        case "changes":
            return "changes", Tab(works.feed.values(view, address))
        case "act":
            template, values = change_page(view, address, works.desk)
            return template, Tab(values)
        case "diff":
            found = tab_of(view, address)
            return "diff", replace(found, values=found.values | works.differences.values(view, address))
        case name:
            return name, tab_of(view, address)


def _before(error: ExplorerError, facts: TableFacts) -> int | None:
    """Return the version before the one an error names, where it can still be shown."""
    named = error.facts().get("version")
    return named - 1 if isinstance(named, int) and facts.first <= named - 1 < facts.last else None


def _steps(view: TableView) -> dict[str, Any]:
    facts, version = view.facts, view.version
    return {
        "other": view.other,
        "broken": not len(facts.commits),
        "first": facts.first,
        "last": facts.last,
        "previous": version - 1 if version > facts.first else None,
        "following": version + 1 if version < facts.last else None,
        "long": facts.last - facts.first >= MARKS and len(facts.commits) > 0,
    }


def _bar(
    address: Address,
    location: str,
    commit: CommitRecord | None = None,
    protocol: Any = None,
    *,
    findings: Any = (),
    may_commit: bool,
    person: str = "",
) -> str:
    return render(
        "bar",
        address=address,
        name=address.table,
        location=location,
        commit=commit,
        protocol=protocol,
        findings=findings,
        may_commit=may_commit,
        person=person,
    )


def _commits(view: TableView, address: Address) -> str:
    commits = view.facts.commits
    middle = int(np.searchsorted(commits.versions, view.version))
    start = max(0, min(middle - _TABLE_ROWS // 2, len(commits) - _TABLE_ROWS))
    versions = commits.versions[start : start + _TABLE_ROWS][::-1]
    return render(
        "commits", commits=[commits.record(int(v)) for v in versions], version=view.version, address=address,
        more=len(commits) > len(versions), total=len(commits),
    )  # fmt: skip


def _still(timeline: Timeline) -> str:
    """Draw the bars once as plain SVG: what stands there until the figure can be touched."""
    scale = np.sqrt if timeline.square_root else np.asarray
    up = scale(timeline.added + np.maximum(-timeline.masked, 0))
    removed = scale(timeline.removed)
    down = scale(timeline.removed + np.maximum(timeline.masked, 0))
    high, low = max(float(np.max(up)), 1e-9), float(np.max(down))
    floor = 0.025 * (high + low)
    top, bottom = high * 1.08, low * 1.08 + floor * 3
    unit = 100 / (top + bottom)
    width = 0.8 * timeline.width
    bars = []
    for index, start in enumerate(timeline.start):
        x = float(start - timeline.first) + 0.1 * timeline.width
        pieces = (
            ("a", top - up[index], up[index]),
            ("r", top, removed[index]),
            ("m", top + removed[index], down[index] - removed[index]),
        )
        bars += [
            {"kind": kind, "x": x, "y": float(y) * unit, "width": width, "height": float(height) * unit}
            for kind, y, height in pieces
            if height > 0
        ]
    span = max(timeline.last - timeline.first + 1, 24 * timeline.width)
    return render("still", bars=bars, span=span)
