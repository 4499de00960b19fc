"""The Files tab: the live files of a version."""

from __future__ import annotations

from explorer.page.address import Address
from explorer.page.tab_spec import Tab, TabSpec, arranged, listed
from explorer.page.window import WindowWork
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.table.files import file_facts, files_listing


def _files(view: TableView, address: Address, work: WindowWork) -> Tab:
    facts = file_facts(view.facts, view.version, address.file) if address.file else None
    snapshot = view.facts.snapshot(view.version)
    values = {
        "total_size": snapshot.size_in_bytes,
        "file_facts": facts,
        "alerts": view.facts.alerts(view.version),
        "ticks": Ticks(address) if work.picks_files else None,
    }
    return Tab(values | listed(files_listing(view.facts, view.version), address))


class Ticks:
    """The selected files of an address, and the address with one file more or less.

    Attributes:
        paths: The selected files, in the order in which they were selected.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self.paths = tuple(address.picked.splitlines())

    def has(self, path: str) -> bool:
        """Return whether a file is selected."""
        return path in self.paths

    def turned(self, path: str) -> str:
        """Return the address with a file selected, or let go if it was."""
        left = [known for known in self.paths if known != path]
        return self._address.to(picked="\n".join(left if self.has(path) else [*left, path]) or None)

    def none(self) -> str:
        """Return the address without a selected file."""
        return self._address.to(picked=None)


def _export(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(files_listing(view.facts, view.version), address)


TAB = TabSpec("files", "Files", "files", _files, exports={"files": _export}, shows=("files",))
