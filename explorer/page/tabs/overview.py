"""The Overview tab: a version, what its commit did, a total over all versions; and the table of commits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from explorer.page.address import Address
from explorer.page.render import render, render_block
from explorer.page.tab_spec import JsonText, Tab, TabSpec
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.table.commit_list import CommitChoice, choices, chosen_commits, page_of
from explorer.views.table.maintenance import maintenance
from explorer.views.table.settings import settings_since


def commits_listing(view: TableView, address: Address) -> Listing:
    """Return the commits that an address asks for, at its page: that of the chosen version, unless it names one."""
    choice = CommitChoice(address.commit_find, address.commit_operation, address.commit_author, address.commit_sort)
    listing = chosen_commits(view.facts, choice)
    named = address.commit_page
    page = int(named) if named.isdecimal() and len(named) < 10 else page_of(listing, view.version)
    return listing.at(page)


def commits_table(view: TableView, address: Address) -> str:
    """Return the commits as HTML."""
    listing = commits_listing(view, address)
    operations, authors = choices(view.facts)
    return render(
        "commits",
        listing=listing,
        page=listing.paged(),
        operations=operations,
        authors=authors,
        version=view.version,
        total=len(view.facts.commits),
        address=address,
    )


_MOST_LINES = 200
_LONGEST = 200_000
_MOST_FINDINGS = 4


def _overview(view: TableView, address: Address, _work: WindowWork) -> Tab:
    # One commit has no course.
    figure = view.totals(address.metric) if len(view.facts.commits) > 1 else None
    return Tab(
        _values(view), figure, (address.metric, view.compared, view.version if view.compared is not None else None)
    )


def _values(view: TableView) -> dict[str, Any]:
    return {
        "overview": view.overview(),
        "since": settings_since(view.facts, view.version, at_hand=True),
        "raw": "",
        "most_findings": _MOST_FINDINGS,
        "broken": not len(view.facts.commits),
        "restorable": _restorable(view),
        "maintenance": maintenance(view.facts),
    }


def _restorable(view: TableView) -> list[tuple[int, str]]:
    """Return the versions to offer for a restore: the shown one, and the one before its commit."""
    facts, version = view.facts, view.version
    itself = [(version, f"Restore v{version}\u2026")] if version < facts.last else []
    before = [(version - 1, f"Restore v{version - 1}, before this commit\u2026")] if version > facts.first else []
    return [*before, *itself]


def _messages(window: Window) -> Mapping[str, Handler]:
    return {"raw": partial(_show_raw, window)}


def _show_raw(window: Window, message: Message) -> None:
    """Show the lines of the commit as they are in the log."""
    view, address = window.view, Address.parse(window.query)
    if view is None:
        window.answer(message)
    else:
        then = partial(window.answer, message)
        window.compute(message, partial(_rest_with_raw, view, address), then)


def _rest_with_raw(view: TableView, address: Address) -> dict[str, str]:
    lines = view.facts.log.commit_actions(view.version)
    raw = "\n".join(line.decode("utf-8", "replace") for line in lines[:_MOST_LINES])[:_LONGEST]
    shared = {"address": address, "version": view.version, "commit": view.commit}
    return {"rest": render_block("overview", "rest", **_values(view) | {"raw": raw}, **shared)}


def _commits(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return commits_listing(view, address)


def _schema(view: TableView, _address: Address, _work: WindowWork) -> JsonText:
    metadata = view.facts.snapshot(view.version).metadata
    return JsonText(f"{view.facts.name}-v{view.version}-schema", "schema as JSON", metadata.schema_string or "")


TAB = TabSpec(
    "overview",
    "Overview",
    "overview",
    _overview,
    exports={"commits": _commits, "schema": _schema},
    messages=_messages,
    shows=("commit", "state"),
)
