"""The files that differ, as a list that is filtered, sorted and paged in the kernel: only one page is ever sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ipywidgets
import pyarrow.compute as pc

from explorer.jupyter.markup import Html, joined, tag
from explorer.views import formatting as fmt
from explorer.views.comparison import CHANGES, SIGNS, Comparison
from explorer.views.listing import Listing, ListingColumn, ListingPage

__all__ = ["FileList"]

PAGE_SIZE = 12
_WORDS = {"added": "added", "removed": "removed", "remasked": "re-masked"}
_SIGN_CLASSES = {sign: f"dte-{change}" for change, sign in SIGNS.items()}


class FileList(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets publishes no types
    """A comparison's files with a choice of the change, a filter, an order, and pages."""

    def __init__(self) -> None:
        self._comparison: Comparison | None = None
        self._page = 1
        self.change = ipywidgets.ToggleButtons(
            options=[("all", "all")], style={"button_width": "auto"}, tooltips=["every file that differs"]
        )
        self.find = ipywidgets.Text(placeholder="filter path or partition", layout={"width": "220px"})
        self.order = ipywidgets.Dropdown(options=[("in the order of the log", "")], layout={"width": "200px"})
        self.before = ipywidgets.Button(description="\u2039", tooltip="previous page", layout={"width": "36px"})
        self.after = ipywidgets.Button(description="\u203a", tooltip="next page", layout={"width": "36px"})
        self.place = ipywidgets.HTML()
        self.rows = ipywidgets.HTML(layout={"overflow": "auto"})
        tools = ipywidgets.HBox(
            [self.change, self.find, self.order, self.before, self.after, self.place],
            layout={"flex_flow": "row wrap", "align_items": "center"},
        )
        super().__init__([tools, self.rows])
        for control in (self.change, self.find, self.order):
            control.observe(self._turn_to_first, "value")
        self.before.on_click(lambda _: self._turn(-1))
        self.after.on_click(lambda _: self._turn(1))

    def show(self, comparison: Comparison) -> None:
        """Show the files of a comparison from their first page; filter and order stay where they still apply."""
        self._comparison, self._page = None, 1
        self.layout.display = None if comparison.files.total else "none"
        counts = [(_button(change, comparison), change) for change in CHANGES if comparison.counts[change]]
        options = [(f"all {fmt.count(comparison.files.total)}", "all"), *counts]
        if tuple(options) != self.change.options:
            _offer(self.change, options)
        orders = [("in the order of the log", ""), *(o for column in comparison.files.columns for o in _orders(column))]
        if tuple(orders) != self.order.options:
            _offer(self.order, orders)
        self._comparison = comparison
        self._draw()

    @property
    def listing(self) -> Listing | None:
        """The list as shown: filtered, sorted, at its page."""
        if self._comparison is None:
            return None
        listing = self._comparison.files
        if self.change.value != "all":
            kept = pc.equal(listing.table.column("change"), self.change.value)
            listing = replace(listing, table=listing.table.filter(kept))
        key, _, direction = (self.order.value or "").partition(" ")
        arranged = listing.arranged(sort=key, descending=direction == "descending", find=self.find.value)
        return replace(arranged, page_size=PAGE_SIZE).at(self._page)

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
        self.rows.value = _table(listing, page)


def _button(change: str, comparison: Comparison) -> str:
    return f"{SIGNS[change]} {_WORDS[change]} {fmt.count(comparison.counts[change])}"


def _offer(choice: Any, options: list[tuple[str, str]]) -> None:
    """Give a choice other options and keep its value if it is still among them."""
    value = choice.value
    choice.options = options
    choice.value = value if value in {key for _, key in options} else options[0][1]


def _orders(column: ListingColumn) -> list[tuple[str, str]]:
    if not column.title:
        return []
    ways = (
        (("most first", "descending"), ("least first", "ascending"))
        if column.numeric
        else (("A to Z", "ascending"), ("Z to A", "descending"))
    )
    return [(f"{column.title}, {words}", f"{column.key} {direction}") for words, direction in ways]


def _table(listing: Listing, page: ListingPage) -> Html:
    if not page.rows:
        return tag("p", "No file that differs matches the filter.", class_="dte-muted")
    head = tag("tr", *(tag("th", c.title, scope="col", class_=_class(c)) for c in listing.columns))
    body = joined(tag("tr", *(_cell(column, row) for column in listing.columns)) for row in page.rows)
    table = tag("table", tag("thead", head), tag("tbody", body), aria_label="files that differ")
    return tag("div", table, class_="dte-list")


def _cell(column: ListingColumn, row: dict[str, Any]) -> Html:
    value = row[column.key]
    text = column.text(value)
    match column.kind:
        case "sign":
            return tag("td", text, class_=_SIGN_CLASSES.get(text), title=_WORDS.get(row["change"]))
        case "path":
            return tag("td", text, class_="dte-mono", title=value)
        case _:
            return tag("td", text, class_=_class(column))


def _class(column: ListingColumn) -> str | None:
    return "dte-number" if column.numeric else None
