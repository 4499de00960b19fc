"""The bars of the version strip, and words beside the largest commits, where they cover no mark and no other words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask
from explorer.views.figures.plotly import Part
from explorer.views.figures.strip_frame import (
    BARS,
    CHARACTER,
    Frame,
    Reach,
    StripAxis,
    StripRows,
    dotted,
    hatched,
    outlined,
    points,
)
from explorer.views.figures.theme import Theme
from explorer.views.table.timeline import Timeline

_WIDEST: Final = 38
_POINT: Final = 3
"""Pixels from the middle of a sign among the bars to its edge."""


class Marks:
    """The traces of the amounts."""

    def __init__(self, timeline: Timeline, theme: Theme, frame: Frame) -> None:
        self._t, self._theme, self._frame = timeline, theme, frame
        self._reach, self._axis = Reach.of(timeline), StripAxis.of(timeline, frame)
        self._bar = bar_width(self._axis)
        self._alone = lonely_width(self._axis)

    def amounts(self) -> list[Part]:
        """Return the bars of each mark, lonely ones, stubs of unknown amounts, and ticks of unchanged rows."""
        t, theme = self._t, self._theme
        x = t.middles
        fill: Part = {"color": self._colours(t.group, theme.added)}
        if t.single:
            removed = self._reach.heights(t.removed)
            below = self._reach.heights(t.went) - removed
            hidden = np.where(t.masked > 0, np.maximum(below, self._reach.floor), 0)
            parts = [
                self._changed("updated", x, t.updated),
                self._bars("added", x, self._reach.heights(t.came), fill),
                self._bars("removed", x, -removed, hatched(theme) if self._fine else {"color": theme.removed}),
                self._bars("masked", x, -hidden, outlined(theme)) | {"base": -removed[hidden != 0]},
            ]
        else:
            parts = [*self._binned(x, fill), *self._lonely()]
        return [*parts, *self._still(x), *self._gaps()]

    def boxes(self) -> Float64s:
        """Return the pixels that the amounts cover, a row for each: left, right, bottom, top.

        They count from the left end of the axis, and upwards from the zero.
        """
        high = BARS / (self._reach.high + self._reach.low)
        boxes = [np.zeros((0, 4))]
        for part in self.amounts():
            x = (np.asarray(part["x"], np.float64) - self._axis.first) / self._axis.pixel
            y = np.asarray(part["y"], np.float64) * high
            if part["type"] == "bar":
                base, half = np.asarray(part["base"]) * high, np.asarray(part["width"]) / self._axis.pixel / 2
                edges = (x - half, x + half, np.minimum(base, base + y), np.maximum(base, base + y))
            else:
                edges = (x - _POINT, x + _POINT, y - _POINT, y + _POINT)
            boxes.append(np.stack(np.broadcast_arrays(*edges), axis=1))
        return np.concatenate(boxes)

    @property
    def _fine(self) -> bool:
        """Whether there is room for more than a colour in a bar."""
        return self._axis.slot >= 6

    def _changed(self, name: str, x: Float64s, amounts: Float64s) -> Part:
        """Return the bars of updated rows, centered on zero."""
        height = self._reach.heights(amounts)
        style: Part = dotted(self._theme) if self._fine else {"color": self._theme.idle}
        return self._bars(name, x, 2 * height, style) | {"base": -height[height != 0]}

    def _binned(self, x: Float64s, fill: Part) -> list[Part]:
        t, theme, heights = self._t, self._theme, self._reach.heights
        low = -heights(t.down.largest)
        masked = np.flatnonzero(t.masked > 0)
        square: Part = {"symbol": "square-open", "size": 5, "color": theme.remasked, "line": {"width": 1.3}}
        pale: Part = {"opacity": 0.42}
        return [
            self._changed("largest updated", x, t.changed.largest) | {"opacity": 0.42},
            self._changed("updated", x, t.changed.median),
            self._bars("largest added", x, heights(t.up.largest), fill | pale),
            self._bars("added", x, heights(t.up.median), fill),
            self._bars("largest removed", x, low, pale | {"color": theme.removed}),
            self._bars("removed", x, -heights(t.down.median), {"color": theme.removed}),
            points("masked", x[masked], low[masked] - 1.4 * self._reach.floor, square),
        ]

    def _lonely(self) -> list[Part]:
        t, alone, theme = self._t, self._t.alone, self._theme
        x, height = t.axis.places(alone.versions), np.sign(alone.amounts) * self._reach.heights(abs(alone.amounts))
        up, down = (alone.amounts > 0) & ~alone.updated, (alone.amounts < 0) & ~alone.masked
        kinds: tuple[tuple[str, Mask, Part], ...] = (
            ("one added", up, {"color": self._colours(alone.groups[up], theme.added)}),
            ("one removed", down, hatched(theme)),
            ("one masked", (alone.amounts < 0) & alone.masked, outlined(theme)),
        )
        bars = [self._bars(name, x[chosen], height[chosen], marker) for name, chosen, marker in kinds]
        changed = self._changed("one updated", x[alone.updated], alone.amounts[alone.updated])
        return [part | {"width": self._alone} for part in (changed | {"marker": dotted(theme)}, *bars)]

    def _still(self, x: Float64s) -> list[Part]:
        """Return gray stubs for unknown row counts, and ticks on zero for commits that changed no rows."""
        t, theme = self._t, self._theme
        moved = (t.added != 0) | (t.removed != 0) | (t.masked != 0) | (t.updated != 0)
        height = np.where(t.unknown & ~moved, 2 * self._reach.floor, 0)
        stubs = self._bars("rows unknown", x, height, {"color": theme.idle, "opacity": 0.55})
        stubs |= {"base": -height[height != 0] / 2}
        if self._axis.slot < 5:
            return [stubs]
        hidden = np.zeros(len(x), dtype=bool)
        for start, end in t.gaps:
            hidden |= (t.start >= start) & (t.bins.ends <= end)
        quiet = np.flatnonzero(~(moved | t.unknown | hidden))
        tick: Part = {"symbol": "line-ns", "size": 6, "line": {"color": theme.idle, "width": 1.4}}
        return [stubs, points("no row changed", x[quiet], 0.0, tick)]

    def _gaps(self) -> list[Part]:
        """Return hatched areas for commits missing from the log."""
        t, theme = self._t, self._theme
        spans = [
            (*t.edges(start, end), f"v{start} to v{end}: {fmt.plural(end - start + 1, 'commit')} missing")
            for start, end in t.gaps
        ]
        if self._frame.lead and not self._frame.folded:
            spans.append((self._axis.first, t.range[0], f"v{t.first - 1} and before: deleted from the log"))
        if not spans:
            return []
        left, right = np.array([span[0] for span in spans]), np.array([span[1] for span in spans])
        pattern = {"shape": "/", "fgcolor": theme.faint, "bgcolor": theme.surface, "size": 6, "solidity": 0.25}
        high, low = self._reach.high, self._reach.low
        return [{
            "type": "bar", "name": "gaps", "x": (left + right) / 2, "y": np.full(len(spans), high + low), "base": -low,
            "width": np.maximum(right - left, 8 * self._axis.pixel), "hoverinfo": "text", "showlegend": False,
            "marker": {"color": theme.surface, "pattern": pattern, "line": {"width": 0}},
            "hovertext": [span[2] for span in spans],
        }]  # fmt: skip

    def targets(self) -> Part:
        """Return an invisible bar over each mark, as the target of the pointer."""
        t, scale = self._t, self._reach
        return {
            "type": "bar",
            "name": "versions",
            "x": t.middles,
            "y": np.full(len(t.start), scale.high + scale.low),
            "base": -scale.low,
            "width": t.width,
            "marker": {"color": "rgba(0,0,0,0)", "line": {"width": 0}},
            "hovertext": ["<br>".join(fmt.plotly_text(line, 90) for line in text.split("\n")) for text in t.labels],
            "hoverinfo": "text",
            "showlegend": False,
        }

    def _bars(self, name: str, x: Float64s, height: Float64s, marker: Part) -> Part:
        drawn = np.flatnonzero(height)
        colour = marker.get("color")
        if isinstance(colour, list):
            marker = marker | {"color": [colour[index] for index in drawn.tolist()]}
        return {
            "type": "bar", "name": name, "x": x[drawn], "y": height[drawn], "base": 0, "marker": marker,
            "width": self._bar, "hoverinfo": "skip", "showlegend": False,
        }  # fmt: skip

    def _colours(self, groups: Int64s, plain: str) -> object:
        """Return one colour, or one for each mark where authors or operations have colours."""
        if not self._t.groups:
            return plain
        return [self._theme.series[group] if group >= 0 else self._theme.idle for group in groups.tolist()]


def bar_width(axis: StripAxis) -> float:
    """Return the width of a bar, in units of the axis."""
    share = 1.0 if axis.slot < 3 else 0.84 if axis.slot < 12 else 0.72
    return min(share * axis.slot, _WIDEST) * axis.pixel


def lonely_width(axis: StripAxis) -> float:
    """Return the width of the bar of a commit that stands alone, in units of the axis."""
    return max(bar_width(axis), 6 * axis.pixel)


_LABELS: Final = 5
_HALF: Final = 13
_LEAST_LABELLED: Final = 420
_BESIDE: Final = 3
_CLEAR: Final = 2
"""Pixels between words and a mark, at least."""


@dataclass(frozen=True, slots=True)
class _Label:
    """Words beside a bar: where the bar's tip is, on which side they are, and the pixels that they cover."""

    text: str
    at: float
    side: int
    left: float
    right: float
    middle: float

    def touches(self, other: _Label) -> bool:
        """Return whether two labels would cover each other."""
        overlaps = self.left < other.right + 6 and other.left < self.right + 6
        return overlaps and abs(self.middle - other.middle) < 2 * _HALF

    def covers(self, band: tuple[float, float]) -> bool:
        """Return whether it would lie over a part of the axis, in pixels."""
        return self.left < band[1] and band[0] < self.right

    def over(self, boxes: Float64s) -> bool:
        """Return whether it would lie over one of the marks: see `Marks.boxes`."""
        left, right, bottom, top = boxes.T
        overlaps = (left < self.right + _CLEAR) & (self.left - _CLEAR < right)
        return bool((overlaps & (bottom < self.middle + _HALF) & (self.middle - _HALF < top)).any())


