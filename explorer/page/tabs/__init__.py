"""The tabs of a table's page, in their order.

In: a `TableView`, the address of the page, and for rows and changes the work and the messages of the window.
Out: the values of the tab's template, a figure or none, exports, and the messages that the tab answers.
Always: a tab is a module here with its `TabSpec`, a template of its own, and a line in `TABS`; nothing else lists tabs.
A tab reads nothing that its view does not give, and no rows before a person asks; where it offers rows, Spark starts in
the background.
"""

from __future__ import annotations

from collections.abc import Mapping

from explorer.auditing import Aspect
from explorer.core.errors import RequestError
from explorer.page.act.requests import RequestDesk
from explorer.page.tab_spec import Export, TabSpec
from explorer.page.tabs import (
    act,
    audit,
    case,
    changes,
    columns,
    data,
    deletion_vectors,
    diff,
    erasure,
    files,
    overview,
    row,
    statistics,
)
from explorer.page.tabs.table_pair import PairWork
from explorer.page.window import Handler, NewWindow, Window, WindowWork

TABS: tuple[TabSpec, ...] = (
    overview.TAB,
    diff.TAB,
    files.TAB,
    columns.TAB,
    deletion_vectors.TAB,
    statistics.TAB,
    data.TAB,
    changes.TAB,
    row.TAB,
    audit.TAB,
    erasure.TAB,
    case.TAB,
    act.TAB,
)


LETTERS: Mapping[str, str] = {
    "overview": "o", "diff": "d", "files": "f", "columns": "c", "deletion-vectors": "v", "statistics": "s", "data": "r",
    "changes": "h", "row": "w", "audit": "a", "erasure": "x", "case": "k", "act": "e",
}  # fmt: skip
"""The letter that follows ``g`` for a tab, by its key; a tab without one is in the palette all the same."""


def tab_named(key: str) -> TabSpec:
    """Return the tab of an address.

    Raises:
        RequestError: There is none; the message names the tabs.
    """
    keys = tuple(tab.key for tab in TABS)
    if key not in keys:
        raise RequestError(f"tab={key} is not known. It can be: {', '.join(keys)}.", field="tab", allowed=keys)
    return TABS[keys.index(key)]


def tab_showing(aspect: Aspect) -> TabSpec:
    """Return the tab that shows evidence of an aspect of a table."""
    return next(tab for tab in TABS if aspect in tab.shows)


def export_named(name: str) -> Export:
    """Return what can be exported under a name.

    Raises:
        RequestError: There is nothing of that name.
    """
    exports = {known: export for tab in TABS for known, export in tab.exports.items()}
    if name not in exports:
        raise RequestError(f"There is no list {name!r}.", field="list", allowed=tuple(exports))
    return exports[name]


def handlers(window: Window) -> Mapping[str, Handler]:
    """Return the handlers of a window's messages, by the message's kind."""
    return {kind: handler for tab in TABS for kind, handler in tab.messages(window).items()}


def begin_work(window: NewWindow) -> WindowWork:
    """Return the work of the tabs in a new window: nothing yet."""
    key = window.tables.key if window.identity.may_sign else None
    works = [tab.work(window) for tab in TABS if tab.work is not None]
    # Of the Diff tab, which has two: versions of one table, and two tables.
    works.append(PairWork(window.tables, window.changed))
    # Of the Edit tab, which has two: a change under way, and requests for approval.
    works.append(RequestDesk(window.tables.approvals))
    tables = window.tables
    return WindowWork(works, key, picks_files=tables.picks_files, other_names=tables.other_names)
