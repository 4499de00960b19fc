"""Times as people write them: ``yesterday 18:00``, ``last Monday``, ``3 hours ago``, ``28 Nov 2026 6pm Europe/Berlin``.

The grammar is closed: every word has one meaning, and a text with a word outside of it is no time. Invariants: a time
without a zone is UTC, the zone in which all times are shown; a day without a time of day is its beginning; a weekday is
the last one before today; a week begins on Monday; an hour that a zone skips or repeats is refused, never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Final

from explorer.core.errors import RequestError
from explorer.core.protocol.times import aware_moment, zone_named

EXAMPLES: Final = ("yesterday 18:00", "last Monday", "3 hours ago", "2026-03-02 14:05", "2 Mar 2026 6pm Europe/Berlin")
"""Texts that are times, for what is said of a text that is none."""

NO_TIME: Final = "no time"
AMBIGUOUS: Final = "ambiguous"
"""Why a text is refused: it is no time, or more than one."""
_LONGEST: Final = 100
_MONTHS: Final = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
                  "november", "december")  # fmt: skip
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "second"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hour"),
    **dict.fromkeys(("d", "day", "days"), "day"),
    **dict.fromkeys(("w", "week", "weeks"), "week"),
    **dict.fromkeys(("month", "months"), "month"),
    **dict.fromkeys(("y", "year", "years"), "year"),
}
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600}
_SPANS: Final = ("week", "month", "year")
_OFFSET: Final = re.compile(r"(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d{2}))?")
_CLOCK: Final = re.compile(r"(\d{1,2})(?::(\d{2})(?::(\d{2}))?)?\s*(am|pm)?")
_ZONE: Final = re.compile(r"[A-Za-z_]+(/[A-Za-z0-9_+-]+)+")
_AGO: Final = re.compile(r"(\d{1,6}|an?|one)\s*([a-z]+)\s+(?:ago|back)")
_YEAR: Final = re.compile(r"\d{4}")
_DAY: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")


@dataclass(frozen=True, slots=True)
class StatedTime:
    """A time that a person wrote.

    Attributes:
        moment: The time, in the zone of the text.
        zone: The zone's name: ``UTC``, ``Europe/Berlin``, ``+02:00``.
        is_read: It was read in one way of several, or in a zone that the text does not name; the answer says how.
    """

    moment: datetime
    zone: str
    is_read: bool

    @property
    def text(self) -> str:
        """The time as ``Sat 2026-11-28 18:00 Europe/Berlin (17:00 UTC)``; seconds where there are any."""
        shown = f"{self.moment:%a} {_clock_text(self.moment)} {self.zone}"
        utc = self.moment.astimezone(UTC)
        if self.moment.utcoffset() == timedelta(0):
            return shown
        # The date again only where it is another one.
        short = _clock_text(utc) if utc.date() != self.moment.date() else _clock_text(utc)[11:]
        return f"{shown} ({short} UTC)"


def stated_time(text: str, now: datetime) -> StatedTime:
    """Return the time that a text states.

    Args:
        text: ISO 8601, or words as in `EXAMPLES`; a zone may follow: ``UTC``, ``+02:00``, ``Europe/Berlin``.
        now: The present, with a zone.

    Raises:
        RequestError: It states none (``reason`` is ``NO_TIME``), or several (``AMBIGUOUS``): a date such as 3/4/2026,
            an hour that a zone repeats. Or there is no such zone.
    """
    wanted = " ".join(text.split())
    if not wanted or len(wanted) > _LONGEST:
        raise _none(text)
    iso = _iso(wanted)
    if iso is not None:
        return StatedTime(iso, _zone_name(iso), is_read=_clock_time(wanted) is not None)
    try:
        return _with_zone(wanted, now, text)
    except OverflowError as error:
        raise _none(text) from error  # it, or its UTC, is outside the years 1 to 9999


def _with_zone(wanted: str, now: datetime, text: str) -> StatedTime:
    """Return the time of a text that is words, or ISO 8601 with a zone of its own."""
    words, zone, name = _without_zone(wanted)
    if words != wanted and (clock := _clock_time(words)) is not None:
        return StatedTime(_placed(clock, zone, name, begins=clock.time() == time.min), name, is_read=False)
    made = _in_words(_plain(words), now.astimezone(zone), text)
    moment = made if made.tzinfo is not None else _placed(made, zone, name, begins=made.time() == time.min)
    moment.astimezone(UTC)
    return StatedTime(moment.astimezone(zone), name, is_read=True)


def _iso(text: str) -> datetime | None:
    """Return an ISO 8601 time, in UTC if it names no zone; None if it is none."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return aware_moment(read if read.tzinfo else read.replace(tzinfo=UTC))


