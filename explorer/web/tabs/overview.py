"""The Overview tab: what a version is, what its commit did, and a total over all versions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from explorer.views import TableView
from explorer.web.address import Address
from explorer.web.render import render_block
from explorer.web.tab_spec import Tab, TabSpec
from explorer.web.window import Handler, Message, Window
from explorer.web.window_work import WindowWork

__all__ = ["TAB"]

_MOST_LINES = 200
_LONGEST = 200_000


def _overview(view: TableView, address: Address, _work: WindowWork) -> Tab:
    figure = view.totals(address.metric) if len(view.facts.commits) else None
    return Tab(_values(view), figure, (address.metric,))


def _values(view: TableView) -> dict[str, Any]:
    snapshot = view.facts.snapshot(view.version)
    return {
        "overview": view.overview(),
        "schema_string": snapshot.metadata.schema_string or "",
        "raw": "",
        "broken": not len(view.facts.commits),
    }


def _messages(window: Window) -> Mapping[str, Handler]:
    return {"raw": partial(_show_raw, window)}


def _show_raw(window: Window, message: Message) -> None:
    """Show the lines of the commit as they are in the log."""
    view, address = window.view, Address.parse(window.query)
    if view is None:
        window.answer(message)
    else:
        then = partial(window.answer, message)
        window.compute(message, partial(_side_with_raw, view, address), then)


def _side_with_raw(view: TableView, address: Address) -> dict[str, str]:
    lines = view.facts.log.commit_actions(view.version)
    raw = "\n".join(line.decode("utf-8", "replace") for line in lines[:_MOST_LINES])[:_LONGEST]
    shared = {"address": address, "version": view.version, "commit": view.commit}
    return {"side": render_block("overview", "side", **_values(view) | {"raw": raw}, **shared)}


TAB = TabSpec("overview", "Overview", "overview", _overview, messages=_messages, shows=("commit", "state"))
