"""The Diff tab: in which files two versions differ, and in which rows, if Spark compares them."""

from __future__ import annotations

import pyarrow.compute as pc

from explorer.page.address import Address
from explorer.page.tab_spec import Tab, TabSpec, arranged, listed
from explorer.page.tabs.diff_rows import DifferencesWork, messages
from explorer.page.window_work import WindowWork
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.table.comparison import Comparison, form_listing

__all__ = ["TAB"]

_MOST_CHANGES = 60


def _diff(view: TableView, address: Address, work: WindowWork) -> Tab:
    diff = view.comparison()
    ends = {"compared_same": view.other == view.version, "only": view.facts.first == view.facts.last}
    shown = {"diff": diff, "most_changes": _MOST_CHANGES} | ends | listed(_changed(diff, address), address)
    return Tab(shown | work.of(DifferencesWork).values(view, address))


def _export(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(_changed(view.comparison(), address), address)


def _form_changes(view: TableView, _address: Address, _work: WindowWork) -> Listing:
    return form_listing(view.facts, view.comparison())


def _changed(diff: Comparison, address: Address) -> Listing:
    if address.change == "all":
        return diff.files
    matching = diff.files.table.filter(pc.equal(diff.files.table.column("change"), address.change))
    return Listing(diff.files.name, diff.files.columns, matching, diff.files.searched)


TAB = TabSpec(
    "diff",
    "Diff",
    "diff",
    _diff,
    exports={"diff": _export, "form-changes": _form_changes},
    shows=("difference",),
    messages=messages,
    work=lambda window: DifferencesWork(window.changed),
)
