"""A list that the kernel filters, sorts and pages: the browser receives only one page of it.

Invariants: what the filter and the order leave is worked out once, however many pages are turned; files are selected in
the whole, and each list of files marks those that are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

import ipywidgets
import pyarrow as pa

from explorer import formatting as fmt
from explorer.jupyter.markup import joined, tag
from explorer.jupyter.parts import button, look, row, style, text
from explorer.jupyter.tables import Ticks, listing_table
from explorer.jupyter.waiting import told
from explorer.views.listing import Listing, ListingColumn, ListingPage

__all__ = ["ListBox", "Select", "offer"]

Select = Callable[[Sequence[str], bool], None]
"""Selects files by their paths, or lets them go."""
_NUMBERS: Final = count(1)
_MOST_COLUMNS: Final = 100


class ListBox(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets publishes no types
    """A list with a filter, an order, and pages.

    Args:
        label: What it lists, for screen readers: ``files that differ``.
        looks_in: What the filter looks in.
        order: The name of the list's own order.
        page_size: Rows of a page.
        more: Controls in front of the filter.
        select: Of a list of files, by whose ``path`` they are selected; None where nothing can be selected.

    Attributes:
        name: Of this list alone, by which its page in the browser says which row was ticked.
    """

    def __init__(
        self,
        label: str,
        looks_in: str,
        order: str,
        *,
        page_size: int,
        more: Sequence[ipywidgets.Widget] = (),
        select: Select | None = None,
    ) -> None:
        self.name = f"list-{next(_NUMBERS)}"
        self._label, self._own_order, self._page_size = label, order, page_size
        self._select, self._selected = select, frozenset[str]()
        self._kept: Listing | None = None
        self._matching: tuple[object, Listing] | None = None
        self._shown: ListingPage | None = None
        self._page = 1
        self.find = ipywidgets.Text(
            placeholder=f"filter {looks_in}",
            tooltip=f"filter {looks_in}",
            layout=look(width="220px"),
            style=style(ipywidgets.Text),
        )
        self.order = ipywidgets.Dropdown(
            options=[(order, "")], tooltip="order", layout=look(width="200px"), style=style(ipywidgets.Dropdown)
        )
        self.before = button("\u2039", tooltip="previous page", width="36px")
        self.after = button("\u203a", tooltip="next page", width="36px")
        self.place, self._wait = text(), text()
        self.select_all = button(tooltip="select every file that the filter leaves", display="none")
        self.select_none = button("Select none", display="none")
        self.rows = text(overflow="auto", max_height="460px")
        tools = row(
            *more, self.find, self.order, self.before, self.after, self.place, self._wait, self.select_all,
            self.select_none,
        )  # fmt: skip
        super().__init__([tools, self.rows])
        for control in (self.find, self.order):
            control.observe(self._turn_to_first, "value")
        self.before.on_click(lambda _: self._turn(-1))
        self.after.on_click(lambda _: self._turn(1))
        self.select_all.on_click(lambda _: self._select_matching())
        self.select_none.on_click(lambda _: self._choose(list(self._selected), selected=False))

    def show_list(self, listing: Listing | None) -> None:
        """Show a list from its first page, or nothing; filter and order stay if they still apply."""
        self._kept, self._page, self._matching, self._shown = None, 1, None, None
        if listing is None:
            self.layout.display = "none"
            self.rows.value = ""
            return
        sortable = listing.columns[:_MOST_COLUMNS]
        orders = [(self._own_order, ""), *(o for column in sortable for o in _orders(listing, column))]
        if tuple(orders) != self.order.options:
            offer(self.order, orders)
        self._kept = listing
        self._draw()
        self.layout.display = None

    def show_selection(self, paths: frozenset[str]) -> None:
        """Mark the selected files."""
        if self._select is not None and paths != self._selected:
            self._selected = paths
            self._draw()

    def path_at(self, row: int) -> str | None:
        """Return the path of the file in a row of the shown page, from 0; None if there is none."""
        rows = () if self._shown is None or self._select is None else self._shown.rows
        return str(rows[row]["path"]) if 0 <= row < len(rows) else None

    @property
    def listing(self) -> Listing | None:
        """The list as shown: filtered, sorted, at its page."""
        if self._kept is None:
            return None
        asked = self.order.value, self.find.value, self._narrowing
        if self._matching is None or self._matching[0] != asked:
            key, _, direction = (self.order.value or "").rpartition(" ")
            listing = self._narrowed(self._kept)
            arranged = listing.arranged(sort=key, descending=direction == "descending", find=self.find.value)
            self._matching = asked, arranged.settled()
        return replace(self._matching[1], page_size=self._page_size).at(self._page).narrowed(_MOST_COLUMNS)

    @property
    def _narrowing(self) -> object:
        """What the controls in front of the filter ask for."""
        return None

    def _narrowed(self, listing: Listing) -> Listing:
        """The list without the rows that the controls in front of the filter leave out."""
        return listing

    def _turn_to_first(self, _change: Any) -> None:
        self._page = 1
        with told(self._wait, f"arranging the {self._label}"):
            self._draw()

    def _turn(self, pages: int) -> None:
        self._page = max(1, self._page + pages)
        self._draw()

    def _draw(self) -> None:
        listing = self.listing
        if listing is None:
            return
        page = self._shown = listing.paged()
        self._page = page.page
        self.before.disabled, self.after.disabled = page.page <= 1, page.page >= page.pages
        place = f"{fmt.count(page.first)} to {fmt.count(page.last)} of {fmt.count(page.matched)}"
        self.place.value = tag("span", place if page.matched else "none", class_="dte-caption")
        one = page.pages == 1
        self.before.layout.display = self.after.layout.display = "none" if one else None
        self._draw_selection(page)
        why = (
            f"Nothing among the {self._label} matches the filter."
            if self._kept and self._kept.total
            else "Nothing to list."
        )
        nothing = None if page.rows else tag("p", why, class_="dte-muted")
        ticks = Ticks(self.name, self._selected) if self._select is not None else None
        hidden = len(self._kept.columns) - len(listing.columns) if self._kept else 0
        note = f"{fmt.plural(hidden, 'more column')} not shown." if hidden else None
        more = tag("p", note, class_="dte-caption") if note else None
        self.rows.value = joined([more, listing_table(listing, page, self._label, ticks), nothing])

    def _draw_selection(self, page: ListingPage) -> None:
        if self._select is None:
            return
        self.select_all.description = f"Select {fmt.count(page.matched)}" if page.matched > 1 else "Select it"
        self.select_all.layout.display = None if page.matched else "none"
        self.select_none.description = f"{fmt.count(len(self._selected))} selected: select none"
        self.select_none.layout.display = None if self._selected else "none"

    def _select_matching(self) -> None:
        listing = self.listing
        if listing is not None:
            self._choose(listing.matching().column("path").to_pylist(), selected=True)

    def _choose(self, paths: Sequence[str], *, selected: bool) -> None:
        if self._select is not None:
            self._select(paths, selected)


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
