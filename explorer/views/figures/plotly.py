"""The shared parts of figures: plotly's JSON as plain dictionaries, one layout, ticks by numbers and by the calendar.

Builders return a `Figure`, a dictionary of ``data`` and ``layout`` that plotly.js draws. Every text in a label went
through `formatting.plotly_text`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeAlias, TypedDict

import numpy as np

from explorer.core.protocol.arrow.arrays import Float64s, Int64s
from explorer.views.figures.theme import FONT_FAMILY, Theme

Part: TypeAlias = dict[str, object]
"""A trace, a shape, an annotation, an axis or a layout, in plotly's own names."""


class Figure(TypedDict):
    """A figure in plotly's own names."""

    data: list[Part]
    layout: Part


def base_layout(theme: Theme, height: int, margin: dict[str, int]) -> Part:
    """Return the layout all figures start from: no legend, no drag, transparent backgrounds, the theme's font."""
    return {
        "template": "none",
        "height": height,
        "margin": margin | {"pad": 0},
        "autosize": True,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT_FAMILY, "size": 11, "color": theme.muted},
        "hoverlabel": {
            "bgcolor": theme.surface,
            "bordercolor": theme.line,
            "font": {"family": FONT_FAMILY, "size": 12, "color": theme.ink},
            "align": "left",
        },
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
    }


def axis(theme: Theme, **settings: object) -> Part:
    """Return an axis without lines or zoom, its labels in the muted colour; ``settings`` override them."""
    shared: Part = {
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "zerolinecolor": theme.line,
        "zerolinewidth": 1,
        "gridcolor": theme.grid,
        "showline": False,
        "ticks": "",
        "automargin": False,
        "tickfont": {"size": 10.5, "color": theme.muted},
    }
    return shared | settings


def nice_ticks(top: float, square_root: bool = False, wanted: int = 2) -> list[float]:
    """Return up to ``wanted`` round values in (0, top], spread over the axis (which may be a square-root scale)."""
    if not top > 0 or not math.isfinite(top):
        return []
    if square_root:
        magnitudes = (s * 10.0**p for p in range(int(math.log10(top)) + 1, -3, -1) for s in (5, 2, 1))
        largest = next((value for value in magnitudes if value <= top), top)
        return sorted({_round_down(largest / 6), largest} if wanted > 1 else {largest})
    step = _round_up(top / wanted)
    return [step * index for index in range(1, wanted + 1) if step * index <= top * 1.0001] or [_round_down(top)]


