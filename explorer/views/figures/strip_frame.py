"""The size of the version strip, the places of its parts, its smallest traces, and its bars as a still picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from explorer.core.protocol.arrow.arrays import Float64s
from explorer.views.figures.plotly import Part
from explorer.views.figures.theme import FONT_FAMILY, Theme
from explorer.views.table.lanes import VersionLane
from explorer.views.table.timeline import Scale, Timeline

LEAST_NAMED: Final = 76
"""Pixels of a version from which its operation and time are written below it."""
RIGHT: Final = 12
BARS: Final = 96
SIGNS: Final = 18
MAP: Final = 26
CHARACTER: Final = 5.7
"""Pixels of a character of the strip's labels, on average."""
_BIN: Final = 4
_TAGS, _LANE, _ROW, _FOLDED, _LEAD = 22, 16, 13, 28, 26


@dataclass(frozen=True, slots=True)
class Frame:
    """The size of the strip and what it shows.

    Attributes:
        width: Pixels, labels included.
        left: Pixels for the labels of the rows.
        folded: The bars alone, in one low row.
        whole: The table's first and last version, if the overview of all is drawn below.
        lead: Whether versions before the first one are gone from the log.
    """

    width: int = 1200
    left: int = 76
    folded: bool = False
    whole: tuple[int, int] | None = None
    lead: bool = False

    @property
    def plot(self) -> int:
        """Pixels of the axis."""
        return max(self.width - self.left - RIGHT, 80)


