"""Times in words, against the calendar, the wall clock and the zones of the standard library."""

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import RequestError
from explorer.core.versions.commits.time_words import AMBIGUOUS, EXAMPLES, NO_TIME, stated_time

NOW = datetime(2026, 11, 29, 19, 0, 33, tzinfo=UTC)  # a Sunday
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yesterday 18:00", "2026-11-28T18:00"),
        ("at 6pm, yesterday", "2026-11-28T18:00"),
        ("Last Monday", "2026-11-23T00:00"),
        ("sunday", "2026-11-22T00:00"),
        ("thursday 9:30 am", "2026-11-26T09:30"),
        ("the day before yesterday", "2026-11-27T00:00"),
        ("12 am", "2026-11-29T00:00"),
        ("yesterday noon", "2026-11-28T12:00"),
        ("18:00", "2026-11-29T18:00"),
        ("3 hours ago", "2026-11-29T16:00:33"),
        ("a week ago", "2026-11-22T19:00:33"),
        ("2 days ago at 6pm", "2026-11-27T18:00"),
        ("9 months ago", "2026-02-28T19:00:33"),
        ("2 years back", "2024-11-29T19:00:33"),
        ("start of last week", "2026-11-16T00:00"),
        ("start of week", "2026-11-23T00:00"),
        ("end of last month", "2026-11-01T00:00"),
        ("beginning of the year", "2026-01-01T00:00"),
        ("end of yesterday", "2026-11-29T00:00"),
        ("30 Nov", "2025-11-30T00:00"),
        ("29 Feb", "2024-02-29T00:00"),
        ("November 3rd, 2025", "2025-11-03T00:00"),
        ("31.12.2025 23:59", "2025-12-31T23:59"),
        ("13/04/2026", "2026-04-13T00:00"),
        ("2026-11-20", "2026-11-20T00:00"),
        ("2026-11-20 6pm", "2026-11-20T18:00"),
        ("2026-03-02T14:05:11+02:00", "2026-03-02T12:05:11"),
        ("2026-03-02 14:05 Europe/Berlin", "2026-03-02T13:05"),
        ("yesterday 18:00 utc-5", "2026-11-28T23:00"),
        ("now", "2026-11-29T19:00:33"),
    ],
)
def test_a_text_is_read_as_a_person_means_it(text: str, expected: str) -> None:
    assert stated_time(text, NOW).moment.astimezone(UTC) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@given(MOMENTS, ZONES, st.times(datetime.min.time(), time(23, 59)))
def test_yesterday_is_the_day_before_on_the_clock_of_the_zone(now: datetime, name: str, clock: time) -> None:
    zone = ZoneInfo(name)
    local = datetime.combine(now.astimezone(zone).date() - timedelta(1), clock.replace(second=0, microsecond=0))
    readings = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    exists = all(each.astimezone(zone).replace(tzinfo=None) == local for each in readings)
    text = f"yesterday {local:%H:%M} {name}"
    try:
        found: object = stated_time(text, now).moment
    except RequestError as error:
        found = error.reason
    if len(readings) == 1 or (local.time() == time.min and exists):
        assert found == min(readings)
    elif local.time() == time.min:
        # Midnight is skipped: the day begins later.
        assert isinstance(found, datetime)
        assert found.astimezone(zone).date() == local.date()
    else:
        assert found == AMBIGUOUS


@given(MOMENTS, st.sampled_from(["monday", "Tue", "wednesday", "thu", "Friday", "saturday", "sun"]))
def test_a_weekday_is_the_last_one_before_today(now: datetime, name: str) -> None:
    before = [now.date() - timedelta(back) for back in range(1, 8)]
    (expected,) = [day for day in before if f"{day:%A}".casefold().startswith(name.casefold())]
    assert stated_time(name, now).moment == datetime.combine(expected, time.min, UTC)


@given(MOMENTS, st.integers(1, 400))
def test_months_ago_keep_the_day_or_end_with_the_month(now: datetime, count: int) -> None:
    months = now.year * 12 + now.month - 1 - count
    year, month = months // 12, months % 12 + 1
    expected = now.replace(year=year, month=month, day=min(now.day, monthrange(year, month)[1]))
    assert stated_time(f"{count} months ago", now).moment == expected


