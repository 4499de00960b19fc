"""A list that the kernel filters, sorts and pages: the browser receives only one page of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ipywidgets
import pyarrow as pa

from explorer import formatting as fmt
from explorer.jupyter.markup import joined, tag
from explorer.jupyter.tables import listing_table
from explorer.views.listing import Listing, ListingColumn

__all__ = ["ListBox", "offer"]


class ListBox(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets publishes no types
    """A list with a filter, an order, and pages.

    Args:
        label: What it lists, for screen readers: ``files that differ``.
        looks_in: What the filter looks in.
        order: The name of the list's own order.
        page_size: Rows of a page.
        more: Controls in front of the filter.
    """

    def __init__(
        self, label: str, looks_in: str, order: str, *, page_size: int, more: Sequence[ipywidgets.Widget] = ()
    ) -> None:
        self._label, self._own_order, self._page_size = label, order, page_size
        self._kept: Listing | None = None
        self._page = 1
        self.find = ipywidgets.Text(
            placeholder=f"filter {looks_in}", tooltip=f"filter {looks_in}", layout={"width": "220px"}
        )
        self.order = ipywidgets.Dropdown(options=[(order, "")], tooltip="order", layout={"width": "200px"})
        self.before = ipywidgets.Button(description="\u2039", tooltip="previous page", layout={"width": "36px"})
        self.after = ipywidgets.Button(description="\u203a", tooltip="next page", layout={"width": "36px"})
        self.place = ipywidgets.HTML()
        self.rows = ipywidgets.HTML(layout={"overflow": "auto", "max_height": "460px"})
        tools = ipywidgets.HBox(
            [*more, self.find, self.order, self.before, self.after, self.place],
            layout={"flex_flow": "row wrap", "align_items": "center"},
        )
        super().__init__([tools, self.rows])
        for control in (self.find, self.order):
            control.observe(self._turn_to_first, "value")
        self.before.on_click(lambda _: self._turn(-1))
        self.after.on_click(lambda _: self._turn(1))

    def show_list(self, listing: Listing | None) -> None:
        """Show a list from its first page, or nothing; filter and order stay if they still apply."""
        self._kept, self._page = None, 1
        if listing is None:
            self.layout.display = "none"
            self.rows.value = ""
            return
        orders = [(self._own_order, ""), *(o for column in listing.columns for o in _orders(listing, column))]
        if tuple(orders) != self.order.options:
            offer(self.order, orders)
        self._kept = listing
        self._draw()
        self.layout.display = None

    @property
    def listing(self) -> Listing | None:
        """The list as shown: filtered, sorted, at its page."""
        if self._kept is None:
            return None
        key, _, direction = (self.order.value or "").rpartition(" ")
        listing = self._narrowed(self._kept)
        arranged = listing.arranged(sort=key, descending=direction == "descending", find=self.find.value)
        return replace(arranged, page_size=self._page_size).at(self._page)

    def _narrowed(self, listing: Listing) -> Listing:
        """The list without the rows that the controls in front of the filter leave out."""
        return listing

    def _turn_to_first(self, _change: Any) -> None:
        self._page = 1
        self._draw()

    def _turn(self, pages: int) -> None:
        self._page = max(1, self._page + pages)
        self._draw()

    def _draw(self) -> None:
        listing = self.listing
        if listing is None:
            return
        page = listing.paged()
        self._page = page.page
        self.before.disabled, self.after.disabled = page.page <= 1, page.page >= page.pages
        place = f"{fmt.count(page.first)} to {fmt.count(page.last)} of {fmt.count(page.matched)}"
        self.place.value = tag("span", place if page.matched else "none", class_="dte-caption")
        one = page.pages == 1
        self.before.layout.display = self.after.layout.display = "none" if one else None
        why = f"Nothing among the {self._label} matches the filter." if listing.total else "Nothing to list."
        nothing = None if page.rows else tag("p", why, class_="dte-muted")
        self.rows.value = joined([listing_table(listing, page, self._label), nothing])


def offer(choice: Any, options: list[tuple[str, str]]) -> None:
    """Give a choice other options and keep its value if it is still among them."""
    value = choice.value
    choice.options = options
    choice.value = value if value in {key for _, key in options} else options[0][1]


def _orders(listing: Listing, column: ListingColumn) -> list[tuple[str, str]]:
    if not column.title or pa.types.is_nested(listing.table.schema.field(column.key).type):
        return []
    ways = (
        (("most first", "descending"), ("least first", "ascending"))
        if column.numeric
        else (("A to Z", "ascending"), ("Z to A", "descending"))
    )
    return [(f"{column.title}, {words}", f"{column.key} {direction}") for words, direction in ways]
