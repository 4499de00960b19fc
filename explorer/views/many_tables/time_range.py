"""The part of time that the lake's timeline shows, its text in addresses, and the ticks of its axis; all in UTC.

``24h``, ``7d``, ``30d``, ``visit`` (since the last visit), two times: ``2026-11-20T09:00~2026-11-27``,
``last Monday ~ yesterday 18:00``; or one, from which it lasts until now. Times are read as in every other field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from explorer.core.errors import RequestError
from explorer.core.protocol.times import from_milliseconds, in_calendar, milliseconds
from explorer.core.versions.commits.time_words import NO_TIME, stated_time

HOUR: Final = 3_600_000
DAY: Final = 24 * HOUR
SPANS: Final[Mapping[str, int]] = {"24h": DAY, "7d": 7 * DAY, "30d": 30 * DAY}
"""The ranges that end now, in ms."""
DEFAULT: Final = "7d"
_SHORTEST: Final = 60_000
_AHEAD: Final = 12
"""Of a range that ends now, so manieth of it is shown of what is to come."""
_STEPS: Final = (HOUR // 4, HOUR, 3 * HOUR, 6 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY, 365 * DAY)
_MOST_TICKS: Final = 11


@dataclass(frozen=True, slots=True)
class TimeTick:
    """A line of the axis: where, as a share of its length, and its label."""

    share: float
    label: str


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A part of time; ms since the epoch.

    Attributes:
        start, end: What commits are counted in.
        until: Where the axis ends: later than ``end`` if what is to come is shown.
        now: The present.
        text: The range as the address has it.
        note: Why it is not the one that was asked for; empty if it is.
    """

    start: int
    end: int
    until: int
    now: int
    text: str
    note: str = ""

    @property
    def shows_now(self) -> bool:
        """Whether the present is on the axis."""
        return self.start <= self.now <= self.until

    def share(self, time: int) -> float:
        """Return where a time is on the axis: 0 at its start, 1 at its end."""
        return (time - self.start) / (self.until - self.start)

    def ticks(self) -> tuple[TimeTick, ...]:
        """Return the ticks of the axis."""
        span = self.until - self.start
        step = next((each for each in _STEPS if span / each <= _MOST_TICKS), _STEPS[-1])
        # Weeks begin on a Monday; the epoch was a Thursday.
        origin = 4 * DAY if step % (7 * DAY) == 0 else 0
        first = -(-(self.start - origin) // step) * step + origin
        return tuple(TimeTick(self.share(time), _label(time, step)) for time in range(first, self.until, step))

    def moved(self, way: int) -> str:
        """Return the text of the range before it, for -1, or after it, for 1, as long as this one."""
        span = self.end - self.start
        return range_text(self.start + way * span, self.end + way * span)

    def widened(self) -> str:
        """Return the text of a range twice as long around it, which ends now at the latest."""
        span = self.end - self.start
        end = min(self.end + span // 2, self.now) if self.end < self.now else self.now
        first = end - 2 * span
        return range_text(first, end) if end < self.now else f"{_minute(first)}~"


def time_range(text: str, now: datetime, since: datetime | None = None) -> TimeRange:
    """Return the range that a text names.

    Args:
        text: As in addresses; empty for the last seven days.
        now: The present.
        since: The last visit; None if not known.

    Raises:
        RequestError: It names no range.
    """
    present, wanted = milliseconds(now), text or DEFAULT
    if wanted == "visit":
        if since is None:
            note = "No earlier visit of this browser is known, so the last 7 days are shown."
            return _until_now(present - SPANS[DEFAULT], present, DEFAULT, note)
        return _until_now(min(milliseconds(since), present - HOUR), present, "visit")
    if wanted in SPANS:
        return _until_now(present - SPANS[wanted], present, wanted)
    first, separator, last = wanted.partition("~")
    try:
        start, end = _moment(first, now), _moment(last, now) if last.strip() else present
    except RequestError as error:
        if separator or error.reason != NO_TIME:
            raise error.with_facts(field="range") from error
        message = (
            f"\u201c{text[:60]}\u201d is not a range of time. Use {', '.join(SPANS)}, visit, or times such as "
            "yesterday 18:00, or 2026-11-20 ~ 2026-11-27 12:00."
        )
        raise RequestError(message, field="range", allowed=(*SPANS, "visit")) from error
    if end - start < _SHORTEST:
        message = "The range ends before it begins, or lasts less than a minute. Give the earlier time first."
        raise RequestError(message, field="range")
    if start < present <= end:
        return _until_now(start, present, range_text(start, present))
    return TimeRange(start, end, end, present, range_text(start, end))


def range_text(start: int, end: int) -> str:
    """Return the text of a range between two times, in ms since the epoch, to the minute."""
    return f"{_minute(start)}~{_minute(end)}"


def _until_now(start: int, now: int, text: str, note: str = "") -> TimeRange:
    return TimeRange(start, now, now + (now - start) // _AHEAD, now, text, note)


def _moment(text: str, now: datetime) -> int:
    """Return a time in ms since the epoch; one without a zone is UTC, as all times are shown."""
    return milliseconds(stated_time(text, now).moment)


def _minute(time: int) -> str:
    bounded = time if in_calendar(time) else 0
    return from_milliseconds(bounded).strftime("%Y-%m-%dT%H:%M")


def _label(time: int, step: int) -> str:
    moment = from_milliseconds(time)
    if step < DAY:
        return moment.strftime("%H:%M") if time % DAY else f"{moment:%a} {moment.day} {moment:%b}"
    if step >= 30 * DAY:
        return f"{moment.day} {moment:%b %Y}"
    return f"{moment:%a} {moment.day} {moment:%b}" if step <= 2 * DAY else f"{moment.day} {moment:%b}"
