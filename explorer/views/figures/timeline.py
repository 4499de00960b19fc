"""The timeline: what each version did to the rows, and where schema, protocol or properties changed.

Rows added are above zero (solid), rows removed below (hatched), rows masked below as an outline; a diamond is a change
of schema, protocol or properties. A history longer than `MARKS` versions is drawn in bins of equal
width. The two ends of the comparison are shapes, so that moving them redraws no bar.
"""

from __future__ import annotations

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s
from explorer.views.figures.plotly import Figure, Part, axis, base_layout, nice_ticks, version_ticks
from explorer.views.figures.theme import Theme
from explorer.views.table.timeline import Lane, Timeline

__all__ = ["timeline_figure", "timeline_shapes"]

_SLOTS = 24
_HEIGHT = 140
_LANE = 10
_LEAST_CURSOR = 0.006


def timeline_figure(
    timeline: Timeline, theme: Theme, *, version: int, compared: int | None = None, lanes: tuple[Lane, ...] = (),
    left: int = 64,
) -> Figure:  # fmt: skip
    """Draw the timeline.

    Args:
        timeline: The bars.
        theme: Colours.
        version: The chosen end of the comparison (yellow).
        compared: The other end (dashed).
        lanes: Stripes under the bars.
        left: Pixels for the labels of the rows.
    """
    traces, high, low = _marks(timeline, theme)
    layout = base_layout(theme, _HEIGHT, margin={"l": left, "r": 12, "t": 8, "b": 18 + _LANE * len(lanes)})
    right = max(timeline.last + 0.5, timeline.first - 0.5 + _SLOTS * timeline.width)
    layout |= {
        "meta": {"first": timeline.first, "last": timeline.last, "width": timeline.width},
        "barmode": "overlay",
        "bargap": 0.18 if len(timeline.start) < 200 else 0,
        "xaxis": axis(
            theme,
            range=[timeline.first - 0.5, right],
            **_version_ticks(timeline),
            ticklabelstandoff=3 + _LANE * len(lanes),
        ),
        "yaxis": axis(
            theme, range=[-low * 1.08 - _floor(high, low) * 3, high * 1.08], **_row_ticks(timeline, high, low)
        ),
        "shapes": timeline_shapes(timeline, theme, version=version, compared=compared, lanes=lanes),
        "annotations": [
            _unit_label(timeline, theme),
            *(_lane_label(lane, row, theme) for row, lane in enumerate(lanes)),
        ],
    }
    return {"data": traces, "layout": layout}


def timeline_shapes(
    timeline: Timeline, theme: Theme, *, version: int, compared: int | None = None, lanes: tuple[Lane, ...] = ()
) -> list[Part]:
    """Return the shapes that show the state: the comparison's two ends, the range between, the lanes."""
    # In a long history one version is too thin to see; the ends are drawn wide enough to be seen.
    half = max(timeline.width / 2, _LEAST_CURSOR * (timeline.last - timeline.first + 1) / 2)
    layer = "above" if len(timeline.start) > 200 else "below"
    at = timeline.position(version)
    shapes = [_band(at - half, at + half, theme.cursor, layer=layer)]
    if compared is not None and compared != version:
        other = timeline.position(compared)
        left, right = sorted((at, other))
        shapes.append(_band(left + half, right - half, theme.between))
        shapes.append(_band(other - half, other + half, theme.between, theme.accent, layer=layer))
    for row, lane in enumerate(lanes):
        color = (theme.ok, theme.accent)[row % 2]
        shapes += [_stripe(start - 0.5, end + 0.5, row, color) for start, end in lane.spans]
    return shapes


def _marks(timeline: Timeline, theme: Theme) -> tuple[list[Part], float, float]:
    """The bars, stubs, ticks and diamonds, and how far the bars reach above and below zero."""
    scale = np.sqrt if timeline.square_root else np.asarray
    up = scale(timeline.added + np.maximum(-timeline.masked, 0))
    down = scale(timeline.removed + np.maximum(timeline.masked, 0))
    removed = scale(timeline.removed)
    low = float(np.max(down))
    high = max(float(np.max(up)), 1e-9 if low else 1.0)
    floor = _floor(high, low)
    taken, hidden = _least(removed, floor), _least(down - removed, floor)
    x = timeline.middles
    traces = [
        _bars("added", x, _least(up, floor), np.zeros(len(x)), marker={"color": theme.added}, timeline=timeline),
        _bars("removed", x, -taken, np.zeros(len(x)), marker=_hatched(theme), timeline=timeline),
        _bars("masked", x, -hidden, -taken, marker=_outlined(theme), timeline=timeline),
        _stubs(timeline, x, floor, theme),
        _quiet(timeline, x, theme),
        _diamonds(timeline, x, theme),
    ]
    return traces, high, low


def _floor(high: float, low: float) -> float:
    """The least height of a bar."""
    return 0.025 * (high + low)


def _bars(name: str, x: Float64s, height: Float64s, base: Float64s, *, marker: Part, timeline: Timeline) -> Part:
    there = np.flatnonzero(height)
    return {
        "type": "bar",
        "name": name,
        "x": x[there],
        "y": height[there],
        "base": base[there],
        "marker": marker,
        "width": 0.8 * timeline.width if len(x) < 200 else timeline.width,
        "hovertext": [_hover(timeline.labels[index]) for index in there],
        "hoverinfo": "text",
        "showlegend": False,
    }


