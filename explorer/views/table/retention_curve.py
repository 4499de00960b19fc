"""How many versions a retention keeps, as a curve, and what one retention would take: both for a VACUUM run now.

Invariants: the curve is exact and comes from the log alone; a day has 24 hours; unknown bytes are not counted, and the
number of files whose bytes are not known is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.words import duration, spans
from explorer.core.versions.retention.horizon import Horizon, WhatIf
from explorer.views.table.facts import TableFacts

_DAY: Final = 86_400_000
_WIDTH, _HEIGHT, _FLOOR = 300, 76, 82
_LEAST_DAYS: Final = 14
_MOST_DAYS: Final = 3_650


@dataclass(frozen=True, slots=True)
class RetentionMark:
    """A retention on the curve.

    Attributes:
        days: The retention in whole days.
        words: The retention, exactly.
        place: Pixels from the left.
        kept, feed_kept: Versions, and changes of versions, that can be read after a VACUUM with it.
        freed: What the VACUUM would delete, in words.
        lost: The versions that it takes, in words; empty if none.
        lost_feed: The versions whose changes it takes, in words; empty if none.
    """

    days: int
    words: str
    place: float
    kept: int
    feed_kept: int
    freed: str
    lost: str
    lost_feed: str


@dataclass(frozen=True, slots=True)
class RetentionCurve:
    """The curve of a table.

    Attributes:
        points: Of a line in `_WIDTH` by 92 pixels.
        top: The most versions that can be kept.
        days: The longest retention that the axis shows.
        own, chosen: The table's own retention, and the chosen one.
        has_feed: Whether a change feed was recorded.
    """

    points: str
    top: int
    days: int
    own: RetentionMark
    chosen: RetentionMark
    has_feed: bool


def retention_curve(facts: TableFacts, days: int | None = None) -> RetentionCurve:
    """Return the curve of a table.

    Args:
        facts: The table.
        days: The chosen retention; None for the table's own.

    Raises:
        TableError: The history, or the value of a property of retention, cannot be read.
    """
    horizon = facts.horizon()
    own = horizon.what_if()
    last_change = int(horizon.retentions[-1]) // _DAY + 1
    axis = max(_LEAST_DAYS, round(own.retention / _DAY * 1.5), last_change)
    axis = min(max(axis, days or 0), _MOST_DAYS)
    chosen = own if days is None else horizon.what_if(min(days, axis) * _DAY)
    return RetentionCurve(
        points=_points(horizon, axis),
        top=int(horizon.num_versions[-1]),
        days=axis,
        own=_mark(own, axis),
        chosen=_mark(chosen, axis),
        has_feed=len(horizon.feed.versions) > 0,
    )


def _points(horizon: Horizon, days: int) -> str:
    inside = horizon.retentions <= days * _DAY
    places = np.append(horizon.retentions[inside] / (days * _DAY), 1.0) * _WIDTH
    top = max(int(horizon.num_versions[-1]), 1)
    heights = _FLOOR - _HEIGHT * horizon.num_versions[inside] / top
    # Of the steps in one unit of the drawing the last: the others look the same.
    last = np.union1d(0, np.flatnonzero(np.append(np.diff(np.round(places[:-1])) > 0, True)))
    places, heights = np.append(places[last], places[-1]), heights[last]
    steps = [f"{places[0]:.1f},{heights[0]:.1f}"]
    for place, before, after in zip(places[1:], heights, np.append(heights[1:], heights[-1]), strict=True):
        steps += [f"{place:.1f},{before:.1f}", f"{place:.1f},{after:.1f}"]
    return " ".join(steps)


def _mark(effect: WhatIf, days: int) -> RetentionMark:
    unknown = f" and {fmt.plural(effect.sizes_unknown, 'file')} of unknown size" if effect.sizes_unknown else ""
    freed = f"{fmt.size(effect.bytes)} in {fmt.plural(effect.files - effect.sizes_unknown, 'file')}{unknown}"
    return RetentionMark(
        days=effect.retention // _DAY,
        words=duration(effect.retention),
        place=min(effect.retention / (days * _DAY), 1.0) * _WIDTH,
        kept=effect.kept,
        feed_kept=effect.feed_kept,
        freed=freed if effect.files else "nothing",
        lost=spans(effect.versions),
        lost_feed=spans(effect.feed_versions),
    )
