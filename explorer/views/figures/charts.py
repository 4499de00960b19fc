"""The smaller charts: a total over versions, the share of masked rows by file, the value ranges of a column.

All take Arrow columns or numpy arrays and return a `Figure`; none reads a table.
"""

from __future__ import annotations

from itertools import pairwise
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask, floats
from explorer.core.versions.commits.commits import Commits
from explorer.views.figures.plotly import Figure, Part, axis, base_layout, nice_ticks, version_cursor, version_ticks
from explorer.views.figures.theme import Theme
from explorer.views.table.ranges import ColumnRanges, depth

BARS = 200
HEAVY = 30.0
_LEAST_SLOTS = 12
_LABELLED = 40
_NUMBERS = ("cardinality", "num_records", "share")
_STRETCHES = 500
_DATED = [
    {"dtickrange": [None, 60_000], "value": "%H:%M:%S\n%-d %b %Y"},
    {"dtickrange": [60_000, 86_400_000], "value": "%H:%M\n%-d %b %Y"},
    {"dtickrange": [86_400_000, "M1"], "value": "%-d %b\n%Y"},
    {"dtickrange": ["M1", "M12"], "value": "%b\n%Y"},
    {"dtickrange": ["M12", None], "value": "%Y"},
]
"""Labels of an axis of times, day before month as everywhere."""
_TOTALS = {"rows": "live rows", "files": "files", "size": "bytes", "masked": "masked rows"}


def total_over_versions(
    commits: Commits, theme: Theme, *, metric: str, version: int, compared: int | None = None, height: int = 210
) -> Figure:
    """Draw one total (``rows``, ``files``, ``size`` or ``masked``) as a step line over the versions.

    Where a version was chosen to compare with, only those between the two are drawn, on an axis that fits them.
    """
    first, last = commits.first, commits.last
    if compared is not None and compared != version:
        first, last = max(first, min(version, compared)), min(last, max(version, compared))
    within = np.flatnonzero((commits.versions >= first) & (commits.versions <= last))
    chosen = within[_extremes(_totals(commits, metric)[within])]
    versions, values = commits.versions[chosen], _totals(commits, metric)[chosen]
    known = values[np.isfinite(values)]
    top, low = (float(known.max()), float(known.min())) if len(known) else (0.0, 0.0)
    cut = (first, last) != (commits.first, commits.last) and low > 0 and (top - low) < 0.5 * top
    low = max(0.0, low - 0.15 * (top - low or top * 0.1)) if cut else 0.0
    ticks = [low + tick for tick in nice_ticks(top - low or 1, wanted=4)] if cut else nice_ticks(top, wanted=4)
    format_value = fmt.size if metric == "size" else fmt.compact
    color = theme.remasked if metric == "masked" else theme.accent
    line: Part = {
        "type": "scatter",
        "mode": "lines" if len(values) > 60 else "lines+markers",
        "x": versions.astype(np.float64),
        "y": values,
        "line": {"shape": "hv", "color": color, "width": 2},
        "marker": {"size": 5, "color": color},
        "connectgaps": False,
        "hovertext": [f"v{v}<br>{_amount(value, metric)}" for v, value in zip(versions, values, strict=True)],
        "hoverinfo": "text",
    }
    layout = base_layout(theme, height, margin={"l": 52, "r": 10, "t": 8, "b": 20})
    layout |= {
        "hovermode": "x",
        "xaxis": axis(theme, range=[first - 0.5, max(last, first + 1) + 0.5], **version_ticks(first, last, 14)),
        "yaxis": axis(
            theme,
            range=[low, low + ((top - low) or 1) * 1.12],
            tickvals=[low, *ticks],
            ticktext=[
                format_value(int(low)) if low else "0",
                *(format_value(int(t)) if t >= 1 else f"{t:g}" for t in ticks),
            ],
            showgrid=True,
            zeroline=True,
        ),
        "shapes": [version_cursor(version, last - first, theme)] if first != last else [],
        "annotations": [_cut_note(first, last, theme)] if cut else [],
    }
    return {"data": [line], "layout": layout}


def _cut_note(first: int, last: int, theme: Theme) -> Part:
    return {
        "xref": "paper", "yref": "paper", "x": 1, "y": 1, "xanchor": "right", "yanchor": "top", "showarrow": False,
        "text": f"v{first} to v{last} only; the axis does not start at 0",
        "font": {"size": 10.5, "color": theme.muted},
    }  # fmt: skip


