"""The style sheet and the scripts of all widgets in one model, so that a saved notebook keeps them once.

Invariant: the state of a widget holds only the lines that wait for the kit. Kits of two editions of the program in one
page do not meet: each is known by a digest of what it holds.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any, Final

import anywidget
import traitlets

from explorer.jupyter.browser.style import style_sheet
from explorer.page.resources import module_text, scripts_text

__all__ = ["PageKit", "page_kit", "waiting_script"]


def _script(name: str) -> str:
    return module_text(Path(__file__).with_name(name))


_PACKED: Final = gzip.compress(
    json.dumps({"rules": style_sheet(), "script": f"{scripts_text()}\n{_script('widget.js')}"}).encode(), 9, mtime=0
)
_DIGEST: Final = hashlib.sha256(_PACKED).hexdigest()[:16]


def waiting_script() -> str:
    """Return the script of a widget whose view is in the kit."""
    return _script("waiting.js").replace("DIGEST", _DIGEST)


class PageKit(anywidget.AnyWidget):
    """Holds what runs in the page.

    Attributes:
        packed: The rules and the scripts as JSON, compressed by gzip.
    """

    _esm = _script("page_kit.js").replace("DIGEST", _DIGEST)
    packed = traitlets.Bytes(_PACKED).tag(sync=True)

    @staticmethod
    def unpacked() -> dict[str, str]:
        """Return the ``rules`` and the ``script``."""
        found: dict[str, str] = json.loads(gzip.decompress(_PACKED))
        return found


_kits: list[PageKit] = []


def page_kit() -> Any:
    """Return the one kit."""
    if not _kits or _kits[0].comm is None:  # `Widget.close_all` closed it
        _kits[:] = [PageKit()]
    return _kits[0]
