"""An address becomes the page of a table: its regions as HTML, its two figures, or the state that says why not.

Nothing here knows a session or a browser. This may take long (a log is read, a change is planned) and is called off
the server's loop.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache

from explorer.auditing import Audit
from explorer.core.errors import Cancelled, ExplorerError, TimestampOutOfRange, VersionGap, VersionNotFound
from explorer.core.protocol.actions import Protocol
from explorer.core.versions.commits.summary import CommitSummary
from explorer.credentials import without_credentials
from explorer.debug import log_failure
from explorer.page.act.form import ActDesk
from explorer.page.address import Address
from explorer.page.findings import AuditCard, audit_card
from explorer.page.palette_names import visit
from explorer.page.render import render, render_blocks
from explorer.page.strip import ChartFigure, Screen, StripFigure, opening, still_bars, strip
from explorer.page.tab_spec import Tab
from explorer.page.tables import Tables
from explorer.page.tabs import LETTERS, TABS, tab_named
from explorer.page.tabs.overview import commits_table
from explorer.page.window import WindowWork
from explorer.report.case_desk import CaseDesk
from explorer.views import TableFacts, TableView
from explorer.views.problems import Problem, problem_of, time_reading

_log = logging.getLogger(__name__)
_JUDGES = ThreadPoolExecutor(max_workers=2, thread_name_prefix="explorer-judge")
_JUDGED_SOON = 0.2
TABLE_REGIONS = (
    "bar", "strip", "other-tables", "still", "opening", "commits", "tabs", "notice", "lead", "charthead", "chartfoot",
    "rest", "side",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page.

    Attributes:
        regions: HTML by the id of its element.
        hidden: Whether an element is hidden, by its id.
        title: The document's title.
        timeline: The strip's figure; None where there is none to show.
        chart: The same for the tab's chart.
        view: The state, for what is asked of it later (exports, rows); None where there is no table to show.
        rows: Ids of the rows of the list of tables that are on the page.
        pending: Of those, the ones that were not read when it was drawn.
        needs_spark: What it offers next needs Spark.
        audit: The audit whose findings it shows; None where there was none at hand.
        is_early: More is being read of the table than it shows; it is not the page that was asked for.
        refusal: What is wrong with a version or a time that the address names, where the page says that alone.
        changes: How many changes of what its window is to show came while it was made, and are in it.
    """

    regions: dict[str, str]
    hidden: dict[str, bool] = field(default_factory=dict)
    title: str = "Delta Table Explorer"
    timeline: StripFigure | None = None
    chart: ChartFigure | None = None
    view: TableView | None = None
    rows: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    needs_spark: bool = False
    audit: Audit | None = None
    is_early: bool = False
    refusal: Problem | None = None
    changes: int = 0


def table_page(
    tables: Tables,
    address: Address,
    theme: str,
    work: WindowWork,
    screen: Screen | None = None,
    *,
    wait: bool = True,
    by_person: bool = True,
    is_wanted: Callable[[], bool] = lambda: True,
    permit: Callable[[TableFacts], None] = lambda _facts: None,
    begin: Callable[[TableView], int] = lambda _view: 0,
    shows_values: Callable[[TableFacts], bool] = lambda _facts: True,
) -> Rendered:
    """Return the page of a table; every error but an ended reading becomes the state that shows it.

    Args:
        tables: The tables that can be shown.
        address: What to show.
        theme: ``light`` or ``dark``, for the figures.
        work: The window's running work.
        screen: The window's size; a usual one unless given.
        wait: Wait for the findings and the lanes. Otherwise the page has those that are at hand a moment later, and
            says where there are none yet; `TableFacts.is_judged` tells whether there are newer ones to come.
        by_person: The person asked for this address on a page that is open, so that its tab may begin to plan.
        permit: Raises `NotAllowed` if the person may not see the tab.
        begin: Begins what the tab needs in an open window, waits for it a moment, and returns `Rendered.changes`.
        shows_values: Says whether the person may see values of rows, as bounds are.
        is_wanted: Says whether the window still wants this address. A page that comes too late begins and ends nothing.

    Raises:
        Cancelled: A person ended the reading of its log.
    """
    screen = screen or Screen()
    try:
        facts = _facts(tables, address)
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001  # shown and logged: a page must never stay blank
        return problem_page(address, error, may_commit=tables.allow_commits)
    try:
        _judge(facts, wait=wait)
        view = _view(facts, address, theme, screen)
        view.values = shows_values(facts)
        readings = _time_readings(facts, address)
        address = _numbered(address, view)

        def ask() -> int:
            permit(facts)
            if not is_wanted():
                return 0
            tab_named(address.tab).ask(view, address, work, by_person=by_person)
            return begin(view)

        rendered = _table(view, address, work, ask, may_commit=tables.allow_commits)
        rendered.regions["notice"] += "".join(notice(time_reading(*reading)) for reading in readings)
        return rendered
    except Exception as error:  # noqa: BLE001  # as above
        return problem_page(address, error, facts, may_commit=tables.allow_commits)


