"""The files that differ, as a list."""

from __future__ import annotations

from dataclasses import replace

import ipywidgets
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.jupyter.list_box import ListBox, Select, offer
from explorer.jupyter.parts import look, style
from explorer.views.listing import Listing
from explorer.views.table.comparison import CHANGES, SIGNS, Comparison

__all__ = ["FileList"]

PAGE_SIZE = 12
_WORDS = {"added": "added", "removed": "removed", "remasked": "re-masked"}


class FileList(ListBox):
    """A comparison's files with a choice of the change, a filter, an order, and pages.

    Args:
        select: As in `ListBox`.
    """

    def __init__(self, select: Select) -> None:
        self.change = ipywidgets.ToggleButtons(
            options=[("all", "all")], tooltips=["every file that differs"], layout=look(),
            style=style(ipywidgets.ToggleButtons, button_width="auto"),
        )  # fmt: skip
        super().__init__(
            "files that differ",
            "path or partition",
            "in the order of the log",
            page_size=PAGE_SIZE,
            more=[self.change],
            select=select,
        )
        self.change.observe(self._turn_to_first, "value")

    def show(self, comparison: Comparison) -> None:
        """Show the files of a comparison from their first page; change, filter and order stay where they apply."""
        self.show_list(None)
        counts = [(_button(change, comparison), change) for change in CHANGES if comparison.counts[change]]
        options = [(f"all {fmt.count(comparison.files.total)}", "all"), *counts]
        if tuple(options) != self.change.options:
            offer(self.change, options)
        self.show_list(comparison.files if comparison.files.total else None)

    @property
    def _narrowing(self) -> object:
        return self.change.value

    def _narrowed(self, listing: Listing) -> Listing:
        if self.change.value == "all":
            return listing
        kept = pc.equal(listing.table.column("change"), self.change.value)
        return replace(listing, table=listing.table.filter(kept))


def _button(change: str, comparison: Comparison) -> str:
    return f"{SIGNS[change]} {_WORDS[change]} {fmt.count(comparison.counts[change])}"
