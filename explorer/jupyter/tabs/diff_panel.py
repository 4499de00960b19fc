"""Diff: the files, the schema, the protocol, the properties and the rows in which the two chosen versions differ."""

from __future__ import annotations

import logging

from explorer.core.errors import ExplorerError
from explorer.debug import log_failure
from explorer.jupyter.explored import Explored
from explorer.jupyter.panels import comparison_panel, problem_panel
from explorer.jupyter.parts import text
from explorer.jupyter.tab_panel import TabPanel
from explorer.jupyter.tabs.differences_panel import DifferencesPanel
from explorer.jupyter.tabs.file_list import FileList

__all__ = ["DiffPanel"]

_log = logging.getLogger(__name__)


class DiffPanel(TabPanel):
    """What differs.

    Attributes:
        files: The files that differ.
        rows: The rows that differ, which Spark finds on request.
    """

    def __init__(self, explored: Explored) -> None:
        self._text = text()
        self.files = FileList(lambda paths, on: explored.select(paths, selected=on))
        self.rows = DifferencesPanel(explored)
        super().__init__(explored, [self._text, self.files, self.rows])

    def draw(self) -> None:
        """Compare the chosen versions; why that cannot be done is shown in its place."""
        try:
            self._show_differences()
        except ExplorerError as error:
            self._show_fault(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours is shown to the person and logged
            log_failure(_log, "the comparison could not be drawn", error)
            self._show_fault(error)

    def cancel(self) -> None:
        """Stop comparing rows."""
        self.rows.cancel()

    def _show_differences(self) -> None:
        view = self._explored.view
        for version in {view.other, view.version}:
            view.facts.snapshot(version)  # why a version cannot be read says more than why it cannot be compared
        comparison = view.comparison()
        self._text.value = comparison_panel(view, comparison)
        self.files.show(comparison)
        self.show_selection()
        self.rows.layout.display = "none" if comparison.same else None
        if not comparison.same:
            self.rows.draw()

    def _show_fault(self, error: Exception) -> None:
        self._text.value = problem_panel(error)
        self.files.layout.display = self.rows.layout.display = "none"