def round_versions(first: int, last: int, most: int) -> list[int]:
    """Return at most ``most`` round versions between two."""
    step = next(s * 10**p for p in range(18) for s in (1, 2, 5) if (last - first + 1) / (s * 10**p) <= most)
    return list(range(-(-first // step) * step, last + 1, step))


def version_ticks(first: int, last: int, most: int) -> Part:
    """Return at most ``most`` round versions between two, labelled ``v10``."""
    ticks = round_versions(first, last, most)
    return {"tickvals": ticks, "ticktext": [f"v{tick}" for tick in ticks]}


def version_cursor(version: int, span: int, theme: Theme) -> Part:
    """Return the mark of a version over a figure: as wide as its slot, but narrow where slots are wide."""
    half = min(0.5, 0.06 * (span + 1))
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": version - half, "x1": version + half, "y0": 0, "y1": 1,
        "fillcolor": theme.cursor, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


def plain_json(value: object) -> object:
    """Return a figure, or a part of one, as JSON can hold it: arrays as lists, no number as None, times as text."""
    match value:
        case dict():
            return {str(key): plain_json(part) for key, part in value.items()}
        case list() | tuple():
            return [plain_json(part) for part in value]
        case np.ndarray() | np.generic():
            plain = value.dtype.kind in "biu" or (value.dtype.kind == "f" and bool(np.isfinite(value).all()))
            return value.tolist() if plain else plain_json(value.tolist())
        case float():
            return value if math.isfinite(value) else None
        case date():
            return value.isoformat()
        case _:
            return value


def _round_down(value: float) -> float:
    if not value > 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= value * 1.0001)


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.9999)


_DAY: Final = 86_400_000
# A log may name any time; past this one a date cannot be counted on.
_LATEST: Final = 250_000_000_000_000
_STEPS: Final[tuple[tuple[str, int, int], ...]] = (
    ("minute", 1, 60_000), ("minute", 10, 600_000), ("hour", 1, 3_600_000), ("hour", 6, 21_600_000),
    ("day", 1, _DAY), ("week", 1, 7 * _DAY), ("month", 1, 30 * _DAY), ("month", 3, 91 * _DAY), ("year", 1, 365 * _DAY),
    ("year", 5, 5 * 365 * _DAY),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tick:
    """A label, and its place on the axis."""

    place: float
    text: str


def calendar_ticks(versions: Int64s, times: Int64s, most: int) -> list[Tick]:
    """Return ticks where a unit of the calendar begins, in UTC: just before its first commit.

    Args:
        versions: Versions, ascending.
        times: Their commit times, ms since the epoch, never falling.
        most: Ticks at most.
    """
    if len(times) < 2 or times[-1] <= times[0] or times[0] < 0 or times[-1] > _LATEST:
        return []
    start, end = _utc(int(times[0])), _utc(int(times[-1]))
    for unit, size, length in _STEPS:
        # Few commits over a long time would each have an hour of their own.
        if (times[-1] - times[0]) / length > 4 * max(most, 1):
            continue
        bounds = list(_bounds(start, end, unit, size))
        places = np.searchsorted(times, [_ms(bound) for bound in bounds])
        # Units without a commit share the place of the next one, and have no tick of their own.
        bounds_by_place = {int(place): bound for place, bound in zip(places, bounds, strict=True) if place < len(times)}
        if (
            unit in {"minute", "hour"}
            and len({bound.date() for bound in bounds_by_place.values()}) == len(bounds_by_place) > 1
        ):
            continue  # Days say as much.
        if 0 < len(bounds_by_place) <= most:
            return _labelled({float(versions[place]) - 0.5: bound for place, bound in bounds_by_place.items()}, unit)
    return []


def clock_ticks(first: float, last: float, most: int) -> list[Tick]:
    """Return at most so many ticks between two times, in ms since the epoch, where a unit of the calendar begins."""
    if not 0 <= first < last <= _LATEST:
        return []
    start, end = _utc(int(first)), _utc(int(last))
    for unit, size, length in _STEPS:
        if (last - first) / length <= most + 1:
            bounds = {_ms(bound): bound for bound in _bounds(start, end, unit, size)}
            if 0 < len(bounds) <= most:
                return _labelled({float(at): bound for at, bound in bounds.items()}, unit)
    return []


def apart(places: Float64s, gap: float) -> list[int]:
    """Return the indices of places that are at least a gap from the one kept before."""
    chosen: list[int] = []
    for index, place in enumerate(places.tolist()):
        if not chosen or place - places[chosen[-1]] >= gap:
            chosen.append(index)
    return chosen


def _labelled(bounds: dict[float, datetime], unit: str) -> list[Tick]:
    ticks: list[Tick] = []
    year = month = day = -1
    for place, bound in sorted(bounds.items()):
        new_year, new_month = bound.year != year, bound.month != month
        new_day = new_month or bound.day != day
        ticks.append(Tick(place, _text(bound, unit, new_year=new_year, new_month=new_month, new_day=new_day)))
        year, month, day = bound.year, bound.month, bound.day
    return ticks


def _text(bound: datetime, unit: str, *, new_year: bool, new_month: bool, new_day: bool) -> str:
    if unit == "year":
        return str(bound.year)
    if unit == "month":
        return f"{bound:%b} {bound.year}" if new_year else f"{bound:%b}"
    if unit in {"week", "day"}:
        day = f"{bound:%a} {bound.day}"
        return f"{day} {bound:%b} {bound.year}" if new_year else f"{day} {bound:%b}" if new_month else day
    return f"{bound.day} {bound:%b} {bound:%H:%M}" if new_day else f"{bound:%H:%M}"


def _bounds(start: datetime, end: datetime, unit: str, size: int) -> Iterator[datetime]:
    bound = _floor(start, unit, size)
    while bound <= end:
        if bound >= start:
            yield bound
        bound = _next(bound, unit, size)


def _floor(time: datetime, unit: str, size: int) -> datetime:
    day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "year":
            return day.replace(year=max(1, time.year // size * size), month=1, day=1)
        case "month":
            return day.replace(month=(time.month - 1) // size * size + 1, day=1)
        case "week":
            return day - timedelta(days=day.weekday())
        case "day":
            return day
        case "hour":
            return day.replace(hour=time.hour // size * size)
        case _:
            return time.replace(minute=time.minute // size * size, second=0, microsecond=0)


def _next(bound: datetime, unit: str, size: int) -> datetime:
    match unit:
        case "year":
            return bound.replace(year=bound.year + size)
        case "month":
            months = bound.month - 1 + size
            return bound.replace(year=bound.year + months // 12, month=months % 12 + 1)
        case "week":
            return bound + timedelta(days=7)
        case "day":
            return bound + timedelta(days=1)
        case "hour":
            return bound + timedelta(hours=size)
        case _:
            return bound + timedelta(minutes=size)


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _ms(time: datetime) -> int:
    return int(time.timestamp() * 1000)
