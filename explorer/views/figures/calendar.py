"""Calendar ticks on an axis of versions or of time: where a year, month, week, day or hour begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from explorer.core.protocol.arrow.arrays import Float64s, Int64s

__all__ = ["Tick", "apart", "calendar_ticks", "clock_ticks"]

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
    year = month = -1
    for place, bound in sorted(bounds.items()):
        new_year, new_month = bound.year != year, bound.month != month
        ticks.append(Tick(place, _text(bound, unit, new_year=new_year, new_month=new_month)))
        year, month = bound.year, bound.month
    return ticks


def _text(bound: datetime, unit: str, *, new_year: bool, new_month: bool) -> str:
    if unit == "year":
        return str(bound.year)
    if unit == "month":
        return f"{bound:%b} {bound.year}" if new_year else f"{bound:%b}"
    if unit in {"week", "day"}:
        day = f"{bound:%a} {bound.day}"
        return f"{day} {bound:%b} {bound.year}" if new_year else f"{day} {bound:%b}" if new_month else day
    return (
        f"{bound:%H:%M}" if (bound.hour or bound.minute) and not new_year else f"{bound.day} {bound:%b} {bound:%H:%M}"
    )


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
