"""Row differences of the two chosen versions: rows inserted, deleted or updated, old and new side by side."""

from __future__ import annotations

import ipywidgets
from markupsafe import Markup

from explorer import formatting as fmt
from explorer.jupyter.explored import Explored
from explorer.jupyter.markup import joined, tag
from explorer.jupyter.panels import figure
from explorer.jupyter.parts import style, text
from explorer.jupyter.tabs.row_panel import RowPanel
from explorer.views.rows.differences import DifferenceCell, DifferenceRow, RowDifferences
from explorer.views.rows.row_work import ComparedRows, comparison_estimate, key_choices

__all__ = ["DifferencesPanel", "differences_table"]


class DifferencesPanel(RowPanel):
    """The rows in which two versions differ.

    Attributes:
        key_columns: Names of the key columns, with commas; empty compares whole rows.
        rows: The rows that differ.
    """

    def __init__(self, explored: Explored) -> None:
        self._compared = ComparedRows(self.draw)
        self.key_columns = ipywidgets.Combobox(
            description="match rows by", placeholder="no key: an update is a delete and an insert",
            style=style(ipywidgets.Combobox, description_width="initial"),
            layout={"width": "auto", "flex": "1 1 320px"},
        )  # fmt: skip
        self.rows = text(overflow="auto", max_height="460px")
        self.figures = text()
        super().__init__(explored, [self.key_columns], [self.figures, self.rows])
        self.key_columns.observe(lambda _: self.draw(), "value")

    def ask(self) -> None:
        """Compare the rows."""
        self._compared.start(self._explored.view, self.key_columns.value)

    def cancel(self) -> None:
        """Stop comparing."""
        self._compared.cancel()

    def _draw(self) -> None:
        view, keys = self._explored.view, self.key_columns.value
        names = key_choices(view, view.version)
        if self.key_columns.options != names:
            self.key_columns.options = names
        estimate, available = comparison_estimate(view)
        self.key_columns.layout.display = None if available else "none"
        self.head.value = tag("div", tag("b", "Rows that differ"))
        state, found = self._compared.state(view, keys), self._compared.found(view, keys)
        self.rows.value = differences_table(found) if found is not None and found.rows else ""
        self.figures.value = _figures(found, keyed=bool(keys.strip())) if found is not None else ""
        self._show_work(
            state,
            verb="Compare rows",
            answered=found is not None,
            before=estimate,
            available=available,
        )


def differences_table(found: RowDifferences) -> Markup:
    """Return the rows that differ as a table, the old value beside the new."""
    names = [tag("th", fmt.shorten(name, 28), scope="col", title=name) for name in found.columns]
    head = tag("thead", tag("tr", tag("th", scope="col"), *names))
    body = tag("tbody", *(_row(row) for row in found.rows))
    return tag("div", tag("table", head, body, aria_label="rows that differ"), class_="dte-list")


def _figures(found: RowDifferences, *, keyed: bool) -> Markup:
    figures = [
        figure(f"+{fmt.count(found.inserted)}", "inserted", "dte-added"),
        figure(f"\u2212{fmt.count(found.deleted)}", "deleted", "dte-removed"),
        figure(f"\u0394{fmt.count(found.updated)}", "updated" if keyed else "updated: unknown without a key", _UPDATED),
    ]
    if found.repeated:
        repeated = "under keys that several rows share: old and new cannot be matched"
        figures.append(figure(fmt.count(found.repeated), repeated, None))
    more = f" {fmt.plural(found.more_columns, 'more column')} not shown." if found.more_columns else ""
    left_out = [tag("p", f"{name} is not compared: {why}", class_="dte-caption") for name, why in found.left_out]
    note = tag("p", found.note + more, class_="dte-muted")
    return joined([tag("div", *figures, class_="dte-figures"), note, *left_out])


_UPDATED = "dte-changed-rows"


def _row(row: DifferenceRow) -> Markup:
    sign = f"{row.sign}\u00d7{fmt.count(row.count)}" if row.count > 1 else row.sign
    why = "several rows share its key" if row.repeated else None
    return tag("tr", tag("td", sign, class_=f"dte-{row.tone}", title=why), *(_cell(cell) for cell in row.cells))


def _cell(cell: DifferenceCell) -> Markup:
    text = fmt.shorten(cell.text, 60)
    if cell.before is None:
        return tag("td", text, class_="dte-none" if cell.is_null else None, title=cell.text)
    old = tag("s", fmt.shorten(cell.before, 40))
    return tag("td", old, " \u2192 ", text, class_="dte-changed", title=f"{cell.before} \u2192 {cell.text}")
