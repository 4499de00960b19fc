"""The scripts of Bokeh and Panel in a page: their addresses, and what joins the page to its session."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import unescape
from typing import Any, Final

import panel as pn
from bokeh.embed.util import RenderItem
from markupsafe import Markup

__all__ = ["script_addresses", "script_json", "sessions_json"]

_ADDRESS: Final = re.compile(r'<script[^>]* src="([^"]+)"')
# A loader of modules for browsers that have none, and WebGL, with which nothing here is drawn.
_UNUSED: Final = ("es-module-shims", "bokeh-gl")


def script_addresses(tags: str, *, figures: bool) -> Sequence[str]:
    """Return the addresses of the scripts that a page loads, each with the edition of what it names.

    Args:
        tags: The HTML with which Panel would load them.
        figures: Return those that draw figures alone; otherwise the others.
    """
    found = (unescape(address) for address in _ADDRESS.findall(tags))
    return [
        address if "?v=" in address else f"{address}?v={pn.__version__}"
        for address in found
        if not any(name in address for name in _UNUSED) and ("plotly" in address) is figures
    ]


def script_json(value: Any) -> Markup:
    """Return JSON that can stand in a script element: no character of it can end the element."""
    return Markup(json.dumps(value, allow_nan=False).replace("<", "\\u003c"))  # noqa: S704  # see above


def sessions_json(items: Sequence[RenderItem]) -> Markup:
    """Return what joins the elements of a page to its session, as JSON that can stand in a script element."""
    return script_json([item.to_json() for item in items])