def commit_labels(
    timeline: Timeline, theme: Theme, frame: Frame, rows: StripRows, taken: Sequence[tuple[float, float]]
) -> list[Part]:
    """Return the words as annotations: over no mark, and over nothing that is ``taken`` of the axis, in its units."""
    if frame.folded or rows.named or frame.plot < _LEAST_LABELLED:
        return []
    axis, reach = StripAxis.of(timeline, frame), Reach.of(timeline)
    bands = [(axis.x(left), axis.x(right)) for left, right in taken]
    boxes = Marks(timeline, theme, frame).boxes()
    labels: list[_Label] = []
    order = np.argsort(-abs(timeline.alone.amounts), kind="stable")[: 3 * _LABELS].tolist()
    for index in order:
        sides = _sides(timeline, axis, reach, index)
        fits = (label for label in sides if _free(label, labels, bands, axis.plot) and not label.over(boxes))
        labels += [label] if (label := next(fits, None)) is not None else []
    per_pixel = (reach.high + reach.low) / BARS
    return [_annotation(label, per_pixel, theme) for label in labels[:_LABELS]]


def _free(label: _Label, others: Iterable[_Label], bands: Iterable[tuple[float, float]], plot: int) -> bool:
    if label.left < 0 or label.right + 4 > plot:
        return False
    return not any(label.touches(other) for other in others) and not any(label.covers(band) for band in bands)


