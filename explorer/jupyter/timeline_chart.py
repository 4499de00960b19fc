"""The timeline as a plotly figure widget: a click anywhere over a version chooses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from plotly.graph_objects import FigureWidget

from explorer.core.protocol.arrow.arrays import Float64s
from explorer.views import TableView
from explorer.views.figures.plotly import Figure, Part
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
        self._timeline: Timeline = view.facts.timeline(view.window)
        figure = _drawn(view.timeline(left=_LEFT), self._timeline)
        self.widget = FigureWidget(figure)
        self.widget._config = {"displayModeBar": False, "responsive": True}
        for trace in self.widget.data:
            trace.on_click(self._clicked)

    def move(self) -> None:
        """Move the ends of the comparison to where the view has them; no bar is drawn again."""
        self.widget.layout.shapes = self._view.timeline_shapes()

    def recolour(self) -> None:
        """Draw in the view's colours."""
        figure = _drawn(self._view.timeline(left=_LEFT), self._timeline)
        with self.widget.batch_update():
            for trace, fresh in zip(self.widget.data, figure["data"], strict=True):
                trace.update(fresh, overwrite=False)
            self.widget.layout.update(figure["layout"], overwrite=False)

    def version_at(self, place: float) -> int | None:
        """Return the version drawn at a place on the axis: the last one of its mark, or None beside the marks."""
        timeline = self._timeline
        start = timeline.first + int((place - timeline.first + 0.5) // timeline.width) * timeline.width
        if not timeline.first <= start <= timeline.last:
            return None
        return min(start + timeline.width - 1, timeline.last)

    def _clicked(self, _trace: Any, points: Any, state: Any) -> None:
        version = self.version_at(float(points.xs[0])) if points.xs else None
        if version is not None:
            self._choose(version, bool(getattr(state, "shift", False)))


def _drawn(figure: Figure, timeline: Timeline) -> Figure:
    """Fit the views' figure to a plotly widget.

    An invisible bar over each mark gives commits without a bar of their own a place to point at; bars of no height
    would still show their outline.
    """
    bars = [trace | {"y": _seen(trace["y"])} if trace["type"] == "bar" else trace for trace in figure["data"]]
    return {"data": [*bars, _targets(figure, timeline)], "layout": figure["layout"]}


def _seen(heights: object) -> Float64s:
    drawn = np.asarray(heights, dtype=np.float64)
    return np.where(drawn == 0, np.nan, drawn)


def _targets(figure: Figure, timeline: Timeline) -> Part:
    low, high = cast("dict[str, tuple[float, float]]", figure["layout"]["yaxis"])["range"]
    count = len(timeline.start)
    return {
        "type": "bar",
        "name": "versions",
        "x": timeline.middles,
        "y": np.full(count, high - low),
        "base": low,
        "width": timeline.width,
        "marker": {"color": "rgba(0,0,0,0)", "line": {"width": 0}},
        "hovertext": figure["data"][0]["hovertext"],
        "hoverinfo": "text",
        "showlegend": False,
    }
