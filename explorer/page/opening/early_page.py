"""The page of a table whose older commits are not read yet: its newest version with schema and protocol, the commits
since the newest checkpoint, and how far the reading is.

What follows from the whole history (findings, lanes, tabs) is not on it.
"""

from __future__ import annotations

from typing import Final

from explorer.page.address import Address
from explorer.page.pages import TABLE_REGIONS, Rendered, bar
from explorer.page.render import render, render_blocks
from explorer.page.strip import Screen, StripFigure, still_bars
from explorer.page.tables.table_reading import TableReading
from explorer.views import TableFacts, TableView
from explorer.views.table.overview import overview_of

__all__ = ["PROGRESS", "early_page", "reading_line"]

_NEWEST: Final = 12
PROGRESS = "table-reading"
"""The id of the element that says how far the reading is."""


def early_page(
    address: Address, facts: TableFacts, reading: TableReading, theme: str, screen: Screen, *, may_commit: bool
) -> Rendered:
    """Return what can be shown before the older commits are read.

    Args:
        address: What was asked for; the newest version is shown, whatever it was.
        facts: The newest part of the log.
        reading: The reading of all of it.
        theme: ``light`` or ``dark``.
        screen: The window's size.
        may_commit: Whether tables may be changed here.

    Raises:
        ExplorerError: The newest version cannot be shown.
    """
    view = TableView(facts, theme=theme, width=screen.strip, mapped=False, folded=screen.low)
    regions = dict.fromkeys(TABLE_REGIONS, "")
    newest = [facts.commits.record(version) for version in facts.commits.versions[: -_NEWEST - 1 : -1].tolist()]
    values = {"version": view.version, "commit": view.commit, "reading": reading, "facts": facts, "newest": newest}
    regions |= render_blocks("early", overview=overview_of(facts, view.version), address=address, **values)
    regions["bar"] = bar(address, facts.location, commit=view.commit, may_commit=may_commit)
    timeline = None
    if len(facts.commits):
        regions["still"] = still_bars(view.bars())
        timeline = StripFigure((id(facts), *view.timeline_key), view.drawn_timeline(), view.timeline_ends())
    return Rendered(
        regions,
        {"timeline-slot": timeline is None, "chart-card": True, "time": False, "tabs": True},
        title=f"{facts.name} v{view.version}",
        timeline=timeline,
        is_early=True,
    )


def reading_line(facts: TableFacts, reading: TableReading) -> str:
    """Return how far the reading is, as HTML."""
    return render("early-progress", facts=facts, reading=reading)
