"""What every figure shares: plotly's JSON as plain dictionaries, one layout in the colours of a theme.

Builders return a `Figure`, a dictionary of ``data`` and ``layout`` that plotly.js draws. Every text in a label went
through `formatting.plotly_text`.
"""

from __future__ import annotations

import math
from datetime import date
from typing import TypeAlias, TypedDict

import numpy as np

from explorer.views.figures.theme import FONT_FAMILY, Theme

__all__ = [
    "Figure",
    "Part",
    "axis",
    "base_layout",
    "nice_ticks",
    "plain_json",
    "round_versions",
    "version_cursor",
    "version_ticks",
]

Part: TypeAlias = dict[str, object]
"""A trace, a shape, an annotation, an axis or a layout, in plotly's own names."""


class Figure(TypedDict):
    """A figure in plotly's own names."""

    data: list[Part]
    layout: Part


def base_layout(theme: Theme, height: int, margin: dict[str, int]) -> Part:
    """Return the layout all figures start from: no legend, no drag, transparent backgrounds, the theme's font."""
    return {
        "template": "none",
        "height": height,
        "margin": margin | {"pad": 0},
        "autosize": True,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT_FAMILY, "size": 11, "color": theme.muted},
        "hoverlabel": {
            "bgcolor": theme.surface,
            "bordercolor": theme.line,
            "font": {"family": FONT_FAMILY, "size": 12, "color": theme.ink},
            "align": "left",
        },
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
    }


def axis(theme: Theme, **settings: object) -> Part:
    """Return an axis without lines or zoom, its labels in the muted colour; ``settings`` override them."""
    shared: Part = {
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "zerolinecolor": theme.line,
        "zerolinewidth": 1,
        "gridcolor": theme.grid,
        "showline": False,
        "ticks": "",
        "automargin": False,
        "tickfont": {"size": 10.5, "color": theme.muted},
    }
    return shared | settings


def nice_ticks(top: float, square_root: bool = False, wanted: int = 2) -> list[float]:
    """Return up to ``wanted`` round values in (0, top], spread over the axis (which may be a square-root scale)."""
    if not top > 0 or not math.isfinite(top):
        return []
    if square_root:
        magnitudes = (s * 10.0**p for p in range(int(math.log10(top)) + 1, -3, -1) for s in (5, 2, 1))
        largest = next((value for value in magnitudes if value <= top), top)
        return sorted({_round_down(largest / 6), largest} if wanted > 1 else {largest})
    step = _round_up(top / wanted)
    return [step * index for index in range(1, wanted + 1) if step * index <= top * 1.0001] or [_round_down(top)]


def round_versions(first: int, last: int, most: int) -> list[int]:
    """Return at most ``most`` round versions between two."""
    step = next(s * 10**p for p in range(18) for s in (1, 2, 5) if (last - first + 1) / (s * 10**p) <= most)
    return list(range(-(-first // step) * step, last + 1, step))


def version_ticks(first: int, last: int, most: int) -> Part:
    """Return at most ``most`` round versions between two, labelled ``v10``."""
    ticks = round_versions(first, last, most)
    return {"tickvals": ticks, "ticktext": [f"v{tick}" for tick in ticks]}


def version_cursor(version: int, span: int, theme: Theme) -> Part:
    """Return the mark of a version over a figure: as wide as its slot, but narrow where slots are wide."""
    half = min(0.5, 0.06 * (span + 1))
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": version - half, "x1": version + half, "y0": 0, "y1": 1,
        "fillcolor": theme.cursor, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


def plain_json(value: object) -> object:
    """Return a figure, or a part of one, as JSON can hold it: arrays as lists, no number as None, times as text."""
    match value:
        case dict():
            return {str(key): plain_json(part) for key, part in value.items()}
        case list() | tuple():
            return [plain_json(part) for part in value]
        case np.ndarray() | np.generic():
            plain = value.dtype.kind in "biu" or (value.dtype.kind == "f" and bool(np.isfinite(value).all()))
            return value.tolist() if plain else plain_json(value.tolist())
        case float():
            return value if math.isfinite(value) else None
        case date():
            return value.isoformat()
        case _:
            return value


def _round_down(value: float) -> float:
    if not value > 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= value * 1.0001)


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.9999)
