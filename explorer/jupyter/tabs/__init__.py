"""The parts of the widget, in their order.

In: the whole, with what a person has chosen of it.
Out: a box of controls, text, charts and lists.
Always: a part is a module here and a line in `TABS`; it is drawn when it is opened, and again when the choice changes
while it is open; it reads rows only when a person asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from explorer.jupyter.act.panel import ActPanel
from explorer.jupyter.explored import Explored
from explorer.jupyter.tab_panel import TabPanel
from explorer.jupyter.tabs.changes_panel import ChangesPanel
from explorer.jupyter.tabs.diff_panel import DiffPanel
from explorer.jupyter.tabs.log_panels import (
    AuditPanel,
    ColumnsPanel,
    FilesPanel,
    OverviewPanel,
    StatisticsPanel,
    VectorsPanel,
)
from explorer.jupyter.tabs.rows_panel import RowsPanel

__all__ = ["TABS", "Tab"]


@dataclass(frozen=True, slots=True)
class Tab:
    """A part: its title, and what makes it."""

    title: str
    make: Callable[[Explored], TabPanel]


TABS: Final[Mapping[str, Tab]] = {
    "overview": Tab("Overview", OverviewPanel),
    "diff": Tab("Diff", DiffPanel),
    "files": Tab("Files", FilesPanel),
    "columns": Tab("Columns", ColumnsPanel),
    "deletion-vectors": Tab("Deletion vectors", VectorsPanel),
    "statistics": Tab("Statistics", StatisticsPanel),
    "data": Tab("Data", RowsPanel),
    "changes": Tab("Changes", ChangesPanel),
    "audit": Tab("Audit", AuditPanel),
    "act": Tab("Act", ActPanel),
}
"""By the value of the widget's trait ``tab``."""