def most_marks(width: int, left: int = 76) -> int:
    """Return how many marks a strip of a width has room for."""
    return max(40, (width - left - RIGHT) // _BIN)


@dataclass(frozen=True, slots=True)
class StripRows:
    """Where things are, in pixels above the bottom of the figure."""

    height: int
    top: int
    bars: int
    sign: float
    lanes: tuple[float, ...]
    lower: tuple[float, ...]
    mapped: int
    named: bool
    names: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, timeline: Timeline, frame: Frame, lanes: tuple[VersionLane, ...], *, mapped: bool) -> StripRows:
        if frame.folded:
            return cls(_FOLDED + 4, 2, 2, 0, (), (), 0, False, ())
        named = bool(timeline.names) and frame.plot / max(len(timeline.start), 1) >= LEAST_NAMED
        below = _ROW * (3 if named else 2) + 4
        floor = MAP + 5 if mapped else 2
        bars = floor + below + _LANE * len(lanes) + 4 + SIGNS
        sign = bars - SIGNS / 2
        stripes = tuple(bars - SIGNS - 12 - _LANE * index for index in range(len(lanes)))
        lower = tuple(floor + below - 4 - _ROW * (index + 0.5) for index in range(3 if named else 2))
        names = [("signs", sign), *zip((lane.name for lane in lanes), stripes, strict=True)]
        names += [] if named else [("date", lower[0]), ("version", lower[1])]
        return cls(bars + BARS + _TAGS, _TAGS, bars, sign, stripes, lower, floor if mapped else 0, named, tuple(names))

    def share(self, pixels: float) -> float:
        """Return a height above the bottom as a share of the plot, as plotly's domains and paper coordinates count."""
        return pixels / (self.height - self.top)


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the bars reach, and from an amount to a height."""

    scale: Scale
    high: float
    low: float
    floor: float

    @classmethod
    def of(cls, timeline: Timeline) -> Reach:
        up, down = timeline.scale.heights(np.array(timeline.top)).tolist()
        up = max(up, 1e-9 if down else 1.0)
        floor = 0.03 * (up + down)
        # A side with little on it still has room for its least bar and for a label.
        return cls(timeline.scale, max(up * 1.06, 3 * floor), max(down * 1.06, 3 * floor), floor)

    def heights(self, amounts: Float64s) -> Float64s:
        """Return the heights of amounts; a nonzero amount is never too low to be seen."""
        return np.where(amounts > 0, np.maximum(self.scale.heights(amounts), self.floor), 0)


@dataclass(frozen=True, slots=True)
class StripAxis:
    """What the axis covers, in its own units, and how large a pixel is.

    Attributes:
        first, last: The ends; before the versions is a strip for commits that are gone.
        pixel: Of the axis' units.
        slot: Pixels of a mark.
        plot: Pixels of the whole.
    """

    first: float
    last: float
    pixel: float
    slot: float
    plot: int

    @classmethod
    def of(cls, timeline: Timeline, frame: Frame) -> StripAxis:
        first, last = timeline.range
        if frame.lead and not frame.folded:
            first -= (last - first) * _LEAD / (frame.plot - _LEAD)
        pixel = (last - first) / frame.plot
        return cls(first, last, pixel, timeline.width / pixel, frame.plot)

    def x(self, place: float) -> float:
        """Return pixels from the left end to a place."""
        return (place - self.first) / self.pixel

    def clip(self, left: float, right: float) -> tuple[float, float]:
        """Return the part of a range inside the axis; empty or reversed if there is none."""
        return max(left, self.first), min(right, self.last)


SPAN: Final = 1_000
"""The width of the picture; its height is 100."""


@dataclass(frozen=True, slots=True)
class StillBar:
    """A rectangle: ``u`` updated, ``a`` added, ``r`` removed, ``m`` masked; the top left corner is 0, 0."""

    kind: Literal["u", "a", "r", "m"]
    x: float
    y: float
    width: float
    height: float


def bars_of(timeline: Timeline) -> list[StillBar]:
    """Return the marks of a timeline as rectangles, those of a mark one after the other."""
    scale = timeline.scale.heights
    single = timeline.single
    up = scale(timeline.came if single else timeline.up.largest)
    removed = scale(timeline.removed if single else timeline.down.largest)
    down = scale(timeline.went) if single else removed
    changed = scale(timeline.updated if single else timeline.changed.largest)
    top, bottom = (np.maximum(scale(np.array(timeline.top)), 1e-9) * 1.06).tolist()
    # Thousandths of the axis: its own units may be milliseconds of years.
    left, right = timeline.range
    share = SPAN / (right - left)
    unit, width = 100 / (top + bottom), 0.8 * timeline.width * share
    bars: list[StillBar] = []
    for index, middle in enumerate(timeline.middles.tolist()):
        x = (middle - left) * share - width / 2
        pieces: tuple[tuple[Literal["u", "a", "r", "m"], float, float], ...] = (
            ("u", top - changed[index], 2 * changed[index]),
            ("a", top - up[index], up[index]),
            ("r", top, removed[index]),
            ("m", top + removed[index], down[index] - removed[index]),
        )
        bars += [
            StillBar(kind, x, float(y) * unit, width, float(height) * unit) for kind, y, height in pieces if height > 0
        ]
    return bars


def points(name: str, x: Float64s, y: Float64s | float, marker: Part, *, lower: bool = False) -> Part:
    """Markers; ``lower`` puts them into the rows under the bars, where y is in pixels."""
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": x, "y": np.broadcast_to(y, x.shape), "marker": marker,
        "hoverinfo": "skip", "showlegend": False, "cliponaxis": not lower,
    } | ({"yaxis": "y3"} if lower else {})  # fmt: skip


def words(
    name: str, x: Float64s, y: Float64s | float, texts: Sequence[str], *, colour: str, position: object,
    size: float = 10.5, lower: bool = True,
) -> Part:  # fmt: skip
    """Return texts next to or over points; the caller escapes them."""
    font = {"size": size, "color": colour, "family": FONT_FAMILY}
    return points(name, x, y, {}, lower=lower) | {
        "mode": "text", "text": list(texts), "textposition": position, "textfont": font, "cliponaxis": False,
    }  # fmt: skip


def hatched(theme: Theme) -> Part:
    """Return the look of what was removed, where there is room for it."""
    pattern = {"shape": "/", "fgcolor": theme.removed, "bgcolor": theme.surface, "size": 5, "solidity": 0.5}
    return {"color": theme.removed, "pattern": pattern, "line": {"color": theme.removed, "width": 1}}


def outlined(theme: Theme) -> Part:
    """Return the look of what was masked."""
    return {"color": theme.surface, "line": {"color": theme.remasked, "width": 1.6}}


def dotted(theme: Theme) -> Part:
    """Return the look of what was updated."""
    pattern = {"shape": ".", "fgcolor": theme.muted, "bgcolor": theme.surface, "size": 4, "solidity": 0.35}
    return {"color": theme.muted, "pattern": pattern, "line": {"color": theme.muted, "width": 1}}


def stripes(colour: str, ground: str) -> Part:
    """Return a hatched lane."""
    return {
        "color": ground,
        "pattern": {"shape": "/", "fgcolor": colour, "bgcolor": ground, "size": 5, "solidity": 0.5},
        "line": {"color": colour, "width": 1},
    }
