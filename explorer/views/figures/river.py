"""The rename river: one line for each physical column, labelled with what people called it at the time.

Column mapping gives a column an identity (field id, physical name) that outlives its name; the river shows renames as
knots, drops as crosses, and joins with a dashed arc the columns that shared a name at different times.
"""

from __future__ import annotations

from explorer import formatting as fmt
from explorer.views.figures.plotly import Figure, Part, axis, base_layout, version_ticks
from explorer.views.figures.theme import Theme
from explorer.views.table.column_lines import RIVER_LINES, RiverLine, RiverSpan

__all__ = ["river_figure"]

_PITCH = 44
_ARCS = 6


def river_figure(
    lines: tuple[RiverLine, ...], theme: Theme, *, first: int, last: int, version: int, chosen: str = ""
) -> Figure:
    """Draw the first `RIVER_LINES` lines over the versions ``first`` to ``last``."""
    lines = lines[:RIVER_LINES]
    span = max(last - first, 1)
    traces: list[Part] = []
    notes: list[Part] = []
    for row, line in enumerate(lines):
        color = theme.series[row % len(theme.series)]
        traces += _line_traces(line, row, color, theme, emphasised=bool(chosen) and line.name == chosen)
        notes += _line_notes(line, row, span, theme)
    arcs = [
        _arc(lines[line.reused], line, line.reused, row, theme)
        for row, line in enumerate(lines)
        if line.reused is not None
    ]
    shapes = [_cursor(version, theme), *arcs[:_ARCS]]
    layout = base_layout(theme, 34 + _PITCH * len(lines), margin={"l": 116, "r": 18, "t": 24, "b": 6})
    layout |= {
        "xaxis": axis(
            theme, range=[first - 0.5 - 0.004 * span, last + 0.5 + 0.02 * span], side="top", showgrid=True,
            **version_ticks(first, last, 12),
        ),
        "yaxis": axis(theme, range=[len(lines) - 0.45, -0.72], showticklabels=False),
        "shapes": shapes,
        "annotations": notes,
    }  # fmt: skip
    return {"data": traces, "layout": layout}


def _line_traces(line: RiverLine, row: int, color: str, theme: Theme, *, emphasised: bool) -> list[Part]:
    if not line.spans:
        return []
    start, end = line.spans[0].from_version, line.spans[-1].to_version
    stream = {
        "type": "scatter", "mode": "lines", "x": [start - 0.35, end + 0.35], "y": [row, row],
        "hoverinfo": "skip", "cliponaxis": False,
        "line": {"color": color, "width": 11 if emphasised else 8}, "opacity": 0.92,
    }  # fmt: skip
    knots = [span.from_version for span in line.spans[1:]]
    marks = {
        "type": "scatter", "mode": "markers", "x": knots, "y": [row] * len(knots), "cliponaxis": False,
        "marker": {"size": 11, "color": theme.surface, "line": {"color": color, "width": 2.2}},
        "hovertext": [
            f"v{new.from_version}<br>{fmt.plotly_text(_change(old, new), 90)}"
            for old, new in zip(line.spans, line.spans[1:], strict=False)
        ],
        "hoverinfo": "text",
    }  # fmt: skip
    return [stream, marks] + ([_cross(line.dropped_at, row, theme)] if line.dropped_at is not None else [])


def _cross(version: int, row: int, theme: Theme) -> Part:
    return {
        "type": "scatter", "mode": "markers", "x": [version - 0.5], "y": [row], "cliponaxis": False,
        "marker": {"symbol": "x-thin", "size": 9, "line": {"color": theme.danger, "width": 2.4}},
        "hovertext": [f"dropped at v{version}"], "hoverinfo": "text",
    }  # fmt: skip


def _change(old: RiverSpan, new: RiverSpan) -> str:
    if old.name != new.name:
        return f"renamed {old.name} \u2192 {new.name}"
    return f"{old.type} \u2192 {new.type}" if old.type != new.type else "nullability changed"


def _line_notes(line: RiverLine, row: int, span: int, theme: Theme) -> list[Part]:
    notes = [
        _note(line.label, "paper", 0, row, theme.ink, xshift=-116, yshift=5, size=11),
        _note(
            line.physical_name.replace("`", ""), "paper", 0, row, theme.muted, xshift=-116, yshift=-8, size=10, limit=17
        ),
    ]
    previous: RiverSpan | None = None
    for stretch, following in zip(line.spans, [*line.spans[1:], None], strict=True):
        end = following.from_version if following else max(stretch.to_version, stretch.from_version + span // 5)
        room = int((end - stretch.from_version + 1) / (span + 1) * 130)
        if previous is None or (previous.name, previous.type) != (stretch.name, stretch.type):
            name = fmt.plotly_text(stretch.name, max(8, min(room, 34)))
            text = f'<b>{name}</b>  <span style="color:{theme.muted}">{fmt.plotly_text(stretch.type, 24)}</span>'
            notes.append(_note("", "x", stretch.from_version, row, theme.ink, yshift=14, size=11, html=text))
        previous = stretch
    if line.dropped_at is not None:
        notes.append(_note(f"dropped v{line.dropped_at}", "x", line.dropped_at, row, theme.danger, xshift=4, size=11))
    if line.reused is not None and line.spans:
        first = line.spans[0]
        notes.append(
            _note(
                f"name \u201c{first.name}\u201d reused",
                "x",
                first.from_version - 0.35,
                row,
                theme.danger,
                xshift=-8,
                size=11,
                right=True,
            )
        )
    return notes


def _note(
    text: str, xref: str, x: float, row: int, color: str, *, xshift: int = 0, yshift: int = 0, size: float = 11,
    limit: int = 40, html: str | None = None, right: bool = False,
) -> Part:  # fmt: skip
    return {
        "xref": xref, "yref": "y", "x": x, "y": row, "xshift": xshift, "yshift": yshift, "showarrow": False,
        "xanchor": "right" if right else "left", "text": html or fmt.plotly_text(text, limit), "align": "left",
        "font": {"size": size, "color": color},
    }  # fmt: skip


def _arc(old: RiverLine, new: RiverLine, old_row: int, new_row: int, theme: Theme) -> Part:
    name = new.spans[0].name
    left = max(span.to_version for span in old.spans if span.name == name) + 0.5
    right = new.spans[0].from_version - 0.35
    # The arc leaves sideways and comes down on the new line, so that it crosses no label at the line's start.
    half = (new_row - old_row) / 2
    bend = f"{min(left, right) - 0.6},{old_row + half} {right},{new_row - half}"
    path = f"M {left},{old_row} C {bend} {right},{new_row - 0.14}"
    return {
        "type": "path",
        "path": path,
        "line": {"color": theme.danger, "width": 1.4, "dash": "4px,3px"},
        "layer": "above",
    }


def _cursor(version: int, theme: Theme) -> Part:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": version - 0.5, "x1": version + 0.5, "y0": 0, "y1": 1,
        "fillcolor": theme.cursor, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
