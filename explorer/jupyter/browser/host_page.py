"""The page that shows the widget: its theme and width as the browser reports them, and the browser's part of it."""

from __future__ import annotations

import anywidget
import traitlets

from explorer.jupyter.browser.page_kit import part_script

__all__ = ["HostPage"]


class HostPage(anywidget.AnyWidget):
    """An element without a size. Its parent must be the element with the root class of the widget.

    It sends ``list``, ``row`` and ``selected`` when the box in front of a row is ticked.

    Attributes:
        theme: ``light`` or ``dark``; follows the page.
        width: Pixels inside of the parent, where the widget is shown narrowest; 0 until a page has said it.
    """

    _esm = part_script("page")
    theme = traitlets.Enum(["light", "dark"], default_value="light").tag(sync=True)
    width = traitlets.Int(0, min=0).tag(sync=True)
