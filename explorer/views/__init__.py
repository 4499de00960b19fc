"""What pages and the command line show of a table: view models, figures and words.

In: a `DeltaLog` or its results, and what a person chose: a version, one to compare with, a tab, answers of a form.
Out: frozen records of plain text and Arrow, and Plotly figures as plain dictionaries.
Always: nothing here knows Panel or ipywidgets or writes HTML; the code that draws a record escapes it. Nothing is
judged here: a plan says what an intent means. A number that is not known is called unknown. A figure or finding is
given only with its evidence. The chosen version never changes by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.views.table.facts import TableFacts

if TYPE_CHECKING:
    from explorer.views.table_view import TableView

__all__ = ["TableFacts", "TableView"]


def __getattr__(name: str) -> object:
    """Load the view at its first use: it needs param, which an installation without pages and notebooks lacks."""
    if name == "TableView":
        from explorer.views.table_view import TableView

        return TableView
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
