"""The Files tab: the live files of a version."""

from __future__ import annotations

from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.table.files import file_facts, files_listing
from explorer.web.address import Address
from explorer.web.tab_spec import Tab, TabSpec, arranged, listed
from explorer.web.window_work import WindowWork

__all__ = ["TAB"]


def _files(view: TableView, address: Address, _work: WindowWork) -> Tab:
    facts = file_facts(view.facts, view.version, address.file) if address.file else None
    snapshot = view.facts.snapshot(view.version)
    alerts = view.facts.alerts(view.version)
    values = {"total_size": snapshot.size_in_bytes, "file_facts": facts, "alerts": alerts}
    return Tab(values | listed(files_listing(view.facts, view.version), address))


def _export(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(files_listing(view.facts, view.version), address)


TAB = TabSpec("files", "Files", "files", _files, exports={"files": _export}, shows=("files",))
