"""The style sheet and the scripts of all widgets in one model, so that a saved notebook keeps them once.

Invariant: the state of another model holds only the lines that wait for the kit and take their part of it. Kits of two
editions of the program in one page do not meet: each is known by a digest of what it holds.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import Any, Final

import anywidget
import traitlets

from explorer.jupyter.browser.scripts import script
from explorer.jupyter.browser.style import style_sheet

__all__ = ["PageKit", "page_kit", "part_script"]

_PACKED: Final = gzip.compress(
    json.dumps({"rules": style_sheet(), "script": script("figure.js", "host_page.js")}).encode(), 9, mtime=0
)
_DIGEST: Final = hashlib.sha256(_PACKED).hexdigest()[:16]


def part_script(name: str) -> str:
    """Return the script of a model whose part is in the kit.

    Args:
        name: What the scripts of the kit export: ``figure`` or ``page``, each a function of a model that returns what
            draws in an element.
    """
    return script("awaited.js", "part.js").replace("DIGEST", _DIGEST).replace("PART", name)


class PageKit(anywidget.AnyWidget):
    """An element that holds the style sheet.

    Attributes:
        packed: The rules and the scripts as JSON, compressed by gzip.
    """

    _esm = script("awaited.js", "page_kit.js").replace("DIGEST", _DIGEST)
    packed = traitlets.Bytes(_PACKED).tag(sync=True)


_kits: list[PageKit] = []


def page_kit(layout: Any) -> PageKit:
    """Return the one kit.

    Args:
        layout: An `ipywidgets.Layout` that gives it no place.
    """
    if not _kits or _kits[0].comm is None:  # `Widget.close_all` closed it
        _kits[:] = [PageKit(layout=layout)]
    return _kits[0]
