"""Whether the page that shows the widget is light or dark, as the browser tells."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets

__all__ = ["HostTheme"]


class HostTheme(anywidget.AnyWidget):
    """An element without a size whose ``name`` follows the page's theme."""

    _esm = Path(__file__).with_name("host_theme.js")
    name = traitlets.Enum(["light", "dark"], default_value="light").tag(sync=True)
