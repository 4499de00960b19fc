"""Plotly figures whose part in the browser is sent while a page lacks it, and is in no saved notebook.

A figure widget of plotly carries five megabytes of script in its state, each of them again. Here the state holds some
lines that ask the kernel for it. Nothing is fetched from another machine.
"""

from __future__ import annotations

import gzip
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final

import traitlets
from markupsafe import Markup
from plotly.graph_objects import FigureWidget

from explorer.jupyter.markup import tag
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

    _esm = Path(__file__).with_name("figure.js")
    picture = traitlets.Unicode().tag(sync=True)

    def __init__(self, figure: Figure, picture: Markup = _AWAITED, **options: Any) -> None:
        layout = {key: part for key, part in figure["layout"].items() if key != "width"}
        super().__init__({"data": figure["data"], "layout": layout})
        self.picture = picture
        self._config = {"displayModeBar": False, "responsive": True, **options}
        self.on_msg(self._asked)

    def _asked(self, _figure: Any, content: Any, _buffers: Any) -> None:
        match content:
            case {"kind": "plotly", "wanted": bool(wanted)}:
                # What was changed since the figure was made reached no script; the page begins with all of it.
                self._widget_layout, self._widget_data = deepcopy(self._layout), deepcopy(self._data)
                self.send({"kind": "plotly"}, buffers=[_packed()] if wanted else [])


@cache
def _packed() -> bytes:
    return gzip.compress(str(FigureWidget._esm).encode(), 6, mtime=0)