def problem_page(address: Address, error: Exception, facts: TableFacts | None = None, *, may_commit: bool) -> Rendered:
    """Return the page of an error."""
    if not isinstance(error, ExplorerError):
        log_failure(_log, f"page {address.to()} failed", error)
    problem = problem_of(error, error.latest if isinstance(error, VersionGap) else None)
    regions = dict.fromkeys(TABLE_REGIONS, "")
    regions |= render_blocks("problem", p=problem, address=address)
    regions["bar"] = bar(address, facts.location if facts else "", may_commit=may_commit)
    title = f"{problem.title} \u00b7 {without_credentials(address.table) or 'Delta Table Explorer'}"
    hidden = {"timeline-slot": True, "chart-card": True, "time": True, "tabs": True}
    refusal = problem if isinstance(error, VersionNotFound | TimestampOutOfRange) else None
    return Rendered(regions, hidden, title, refusal=refusal)


def waiting_page(address: Address, *, may_commit: bool) -> Rendered:
    """Return the page of a table whose log is still being read."""
    regions = dict.fromkeys(TABLE_REGIONS, "")
    regions["bar"] = bar(address, "", may_commit=may_commit)
    name = without_credentials(address.table)
    regions["lead"] = render("skeleton", name=name)
    return Rendered(regions, {"chart-card": True}, name)


def notice(problem: Problem, *, retry: bool = False, address: Address | None = None) -> str:
    """Return the HTML of a notice above the page's content.

    Args:
        problem: What it says.
        retry: Offer to ask for the page again.
        address: Of the page, to offer the nearest version there, where the problem has one.
    """
    nearest = ""
    if address is not None and problem.nearest is not None:
        nearest = address.to(version=problem.nearest, compared=None)
    return render("notice", p=problem, retry=retry, nearest=nearest)


def bar(
    address: Address,
    location: str,
    *,
    commit: CommitSummary | None = None,
    protocol: Protocol | None = None,
    view: TableView | None = None,
    card: AuditCard | None = None,
    may_commit: bool,
    person: str = "",
) -> str:
    """Return the HTML of the bar at the top of every page."""
    return render(
        "bar",
        address=address,
        name=without_credentials(address.table),
        location=location,
        commit=commit,
        protocol=protocol,
        version=None if view is None else view.version,
        other=None if view is None else view.marked,
        card=card,
        may_commit=may_commit,
        person=person,
    )


def _facts(tables: Tables, address: Address) -> TableFacts:
    """Return the facts of a table; if a commit is missing, those before it, if one of these versions is requested."""
    try:
        return tables.facts(address.table)
    except VersionGap as gap:
        requested = address.version.removeprefix("v")
        readable = range(gap.earliest, gap.latest + 1) if gap.earliest is not None and gap.latest is not None else ()
        if not requested.isdecimal() or len(requested) > 18 or int(requested) not in readable:
            raise
        return tables.facts_before(address.table, gap)


def _judge(facts: TableFacts, *, wait: bool) -> None:
    """Find out the lanes and findings, in a moment unless they are to be waited for."""
    if facts.is_judged:
        return
    if wait:
        facts.judge()
    elif facts.cached_audit() is None and facts.is_judged_soon:
        # A large table's page would be made more slowly meanwhile. What is raised is raised again where the rest is
        # waited for.
        with suppress(NotYet):
            _JUDGES.submit(facts.judge).exception(timeout=_JUDGED_SOON)


def _view(facts: TableFacts, address: Address, theme: str, screen: Screen) -> TableView:
    compared = facts.version_named(address.compared) if address.compared else None
    is_itself = bool(address.other) and address.other == address.table
    if is_itself:
        # The tab says what is wrong with a version that cannot be compared.
        with suppress(ExplorerError):
            compared = facts.version_named(address.other_version) if address.other_version else facts.last
    return TableView(
        facts,
        version=facts.version_named(address.version) if address.version else facts.last,
        compared=compared,
        beside=bool(address.other) and not is_itself,
        column=address.column,
        file=address.file,
        metric=address.metric,
        theme=theme,
        window=address.window,
        colouring=address.colour,
        axis=address.axis,
        width=screen.strip,
        folded=address.fold == "1" or (address.fold == "" and screen.low),
        at_hand=True,
    )


