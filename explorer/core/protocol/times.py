"""Moments, days and spans: as numbers from the epoch, and as text.

Protocol sections: Add File and Remove File (``modificationTime``, ``deletionTimestamp``), In-Commit Timestamps.
Invariants: conversions are exact and round towards the past; every moment that is written has its zone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

from explorer.core.errors import InvalidIntent, RequestError
from explorer.core.protocol.table_properties.values import parse_interval

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_MILLISECOND: Final = timedelta(milliseconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_FIRST: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_LAST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_HOURS: Final = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")


def milliseconds(moment: datetime) -> int:
    """Return a moment with a zone in ms since the epoch.

    Raises:
        RequestError: It has no zone.
    """
    if moment.tzinfo is None:
        raise RequestError(f"The time {moment} has no zone. Give it in UTC.", timestamp=str(moment))
    return (moment - _EPOCH) // _MILLISECOND


def from_milliseconds(count: int) -> datetime:
    """Return the moment, in UTC, ``count`` ms since the epoch.

    Raises:
        OverflowError: It lies outside the years 1 to 9999.
    """
    return _EPOCH + timedelta(milliseconds=count)


def in_calendar(count: int) -> bool:
    """Return whether a moment, in ms since the epoch, lies in the years 1 to 9999."""
    return _FIRST <= count <= _LAST


def microseconds(moment: datetime) -> int:
    """Return a moment in microseconds since the epoch; one without a zone counts on its own clock."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def days(day: date) -> int:
    """Return a day in days since the epoch."""
    return day.toordinal() - _EPOCH_DAY


def span_milliseconds(span: timedelta) -> int:
    """Return a duration in ms."""
    return span // _MILLISECOND


def aware_moment(time: datetime | str) -> datetime:
    """Read a moment: an aware datetime, or ISO 8601 text with a zone.

    Raises:
        RequestError: It is not a time, or has no zone.
    """
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time.strip())
        except ValueError as error:
            raise RequestError(
                f"{time!r} is not an ISO 8601 time, such as 2026-03-02T14:05:11Z.", timestamp=time
            ) from error
    if not isinstance(time, datetime):
        raise RequestError(
            f"{time!r} is not a valid time. Use a datetime with a time zone, or an ISO 8601 string.", found=repr(time)
        )
    if time.tzinfo is None:
        raise RequestError(
            f"The time {time} has no time zone. Use a form such as 2026-03-02T14:05:11Z.", timestamp=time
        )
    try:
        time.astimezone(UTC)
    except OverflowError as error:
        raise RequestError(f"The time {time} is outside the years 1 to 9999 of UTC.", timestamp=str(time)) from error
    return time


def day_or_moment(text: str) -> datetime:
    """Read a moment with a zone, or a day, which begins at midnight in UTC.

    Raises:
        RequestError: It is neither.
    """
    try:
        return datetime.combine(date.fromisoformat(text.strip()), datetime.min.time(), UTC)
    except ValueError:
        return aware_moment(text)


def older_than(text: str | None) -> datetime | timedelta | None:
    """Read the field ``olderThan`` of an intent: an interval, or a time with a zone; None if it is left out.

    Raises:
        InvalidIntent: It is neither.
    """
    if text is None:
        return None
    try:
        if re.match(r"\s*\d{4}-", text) is None:
            return parse_interval(text)
        return aware_moment(text)
    except (ValueError, RequestError) as error:
        raise InvalidIntent(
            f"{text!r} is neither an interval such as 'interval 30 days' nor a time with a zone such as "
            "2026-03-02T14:05:11Z.",
            field="olderThan",
            allowed=["interval 30 days", "2026-03-02T14:05:11Z"],
        ) from error


def period(text: str, field: str, *, or_zero: bool = False) -> timedelta:
    """Read an interval that somebody set, such as ``7 days`` or ``1 hour 30 minutes``.

    Args:
        text: What was set.
        field: The option or setting, for the error.
        or_zero: Whether it may be 0.

    Raises:
        RequestError: It is none, is negative, or is 0 where that is not allowed.
    """
    try:
        length = parse_interval(text)
    except ValueError as error:
        raise RequestError(
            f"{field} is {text!r}, not an interval such as '7 days' or '1 minute'.", field=field
        ) from error
    if length < timedelta() or not (length or or_zero):
        raise RequestError(
            f"{field} is {text!r}; it must {'not be negative' if or_zero else 'be longer than 0'}.", field=field
        )
    return length


def before(moment: datetime, length: timedelta) -> datetime:
    """Return the moment that lies a period before another, or the first of year 1 where there is none."""
    try:
        return moment - length
    except OverflowError:
        return datetime.min.replace(tzinfo=moment.tzinfo)


def duration(text: str) -> int:
    """Read a duration, such as ``7 days`` or ``interval 1 week``, in ms.

    Raises:
        RequestError: It is none, or a negative one.
    """
    try:
        length = span_milliseconds(parse_interval(text))
    except ValueError as error:
        raise RequestError(
            f"{text!r} is not a valid duration. Use a form such as '7 days' or '36 hours'.",
            found=text,
            expected="7 days",
        ) from error
    if length < 0:
        raise RequestError(f"A duration cannot be negative, as {text!r} is.", found=text, expected="7 days")
    return length


def moment_text(count: int) -> str:
    """Return a moment in ms since the epoch as ISO 8601 text in UTC, to the second."""
    try:
        return from_milliseconds(count).isoformat(timespec="seconds")
    except OverflowError:
        return "before all times" if count < 0 else "after all times"


def zone_named(name: str) -> tzinfo:
    """Return the time zone of a name such as ``Europe/Berlin``.

    Raises:
        RequestError: There is no such zone.
    """
    from zoneinfo import ZoneInfo  # not needed to read a log, and slow to import

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise RequestError(
            f"Unknown time zone {name!r}. Use an IANA name such as Europe/Berlin.", found=name
        ) from error


@dataclass(frozen=True, slots=True)
class DayHours:
    """Hours of each day, such as ``07:00-19:00``; if they end before they begin, they lead over midnight.

    Attributes:
        begins, ends: The first moment, and the first one after them.
        zone: The name of the time zone.
    """

    begins: time
    ends: time
    zone: str = "UTC"

    @classmethod
    def read(cls, text: str, zone: str = "UTC") -> DayHours:
        """Return the hours of a text.

        Raises:
            ValueError: It is none.
            RequestError: There is no such zone.
        """
        match = _HOURS.fullmatch(text.strip())
        if match is None:
            raise ValueError(text)
        zone_named(zone)
        return cls(time.fromisoformat(match[1]), time.fromisoformat(match[2]), zone)

    def hold(self, moment: datetime) -> bool:
        """Return whether a time, with a zone, is within them."""
        at = moment.astimezone(zone_named(self.zone)).time()
        if self.begins <= self.ends:
            return self.begins <= at < self.ends
        return at >= self.begins or at < self.ends
