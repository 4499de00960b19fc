"""Words beside the largest commits of the version strip that stand alone, where they cover no mark and no words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s
from explorer.views.figures.plotly import Part
from explorer.views.figures.strip_frame import BARS, CHARACTER, Axis, Frame, Reach, Rows
from explorer.views.figures.strip_marks import Marks, bar_width, lonely_width
from explorer.views.figures.theme import Theme
from explorer.views.table.timeline import Timeline

__all__ = ["commit_labels"]

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
    timeline: Timeline, theme: Theme, frame: Frame, rows: Rows, taken: Sequence[tuple[float, float]]
) -> list[Part]:
    """Return the words as annotations: over no mark, and over nothing that is ``taken`` of the axis, in its units."""
    if frame.folded or rows.named or frame.plot < _LEAST_LABELLED:
        return []
    axis, reach = Axis.of(timeline, frame), Reach.of(timeline)
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


def _sides(timeline: Timeline, axis: Axis, reach: Reach, index: int) -> list[_Label]:
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
