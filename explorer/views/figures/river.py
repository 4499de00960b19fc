"""The rename river: one line for each physical column, labelled with what people called it at the time.

Column mapping gives a column an identity (field id, physical name) that outlives its name; the river shows renames as
knots, drops as crosses, and joins with a dashed arc the columns that shared a name at different times.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

import numpy as np

from explorer import formatting as fmt
from explorer.views.figures.plotly import Figure, Part, axis, base_layout, version_cursor, version_ticks
from explorer.views.figures.theme import Theme
from explorer.views.table.columns import RIVER_LINES, RiverLine, RiverSpan, TakenName, distinct_names

_PITCH = 44
_ARCS = 12
_LABEL = 20
_POINTS = 40


def river_figure(
    lines: tuple[RiverLine, ...],
    theme: Theme,
    *,
    first: int,
    last: int,
    version: int,
    chosen: str = "",
    authors: Mapping[int, str] | None = None,
) -> Figure:
    """Draw at most `RIVER_LINES` lines over the versions; of more, those first to which something happened.

    Args:
        lines: The lines.
        theme: Colours.
        first, last: The versions.
        version: The chosen version.
        chosen: Name of the chosen column.
        authors: Who made a version and when, in words, for the hover.
    """
    places = _shown(lines, chosen)
    row_of = {place: row for row, place in enumerate(places)}
    span = max(last - first, 1)
    names = distinct_names((stretch.name for place in places for stretch in lines[place].spans), 34)
    labels = distinct_names((_stored_name(lines[place]) for place in places), _LABEL)
    traces: list[Part] = []
    notes: list[Part] = []
    arcs: list[Part] = []
    for place, row in row_of.items():
        line = lines[place]
        color = theme.series[row % len(theme.series)]
        traces += _line_traces(
            line, row, color, theme, emphasised=bool(chosen) and line.name == chosen, authors=authors or {}
        )
        notes += _line_notes(line, row, span, theme, names=names, stored=labels[_stored_name(line)])
        arcs += [_arc(taken, row_of[taken.holder], row, theme) for taken in line.took if taken.holder in row_of]
    shapes = [*([version_cursor(version, last - first, theme)] if first != last else []), *arcs[:_ARCS]]
    layout = base_layout(theme, 34 + _PITCH * len(places), margin={"l": 128, "r": 18, "t": 24, "b": 6})
    layout |= {
        "xaxis": axis(
            theme, range=[first - 0.5 - 0.004 * span, last + 0.5 + 0.02 * span], side="top", showgrid=True,
            **version_ticks(first, last, 12),
        ),
        "yaxis": axis(theme, range=[len(places) - 0.45, -0.72], showticklabels=False),
        "shapes": shapes,
        "annotations": notes,
        "meta": {"chooses": "col"},
    }  # fmt: skip
    return {"data": traces, "layout": layout}


def _shown(lines: tuple[RiverLine, ...], chosen: str) -> list[int]:
    """Return the places of the lines that are drawn, in the order of the columns."""
    if len(lines) <= RIVER_LINES:
        return list(range(len(lines)))
    holders = {taken.holder for line in lines for taken in line.took}
    named = [place for place, line in enumerate(lines) if line.name == chosen or place in holders or line.is_distinct]
    rest = [place for place in range(len(lines)) if place not in set(named)]
    return sorted([*named, *rest][:RIVER_LINES])


def _stored_name(line: RiverLine) -> str:
    return line.physical_name.replace("`", "")


def _line_traces(
    line: RiverLine, row: int, color: str, theme: Theme, *, emphasised: bool, authors: Mapping[int, str]
) -> list[Part]:
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
            f"v{new.from_version}<br>{fmt.plotly_text(_change(old, new), 90)}{_by(new.from_version, authors)}"
            for old, new in zip(line.spans, line.spans[1:], strict=False)
        ],
        "hoverinfo": "text", "customdata": [quote(line.name)] * len(knots),
    }  # fmt: skip
    crosses = [_cross(line.dropped_at, row, theme, authors)] if line.dropped_at is not None else []
    return [stream, *(_touch(line, span, row, authors) for span in line.spans), marks, *crosses]


def _touch(line: RiverLine, span: RiverSpan, row: int, authors: Mapping[int, str]) -> Part:
    """Return unseen points along a stretch of a line, which show its name under a pointer and choose it."""
    places = np.linspace(span.from_version - 0.3, span.to_version + 0.3, min(_POINTS, 2 + 3 * span.length))
    versions = f"v{span.from_version}" if span.length == 1 else f"v{span.from_version} to v{span.to_version}"
    name = f"<b>{fmt.plotly_text(span.name, 60)}</b> {fmt.plotly_text(span.type, 60)}"
    return {
        "type": "scatter", "mode": "markers", "x": places.round(3).tolist(), "y": [row] * len(places),
        "hovertext": f"{name}<br>{versions}{_by(span.from_version, authors)}", "hoverinfo": "text",
        "customdata": [quote(line.name)] * len(places), "cliponaxis": False,
        "marker": {"size": 14, "color": "rgba(0,0,0,0)"},
    }  # fmt: skip


def _by(version: int, authors: Mapping[int, str]) -> str:
    return f"<br>since v{version}: {fmt.plotly_text(authors[version], 90)}" if authors.get(version) else ""


def _cross(version: int, row: int, theme: Theme, authors: Mapping[int, str]) -> Part:
    return {
        "type": "scatter", "mode": "markers", "x": [version - 0.5], "y": [row], "cliponaxis": False,
        "marker": {"symbol": "x-thin", "size": 9, "line": {"color": theme.muted, "width": 2.4}},
        "hovertext": [f"dropped at v{version}{_by(version, authors)}"], "hoverinfo": "text",
    }  # fmt: skip


def _change(old: RiverSpan, new: RiverSpan) -> str:
    if old.name != new.name:
        return f"renamed {old.name} \u2192 {new.name}"
    return f"{old.type} \u2192 {new.type}" if old.type != new.type else "nullability changed"


def _line_notes(
    line: RiverLine, row: int, span: int, theme: Theme, *, names: Mapping[str, str], stored: str
) -> list[Part]:
    notes = [
        _note(line.label, "paper", 0, row, theme.ink, xshift=-128, yshift=5, size=11),
        _note(stored, "paper", 0, row, theme.muted, xshift=-128, yshift=-8, size=10),
    ]
    previous: RiverSpan | None = None
    for stretch, following in zip(line.spans, [*line.spans[1:], None], strict=True):
        end = following.from_version if following else max(stretch.to_version, stretch.from_version + span // 5)
        room = int((end - stretch.from_version + 1) / (span + 1) * 130)
        if previous is None or (previous.name, previous.type) != (stretch.name, stretch.type):
            name = fmt.plotly_text(names[stretch.name], max(8, min(room, 34)))
            text = f'<b>{name}</b>  <span style="color:{theme.muted}">{fmt.plotly_text(stretch.type, 24)}</span>'
            notes.append(_note("", "x", stretch.from_version, row, theme.ink, yshift=14, size=11, html=text))
        previous = stretch
    if line.dropped_at is not None:
        notes.append(_note(f"dropped v{line.dropped_at}", "x", line.dropped_at, row, theme.muted, xshift=4, size=11))
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


def _arc(taken: TakenName, old_row: int, new_row: int, theme: Theme) -> Part:
    """Return the arc from where the name was given up to where it was taken; swapped names make a cross."""
    left, right = taken.held_to + 0.5, taken.version - 0.12
    edge = 0.15 if new_row > old_row else -0.15
    half = (old_row + new_row) / 2
    path = f"M {left},{old_row + edge} C {left},{half} {right},{half} {right},{new_row - edge}"
    return {
        "type": "path",
        "path": path,
        "line": {"color": theme.danger, "width": 1.6, "dash": "4px,3px"},
        "layer": "above",
    }
