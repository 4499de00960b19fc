"""Properties, moments and spans as tables and people state them, each read exactly or refused with what to write."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from explorer.core.errors import CorruptTable, InvalidIntent, RequestError
from explorer.core.protocol import times
from explorer.core.protocol.table_properties.table_property import (
    Choice,
    Choices,
    Columns,
    Flag,
    FreeText,
    Integer,
    Interval,
    TableProperty,
)
from explorer.core.protocol.table_properties.values import constraints, flag, interval, number


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("interval 1 week", timedelta(7)),
        ("1 day 12 hours", timedelta(1.5)),
        (" INTERVAL -2 Minutes +1 SECOND", timedelta(seconds=-119)),
        ("interval 1.5 hours", timedelta(minutes=90)),
        ("3milliseconds 4 microsecond", timedelta(microseconds=3004)),
        (f"interval {' ' * 185}7 days", timedelta(7)),
    ],
)
def test_a_span_is_the_sum_of_its_parts(text: str, span: timedelta) -> None:
    assert interval({"k": text}, "k", timedelta(9)) == span
    assert interval({"other": text}, "k", timedelta(9)) == timedelta(9)
    assert Interval("k", "").of({"k": text}) == span


@pytest.mark.parametrize(
    "text",
    ["", "interval", "7", "days", "7 moons", "1 month", "intervals 7 days", "7 days x", "1 dayss", "7 days, 1 hour"],
)
def test_a_text_that_is_no_span_is_told_for_what_it_was_read(text: str) -> None:
    expected = "an interval such as 'interval 7 days'"
    with pytest.raises(CorruptTable) as refused:
        interval({"k": text}, "k", timedelta())
    assert (refused.value.found, refused.value.expected) == (text, expected)
    assert str(refused.value) == (
        f"The table property k is {text!r}; it must be {expected}. Set the property again to repair the table."
    )
    with pytest.raises(RequestError) as length:
        times.duration(text)
    assert (length.value.found, length.value.expected) == (text, "7 days")
    assert str(length.value) == f"{text!r} is not a valid duration. Use a form such as '7 days' or '36 hours'."
    with pytest.raises(InvalidIntent) as older:
        times.older_than(text)
    assert (older.value.field, older.value.allowed) == ("olderThan", ["interval 30 days", "2026-03-02T14:05:11Z"])
    assert str(older.value) == (
        f"{text!r} is neither an interval such as 'interval 30 days' nor a time with a zone such as "
        "2026-03-02T14:05:11Z."
    )
    assert Interval("k", "").refusal(text) == ("an interval such as 'interval 7 days', without months and years",)


def test_a_property_of_two_states_or_of_a_whole_number_has_its_default_where_it_is_not_set() -> None:
    assert [flag({"k": text}, "k", default=True) for text in (" TRUE ", "False")] == [True, False]
    assert [flag({}, "k"), flag({}, "k", default=True), flag({"K": "true"}, "k")] == [False, True, False]
    with pytest.raises(CorruptTable) as neither:
        flag({"k": "yes"}, "k")
    assert (neither.value.found, neither.value.expected) == ("yes", "true or false")
    assert [number({"k": text}, "k", 5) for text in ("7", "-7", " 07 ")] == [7, -7, 7]
    assert number({}, "k", 5) == 5
    for text in ("1_0", "1.0", "", "\u0661"):
        with pytest.raises(CorruptTable) as refused:
            number({"k": text}, "k", 5)
        assert (refused.value.found, refused.value.expected) == (text, "an integer")


def test_checks_of_rows_are_found_by_the_beginning_of_their_keys() -> None:
    keys = {"delta.constraints.a": "x > 0", "delta.constraints.B.c": "y", "delta.constraint.d": "z", "a": "b"}
    assert constraints(keys) == {"a": "x > 0", "B.c": "y"}


def test_each_kind_of_property_reads_its_value_or_its_default() -> None:
    row = TableProperty("k", "does")
    assert (str(row), row.default, row.allowed, row.why_fixed) == ("k", None, (), None)
    assert [row.is_set({"k": ""}), row.is_set({"K": "x"})] == [True, False]
    assert [row.text({"k": ""}), row.text({}), FreeText("k", "", "d").text({})] == ["", None, "d"]
    states = Flag("k", ""), Flag("k", "", "true"), Flag("k", "", "false")
    assert [each.of({}) for each in states] == [False, True, False]
    assert [each.of({}, unset=True) for each in states] == [True, True, False]
    assert [each.of({"k": "true"}, unset=False) for each in states] == [True, True, True]
    assert [Integer("k", "").of({}), Integer("k", "", "3").of({}), Integer("k", "", "3").of({"k": "4"})] == [0, 3, 4]
    assert (Integer("k", "").minimum, Integer("k", "").maximum) == (0, None)
    assert (Choice("k", "").exact, FreeText("k", "").form) == (False, None)
    kept = Interval("k", "", "interval 1 day")
    assert [kept.of({}), kept.of({}, unset=timedelta(9)), kept.of({"k": "2 days"})] == [*map(timedelta, (1, 1, 2))]
    assert [Interval("k", "").of({}), Interval("k", "").of({}, unset=timedelta(9))] == [timedelta(), timedelta(9)]
    assert [Choice("k", "", "Ab").of({}), Choice("k", "").of({}), Choice("k", "").of({"k": "XY"})] == ["ab", "", "xy"]
    some = Choices("k", "", "a,b")
    assert [some.words({}), some.words({"k": "c"}), some.words({"k": ""})] == [("a", "b"), ("c",), ()]
    assert Choices("k", "").words({}) == ()


WORDS = ("Ab", "c")


@pytest.mark.parametrize(
    ("row", "taken", "refused", "instead"),
    [
        (TableProperty("k", ""), ["", "x"], [], ()),
        (Columns("k", "", allowed=WORDS), ["a.b,c"], [], ()),
        (Flag("k", "", None, ("true", "false")), ["TRUE", "false"], ["", " true", "yes"], ("true", "false")),
        (Choice("k", "", None, WORDS), ["Ab", "AB", "C"], ["", "a"], WORDS),
        (Choice("k", "", None, WORDS, exact=True), ["Ab", "c"], ["ab", "C"], WORDS),
        (
            Choices("k", "", None, WORDS),
            ["", "Ab", "c,Ab", "c,c"],
            ["ab", "c, Ab", "c,"],
            ("a comma-separated list of Ab and c",),
        ),
        (FreeText("k", "", allowed=WORDS), ["", "x"], [], ()),
        (FreeText("k", "", allowed=("1.2",), form=r"\d\.\d"), ["1.2", "3.4"], ["", "1.2.3", "x1.2"], ("1.2",)),
        (
            Interval("k", ""),
            ["7 days", "interval 0 days"],
            ["-1 days", "interval 1000000000 days"],
            ("an interval such as 'interval 7 days', without months and years",),
        ),
    ],
)
def test_what_a_property_does_not_take_is_answered_with_what_it_takes(
    row: TableProperty, taken: list[str], refused: list[str], instead: tuple[str, ...]
) -> None:
    assert [row.refusal(value) for value in taken] == [()] * len(taken)
    assert [row.refusal(value) for value in refused] == [instead] * len(refused)


BERLIN = timezone(timedelta(hours=1))
MOMENT = datetime(2026, 3, 2, 14, 5, 11, 999_999, UTC)


def test_moments_and_days_are_counted_exactly_and_towards_the_past() -> None:
    before = datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)
    assert [times.milliseconds(each) for each in (MOMENT, before)] == [1772460311999, -1]
    assert [times.microseconds(each) for each in (MOMENT, before)] == [1772460311999999, -1]
    assert {type(count(MOMENT)) for count in (times.milliseconds, times.microseconds, times.days)} == {int}
    assert (
        times.microseconds(datetime(1970, 1, 1, 1, tzinfo=BERLIN))
        == times.milliseconds(datetime(1970, 1, 1, tzinfo=UTC))
        == 0
    )
    assert times.microseconds(datetime(1970, 1, 1, 1)) == 3_600_000_000  # noqa: DTZ001 - it has none on purpose
    assert [times.days(each) for each in (date(1970, 1, 2), date(1970, 1, 1), date(1969, 12, 31))] == [1, 0, -1]
    assert [times.span_milliseconds(timedelta(microseconds=each)) for each in (1999, -1, 0)] == [1, -1, 0]
    assert times.from_milliseconds(1772460311999) == MOMENT.replace(microsecond=999_000)
    assert times.from_milliseconds(-1).tzinfo is UTC
    assert times.moment_text(1772460311999) == "2026-03-02T14:05:11+00:00"
    ends = times.milliseconds(datetime.min.replace(tzinfo=UTC)), times.milliseconds(datetime.max.replace(tzinfo=UTC))
    assert [times.in_calendar(each) for each in (ends[0] - 1, *ends, ends[1] + 1)] == [False, True, True, False]
    far = 10**15
    assert [times.moment_text(far), times.moment_text(-far)] == ["after all times", "before all times"]


@pytest.mark.parametrize("text", ["2026-03-02T14:05:11.999999Z", " 2026-03-02T15:05:11.999999+01:00\n", MOMENT])
def test_a_moment_with_a_zone_is_read(text: Any) -> None:
    assert times.aware_moment(text) == MOMENT
    if isinstance(text, str):
        assert times.day_or_moment(text) == times.older_than(text) == MOMENT


@pytest.mark.parametrize(
    ("time", "message", "stated"),
    [
        ("soon", "'soon' is not an ISO 8601 time, such as 2026-03-02T14:05:11Z.", "soon"),
        (
            "2026-03-02T14:05:11",
            "The time 2026-03-02 14:05:11 has no time zone. Use a form such as 2026-03-02T14:05:11Z.",
            MOMENT.replace(microsecond=0, tzinfo=None),
        ),
        (
            "0001-01-01T00:00:00+01:00",
            "The time 0001-01-01 00:00:00+01:00 is outside the years 1 to 9999 of UTC.",
            "0001-01-01 00:00:00+01:00",
        ),
    ],
)
def test_a_moment_that_cannot_be_placed_is_told(time: str, message: str, stated: object) -> None:
    for read in (times.aware_moment, times.day_or_moment):
        with pytest.raises(RequestError, match=f"^{re.escape(message)}$") as refused:
            read(time)
        assert refused.value.timestamp == stated


def test_a_day_begins_at_midnight_and_what_is_left_out_or_a_span_is_read_as_such() -> None:
    assert times.day_or_moment(" 2026-03-02 ") == datetime(2026, 3, 2, tzinfo=UTC)
    assert times.day_or_moment("2026-03-02").tzinfo is UTC
    assert times.older_than(None) is None
    assert [times.older_than(text) for text in ("interval 2 days", "-1 hour")] == [timedelta(2), timedelta(hours=-1)]
    with pytest.raises(InvalidIntent, match=r"^'  2026-03-02T14:05' is neither an interval "):
        times.older_than("  2026-03-02T14:05")


def test_a_length_of_time_is_not_negative_and_a_zone_is_one_that_there_is() -> None:
    spans = {"7 days": 604_800_000, "interval 1 week": 604_800_000, "0 days": 0, "1 millisecond": 1}
    assert {text: times.duration(text) for text in spans} == spans
    with pytest.raises(RequestError) as negative:
        times.duration("-1 day")
    assert (negative.value.found, negative.value.expected) == ("-1 day", "7 days")
    assert str(negative.value) == "A duration cannot be negative, as '-1 day' is."
    assert times.zone_named("Europe/Berlin") == ZoneInfo("Europe/Berlin")
    for name in ("Nowhere", "", "../x", "Europe"):
        with pytest.raises(RequestError) as refused:
            times.zone_named(name)
        assert str(refused.value) == f"Unknown time zone {name!r}. Use an IANA name such as Europe/Berlin."
        assert refused.value.found == name