def _hover(label: str) -> str:
    return "<br>".join(fmt.plotly_text(line, 90) for line in label.split("\n"))


def _least(amounts: Float64s, floor: float) -> Float64s:
    # What is not zero must be seen: a bar has a least height.
    return np.where(amounts > 0, np.maximum(amounts, floor), 0)


def _hatched(theme: Theme) -> Part:
    pattern = {"shape": "/", "fgcolor": theme.removed, "bgcolor": theme.surface, "size": 5, "solidity": 0.5}
    return {"color": theme.removed, "pattern": pattern, "line": {"color": theme.removed, "width": 0.6}}


def _outlined(theme: Theme) -> Part:
    return {"color": theme.surface, "line": {"color": theme.remasked, "width": 1.6}}


def _stubs(timeline: Timeline, x: Float64s, floor: float, theme: Theme) -> Part:
    """Commits whose rows the log does not state: a grey stub across the zero line, not a bar of height zero."""
    silent = timeline.unknown & (timeline.added == 0) & (timeline.removed == 0) & (timeline.masked == 0)
    height = np.where(silent, 2 * floor, 0)
    return _bars(
        "rows unknown", x, height, -height / 2, marker={"color": theme.idle, "opacity": 0.55}, timeline=timeline
    )


def _quiet(timeline: Timeline, x: Float64s, theme: Theme) -> Part:
    """Commits that changed no row, schema, protocol or property (a compaction, a vacuum): a tick on the zero line."""
    moved = (timeline.added != 0) | (timeline.removed != 0) | (timeline.masked != 0)
    where = np.flatnonzero(~(moved | timeline.form | timeline.unknown))
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "no row changed",
        "x": x[where],
        "y": np.zeros(len(where)),
        "marker": {"symbol": "line-ns", "size": 7, "line": {"color": theme.idle, "width": 1.6}},
        "hovertext": [_hover(timeline.labels[index]) for index in where],
        "hoverinfo": "text",
        "showlegend": False,
    }


def _diamonds(timeline: Timeline, x: Float64s, theme: Theme) -> Part:
    where = np.flatnonzero(timeline.form)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "schema, protocol or properties",
        "x": x[where],
        "y": np.zeros(len(where)),
        "marker": {"symbol": "diamond", "size": 9, "color": theme.surface, "line": {"color": theme.ink, "width": 1.4}},
        "hovertext": [_hover(timeline.labels[index]) for index in where],
        "hoverinfo": "text",
        "cliponaxis": False,
        "showlegend": False,
    }


def _version_ticks(timeline: Timeline) -> Part:
    return version_ticks(timeline.first, timeline.last, 18)


def _row_ticks(timeline: Timeline, high: float, low: float) -> Part:
    square = timeline.square_root
    top = nice_ticks(high**2 if square else high, square)
    bottom = nice_ticks(low**2 if square else low, square) if low > 0.35 * high else []
    # Rows are whole: there is no tick at half a row.
    values = [-value for value in reversed(bottom) if value >= 1] + [0.0, *(value for value in top if value >= 1)]
    at = [np.sign(value) * np.sqrt(abs(value)) if square else value for value in values]
    at, values = _apart(at, values, 0.17 * (high + low))
    texts = [fmt.compact(abs(value)) if value else "0" for value in values]
    return {"tickvals": at, "ticktext": texts, "zeroline": True}


def _unit_label(timeline: Timeline, theme: Theme) -> Part:
    """The axis' unit, and its scale where that is not linear."""
    text = f"{timeline.unit}<br>\u221a scale" if timeline.square_root else timeline.unit
    return {
        "xref": "paper", "yref": "paper", "x": 0, "y": 1, "xshift": -62, "yshift": 4,
        "xanchor": "left", "yanchor": "top",
        "showarrow": False, "align": "left", "text": text, "font": {"size": 9.5, "color": theme.muted},
    }  # fmt: skip


def _apart(places: list[float], values: list[float], gap: float) -> tuple[list[float], list[float]]:
    """Drop ticks whose labels would touch; zero and the outermost stay."""
    kept: list[tuple[float, float]] = [(0.0, 0.0)]
    for place, value in sorted(zip(places, values, strict=True), key=lambda tick: -abs(tick[0])):
        if all(abs(place - other) >= gap for other, _ in kept):
            kept.append((place, value))
    kept.sort()
    return [place for place, _ in kept], [value for _, value in kept]


def _lane_label(lane: Lane, row: int, theme: Theme) -> Part:
    return {
        "xref": "paper", "yref": "paper", "x": 0, "y": 0, "yshift": -(6 + _LANE * row), "xshift": -6,
        "xanchor": "right", "yanchor": "middle", "showarrow": False,
        "text": fmt.plotly_text(lane.name), "font": {"size": 9, "color": theme.muted},
    }  # fmt: skip


def _band(left: float, right: float, fill: str, outline: str | None = None, *, layer: str = "below") -> Part:
    line = {"width": 1.2, "color": outline, "dash": "dot"} if outline else {"width": 0}
    box = {"type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": 0, "y1": 1}
    return box | {"fillcolor": fill, "line": line, "layer": layer}


def _stripe(left: float, right: float, row: int, color: str) -> Part:
    top = -(4 + _LANE * row)
    return {
        "type": "rect", "xref": "x", "yref": "paper", "ysizemode": "pixel", "yanchor": 0,
        "x0": left, "x1": right, "y0": top - 3, "y1": top, "fillcolor": color, "line": {"width": 0},
    }  # fmt: skip
