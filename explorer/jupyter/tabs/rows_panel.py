"""Data: rows of the chosen version, filtered by a condition, page by page, masked ones on request."""

from __future__ import annotations

from typing import Any

import ipywidgets

from explorer import formatting as fmt
from explorer.jupyter.explored import Explored
from explorer.jupyter.list_box import ListBox
from explorer.jupyter.markup import joined, tag
from explorer.jupyter.panels import alert_lines
from explorer.jupyter.parts import button, text
from explorer.jupyter.tabs.row_panel import RowPanel
from explorer.views.rows.row_work import PAGE_ROWS, PagedRows, RowsAsked, live_rows, rows_estimate

__all__ = ["RowsPanel"]


class RowsPanel(RowPanel):
    """A page of rows.

    Attributes:
        where: The condition, a boolean SQL expression; empty for all rows.
        masked: Whether rows that a deletion vector hides are shown too, marked.
        back, onward: The pages before and after.
        list: The rows that were read.
    """

    def __init__(self, explored: Explored) -> None:
        self._rows = PagedRows(self.draw)
        self.where = ipywidgets.Text(tooltip="only rows for which (SQL)", layout={"width": "auto", "flex": "1 1 320px"})
        self.masked = ipywidgets.Checkbox(description="masked rows too", indent=False, layout={"width": "auto"})
        self.note = text()
        self.list = ListBox("rows", "these rows", "in the order of the files", page_size=PAGE_ROWS)
        self.list.show_list(None)
        self.back = button("Rows before")
        self.onward = button(f"Next {PAGE_ROWS} rows")
        self.pages = ipywidgets.HBox([self.back, self.onward])
        self._shown: object = None
        super().__init__(explored, [self.where, self.masked], [self.note, self.list, self.pages])
        self.where.value = explored.predicate
        self.where.on_msg(self._typed)
        self.back.on_click(lambda _: self._rows.turn(self._explored.view, back=True))
        self.onward.on_click(lambda _: self._rows.turn(self._explored.view, back=False))

    def ask(self) -> None:
        """Read the first rows that the controls ask for."""
        self._explored.propose(self.where.value)
        self._rows.start(self._explored.view, self.where.value, masked=self.masked.value)

    def show_predicate(self) -> None:
        """Put the condition into its field; rows are read when the button is pressed."""
        self.where.value = self._explored.predicate

    def cancel(self) -> None:
        """Stop reading."""
        self._rows.cancel()

    def _typed(self, _widget: object, content: Any, _buffers: object) -> None:
        if isinstance(content, dict) and content.get("event") == "submit":
            self.ask()

    def _draw(self) -> None:
        view, asked = self._explored.view, self._rows.asked
        snapshot = view.facts.snapshot(view.version)
        about = f"{fmt.quantity(live_rows(snapshot), 'row')} in {fmt.plural(snapshot.num_files, 'file')}"
        title = tag("b", f"Rows at v{view.version}")
        self.head.value = joined((tag("div", title, " ", tag("span", about, class_="dte-muted")), alert_lines(view)))
        example = next((f"{fmt.plain(field.name, 40)} IS NOT NULL" for field in snapshot.schema.fields), "amount > 100")
        self.where.placeholder = f"all rows; or a condition: {example}"
        self.masked.layout.display = None if snapshot.num_deleted_records else "none"
        state, page = self._rows.state, self._rows.page
        self.where.layout.display = None if snapshot.num_files else "none"
        if page is not self._shown:
            # Rows already shown keep the person's filter and order.
            self._shown = page
            self.list.show_list(self._rows.listing())
        self.back.layout.display = None if page is not None and self._rows.has_earlier else "none"
        self.onward.layout.display = None if page is not None and self._rows.has_later else "none"
        self.note.value = "" if page is None or asked is None else self._note(page.note, asked)
        self._show_work(
            state,
            verb=f"Show {PAGE_ROWS} rows",
            answered=page is not None,
            before="" if view.facts.lost_data(view.version) else rows_estimate(snapshot, self.where.value),
            available=snapshot.num_files > 0,
        )

    def _note(self, note: str, asked: RowsAsked) -> str:
        other = asked.version != self._explored.view.version
        away = tag("b", f", not the v{self._explored.view.version} chosen above") if other else None
        where = [", where ", tag("code", fmt.plain(asked.where, 200))] if asked.where.strip() else []
        return tag("p", note, f" Read at v{asked.version}", away, *where, ".", class_="dte-muted")
