"""The lanes of the version strip: solid readable, hatched amber at risk, dotted gone, hatched red a hole.

Of a mark of many versions a lane shows the share of each state as its part of the lane's height, so that one version at
risk among forty is a thin line. What is a warning is never too thin to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s
from explorer.views.figures.plotly import Part
from explorer.views.figures.strip_frame import CHARACTER, Axis, Rows
from explorer.views.figures.strip_traces import stripes
from explorer.views.figures.theme import Theme
from explorer.views.table.lanes import Lane, State, spans_of
from explorer.views.table.timeline import Timeline

__all__ = ["lane_labels", "lane_traces"]

_HIGH: Final = 5.0
_LEAST: Final = 1.25
"""Pixels of a lane, and of the thinnest part of one."""
_STEPS: Final = 8
_LABELS: Final = 8
_ROOM: Final = 46
"""Pixels of a lane that stay to be seen beside its words."""
_STATES: Final[tuple[State, ...]] = ("readable", "recorded", "unknown", "gone", "at risk", "hole")
"""From the top of a lane to its bottom."""
_DRAWN: Final = tuple(state for state in _STATES if state != "gone")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Marks after each other with the same shares: their versions, and the parts of each state, in eighths."""

    first: int
    last: int
    shares: tuple[int, ...]

    def parts(self) -> Iterator[tuple[State, float, float]]:
        """Yield each state with where its part is above the lane's middle and how high it is, in pixels."""
        least = [max(_HIGH * share / _STEPS, _LEAST) if share else 0.0 for share in self.shares]
        free = _HIGH - sum(least)
        main = int(np.argmax(self.shares))
        heights = [height + (free if place == main else 0.0) for place, height in enumerate(least)]
        top = _HIGH / 2
        for state, height in zip(_STATES, heights, strict=True):
            if height > 0:
                yield state, top - height / 2, height
            top -= height


def lane_traces(timeline: Timeline, theme: Theme, axis: Axis, rows: Rows, lanes: tuple[Lane, ...]) -> list[Part]:
    """Return the lanes as bars, one trace for each state, and the dotted lines of what is gone."""
    styles: dict[State, Part] = {
        "readable": {"color": theme.ok},
        "recorded": {"color": theme.accent},
        "unknown": {"color": theme.idle},
        "at risk": stripes(theme.warning_mark, theme.warning_ground),
        "hole": stripes(theme.danger, theme.danger_ground),
    }
    boxes: dict[State, list[tuple[float, float, float, float]]] = {state: [] for state in _STATES}
    for lane, place in zip(lanes, rows.lanes, strict=True):
        for piece in _pieces(timeline, lane):
            left, right = axis.clip(*timeline.edges(piece.first, piece.last))
            for state, middle, height in piece.parts():
                boxes[state].append((left, right, place + middle, height))
    return [*(_bars(state, boxes[state], {"line": {"width": 0}} | styles[state]) for state in _DRAWN),
            _dots(boxes["gone"], theme)]  # fmt: skip


def lane_labels(timeline: Timeline, theme: Theme, axis: Axis, rows: Rows, lanes: tuple[Lane, ...]) -> list[Part]:
    """Return what a state is, written over its span where it is wide enough; of scattered ones, how many there are."""
    labels: list[Part] = []
    for lane, y in zip(lanes, rows.lanes, strict=True):
        for first, last, words in [*_span_texts(timeline, axis, lane), *_scattered(timeline, lane)]:
            left, right = axis.clip(*timeline.edges(first, last))
            text = fmt.plotly_text(words, 60)
            if text and (right - left) / axis.pixel >= CHARACTER * len(text) + _ROOM:
                labels.append({
                    "x": left, "y": rows.share(y), "xref": "x", "yref": "paper", "xshift": 14, "xanchor": "left",
                    "yanchor": "middle", "showarrow": False, "text": f"\u00a0{text}\u00a0", "bgcolor": theme.surface,
                    "borderpad": 0, "height": 11, "font": {"size": 10, "color": theme.ink},
                })  # fmt: skip
    return labels[:_LABELS]


