"""The widget that `Table.explore` returns: one table, a chosen version, what differs from another one, and rows.

Its traits are the state: setting one from code, through a link to another widget, or by the controls is the same thing.
Invariants: a version that cannot be shown is refused when it is set, and nothing changes then; if a part cannot be
drawn, its place shows the error; one request of a control is one drawing; rows are read only on request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import ipywidgets
import traitlets

from explorer.core.errors import ExplorerError, RequestError
from explorer.jupyter.changes_panel import ChangesPanel
from explorer.jupyter.controls import VersionControls
from explorer.jupyter.differences_panel import DifferencesPanel
from explorer.jupyter.file_list import FileList
from explorer.jupyter.findings import findings_line
from explorer.jupyter.host_page import HostPage
from explorer.jupyter.log_panels import (
    AuditPanel,
    ColumnsPanel,
    LogPanel,
    OverviewPanel,
    StatisticsPanel,
    VectorsPanel,
)
from explorer.jupyter.panels import comparison_panel, problem_panel, signs, version_line
from explorer.jupyter.row_panel import RowPanel
from explorer.jupyter.rows_panel import RowsPanel
from explorer.jupyter.style import ROOT, style_sheet
from explorer.jupyter.timeline_chart import TimelineChart
from explorer.views import TableFacts, TableView

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

__all__ = ["TableExplorer"]

_log = logging.getLogger(__name__)
_TABS = {
    "overview": "Overview",
    "diff": "Diff",
    "columns": "Columns",
    "deletion-vectors": "Deletion vectors",
    "statistics": "Statistics",
    "data": "Data",
    "changes": "Changes",
    "audit": "Audit",
}


class _Version(traitlets.Int[Any, Any]):
    """A version that can be shown.

    It is checked at the assignment itself, also while notifications are held; traitlets would let None pass unchecked
    if ``allow_none`` were set, so the widget refuses None itself.
    """

    def validate(self, obj: Any, value: Any) -> Any:
        return obj.checked(self.name, value if value is None else super().validate(obj, value))


class TableExplorer(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets publishes no types
    """A table's versions, the chosen one, and what differs between it and the one it is compared with.

    Args:
        table: The table's log. A table that cannot be read is shown as its error.
        version: The version chosen at first; the newest one unless given.
        compared: The version to compare it with.
        tab: One of the values of the trait.
        theme: ``auto``, ``light`` or ``dark``.

    Attributes:
        version: The chosen version; None only where the table cannot be read.
        compared: The version it is compared with; None is the version before.
        tab: The part on show: ``overview``; ``diff`` (files, schema and rows that differ); ``columns``,
            ``deletion-vectors``, ``statistics`` and ``audit`` (by the log alone); ``data`` (rows of the chosen version)
            or ``changes`` (rows that changed after the compared version, up to the chosen one).
        theme: ``auto`` follows the page.
        data, changes, differences, statistics: The parts with a question, whose controls can be set from code; they do
            not exist if the table cannot be read.

    Raises:
        VersionNotFound: A version asked for cannot be shown.
    """

    version = _Version(default_value=None, help="The chosen version.")
    compared = _Version(default_value=None, help="The version compared with; None is the one before.")
    tab = traitlets.Enum(list(_TABS), default_value="diff", help="The part on show.")
    theme = traitlets.Enum(["auto", "light", "dark"], default_value="auto", help="The colours; auto follows the page.")

    def __init__(
        self,
        table: DeltaLog,
        *,
        version: int | None = None,
        compared: int | None = None,
        tab: str = "diff",
        theme: str = "auto",
    ) -> None:
        self.table = table
        self._view: TableView | None = None
        self._failure: ExplorerError | None = None
        try:
            facts = TableFacts(table)
        except ExplorerError as error:
            self._failure = error
        else:
            self._view = TableView(facts, version=version, compared=compared)
        self._host = HostPage(layout={"display": "none"})
        self._chart: TimelineChart | None = None
        self._panels: list[RowPanel] = []
        parts = self._built(self._view) if self._view else [_text(problem_panel(self._broken()))]
        super().__init__([_text(f"<style>{style_sheet()}</style>", display="none"), self._host, *parts])
        self.add_class(ROOT)
        if self._view is not None:
            self.version, self.compared = self._view.version, self._view.compared
            self.observe(self._moved, ["version", "compared"])
            self.observe(self._turned, "tab")
            self._draw(self._view)
        self.tab = tab
        self.observe(self._paint, "theme")
        self._host.observe(self._paint, "theme")
        self.theme = theme
        self._paint()

    def __repr__(self) -> str:
        return f"TableExplorer({self.table.name!r}, version={self.version}, compared={self.compared})"

    def checked(self, name: str | None, value: int | None) -> int | None:
        """Return a value of ``version`` or ``compared`` if it can be shown.

        Raises:
            VersionNotFound: It is outside the readable range.
            ExplorerError: The table cannot be read, so no version of it can be shown.
        """
        if value is None:
            if name == "version" and self._view is not None:
                raise RequestError(f"The chosen version of {self.table.name} must be a number, not None.")
            return None
        if self._view is None:
            raise self._broken()
        return self._view.facts.check(value)

    def go(self, version: int, compared: int | None = None) -> None:
        """Choose a version and the one to compare it with (None: the one before) in one step.

        Raises:
            VersionNotFound: A version is outside the readable range. Nothing is changed then.
        """
        self.checked("version", version)
        self.checked("compared", compared)
        with self.hold_trait_notifications():
            self.version, self.compared = version, compared

    def close(self) -> None:
        """Close the widget, and stop its work on Spark."""
        for panel in self._panels:
            panel.cancel()
        super().close()

    def _broken(self) -> ExplorerError:
        assert self._failure is not None, "a table without a view is one that could not be read"
        return self._failure

    def _built(self, view: TableView) -> list[Any]:
        self._controls = VersionControls(view.facts.first, view.facts.last, self._ask, self._ask_named)
        self._line, self._body, self._notice = _text(), _text(), _text()
        self._files = FileList()
        self._tabs = ipywidgets.ToggleButtons(
            options=[(title, name) for name, title in _TABS.items()], style={"button_width": "auto"}
        )
        self._tabs.observe(lambda change: self.set_trait("tab", change["new"]), "value")
        self.data, self.changes, self.differences = RowsPanel(view), ChangesPanel(view), DifferencesPanel(view)
        self._panels = [self.data, self.changes, self.differences]
        self.statistics = StatisticsPanel(view)
        self._by_log: dict[str, LogPanel] = {
            "overview": OverviewPanel(view),
            "columns": ColumnsPanel(view),
            "deletion-vectors": VectorsPanel(view),
            "statistics": self.statistics,
            "audit": AuditPanel(view),
        }
        if len(view.facts.commits):
            self._chart = TimelineChart(view, self._clicked)
        drawing = [self._chart.widget, _text(signs())] if self._chart else []
        diff = [self._body, self._files, self.differences]
        parts = [*diff, self.data, self.changes, *self._by_log.values()]
        return [self._controls, self._line, *drawing, self._tabs, self._notice, *parts]

    def _clicked(self, version: int, shift: bool) -> None:
        assert self.version is not None
        self._ask(*((self.version, version) if shift else (version, self.compared)))

    def _ask(self, version: int, compared: int | None) -> None:
        """Move as a control asks; an error is shown above the comparison."""
        self._notice.value = ""
        self._shown_in(self._notice, lambda: self.go(version, compared))

    def _ask_named(self, text: str) -> None:
        """Move to a version or a time that was typed."""
        view = self._view
        assert view is not None
        self._notice.value = ""
        self._shown_in(self._notice, lambda: self.go(view.facts.version_named(text), self.compared))

    def _moved(self, _change: Any) -> None:
        view = self._view
        assert view is not None
        if (view.version, view.compared) != (self.version, self.compared):
            view.go(self.version, self.compared)
            self._draw(view)

    def _draw(self, view: TableView) -> None:
        self._controls.show(view.version, view.compared, view.other)
        self._line.value = version_line(view, datetime.now(UTC)) + findings_line(view.facts.audit())
        if self._chart is not None:
            self._chart.move()
        self._draw_tab(view)

    def _turned(self, _change: Any) -> None:
        assert self._view is not None
        self._tabs.value = self.tab
        self._draw_tab(self._view)

    def _draw_tab(self, view: TableView) -> None:
        """Draw the shown part; the others are drawn when they are opened."""
        rows = {"diff": [self._body, self._files, self.differences], "data": [self.data], "changes": [self.changes]}
        parts = rows | {name: [panel] for name, panel in self._by_log.items()}
        for part in (part for name, found in parts.items() if name != self.tab for part in found):
            part.layout.display = "none"
        match self.tab:
            case "data":
                self._show_panel(self.data)
            case "changes":
                self._show_panel(self.changes)
            case name if name in self._by_log:
                self._show_panel(self._by_log[name])
            case _:
                self._body.layout.display = None
                if not self._shown_in(self._body, lambda: self._compare(view)):
                    self._files.layout.display = self.differences.layout.display = "none"

    def _show_panel(self, panel: RowPanel | LogPanel) -> None:
        panel.layout.display = None
        panel.draw()

    def _compare(self, view: TableView) -> None:
        for version in {view.other, view.version}:
            view.facts.snapshot(version)  # why a version cannot be read says more than why it cannot be compared
        comparison = view.comparison()
        self._body.value = comparison_panel(view, comparison)
        self._files.show(comparison)
        if comparison.same:
            self.differences.layout.display = "none"
        else:
            self._show_panel(self.differences)

    def _shown_in(self, place: Any, action: Callable[[], None]) -> bool:
        """Do something, and show in a place why it failed; returns whether it succeeded."""
        try:
            action()
        except ExplorerError as error:
            place.value = problem_panel(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours is shown to the person and logged
            _log.exception("%r could not be drawn", self)
            place.value = problem_panel(error)
        else:
            return True
        return False

    def _paint(self, _change: Any = None) -> None:
        name = self._host.theme if self.theme == "auto" else self.theme
        for kind, on in (("auto", self.theme == "auto"), ("dark", name == "dark")):
            (self.add_class if on else self.remove_class)(f"{ROOT}-{kind}")
        if self._view is not None and self._view.theme != name:
            self._view.theme = name
            if self._chart is not None:
                self._chart.recolour()
            if self.tab in self._by_log:
                self._by_log[self.tab].draw()


def _text(markup: str = "", **layout: str) -> Any:
    return ipywidgets.HTML(markup, layout=layout)