def _sides(timeline: Timeline, axis: StripAxis, reach: Reach, index: int) -> list[_Label]:
    """Yield the labels right and left of a commit's bar; none if the bar is too low."""
    alone = timeline.alone
    amount, at = float(alone.amounts[index]), timeline.axis.place(float(alone.versions[index]))
    tip = float(np.sign(amount) * reach.heights(np.array([abs(amount)]))[0])
    if abs(tip) < 0.3 * max(reach.high, reach.low):
        return []
    head, detail = fmt.plotly_text(alone.labels[index], 30), fmt.plotly_text(alone.details[index], 44)
    wide = CHARACTER * max(len(head) + 1, len(detail))
    margin = (bar_width(axis) if timeline.single else lonely_width(axis)) / axis.pixel / 2 + _BESIDE
    middle = tip * BARS / (reach.high + reach.low) - np.sign(tip) * _HALF
    begin = {1: axis.x(at) + margin, -1: axis.x(at) - margin - wide}
    text = f"<b>{head}</b><br>{detail}"
    return [
        _Label(text, at + side * margin * axis.pixel, side, left, left + wide, float(middle))
        for side, left in begin.items()
    ]


def _annotation(label: _Label, per_pixel: float, theme: Theme) -> Part:
    side = "left" if label.side > 0 else "right"
    return {
        "x": label.at, "y": label.middle * per_pixel, "xref": "x", "yref": "y", "xanchor": side, "align": side,
        "yanchor": "middle", "showarrow": False, "borderpad": 0, "text": label.text,
        "font": {"size": 10.5, "color": theme.ink},
    }  # fmt: skip
