"""The Files tab: the live files of a version."""

from __future__ import annotations

from explorer.page.address import Address
from explorer.page.tab_spec import Tab, TabSpec, arranged, listed
from explorer.page.window_work import WindowWork
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.problems import data_problems
from explorer.views.table.files import file_facts, files_listing

__all__ = ["TAB"]


def _files(view: TableView, address: Address, _work: WindowWork) -> Tab:
    facts = file_facts(view.facts, view.version, address.file) if address.file else None
    snapshot = view.facts.snapshot(view.version)
    alerts = data_problems(snapshot.contested, view.facts.lost_data(view.version))
    values = {"total_size": snapshot.size_in_bytes, "file_facts": facts, "alerts": alerts}
    return Tab(values | listed(files_listing(view.facts, view.version), address))


def _export(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(files_listing(view.facts, view.version), address)


TAB = TabSpec("files", "Files", "files", _files, exports={"files": _export}, shows=("files",))