def masked_shares(vectors: pa.Table, theme: Theme, *, chosen: str = "") -> Figure:
    """Draw for each file which share of its rows is live and which is hidden, in the order given.

    Args:
        vectors: Columns ``path``, ``cardinality``, ``num_records``, ``share`` (0 to 1; null unknown); `BARS` are drawn.
        theme: Colours.
        chosen: ``path`` of the chosen file.
    """
    shown = vectors.slice(0, BARS)
    columns = [floats(shown.column(name)) for name in _NUMBERS]
    hidden, records, shares = columns[0], columns[1], columns[2] * 100
    paths: list[str] = shown.column("path").to_pylist()
    texts = [_masked_text(path, *numbers) for path, *numbers in zip(paths, hidden, records, shares, strict=True)]
    heavy = [theme.danger if share > HEAVY else theme.remasked for share in np.nan_to_num(shares)]
    hatched = {"shape": "/", "size": 5, "solidity": 0.45, "fgcolor": heavy, "bgcolor": theme.surface}
    bars = [
        _file_bars(paths, 100 - shares, texts, {"color": theme.idle, "opacity": 0.55}),
        _file_bars(paths, shares, texts, {"pattern": hatched, "line": {"color": heavy, "width": 1}}),
    ]
    layout = base_layout(theme, 200, margin={"l": 48, "r": 12, "t": 20, "b": 12})
    layout |= {
        "barmode": "stack",
        "bargap": 0.2,
        "xaxis": axis(theme, range=[-0.7, max(len(paths), _LEAST_SLOTS) - 0.3], showticklabels=False),
        "yaxis": axis(
            theme, range=[0, 104], tickvals=[0, 50, 100], ticktext=["0 %", "50 %", "100 %"], showgrid=True,
            zeroline=True,
        ),
        "shapes": [_band(at - 0.5, at + 0.5, theme.cursor) for at, path in enumerate(paths) if path == chosen],
        "annotations": [_share_label(at, share, theme) for at, share in enumerate(shares) if len(paths) <= _LABELLED],
        "meta": {"chooses": "file"},
    }  # fmt: skip
    return {"data": bars, "layout": layout}


def _file_bars(paths: list[str], rows: Float64s, texts: list[str], marker: Part) -> Part:
    return {
        "type": "bar", "x": np.arange(len(paths), dtype=np.float64), "y": rows, "marker": marker, "width": 0.78,
        "customdata": list(map(quote, paths)), "hovertext": texts, "hoverinfo": "text",
    }  # fmt: skip


def _masked_text(path: str, hidden: float, records: float, share: float) -> str:
    known = np.isfinite(records)
    of = f" of {fmt.count(int(records))} hidden, {share:.1f} %" if known else " hidden; rows of the file unknown"
    return f"{fmt.plotly_text(path, 60)}<br>{fmt.plural(int(hidden), 'row')}{of}"


def _share_label(at: int, share: float, theme: Theme) -> Part:
    return {
        "x": at, "y": 100, "yshift": 9, "showarrow": False,
        "text": fmt.percent(share, 100) if np.isfinite(share) else "?",
        "font": {"size": 10, "color": theme.danger if share > HEAVY else theme.remasked},
    }  # fmt: skip


def ranges_figure(
    ranges: ColumnRanges,
    theme: Theme,
    *,
    chosen: str = "",
    read: frozenset[str] | None = None,
    height: int | None = None,
) -> Figure:
    """Draw the range of a column in every file, least value first; beyond `BARS` files, how many files overlap.

    Args:
        ranges: The bounds.
        theme: The colours.
        chosen: The path of a file to point out.
        read: The paths of the files that a condition reads; None without a condition.
        height: In pixels; as the number of files needs it unless given.
    """
    files = len(ranges.paths)
    if files > BARS:
        return _depth_figure(ranges, theme, height or 260)
    rows = np.arange(files, dtype=np.float64)
    wide = np.array([tight is False for tight in ranges.tight], dtype=bool)
    at_hand = np.array([path == chosen for path in ranges.paths], dtype=bool)
    shown = np.ones(files, bool) if read is None else np.array([path in read for path in ranges.paths], dtype=bool)
    thickness = 7.0 if files < 40 else 5.0 if files < 90 else 3.0
    plain, pointed = (theme.idle, theme.accent) if read is None else (theme.accent, theme.ink)
    traces = [
        _segments(ranges, rows, ~shown & ~at_hand, color=theme.idle, width=thickness / 2, dash="solid"),
        _segments(ranges, rows, shown & ~wide & ~at_hand, color=plain, width=thickness, dash="solid"),
        _segments(ranges, rows, shown & wide & ~at_hand, color=theme.warning, width=thickness, dash="2px,2px"),
        _segments(ranges, rows, at_hand, color=pointed, width=thickness, dash="solid"),
        _hover_points(ranges, rows),
    ]
    needed = int(max(120, min(520, files * (thickness + 4) + 44)))
    layout = base_layout(theme, height or needed, margin={"l": 14, "r": 14, "t": 6, "b": 26})
    layout |= {
        "hovermode": "closest",
        "xaxis": _value_axis(ranges, theme),
        "yaxis": axis(theme, range=[files - 0.3, -0.7], showticklabels=False),
    }
    return {"data": traces, "layout": layout}


