"""The timeline as a plotly figure widget: a click anywhere over a version chooses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from plotly.graph_objects import FigureWidget

from explorer.views import TableView
from explorer.views.figures.plotly import Figure
from explorer.views.table.timeline import Timeline

__all__ = ["TimelineChart"]

_LEFT: Final = 78
"""Pixels for the labels: a notebook's type is wider than the page's."""


class TimelineChart:
    """Draws a view's timeline and reports which version was clicked.

    Args:
        view: The view; `redraw` and `move` read it.
        choose: Called with the version clicked, and whether Shift was held.

    Attributes:
        widget: The plotly widget.
    """

    def __init__(self, view: TableView, choose: Callable[[int, bool], None]) -> None:
        self._view = view
        self._choose = choose
        view.mapped = False
        self._timeline: Timeline = view.bars(_LEFT)
        figure = _fitted(view.timeline(left=_LEFT))
        self.widget = FigureWidget(figure)
        self.widget._config = {"displayModeBar": False, "responsive": True}
        for trace in self.widget.data:
            trace.on_click(self._clicked)

    def move(self) -> None:
        """Move the ends of the comparison to where the view has them; no bar is drawn again."""
        ends = self._view.timeline_ends(_LEFT)
        with self.widget.batch_update():
            self.widget.layout.shapes, self.widget.layout.annotations = ends["shapes"], ends["annotations"]

    def recolour(self) -> None:
        """Draw in the view's colours."""
        figure = _fitted(self._view.timeline(left=_LEFT))
        with self.widget.batch_update():
            for trace, fresh in zip(self.widget.data, figure["data"], strict=True):
                trace.update(fresh, overwrite=False)
            self.widget.layout.update(figure["layout"], overwrite=False)

    def version_at(self, place: float) -> int | None:
        """Return the version drawn at a place on the axis: the last one of its mark, or None beside the marks."""
        timeline = self._timeline
        if not timeline.first - 0.5 <= place < timeline.last + 0.5:
            return None
        return min(int((place + 0.5) // timeline.width) * timeline.width + timeline.width - 1, timeline.last)

    def _clicked(self, _trace: Any, points: Any, state: Any) -> None:
        version = self.version_at(float(points.xs[0])) if points.xs else None
        if version is not None:
            self._choose(version, bool(getattr(state, "shift", False)))


def _fitted(figure: Figure) -> Figure:
    """The figure as wide as its place, whatever width it was made for."""
    return {"data": figure["data"], "layout": {key: part for key, part in figure["layout"].items() if key != "width"}}
