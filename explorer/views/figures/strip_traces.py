"""The smallest parts of the version strip: points, words, hatched bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.core.protocol.arrow.arrays import Float64s
from explorer.views.figures.plotly import Part
from explorer.views.figures.theme import FONT_FAMILY, Theme

__all__ = ["dotted", "hatched", "outlined", "points", "stripes", "words"]


def points(name: str, x: Float64s, y: Float64s | float, marker: Part, *, lower: bool = False) -> Part:
    """Markers; ``lower`` puts them into the rows under the bars, where y is in pixels."""
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": x, "y": np.broadcast_to(y, x.shape), "marker": marker,
        "hoverinfo": "skip", "showlegend": False, "cliponaxis": not lower,
    } | ({"yaxis": "y3"} if lower else {})  # fmt: skip


def words(
    name: str, x: Float64s, y: Float64s | float, texts: Sequence[str], *, colour: str, position: object,
    size: float = 10.5, lower: bool = True,
) -> Part:  # fmt: skip
    """Return texts next to or over points; the caller escapes them."""
    font = {"size": size, "color": colour, "family": FONT_FAMILY}
    return points(name, x, y, {}, lower=lower) | {
        "mode": "text", "text": list(texts), "textposition": position, "textfont": font, "cliponaxis": False,
    }  # fmt: skip


def hatched(theme: Theme) -> Part:
    """Return the look of what was removed, where there is room for it."""
    pattern = {"shape": "/", "fgcolor": theme.removed, "bgcolor": theme.surface, "size": 5, "solidity": 0.5}
    return {"color": theme.removed, "pattern": pattern, "line": {"color": theme.removed, "width": 1}}


def outlined(theme: Theme) -> Part:
    """Return the look of what was masked."""
    return {"color": theme.surface, "line": {"color": theme.remasked, "width": 1.6}}


def dotted(theme: Theme) -> Part:
    """Return the look of what was updated."""
    pattern = {"shape": ".", "fgcolor": theme.muted, "bgcolor": theme.surface, "size": 4, "solidity": 0.35}
    return {"color": theme.muted, "pattern": pattern, "line": {"color": theme.muted, "width": 1}}


def stripes(colour: str, ground: str) -> Part:
    """Return a hatched lane."""
    return {
        "color": ground,
        "pattern": {"shape": "/", "fgcolor": colour, "bgcolor": ground, "size": 5, "solidity": 0.5},
        "line": {"color": colour, "width": 1},
    }
