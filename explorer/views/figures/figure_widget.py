"""plotly's figure widget, or its stand-in where no widgets are installed.

Whoever asks plotly for it, as Panel does with every figure, imports what plotly shows figures with, and that imports
nbformat for its version alone. With nbformat comes a schema of JSON whose newest releases compile a grammar when they
are imported: seconds in every kernel and server. So plotly is given the version without the rest.
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Final

__all__ = ["FigureWidget"]

_NEEDED: Final = "nbformat"


def _import_renderers() -> None:
    """Import what plotly shows figures with; it keeps the version of nbformat, which others import as before."""
    if _NEEDED in sys.modules:
        return
    try:
        installed = version(_NEEDED)
    except PackageNotFoundError:
        return
    standing_in = ModuleType(_NEEDED)
    standing_in.__version__ = installed  # type: ignore[attr-defined]
    sys.modules[_NEEDED] = standing_in
    try:
        importlib.import_module("plotly.io")
        importlib.import_module("plotly.io._renderers")
    finally:
        del sys.modules[_NEEDED]


_import_renderers()
FigureWidget = importlib.import_module("plotly.graph_objects").FigureWidget
