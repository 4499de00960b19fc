"""A figure's part in the page asks the kernel for what is drawn, and is never asked to before the figure listens."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pytest

from explorer.jupyter.browser import figure as browser_part
from explorer.jupyter.browser.figure import LeanFigure
from explorer.views.figures.plotly import Figure

DRAWN: Figure = {"data": [{"type": "bar", "x": [1.0], "y": [2.0]}], "layout": {"height": 120}}


def test_a_page_is_told_that_a_figure_listens_when_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel hears pages in other threads: what is asked while a figure is being made finds nobody."""
    told: list[tuple[bool, int]] = []
    opened: list[bool] = []
    send, begin = LeanFigure.send_state, ipywidgets.Widget.open

    def open_it(self: Any) -> None:
        begin(self)
        if isinstance(self, LeanFigure):
            opened.append(self.get_state()["listens"])

    def send_it(self: Any, key: Any = None) -> None:
        if key is not None and "listens" in key:
            told.append((self.listens, len(self._msg_callbacks.callbacks)))
        send(self, key)

    monkeypatch.setattr(ipywidgets.Widget, "open", open_it)
    monkeypatch.setattr(browser_part.LeanFigure, "send_state", send_it)
    figure = LeanFigure(DRAWN)
    assert opened == [False]
    assert told == [(True, 1)]
    assert figure.get_state()["listens"] is True
