"""The strip above a table's tabs: the chosen version, the ways to others, the commits as still bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.views import TableView
from explorer.views.table.timeline import MARKS, Timeline
from explorer.web.address import Address
from explorer.web.render import render

__all__ = ["still_bars", "strip"]


def strip(view: TableView, address: Address) -> str:
    """Return the chosen version and the ways to others, as HTML."""
    facts, version = view.facts, view.version
    steps: dict[str, Any] = {
        "other": view.other,
        "broken": not len(facts.commits),
        "first": facts.first,
        "last": facts.last,
        "previous": version - 1 if version > facts.first else None,
        "following": version + 1 if version < facts.last else None,
        "long": facts.last - facts.first >= MARKS and len(facts.commits) > 0,
    }
    return render("strip", address=address, version=version, commit=view.commit, **steps)


def still_bars(timeline: Timeline) -> str:
    """Return the bars as plain SVG: what is shown until the figure reacts."""
    scale = np.sqrt if timeline.square_root else np.asarray
    up = scale(timeline.added + np.maximum(-timeline.masked, 0))
    removed = scale(timeline.removed)
    down = scale(timeline.removed + np.maximum(timeline.masked, 0))
    high, low = max(float(np.max(up)), 1e-9), float(np.max(down))
    top, bottom = high * 1.08, low * 1.08 + 0.075 * (high + low)
    unit, width = 100 / (top + bottom), 0.8 * timeline.width
    bars = []
    for index, start in enumerate(timeline.start):
        x = float(start - timeline.first) + 0.1 * timeline.width
        pieces = (
            ("a", top - up[index], up[index]),
            ("r", top, removed[index]),
            ("m", top + removed[index], down[index] - removed[index]),
        )
        bars += [
            {"kind": kind, "x": x, "y": float(y) * unit, "width": width, "height": float(height) * unit}
            for kind, y, height in pieces
            if height > 0
        ]
    return render("still", bars=bars, span=max(timeline.last - timeline.first + 1, 24 * timeline.width))
