"""The bars of the strip as rectangles, for a picture that answers nothing: a page that loads, a saved notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from explorer.views.table.timeline import Timeline

__all__ = ["SPAN", "StillBar", "bars_of"]

SPAN: Final = 1_000
"""The width of the picture; its height is 100."""


@dataclass(frozen=True, slots=True)
class StillBar:
    """A rectangle: ``u`` updated, ``a`` added, ``r`` removed, ``m`` masked; the top left corner is 0, 0."""

    kind: Literal["u", "a", "r", "m"]
    x: float
    y: float
    width: float
    height: float


def bars_of(timeline: Timeline) -> list[StillBar]:
    """Return the marks of a timeline as rectangles, those of a mark one after the other."""
    scale = timeline.scale.heights
    single = timeline.single
    up = scale(timeline.came if single else timeline.up.largest)
    removed = scale(timeline.removed if single else timeline.down.largest)
    down = scale(timeline.went) if single else removed
    changed = scale(timeline.updated if single else timeline.changed.largest)
    top, bottom = (np.maximum(scale(np.array(timeline.top)), 1e-9) * 1.06).tolist()
    # Thousandths of the axis: its own units may be milliseconds of years.
    left, right = timeline.range
    share = SPAN / (right - left)
    unit, width = 100 / (top + bottom), 0.8 * timeline.width * share
    bars: list[StillBar] = []
    for index, middle in enumerate(timeline.middles.tolist()):
        x = (middle - left) * share - width / 2
        pieces: tuple[tuple[Literal["u", "a", "r", "m"], float, float], ...] = (
            ("u", top - changed[index], 2 * changed[index]),
            ("a", top - up[index], up[index]),
            ("r", top, removed[index]),
            ("m", top + removed[index], down[index] - removed[index]),
        )
        bars += [
            StillBar(kind, x, float(y) * unit, width, float(height) * unit) for kind, y, height in pieces if height > 0
        ]
    return bars
