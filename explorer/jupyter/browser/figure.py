"""Plotly figures whose part in the browser is sent while a page lacks it, and is in no saved notebook.

A figure widget of plotly carries five megabytes of script in its state, and what it draws; each of them again. Here the
script in the page kit asks the kernel for both. Nothing is fetched from another machine.

Invariant: a page asks after it was told that the figure listens. A kernel hears pages in threads of their own, and what
is said to a figure that is still being made would be lost.
"""

from __future__ import annotations

import gzip
from functools import cache
from typing import Any, Final

import traitlets
from ipywidgets.widgets.widget import _remove_buffers
from markupsafe import Markup
from plotly.serializers import _py_to_js

from explorer.jupyter.browser.page_kit import part_script
from explorer.jupyter.markup import tag
from explorer.views.figures.figure_widget import FigureWidget
from explorer.views.figures.plotly import Figure

__all__ = ["LeanFigure"]

_AWAITED: Final = tag("p", "The chart is drawn when the kernel answers.", class_="dte-muted")


class LeanFigure(FigureWidget):  # type: ignore[misc]  # plotly publishes no types
    """A figure as wide as its place, without plotly's buttons.

    Args:
        figure: What is drawn; its width is left to the page.
        picture: Stands in its place until the page can draw it, and where no kernel lives.
        **options: More of plotly's configuration.
    """

    _esm = part_script("figure")
    picture = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)
    listens = traitlets.Bool(False).tag(sync=True)
    _widget_data: Any = traitlets.List().tag(sync=False)
    _widget_layout = traitlets.Dict().tag(sync=False)

    def __init__(self, figure: Figure, picture: Markup = _AWAITED, **options: Any) -> None:
        layout = {key: part for key, part in figure["layout"].items() if key != "width"}
        super().__init__({"data": figure["data"], "layout": layout})
        self.picture, self.height = picture, self.layout.height or 0
        self._config = {"displayModeBar": False, "responsive": True, **options}
        self.on_msg(self._asked)
        self.listens = True

    def _asked(self, _figure: Any, content: Any, _buffers: Any) -> None:
        match content:
            case {"kind": "plotly"}:
                self.send({"kind": "plotly"}, buffers=[_packed()])
            case {"kind": "drawn"}:
                drawn = {"_widget_data": self._data, "_widget_layout": self._layout}
                content, paths, buffers = _remove_buffers(_py_to_js(drawn, self))
                self.send({"kind": "drawn", "drawn": content, "paths": paths}, buffers=buffers)


@cache
def _packed() -> bytes:
    return gzip.compress(str(FigureWidget._esm).encode(), 6, mtime=0)