def _span_texts(timeline: Timeline, axis: Axis, lane: Lane) -> list[tuple[int, int, str]]:
    """Return the labels of spans that have room for one."""
    ends = np.array([timeline.edges(span.first, span.last) for span in lane.spans], np.float64).reshape(-1, 2)
    wide = np.flatnonzero(np.diff(ends, axis=1)[:, 0] >= _ROOM * axis.pixel)
    return [(span.first, span.last, span.label) for span in (lane.spans[index] for index in wide.tolist())]


def _scattered(timeline: Timeline, lane: Lane) -> Iterator[tuple[int, int, str]]:
    """For each run of marks that hold several states: how many of their versions are at risk, or a hole."""
    if timeline.single:
        return
    for piece in _pieces(timeline, lane):
        if sum(share > 0 for share in piece.shares) < 2:
            continue
        for state in ("hole", "at risk"):
            spans = [span for span in lane.spans if span.state == state and span.last >= piece.first]
            within = [span for span in spans if span.first <= piece.last]
            number = sum(min(span.last, piece.last) - max(span.first, piece.first) + 1 for span in within)
            if number:
                of = f"{fmt.count(number)} of {fmt.count(piece.last - piece.first + 1)} versions"
                yield piece.first, piece.last, f"{of}: {within[0].label}"
                break


def _pieces(timeline: Timeline, lane: Lane) -> list[_Piece]:
    """Return the lane mark by mark; similar neighbors are joined."""
    first, last = timeline.first, timeline.last
    codes = np.full(last - first + 1, -1, np.int64)
    for span in lane.spans:
        codes[max(span.first - first, 0) : max(span.last - first + 1, 0)] = _STATES.index(span.state)
    starts = np.clip(timeline.start, first, last)
    ends = np.clip(timeline.bins.ends, first, last)
    # The sums before each version, of each state: those of a mark are the difference of two.
    before = np.zeros((len(_STATES), len(codes) + 1))
    np.cumsum(codes == np.arange(len(_STATES))[:, None], axis=1, out=before[:, 1:])
    counts = before[:, ends - first + 1] - before[:, starts - first]
    shares = _eighths(counts)
    _, similar = np.unique(shares, axis=1, return_inverse=True)
    runs = spans_of(np.arange(len(starts)), np.asarray(similar, np.int64).reshape(-1))
    return [
        _Piece(int(starts[begin]), int(ends[end]), tuple(shares[:, begin].tolist()))
        for begin, end, _ in runs
        if shares[:, begin].any()
    ]


def _eighths(counts: Float64s) -> npt.NDArray[np.int64]:
    """Return the share of each state in each mark, in eighths; a present state has at least one."""
    total = np.maximum(counts.sum(axis=0), 1)
    rounded = np.rint(_STEPS * counts / total)
    return np.where(counts > 0, np.maximum(rounded, 1), 0).astype(np.int64)


def _bars(state: State, parts: list[tuple[float, float, float, float]], marker: Part) -> Part:
    left, right, middle, height = np.array(parts, np.float64).reshape(-1, 4).T
    return {
        "type": "bar", "orientation": "h", "name": state, "x": right - left, "base": left, "y": middle,
        "width": height, "yaxis": "y3", "marker": marker, "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip


def _dots(parts: list[tuple[float, float, float, float]], theme: Theme) -> Part:
    return {
        "type": "scatter", "mode": "lines", "name": "gone",
        "x": [end for left, right, _, _ in parts for end in (left, right, None)],
        "y": [place for _, _, middle, _ in parts for place in (middle, middle, None)], "yaxis": "y3",
        "line": {"color": theme.idle, "width": 1.4, "dash": "1px,3px"}, "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip
