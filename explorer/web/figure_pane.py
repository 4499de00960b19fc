"""A place for a figure in the page, which is redrawn only where its data change."""

from __future__ import annotations

import importlib
from typing import Any, Final

import panel as pn

from explorer.views import as_plotly
from explorer.views.figures.plotly import Figure

__all__ = ["FigurePane", "load_figures"]

_CONFIG: Final = {"displayModeBar": False, "responsive": False, "scrollZoom": False, "doubleClick": False}
_EMPTY: Final[Figure] = {
    "data": [],
    "layout": {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
    },
}


def load_figures() -> None:
    """Import what the first figure needs, before there are threads: two of them must not begin these imports at once.

    They take a third of a second, for which nobody should wait.
    """
    importlib.import_module("pandas")
    importlib.import_module("explorer.views.figures.figure_widget")
    as_plotly({"data": [{"type": "bar"}, {"type": "scatter"}], "layout": {"template": "none"}})


class FigurePane:
    """One of the page's figures.

    Args:
        figure: What it shows at first, if anything.
        height: Pixels that are kept free for it while there is no figure.

    Attributes:
        pane: Panel's pane, to be placed in the page.
    """

    def __init__(self, figure: Figure | None, height: int) -> None:
        self._figure = figure
        self.pane: Any = pn.pane.Plotly(
            as_plotly(figure or _EMPTY),
            config=dict(_CONFIG),
            sizing_mode="stretch_width",
            height=figure["layout"]["height"] if figure else height,
            margin=0,
        )

    @property
    def height(self) -> int:
        """Pixels."""
        return int(self.pane.height)

    def draw(self, figure: Figure | None, *, same_data: bool) -> None:
        """Show a figure; None leaves the last one where it is, out of sight.

        Args:
            figure: The figure.
            same_data: It differs from the one that is shown in its shapes alone.
        """
        if figure is None:
            return
        shown, self._figure = self._figure, figure
        if not same_data or shown is None:
            self.pane.param.update(object=as_plotly(figure), height=figure["layout"]["height"])
        elif _shapes(shown) != _shapes(figure):
            self.pane.object.layout.shapes = _shapes(figure)


def _shapes(figure: Figure) -> object:
    """The shapes of a figure, which may have none."""
    return figure["layout"].get("shapes", [])