def _segments(ranges: ColumnRanges, rows: Float64s, shown: Mask, *, color: str, width: float, dash: str) -> Part:
    """Return one line per file in one trace; a file with a single value gets a short stroke so that it can be seen."""
    low, high = ranges.low[shown], ranges.high[shown]
    short = np.maximum((ranges.span * 0.004) - (high - low), 0) / 2
    x = np.column_stack([low - short, high + short, np.full(len(low), np.nan)]).ravel()
    y = np.repeat(rows[shown], 3)
    return {
        "type": "scatter", "mode": "lines", "x": ranges.shown(x), "y": y, "hoverinfo": "skip",
        "line": {"color": color, "width": width, "dash": dash},
    }  # fmt: skip


def _hover_points(ranges: ColumnRanges, rows: Float64s) -> Part:
    texts = [
        f"{fmt.plotly_text(path, 60)}<br>{fmt.plotly_text(low, 40)} \u2192 {fmt.plotly_text(high, 40)}"
        for path, low, high in zip(ranges.paths, ranges.low_texts, ranges.high_texts, strict=True)
    ]
    middle = (ranges.low + ranges.high) / 2
    return {
        "type": "scatter", "mode": "markers", "x": ranges.shown(middle), "y": rows, "hovertext": texts,
        "hoverinfo": "text", "marker": {"size": 10, "color": "rgba(0,0,0,0)"},
    }  # fmt: skip


def _depth_figure(ranges: ColumnRanges, theme: Theme, height: int) -> Figure:
    edges, files = depth(ranges)
    area: Part = {
        "type": "scatter", "mode": "lines", "x": ranges.shown(edges), "y": files, "fill": "tozeroy",
        "line": {"shape": "hv", "color": theme.accent, "width": 1.5}, "fillcolor": theme.between,
        "hovertext": [fmt.plural(int(number), "file") for number in files], "hoverinfo": "text",
    }  # fmt: skip
    top = float(files.max()) if len(files) else 1.0
    ticks = nice_ticks(top, wanted=4)
    layout = base_layout(theme, height, margin={"l": 56, "r": 14, "t": 8, "b": 26})
    layout |= {
        "hovermode": "x",
        "xaxis": _value_axis(ranges, theme),
        "yaxis": axis(
            theme, range=[0, top * 1.1], tickvals=[0, *ticks], ticktext=[fmt.compact(t) for t in [0, *ticks]],
            showgrid=True, title={"text": "files", "font": {"size": 10.5, "color": theme.muted}},
        ),
    }  # fmt: skip
    return {"data": [area], "layout": layout}


def _value_axis(ranges: ColumnRanges, theme: Theme) -> Part:
    settings: Part = {"showgrid": True, "nticks": 9}
    if ranges.kind == "time":
        settings |= {"type": "date", "tickformatstops": _DATED}
    elif ranges.kind == "order":
        # A list: plotly.js ignores ticks in any other kind of array, and labels the places with numbers.
        shown = np.linspace(0, len(ranges.order) - 1, min(6, len(ranges.order))).astype(int).tolist()
        labels = [fmt.plotly_text(ranges.order[place], 18) for place in shown]
        settings |= {"tickmode": "array", "tickvals": shown, "ticktext": labels}
    return axis(theme, **settings)


def _extremes(values: Float64s) -> Int64s:
    """Return the places to draw: all, or of many the least and the greatest of each stretch, and the ends."""
    if len(values) <= 2 * _STRETCHES:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), _STRETCHES + 1).astype(int)
    stretches = [np.nan_to_num(values[start:end]) for start, end in pairwise(edges)]
    places = [(start + s.argmin(), start + s.argmax()) for start, s in zip(edges, stretches, strict=False)]
    return np.unique([0, *np.ravel(places), len(values) - 1])


def _totals(commits: Commits, metric: str) -> Float64s:
    match metric:
        case "files":
            return commits.numbers("num_files")
        case "size":
            return commits.numbers("num_bytes")
        case "masked":
            return commits.numbers("num_deleted_rows")
        case _:
            return commits.numbers("num_rows")


def _amount(value: float, metric: str) -> str:
    if not np.isfinite(value):
        return f"{_TOTALS[metric]} unknown"
    return fmt.size(int(value)) if metric == "size" else f"{fmt.count(int(value))} {_TOTALS[metric]}"


def _band(left: float, right: float, fill: str) -> Part:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": 0, "y1": 1,
        "fillcolor": fill, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