@given(MOMENTS)
def test_a_day_without_a_year_is_the_last_one_that_was(now: datetime) -> None:
    tomorrow = now.date() + timedelta(1)
    found = stated_time(f"{tomorrow:%d %B}", now).moment.date()
    years = (year for year in range(tomorrow.year - 1, 1970, -1) if (tomorrow.month, tomorrow.day) != (2, 29) or
             monthrange(year, 2)[1] == 29)  # fmt: skip
    assert found == date(next(years), tomorrow.month, tomorrow.day)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("03/04/2026", ("2026-03-04", "2026-04-03")),
        ("last week", ("start of last week", "end of last week", "1 week ago")),
        ("2026-10-25 02:30 Europe/Berlin", ("2026-10-25 02:30 +02:00", "2026-10-25 02:30 +01:00")),
        ("2026-03-29 02:30 Europe/Berlin", ("2026-03-29 02:30 +01:00", "2026-03-29 02:30 +02:00")),
    ],
)
def test_what_is_more_than_one_time_is_refused_with_each(text: str, allowed: tuple[str, ...]) -> None:
    with pytest.raises(RequestError) as refused:
        stated_time(text, NOW)
    assert (refused.value.reason, refused.value.allowed) == (AMBIGUOUS, allowed)
    for each in allowed:
        assert stated_time(each, NOW).moment < NOW


@pytest.mark.parametrize(
    "text",
    ["", "  ", "soon", "v30", "30", "a", "may", "eu", "amount > 100", "this morning", "yesterdya", "25:00", "13pm",
     "2026-13-45", "31 Nov", "999999 years ago", "yesterday yesterday", "18:00 19:00", "x" * 5000,
     "2026-11-20T10:00+02:00 Europe/Berlin", "1.2.3.4", "ago", "2 ago", "last", "end of"],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(RequestError) as refused:
        stated_time(text, NOW)
    assert (refused.value.reason, refused.value.allowed) == (NO_TIME, EXAMPLES)
    assert len(refused.value.message) < 300


def test_an_example_is_a_time_and_an_unknown_zone_is_named() -> None:
    assert all(stated_time(text, NOW).is_read for text in EXAMPLES)
    assert not stated_time("2026-03-02T14:05Z", NOW).is_read
    assert not stated_time("2026-03-02 14:05 Europe/Berlin", NOW).is_read
    with pytest.raises(RequestError, match="Unknown time zone 'Europe/Berlon'"):
        stated_time("yesterday Europe/Berlon", NOW)


@given(st.text(max_size=120))
def test_any_text_is_a_time_or_an_error_of_ours(text: str) -> None:
    try:
        zoned = stated_time(text, NOW).moment.tzinfo is not None
    except RequestError as error:
        zoned = error.allowed is not None or "time zone" in error.message
    assert zoned


@pytest.mark.parametrize(
    "text",
    [
        "1 Jan 0001 Europe/Berlin",
        "0001-01-01 00:00 Asia/Tokyo",
        "0001-01-01 +14:00",
        "31.12.9999 23:59 -23:59",
        "end of 31 Dec 9999",
        "end of 9999-12-31 -12",
        "start of 0001-01-01 Asia/Tokyo",
    ],
)
def test_a_time_at_the_ends_of_the_calendar_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(RequestError, match="is not a time") as found:
        stated_time(text, NOW)
    assert found.value.reason == NO_TIME


def test_the_zone_is_stated_with_the_time() -> None:
    assert stated_time("yesterday 18:00", NOW).text == "Sat 2026-11-28 18:00 UTC"
    assert stated_time("yesterday 6pm Europe/Berlin", NOW).text == "Sat 2026-11-28 18:00 Europe/Berlin (17:00 UTC)"
    assert stated_time("now Asia/Tokyo", NOW).text == "Mon 2026-11-30 04:00:33 Asia/Tokyo (2026-11-29 19:00:33 UTC)"
