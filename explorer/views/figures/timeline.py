"""The version strip: what each version did to the rows, its signs, its lanes, its dates, and the whole history below.

Above zero are rows added, below rows removed (hatched) and masked (outlined). In a bin solid is the median commit and
pale the largest; a commit far above the median stands alone. Schema, protocol and properties, tags and checkpoints
have a row of their own. The two ends of the comparison are shapes and annotations: moving them redraws nothing else.

A figure is made for a width in pixels, so that bars, labels and ticks have their size; it can be shown at another one.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.views.figures.plotly import Figure, Part, axis, base_layout, calendar_ticks, clock_ticks, nice_ticks
from explorer.views.figures.strip_frame import CHARACTER, MAP, RIGHT, SIGNS, Frame, Reach, StripAxis, StripRows, words
from explorer.views.figures.strip_marks import Marks, commit_labels
from explorer.views.figures.strip_rows import LowerRows, lane_labels, lane_traces
from explorer.views.figures.theme import Theme
from explorer.views.table.lanes import VersionLane
from explorer.views.table.timeline import Scale, Timeline

_KNOTS: Final = 400
"""Versions whose times the page knows; between them it interpolates."""


def timeline_figure(
    timeline: Timeline,
    theme: Theme,
    frame: Frame,
    *,
    lanes: tuple[VersionLane, ...] = (),
    history: Timeline | None = None,
) -> Figure:
    """Draw the strip without the ends of the comparison: see `timeline_ends`.

    Args:
        timeline: The marks.
        theme: Colours.
        frame: The size.
        lanes: Stripes under the bars.
        history: All versions, for the overview below; none is drawn without it.
    """
    rows = StripRows.of(timeline, frame, lanes, mapped=history is not None)
    axis_, reach, marks = StripAxis.of(timeline, frame), Reach.of(timeline), Marks(timeline, theme, frame)
    data = marks.amounts()
    if not frame.folded:
        lower = LowerRows(timeline, theme, frame, rows)
        data += [*lower.signs(), *lane_traces(timeline, theme, axis_, rows, lanes), *lower.axes()]
    if history is not None:
        data += _map(history, theme, frame)
    data.append(marks.targets())
    layout = base_layout(theme, rows.height, margin={"l": frame.left, "r": RIGHT, "t": rows.top, "b": 0})
    layout |= {
        "width": frame.width,
        "meta": _meta(timeline, frame) | {"bottom": rows.height - MAP if history is not None else rows.height},
        "barmode": "overlay",
        "bargap": 0,
        "xaxis": axis(theme, range=[axis_.first, axis_.last], showticklabels=False, anchor="free", position=0),
        "yaxis": axis(
            theme, range=[-reach.low, reach.high], domain=[rows.share(rows.bars), 1],
            **_row_ticks(timeline, reach, frame),
        ),
        "yaxis3": axis(
            theme, range=[rows.mapped, rows.bars], domain=[rows.share(rows.mapped), rows.share(rows.bars)], anchor="x",
            ticklabelstandoff=9, tickvals=[place for _, place in rows.names], ticktext=[name for name, _ in rows.names],
        ),
    }  # fmt: skip
    if history is not None and frame.whole is not None:
        start, end = frame.whole
        layout |= {
            "xaxis2": axis(theme, range=list(history.range), showticklabels=False, anchor="y2"),
            "yaxis2": axis(
                theme,
                range=[0, 1],
                domain=[0, rows.share(MAP)],
                anchor="x2",
                ticklabelstandoff=5,
                tickvals=[0.5],
                ticktext=[f"all {fmt.count(end - start + 1)}"],
            ),
        }
    return {"data": data, "layout": layout}


def timeline_ends(
    timeline: Timeline, theme: Theme, frame: Frame, *, version: int, compared: int | None = None,
    lanes: tuple[VersionLane, ...] = (), mapped: bool = False,
) -> Part:  # fmt: skip
    """Return the parts of the layout that show the state: the comparison's two ends, the range between, all labels.

    Args:
        timeline, theme, frame, lanes: As for the figure.
        version: The chosen end (yellow).
        compared: The other end (dashed).
        mapped: The figure has the overview of the whole history.
    """
    rows = StripRows.of(timeline, frame, lanes, mapped=mapped)
    axis_ = StripAxis.of(timeline, frame)
    half = max(timeline.width / 2, 4 * axis_.pixel)
    floor = rows.share(rows.bars - (0 if frame.folded else SIGNS))
    shapes: list[Part] = []
    taken: list[tuple[float, float]] = []
    seen = {end: timeline.first <= end <= timeline.last for end in (version, version if compared is None else compared)}
    at = timeline.position(version)
    other = None if compared is None or compared == version else compared
    if seen[version]:
        taken.append((at - half, at + half))
        shapes.append(_band(at - half, at + half, floor, fill=theme.cursor))
    if other is not None:
        place = timeline.position(other)
        left, right = sorted((place, at))
        left, right = axis_.clip(left + half, right - half)
        if right > left:
            shapes.append(_band(left, right, floor, fill=theme.between))
        if seen[other]:
            taken.append((place - half, place + half))
            # Its line ends above the signs, whose words may pass below it.
            above, clear = rows.share(rows.bars), "rgba(0,0,0,0)"
            shapes.append(_band(place - half, place + half, above, fill=clear, outline=theme.accent))
    if seen[version] and axis_.slot < 8:
        shapes.append(_line(at, floor, theme.cursor_line, 1.2))
    brush: list[int] = []
    if mapped and frame.whole is not None:
        brush = [len(shapes), len(shapes) + 1, len(shapes) + 2]
        shapes += _brush(timeline, theme, rows, version, other)
    annotations: list[Part] = []
    if not frame.folded:
        annotations = [_unit_label(timeline, theme), *lane_labels(timeline, theme, axis_, rows, lanes)]
        annotations += commit_labels(timeline, theme, frame, rows, taken)
        annotations += _tags(timeline, axis_, theme, version, other)
    return {"shapes": shapes, "annotations": annotations, "brush": brush}


def _meta(timeline: Timeline, frame: Frame) -> Part:
    """Return the data with which the page finds the version at a position, in units of the axis."""
    alone, axis_ = timeline.alone.versions if not timeline.single else np.zeros(0, np.int64), timeline.axis
    meta: Part = {
        "first": timeline.first, "last": timeline.last, "ends": np.minimum(timeline.bins.ends, timeline.last),
        "middles": timeline.middles, "alone": alone, "alonePlaces": axis_.places(alone), "whole": frame.whole,
        "range": list(timeline.range),
    }  # fmt: skip
    if axis_.kind == "time" and frame.whole is not None:
        knots = np.unique(np.linspace(0, len(axis_.versions) - 1, _KNOTS).astype(np.int64))
        meta |= {"versions": axis_.versions[knots], "times": axis_.times[knots]}
    return meta


def _map(history: Timeline, theme: Theme, frame: Frame) -> list[Part]:
    """Return the whole history: live rows as a ground, commits that stand alone as ticks, the years."""
    live, alone = np.nan_to_num(history.live), history.alone
    height = np.sqrt(abs(alone.amounts) / max(*history.top, 1.0))
    pixel = (history.range[1] - history.range[0]) / frame.plot
    most = max(frame.plot // 200, 1)
    timed = history.axis.kind == "time"
    ticks = clock_ticks(*history.range, most) if timed else calendar_ticks(history.versions, history.times, most)
    places, texts = np.array([tick.place for tick in ticks], np.float64), [tick.text for tick in ticks]
    colours = [theme.added if amount > 0 else theme.removed for amount in alone.amounts.tolist()]
    shared: Part = {"xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip", "showlegend": False}
    ground: Part = {
        "type": "scatter", "mode": "lines", "name": "live rows", "x": history.middles, "fill": "tozeroy",
        "y": 0.62 * live / max(float(live.max()), 1.0), "fillcolor": theme.line, "line": {"width": 0, "shape": "hv"},
    }  # fmt: skip
    large: Part = {
        "type": "bar", "name": "large commits", "x": history.axis.places(alone.versions),
        "y": 0.25 + 0.75 * height, "width": 3 * pixel,
        "marker": {"color": colours, "line": {"width": 0}},
    }  # fmt: skip
    years = words("years", places, 0.6, texts, colour=theme.muted, position="middle right")
    return [ground | shared, large | shared, years | shared]


def _brush(timeline: Timeline, theme: Theme, rows: StripRows, version: int, other: int | None) -> list[Part]:
    """Return the window on the overview: a box and its two handles, always the first three; then the two ends."""
    top = rows.share(MAP)
    left, right = timeline.range
    outline = {"color": theme.accent, "width": 1.4}
    box: Part = {"type": "rect", "xref": "x2", "yref": "paper", "y0": 0, "y1": top, "line": outline}
    handle = box | {"xsizemode": "pixel", "x0": -3, "x1": 3, "fillcolor": theme.surface}
    handle |= {"y0": 0.25 * top, "y1": 0.75 * top}
    line = box | {"type": "line"}
    parts = [
        box | {"x0": left, "x1": right, "fillcolor": theme.between},
        handle | {"xanchor": left},
        handle | {"xanchor": right},
    ]
    if other is not None:
        place = timeline.axis.place(other)
        parts.append(line | {"x0": place, "x1": place, "line": outline | {"dash": "2px,2px"}})
    at = timeline.axis.place(version)
    return [*parts, line | {"x0": at, "x1": at, "line": {"color": theme.cursor_line, "width": 3}}]


def _row_ticks(timeline: Timeline, reach: Reach, frame: Frame) -> Part:
    if frame.folded:
        return {"showticklabels": False, "zeroline": True}
    up, down = timeline.top
    top = _amount_ticks(up, timeline.scale)
    bottom = _amount_ticks(down, timeline.scale) if reach.low > 0.28 * reach.high else []
    # Rows are whole: there is no tick at half a row.
    values = [-value for value in reversed(bottom) if value >= 1] + [0.0, *(value for value in top if value >= 1)]
    at = (np.sign(values) * timeline.scale.heights(np.abs(np.array(values)))).tolist()
    at, values = _apart(at, values, 0.15 * (reach.high + reach.low))
    texts = [fmt.compact(value) if value else "0" for value in values]
    return {"tickvals": at, "ticktext": texts, "zeroline": True, "showgrid": True}


def _amount_ticks(top: float, scale: Scale) -> list[float]:
    if scale.kind == "log":
        powers = range(int(np.log10(scale.least)) + 1, int(np.log10(max(top, 1))) + 1)
        return [10.0**power for power in powers]
    return nice_ticks(top, scale.kind == "root")


def _apart(places: list[float], values: list[float], gap: float) -> tuple[list[float], list[float]]:
    """Drop ticks whose labels would touch; zero and the outermost stay."""
    taken: list[tuple[float, float]] = [(0.0, 0.0)]
    for place, value in sorted(zip(places, values, strict=True), key=lambda tick: -abs(tick[0])):
        if all(abs(place - other) >= gap for other, _ in taken):
            taken.append((place, value))
    taken.sort()
    return [place for place, _ in taken], [value for _, value in taken]


def _unit_label(timeline: Timeline, theme: Theme) -> Part:
    """Return the axis' unit, and its scale where that is not linear."""
    text = timeline.unit + timeline.scale.words + ("" if timeline.single else f"<br>{timeline.width_in_words} a mark")
    return {
        "xref": "paper", "yref": "paper", "x": 0, "y": 1, "xshift": -74, "yshift": 14,
        "xanchor": "left", "yanchor": "top",
        "showarrow": False, "align": "left", "text": text, "font": {"size": 10, "color": theme.muted},
    }  # fmt: skip


