"""The notebook widget: `Table.explore` shows a table's versions, what each did, and what differs between two of them.

In: a table, and initial values of the widget's traits.
Out: an ipywidgets widget whose traits are its state.
Always: nothing heavy is imported before a widget is made. A value that cannot be shown is refused when it is set. Rows
are read only when a button or a call asks for them, and a button stops the work. Nothing is committed unless the widget
was made for that. Text is escaped before it goes into HTML. If a part cannot be drawn, its place shows the error.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from explorer.core.errors import EngineUnavailable

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.jupyter.widget import TableExplorer

__all__ = ["TableExplorer", "explore"]

_NEEDED = ("ipywidgets", "anywidget", "plotly", "param")
_INSTALL = 'pip install "delta-table-explorer[jupyter]"'


def explore(table: DeltaLog, **state: Any) -> TableExplorer:
    """Return the widget of a table.

    Args:
        table: The table's log.
        **state: Initial values of the widget's traits, and ``allow_commits``; see
            `explorer.jupyter.widget.TableExplorer`.

    Raises:
        EngineUnavailable: A package that the widget needs is missing; ``install`` says how to get it.
        RequestError: A value asked for cannot be shown.
    """
    return _widget()(table, **state)


def _widget() -> type[TableExplorer]:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise EngineUnavailable(
            f"The notebook widget needs {', '.join(missing)}, which is not installed here. To get it: {_INSTALL}. "
            "Everything except the widget works without it.",
            engine="jupyter",
            install=_INSTALL,
        )
    from explorer.jupyter.widget import TableExplorer

    return TableExplorer


def __getattr__(name: str) -> object:
    """Load the widget at its first use: a command or a page needs none of it."""
    if name == "TableExplorer":
        return _widget()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
