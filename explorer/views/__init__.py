"""What the pages and the notebook widget show: param view models, plotly figures, lists, words.

Nothing here knows Panel or ipywidgets, and nothing here writes HTML: views give records of plain text, and whoever
draws them escapes them.
"""

from explorer.views.figures.plotly import as_plotly
from explorer.views.table.facts import TableFacts
from explorer.views.table_view import TableView

__all__ = ["TableFacts", "TableView", "as_plotly"]
