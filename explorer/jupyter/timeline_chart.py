"""The timeline as a plotly figure widget: a click over a version chooses it; wheel, drag and double click zoom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from markupsafe import Markup

from explorer.jupyter.browser.figure import LeanFigure
from explorer.jupyter.markup import joined
from explorer.jupyter.static_picture import strip_html
from explorer.views import TableView
from explorer.views.figures.plotly import Figure, Part
from explorer.views.table.timeline import Timeline
from explorer.views.table_view import clamped

__all__ = ["TimelineChart"]

_NARROWEST, _WIDEST = 240, 2200
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
        self._drawing = False
        double = "reset" if view.zoomable else False
        self.widget = LeanFigure(self._figure(), self._picture(), scrollZoom=view.zoomable, doubleClick=double)
        self._listen()
        self.widget.layout.on_change(self._zoomed, "xaxis.range")

    def move(self) -> None:
        """Move the ends of the comparison to where the view has them; no bar is drawn again."""
        ends = self._view.timeline_ends(_LEFT)
        with self.widget.batch_update():
            self.widget.layout.shapes, self.widget.layout.annotations = ends["shapes"], ends["annotations"]

    def fit(self, width: int) -> None:
        """Draw for another width in pixels: there are as many labels as it has room for."""
        width = min(max(width, _NARROWEST), _WIDEST)
        if width != self._view.width:
            self._view.width = width
            self.renew()

    def recolour(self) -> None:
        """Draw in the view's colours."""
        figure = self._figure()
        with self.widget.batch_update():
            for trace, fresh in zip(self.widget.data, figure["data"], strict=True):
                trace.update(fresh, overwrite=False)
            self.widget.layout.update(figure["layout"], overwrite=False)

    def _picture(self) -> Markup:
        return joined([strip_html(self._view)])

    def _figure(self) -> Figure:
        """The figure as wide as its place, whatever width it was made for; many versions can be shown in part."""
        figure = self._view.timeline(left=_LEFT)
        layout = {key: part for key, part in figure["layout"].items() if key != "width"}
        if self._view.zoomable:
            axis = cast("Part", layout["xaxis"])
            layout |= {"dragmode": "pan", "xaxis": axis | {"fixedrange": False}}
        return {"data": figure["data"], "layout": layout}

    def _listen(self) -> None:
        for trace in self.widget.data:
            trace.on_click(self._clicked)

    def _zoomed(self, _layout: Any, wanted: Sequence[float]) -> None:
        """Draw the versions that the axis was moved to, lanes and labels with them."""
        if self._drawing or not self._view.zoomable:
            return
        whole = self._view.facts.whole
        first, last = (round(place) for place in (wanted[0] + 0.5, wanted[1] - 0.5))
        window = clamped((first, last), whole)
        if window == self._view.shown:
            return
        self._view.window = None if window == whole else window
        self.renew()

    def renew(self) -> None:
        """Draw all of it again, for other versions."""
        self._timeline = self._view.bars(_LEFT)
        self.widget.picture = self._picture()
        figure = self._figure()
        self._drawing = True
        try:
            self.widget.data = ()
            self.widget.add_traces(figure["data"])
            # An update of a list keeps what is beyond its end: labels of before.
            lists = {name: figure["layout"].pop(name) for name in ("shapes", "annotations")}
            if self.widget.layout.height != figure["layout"]["height"]:
                # With another height the page keeps the width of before, unless it is told in the same step to fit.
                self.widget.layout.autosize = False
            with self.widget.batch_update():
                self.widget.layout.update(figure["layout"], overwrite=False)
                self.widget.layout.shapes, self.widget.layout.annotations = lists["shapes"], lists["annotations"]
            self.widget.height = self.widget.layout.height
        finally:
            self._drawing = False
        self._listen()

    def _clicked(self, _trace: Any, points: Any, state: Any) -> None:
        version = self._timeline.version_at(float(points.xs[0])) if points.xs else None
        if version is not None:
            self._choose(version, bool(getattr(state, "shift", False)))