def _time_readings(facts: TableFacts, address: Address) -> list[tuple[str, str]]:
    """Return the times of an address, each with how it was read."""
    texts = [text for text in dict.fromkeys((address.version, address.compared)) if text]
    return [(text, reading) for text in texts if (reading := facts.named(text)[1])]


def _numbered(address: Address, view: TableView) -> Address:
    """Return the address with versions by number, so that the page's links keep their meaning over time."""
    version, compared = (
        text if not text or text.removeprefix("v").isdecimal() else str(number)
        for text, number in ((address.version, view.version), (address.compared, view.compared))
    )
    return replace(address, version=version, compared=compared)


def _table(
    view: TableView, address: Address, work: WindowWork, ask: Callable[[], int], *, may_commit: bool
) -> Rendered:
    facts, tab = view.facts, tab_named(address.tab)
    regions = dict.fromkeys(TABLE_REGIONS, "") | _around(view, address, work)
    person, audit = work.of(ActDesk).person, facts.cached_audit()
    changes = 0
    try:
        changes = ask()
        shown = tab.view(view, address, work)
        card = None if audit is None else audit_card(audit, address)
        of_tab = card if shown.audit is None else audit_card(shown.audit, address, pinned_by=audit)
        values = shown.values | _shared(view, address) | {"card": of_tab}
        regions |= render_blocks(shown.template or tab.template, **values)
        regions["bar"] = _bar_of_version(view, address, card, may_commit=may_commit, person=person)
    except ExplorerError as error:
        # The version cannot be shown; the history around it can, and is the way to one that can.
        shown = Tab()
        regions |= render_blocks("problem", p=problem_of(error, _before(error, facts)), address=address)
        regions["bar"] = bar(
            address, facts.location, commit=view.commit, view=view, may_commit=may_commit, person=person
        )
    drawn = len(facts.commits) > 0 and not regions["opening"]
    timeline = (
        StripFigure((id(facts), *view.timeline_key), view.drawn_timeline(), view.timeline_ends()) if drawn else None
    )
    key = (id(facts), tab.key, view.theme, *shown.drawn)
    chart = None if shown.figure is None else ChartFigure(key, shown.figure)
    hidden = {
        "timeline-slot": timeline is None or (address.view == "table" and not view.folded),
        "chart-card": chart is None,
        "time": False,
        "tabs": False,
    }
    return Rendered(
        regions,
        hidden,
        title=f"{facts.name} v{view.version} \u00b7 {tab.label}",
        timeline=timeline,
        chart=chart,
        view=view,
        needs_spark=shown.needs_spark,
        audit=audit,
        changes=changes,
    )


def _shared(view: TableView, address: Address) -> dict[str, object]:
    return {"address": address, "version": view.version, "commit": view.commit}


def _around(view: TableView, address: Address, work: WindowWork) -> dict[str, str]:
    """Return the parts around the tab: the strip, the tabs, the commits, and why the history cannot be read."""
    facts, others = view.facts, work.other_names()
    regions = {
        "tabs": render(
            "tabs",
            tabs=TABS,
            letters=LETTERS,
            visit=json.dumps(visit(facts, address.table)),
            case=work.of(CaseDesk),
            **_shared(view, address),
        ),
        "strip": strip(view, address, view.folded, others),
        "other-tables": _options(others or ()),
    }
    if not len(facts.commits):
        if facts.problem is not None and facts.snapshot_works(view.version):
            regions["notice"] = notice(problem_of(facts.problem), retry=True)
        return regions
    if facts.whole[0] == facts.whole[1] and facts.snapshot_works(view.version):
        regions["opening"] = opening(view)
        return regions
    regions["still"] = facts.keep(("still", *view.timeline_key), lambda: still_bars(view.bars()))
    if address.view == "table" and not view.folded:
        regions["commits"] = commits_table(view, address)
    return regions


@lru_cache(maxsize=8)
def _options(names: tuple[str, ...]) -> str:
    return render("options", names=names)


def _bar_of_version(view: TableView, address: Address, card: AuditCard | None, *, may_commit: bool, person: str) -> str:
    facts = view.facts
    return bar(
        address,
        facts.location,
        commit=view.commit,
        view=view,
        protocol=facts.snapshot(view.version).protocol,
        card=card,
        may_commit=may_commit,
        person=person,
    )


def _before(error: ExplorerError, facts: TableFacts) -> int | None:
    """Return the version before the one an error names, where it can still be shown."""
    if isinstance(error, VersionGap):
        return error.latest
    named = error.facts().get("version")
    return named - 1 if isinstance(named, int) and facts.first <= named - 1 < facts.last else None
