"""The bars of the version strip: what each mark did to the rows, and what stands alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask
from explorer.views.figures.plotly import Part
from explorer.views.figures.strip_frame import BARS, CHARACTER, Frame, Reach, Rows, axis_range
from explorer.views.figures.strip_traces import hatched, outlined, points, words
from explorer.views.figures.theme import Theme
from explorer.views.table.timeline import Timeline

__all__ = ["Marks"]

_WIDEST: Final = 38
_LABELS: Final = 5
_HALF: Final = 13
_LEAST_LABELLED: Final = 420


class Marks:
    """The traces of the amounts."""

    def __init__(self, timeline: Timeline, theme: Theme, frame: Frame, rows: Rows) -> None:
        self._t, self._theme, self._frame, self._rows = timeline, theme, frame, rows
        self._reach = Reach.of(timeline)
        first, last = axis_range(timeline, frame)
        self._pixel = (last - first) / frame.plot
        self._slot = timeline.width / self._pixel
        share = 1.0 if self._slot < 3 else 0.84 if self._slot < 12 else 0.72
        self._bar = min(share * self._slot, _WIDEST) * self._pixel
        self._alone = max(self._bar, 6 * self._pixel)

    def amounts(self) -> list[Part]:
        """The bars of each mark, those that stand alone, stubs of what is unknown, ticks of what changed no row."""
        t, theme = self._t, self._theme
        x = t.middles
        fill: Part = {"color": self._colours(t.group, theme.added)}
        if t.width == 1:
            up = self._reach.heights(t.added + np.maximum(-t.masked, 0))
            removed = self._reach.heights(t.removed)
            below = self._reach.heights(t.removed + np.maximum(t.masked, 0)) - removed
            hidden = np.where(t.masked > 0, np.maximum(below, self._reach.floor), 0)
            parts = [
                self._bars("added", x, up, fill),
                self._bars("removed", x, -removed, hatched(theme) if self._slot >= 6 else {"color": theme.removed}),
                self._bars("masked", x, -hidden, outlined(theme)) | {"base": -removed[hidden != 0]},
            ]
        else:
            parts = [*self._binned(x, fill), *self._lonely()]
        return [*parts, *self._labels(), *self._still(x), *self._gaps()]

    def _binned(self, x: Float64s, fill: Part) -> list[Part]:
        t, theme, heights = self._t, self._theme, self._reach.heights
        low = -heights(t.down.largest)
        masked = np.flatnonzero(t.masked > 0)
        square: Part = {"symbol": "square-open", "size": 5, "color": theme.remasked, "line": {"width": 1.3}}
        pale: Part = {"opacity": 0.42}
        return [
            self._bars("largest added", x, heights(t.up.largest), fill | pale),
            self._bars("added", x, heights(t.up.median), fill),
            self._bars("largest removed", x, low, pale | {"color": theme.removed}),
            self._bars("removed", x, -heights(t.down.median), {"color": theme.removed}),
            points("masked", x[masked], low[masked] - 1.4 * self._reach.floor, square),
        ]

    def _lonely(self) -> list[Part]:
        alone, theme = self._t.alone, self._theme
        x, height = alone.versions.astype(np.float64), np.sign(alone.amounts) * self._reach.heights(abs(alone.amounts))
        up, down = alone.amounts > 0, (alone.amounts < 0) & ~alone.masked
        kinds: tuple[tuple[str, Mask, Part], ...] = (
            ("one added", up, {"color": self._colours(alone.groups[up], theme.added)}),
            ("one removed", down, hatched(theme)),
            ("one masked", (alone.amounts < 0) & alone.masked, outlined(theme)),
        )
        return [
            self._bars(name, x[chosen], height[chosen], marker) | {"width": self._alone}
            for name, chosen, marker in kinds
        ]

    def _labels(self) -> list[Part]:
        """Words beside the largest of the commits that stand alone, where they do not touch."""
        if self._frame.folded or self._rows.named or self._frame.plot < _LEAST_LABELLED:
            return []
        found: list[_Label] = []
        for index in np.argsort(-abs(self._t.alone.amounts), kind="stable")[: 3 * _LABELS].tolist():
            label = self._label(index)
            if label is not None and label.left >= 0 and not any(label.touches(other) for other in found):
                found.append(label)
        found = found[:_LABELS]
        if not found:
            return []
        x, y = np.array([label.x for label in found]), np.array([label.y for label in found])
        sides = [f"middle {'right' if label.right else 'left'}" for label in found]
        texts = [label.text for label in found]
        return [words("labels", x, y, texts, colour=self._theme.ink, position=sides, lower=False)]

    def _label(self, index: int) -> _Label | None:
        """The words of a commit that stands alone; None if it is too low to have any."""
        alone, reach = self._t.alone, self._reach
        amount, at = float(alone.amounts[index]), float(alone.versions[index])
        tip = float(np.sign(amount) * reach.heights(np.array([abs(amount)]))[0])
        if abs(tip) < 0.3 * max(reach.high, reach.low):
            return None
        head, detail = fmt.plotly_text(alone.labels[index], 30), fmt.plotly_text(alone.details[index], 44)
        wide = CHARACTER * max(len(head) + 1, len(detail))
        place = (at - axis_range(self._t, self._frame)[0]) / self._pixel
        beside = (self._bar if self._t.width == 1 else self._alone) / self._pixel / 2 + 3
        right = place + beside + wide + 4 < self._frame.plot
        per_pixel = (reach.high + reach.low) / BARS
        y = tip - np.sign(tip) * _HALF * per_pixel
        return _Label(
            x=at + (beside if right else -beside) * self._pixel,
            y=y,
            text=f"<b>{head}</b><br>{detail}",
            right=right,
            left=place + beside if right else place - beside - wide,
            wide=wide,
            middle=y / per_pixel,
        )

    def _still(self, x: Float64s) -> list[Part]:
        """Commits whose rows the log does not state: a grey stub; that changed no row at all: a tick on the zero."""
        t, theme = self._t, self._theme
        moved = (t.added != 0) | (t.removed != 0) | (t.masked != 0)
        height = np.where(t.unknown & ~moved, 2 * self._reach.floor, 0)
        stubs = self._bars("rows unknown", x, height, {"color": theme.idle, "opacity": 0.55})
        stubs |= {"base": -height[height != 0] / 2}
        if self._slot < 5:
            return [stubs]
        gone = np.zeros(len(x), dtype=bool)
        for start, end in t.gaps:
            gone |= (t.start >= start) & (t.start + t.width - 1 <= end)
        quiet = np.flatnonzero(~(moved | t.unknown | gone))
        tick: Part = {"symbol": "line-ns", "size": 6, "line": {"color": theme.idle, "width": 1.4}}
        return [stubs, points("no row changed", x[quiet], 0.0, tick)]

    def _gaps(self) -> list[Part]:
        """Commits that the log lacks: hatched from top to bottom."""
        t, theme = self._t, self._theme
        spans = [
            (start - 0.5, end + 0.5, f"v{start} to v{end}: {fmt.plural(end - start + 1, 'commit')} missing")
            for start, end in t.gaps
        ]
        if self._frame.lead and not self._frame.folded:
            spans.append(
                (axis_range(t, self._frame)[0], t.first - 0.5, f"v{t.first - 1} and before: gone from the log")
            )
        if not spans:
            return []
        left, right = np.array([span[0] for span in spans]), np.array([span[1] for span in spans])
        pattern = {"shape": "/", "fgcolor": theme.faint, "bgcolor": theme.surface, "size": 6, "solidity": 0.25}
        high, low = self._reach.high, self._reach.low
        return [{
            "type": "bar", "name": "gaps", "x": (left + right) / 2, "y": np.full(len(spans), high + low), "base": -low,
            "width": np.maximum(right - left, 8 * self._pixel), "hoverinfo": "text", "showlegend": False,
            "marker": {"color": theme.surface, "pattern": pattern, "line": {"width": 0}},
            "hovertext": [span[2] for span in spans],
        }]  # fmt: skip

    def targets(self) -> Part:
        """An invisible bar over each mark: what is pointed at, also where no bar is drawn."""
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
        there = np.flatnonzero(height)
        colour = marker.get("color")
        if isinstance(colour, list):
            marker = marker | {"color": [colour[index] for index in there.tolist()]}
        return {
            "type": "bar", "name": name, "x": x[there], "y": height[there], "base": 0, "marker": marker,
            "width": self._bar, "hoverinfo": "skip", "showlegend": False,
        }  # fmt: skip

    def _colours(self, groups: Int64s, plain: str) -> object:
        """One colour, or one for each mark where authors or operations have colours."""
        if not self._t.groups:
            return plain
        return [self._theme.series[group] if group >= 0 else self._theme.idle for group in groups.tolist()]


@dataclass(frozen=True, slots=True)
class _Label:
    """Words beside a bar: their place on the axes, and the pixels they cover."""

    x: float
    y: float
    text: str
    right: bool
    left: float
    wide: float
    middle: float

    def touches(self, other: _Label) -> bool:
        """Whether two labels would cover each other."""
        beside = self.left < other.left + other.wide + 6 and other.left < self.left + self.wide + 6
        return beside and abs(self.middle - other.middle) < 2 * _HALF
