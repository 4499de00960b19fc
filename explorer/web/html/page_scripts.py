"""Scripts of Bokeh and Panel in a page, and the JSON that connects the page to its session."""

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
# A module loader for browsers without modules (static/connect.js replaces it), and WebGL, which no figure uses.
_UNUSED: Final = ("es-module-shims", "bokeh-gl")


def script_addresses(tags: str) -> Sequence[str]:
    """Return the addresses of Bokeh's and Panel's scripts, each with an edition for browser caches.

    Args:
        tags: The script elements that Panel generates.
    """
    found = (unescape(address) for address in _ADDRESS.findall(tags))
    return [
        address if "?v=" in address else f"{address}?v={pn.__version__}"
        for address in found
        if not any(name in address for name in _UNUSED)
    ]


def script_json(value: Any) -> Markup:
    """Return JSON for a script element, without characters that could end the element."""
    return Markup(json.dumps(value, allow_nan=False).replace("<", "\\u003c"))  # noqa: S704  # see above


def sessions_json(items: Sequence[RenderItem]) -> Markup:
    """Return the JSON that connects the elements of a page to its session, for a script element."""
    return script_json([item.to_json() for item in items])