def _clock_time(text: str) -> datetime | None:
    """Return an ISO 8601 time without a zone; None if it is none."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if read.tzinfo else read


def _zone_name(moment: datetime) -> str:
    return _offset_name(offset) if (offset := moment.utcoffset()) else "UTC"


def _offset_name(offset: timedelta) -> str:
    minutes = abs(offset) // timedelta(minutes=1)
    return f"{'-' if offset < timedelta(0) else '+'}{minutes // 60:02}:{minutes % 60:02}"


def _without_zone(text: str) -> tuple[str, tzinfo, str]:
    """Return a text without the zone at its end, the zone, and its name."""
    words, _, last = text.rpartition(" ")
    if not words:
        words, last = text, ""
    if last.casefold() in ("utc", "gmt", "z"):
        return words, UTC, "UTC"
    if _ZONE.fullmatch(last) is not None:
        return words, zone_named(last), last
    if (offset := _OFFSET.fullmatch(last.casefold())) is not None:
        length = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        if length < timedelta(hours=24) and int(offset[3] or 0) < 60:
            signed = -length if offset[1] == "-" else length
            return words, timezone(signed), _offset_name(signed)
    return text, UTC, "UTC"


def _plain(words: str) -> str:
    """Return words in small letters without those that mean nothing."""
    text = re.sub(r"\b(at|on|the)\b|,", " ", words.casefold())
    text = re.sub(r"\b(\d{1,2}(?::\d{2})*) (am|pm)\b", r"\1\2", text)
    return " ".join(text.split())


def _in_words(words: str, now: datetime, text: str) -> datetime:
    """Return the time that words name: on the clock of the zone, or with a zone where it is exact."""
    if words == "now":
        return now
    if (ago := _AGO.fullmatch(words)) is not None and ago[2] in _UNITS:
        return _ago(_count(ago[1]), _UNITS[ago[2]], now, text)
    for ending, edge in (("start of ", 0), ("beginning of ", 0), ("end of ", 1)):
        if words.startswith(ending):
            return _edge(words.removeprefix(ending), edge, now, text)
    if words.removeprefix("last ").removeprefix("this ") in _SPANS:
        span = words.removeprefix("last ").removeprefix("this ")
        choices = (f"start of {words}", f"end of {words}", f"1 {span} ago")
        raise RequestError(
            f"\u201c{words}\u201d is a time range, not a time. Write {', '.join(choices[:-1])}, or {choices[-1]}.",
            reason=AMBIGUOUS, found=text, allowed=choices,
        )  # fmt: skip
    parts = words.split(" ")
    for count in range(len(parts), -1, -1):
        # A time of day is one word, first or last.
        for day, clock in ((parts[:count], parts[count:]), (parts[count:], parts[:count])):
            if len(clock) > 1:
                continue
            hour = _time_of_day(clock[0]) if clock else time.min
            named = _day(" ".join(day), now.date(), text) if day else now.date() if clock else None
            if hour is not None and named is not None:
                return datetime.combine(named, hour)
    raise _none(text)


def _count(word: str) -> int:
    return int(word) if word.isdecimal() else 1


def _ago(count: int, unit: str, now: datetime, text: str) -> datetime:
    try:
        if unit in _SECONDS:
            return now - timedelta(seconds=count * _SECONDS[unit])
        clock = now.replace(tzinfo=None)
        if unit in ("day", "week"):
            return clock - timedelta(days=count * (7 if unit == "week" else 1))
        months = clock.year * 12 + clock.month - 1 - count * (12 if unit == "year" else 1)
        first = date(months // 12, months % 12 + 1, 1)
    except (OverflowError, ValueError) as error:
        raise _none(text) from error
    # The 31st a month ago is the last day of a shorter month.
    return datetime.combine(min(first + timedelta(clock.day - 1), _next(first, "month") - timedelta(1)), clock.time())


def _edge(what: str, edge: int, now: datetime, text: str) -> datetime:
    """Return the beginning of a day, week, month or year, or of the next one, which is its end."""
    past, span = what.startswith("last "), what.removeprefix("last ").removeprefix("this ")
    today = now.date()
    if span not in _SPANS:
        day = today if span == "day" else _day(what, today, text)
        if day is None:
            raise _none(text)
        return datetime.combine(day + timedelta(edge), time.min)
    first = {"week": today - timedelta(today.weekday()), "month": today.replace(day=1)}.get(
        span, today.replace(month=1, day=1)
    )
    if past:
        before = first - timedelta(1)
        first = {"week": first - timedelta(7), "month": before.replace(day=1)}.get(span, before.replace(month=1, day=1))
    return datetime.combine(_next(first, span) if edge else first, time.min)


def _next(first: date, span: str) -> date:
    if span == "week":
        return first + timedelta(7)
    months = 12 if span == "year" else 1
    place = first.year * 12 + first.month - 1 + months
    return date(place // 12, place % 12 + 1, 1)


def _time_of_day(word: str) -> time | None:
    if word in ("noon", "midday"):
        return time(12)
    if word == "midnight":
        return time.min
    clock = _CLOCK.fullmatch(word)
    if clock is None or (clock[2] is None and clock[4] is None):
        return None
    hour, half = int(clock[1]), clock[4]
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        return time(hour, int(clock[2] or 0), int(clock[3] or 0))
    except ValueError:
        return None


def _day(words: str, today: date, text: str) -> date | None:
    """Return the day that words name, None if they name none."""
    relative = {"today": 0, "yesterday": 1, "day before yesterday": 2, "tomorrow": -1}
    if words in relative:
        return today - timedelta(relative[words])
    ahead, name = words.startswith("next "), words.removeprefix("last ").removeprefix("next ")
    place = _named(name, _WEEKDAYS)
    if place is not None:
        back = (today.weekday() - place - 1) % 7 + 1
        return today + timedelta(7 - back if back < 7 else 7) if ahead else today - timedelta(back)
    if (ago := _AGO.fullmatch(words)) is not None and ago[2] in _UNITS and _UNITS[ago[2]] not in _SECONDS:
        return _ago(_count(ago[1]), _UNITS[ago[2]], datetime.combine(today, time.min), text).date()
    try:
        return date.fromisoformat(words) if "-" in words else _calendar_day(words, today, text)
    except (ValueError, OverflowError):
        return None


def _calendar_day(words: str, today: date, text: str) -> date | None:
    if (numbers := re.fullmatch(r"(\d{1,2})([./])(\d{1,2})\2(\d{4})", words)) is not None:
        first, second, last = int(numbers[1]), int(numbers[3]), int(numbers[4])
        return date(last, second, first) if numbers[2] == "." else _slashed(first, second, last, text)
    parts = words.split(" ")
    year = int(parts.pop()) if len(parts) == 3 and _YEAR.fullmatch(parts[2]) else None
    if len(parts) != 2:
        return None
    number, name = (parts[0], parts[1]) if parts[0][0].isdecimal() else (parts[1], parts[0])
    month, day = _named(name, _MONTHS), _DAY.fullmatch(number)
    if month is None or day is None:
        return None
    if year is not None:
        return date(year, month + 1, int(day[1]))
    return _last_such(month + 1, int(day[1]), today)


def _last_such(month: int, day: int, today: date) -> date | None:
    """Return the last day with this number and month that is not after today: a leap day may be years ago."""
    for year in range(today.year, today.year - 9, -1):
        try:
            day_named = date(year, month, day)
        except ValueError:
            continue
        if day_named <= today:
            return day_named
    return None


def _slashed(first: int, second: int, year: int, text: str) -> date:
    """Return a date with slashes, which some read by the day first, others by the month; refuse it if both can be."""
    if first <= 12 and second <= 12 and first != second:
        readings = (date(year, first, second).isoformat(), date(year, second, first).isoformat())
        raise RequestError(
            f"\u201c{text.strip()}\u201d is two dates. Write {readings[0]} or {readings[1]}.",
            reason=AMBIGUOUS, found=text, allowed=readings,
        )  # fmt: skip
    return date(year, *((second, first) if first > 12 else (first, second)))


def _named(word: str, names: tuple[str, ...]) -> int | None:
    """Return the place of a name: the whole of it, or its beginning of three letters or four."""
    return next((place for place, name in enumerate(names) if word in (name, name[:3], name[:4])), None)


def _placed(clock: datetime, zone: tzinfo, name: str, *, begins: bool = False) -> datetime:
    """Return a time on the clock of a zone.

    Args:
        clock: The time, without a zone.
        zone, name: The zone.
        begins: A day is meant from its beginning, which is there even where midnight is skipped or repeated.

    Raises:
        RequestError: The zone's clocks skip it, or show it twice.
    """
    first, second = clock.replace(tzinfo=zone), clock.replace(tzinfo=zone, fold=1)
    if begins or first.utcoffset() == second.utcoffset():
        return first.astimezone(UTC).astimezone(zone)
    offsets = [_offset_name(offset) for each in (first, second) if (offset := each.utcoffset()) is not None]
    exists = first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == clock
    shown = _clock_text(clock)
    choices = tuple(f"{shown} {offset}" for offset in offsets)
    if exists:
        message = f"{shown} comes twice in {name}, as clocks are set back. Write {choices[0]} or {choices[1]}."
        raise RequestError(message, reason=AMBIGUOUS, found=shown, allowed=choices)
    message = f"{shown} does not exist in {name}, as clocks are set forward over it. Write an earlier or a later time."
    raise RequestError(message, reason=AMBIGUOUS, found=shown, allowed=choices)


def _clock_text(moment: datetime) -> str:
    spec = "minutes" if not (moment.second or moment.microsecond) else "seconds"
    return moment.replace(tzinfo=None).isoformat(" ", timespec=spec)


def _none(text: str) -> RequestError:
    shown = " ".join(text.split())
    shown = shown if len(shown) <= 60 else f"{shown[:59]}\u2026"
    return RequestError(
        f"\u201c{shown}\u201d is not a time. Write one such as {', '.join(EXAMPLES[:-1])}, or {EXAMPLES[-1]}.",
        reason=NO_TIME, found=text[:_LONGEST], allowed=EXAMPLES,
    )  # fmt: skip