def _tags(timeline: Timeline, axis_: StripAxis, theme: Theme, version: int, other: int | None) -> list[Part]:
    """Return the numbers of the two ends above them; of one that is out of the window, at the edge it is behind."""
    text, at, half = _tag(timeline, axis_, version)
    chosen = _tag_style(axis_, at, f"<b>{text}</b>", theme.cursor_solid, theme.cursor_solid, theme.on_cursor)
    if other is None:
        return [chosen]
    words, place, wide = _tag(timeline, axis_, other)
    if abs(place - at) < half + wide + 4:
        side = -1 if other < version else 1
        place = at + side * (half + wide + 4)
        if not wide <= place <= axis_.plot - wide:
            place = at - side * (half + wide + 4)
    return [chosen, _tag_style(axis_, place, words, theme.surface, theme.accent, theme.accent)]


def _tag(timeline: Timeline, axis_: StripAxis, end: int) -> tuple[str, float, float]:
    """Return the words of a tag, its middle and half its width, in pixels."""
    text = f"\u2039 v{end}" if end < timeline.first else f"v{end} \u203a" if end > timeline.last else f"v{end}"
    half = (CHARACTER * len(text) + 12) / 2
    at = axis_.x(timeline.position(end))
    return text, float(np.clip(at, half, axis_.plot - half)), half


def _tag_style(axis_: StripAxis, at: float, text: str, *colours: str) -> Part:
    ground, border, ink = colours
    return {
        "name": "tag", "xref": "paper", "yref": "paper", "x": at / axis_.plot, "y": 1, "yanchor": "bottom",
        "xanchor": "center", "yshift": 3, "showarrow": False, "text": text, "borderpad": 2, "height": 12,
        "bgcolor": ground, "bordercolor": border, "font": {"size": 11, "color": ink},
    }  # fmt: skip


def _band(left: float, right: float, floor: float, *, fill: str, outline: str | None = None) -> Part:
    line = {"width": 1.4, "color": outline, "dash": "3px,2px"} if outline else {"width": 0}
    box = {"type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": floor, "y1": 1}
    return box | {"fillcolor": fill, "line": line, "layer": "below"}


def _line(at: float, floor: float, colour: str, half: float) -> Part:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "xsizemode": "pixel", "xanchor": at, "x0": -half, "x1": half,
        "y0": floor, "y1": 1, "fillcolor": colour, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
