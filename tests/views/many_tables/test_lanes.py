"""Lanes of the timeline of all tables, against the commits that were written, and ranges of time in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from explorer.core.errors import RequestError
from explorer.core.versions.commits.commits import Commits
from explorer.views.many_tables.lanes import FORM, HEIGHT, OPTIMIZE, PLACES, VACUUM, Lane, LaneCommits, lanes, overview
from explorer.views.many_tables.time_range import TimeRange, time_range
from tests.support.at_least_one import at_least_one
from tests.support.comparison.audited_tables import DAY, HOUR, NOW, ago, committed, timed
from tests.support.logs.small_logs import Line, add, remove


def loaded(before: int, name: str, rows: int) -> list[Line]:
    return [committed(before), add(name, rows)]


def lane_of(*commits: list[Line]) -> LaneCommits:
    return LaneCommits.of(Commits(timed(commits).history()))


def week() -> TimeRange:
    return time_range("7d", NOW)


def marks(lane: Lane) -> list[list[int]]:
    return [[int(number) for number in mark.split(",")] for mark in lane.marks]


def test_each_commit_of_the_range_is_in_a_mark_and_no_other_is() -> None:
    times = [9 * DAY, 6 * DAY, 5 * DAY, 5 * DAY - 1_000, 3 * HOUR, HOUR]
    table = lane_of(*(loaded(before, f"{place}.parquet", 10) for place, before in enumerate(times)))
    shown = week()
    (lane,) = lanes([table], shown)
    assert (lane.commits, lane.added, lane.removed) == (5, 50, 0)
    # Version 0 creates the table, and version 1 is before the range.
    assert [mark[6:] for mark in marks(lane)] == [[2, 2, 1], [3, 4, 2], [5, 5, 1], [6, 6, 1]]
    for place, version in at_least_one([(mark[0], mark[7]) for mark in marks(lane)]):
        span = (shown.until - shown.start) / PLACES
        assert place == (ago(times[version - 1]) - shown.start) // span


def test_losses_and_maintenance_have_their_signs_and_one_scale_for_all_tables() -> None:
    large = lane_of(loaded(2 * DAY, "a.parquet", 1_000_000))
    small = lane_of(
        loaded(3 * DAY, "a.parquet", 1_000),
        [committed(2 * DAY, "DELETE"), remove("a.parquet")],
        [committed(DAY, "OPTIMIZE")],
        [committed(5 * HOUR, "VACUUM END")],
    )
    of_large, of_small = lanes([large, small], week())
    assert marks(of_large)[0][1] == HEIGHT
    assert 0 < marks(of_small)[0][1] < HEIGHT
    assert (of_small.added, of_small.removed) == (1_000, 1_000)
    assert [mark[5] for mark in marks(of_small)] == [0, 0, OPTIMIZE, VACUUM]
    assert of_small.kinds == OPTIMIZE | VACUUM
    (created,) = lanes([large], time_range("2024-01-01~", NOW))
    assert created.kinds & FORM


def test_a_daily_table_is_silent_when_three_times_its_longest_gap_has_passed_and_else_expected() -> None:
    daily = [loaded(before * DAY, f"{before}.parquet", 5) for before in range(20, 4, -1)]
    (late,) = lanes([lane_of(*daily)], week())
    assert late.silent == 5 * DAY
    assert (late.usual, late.expected) == (DAY, None)
    ((first, last),) = late.silences
    assert first == pytest.approx(week().share(ago(5 * DAY)))
    assert last == pytest.approx(week().share(ago(0)))
    in_time = [loaded(before * DAY - 12 * HOUR, f"{before}.parquet", 5) for before in range(20, 0, -1)]
    (soon,) = lanes([lane_of(*in_time)], week())
    assert (soon.silent, soon.silences) == (None, ())
    assert soon.expected == pytest.approx(week().share(ago(-12 * HOUR)))


def test_a_gap_of_the_past_is_a_silence_too() -> None:
    days = [*range(24, 12, -1), *range(6, 0, -1)]
    table = lane_of(*(loaded(before * DAY, f"{before}.parquet", 5) for before in days))
    ((first, last),) = lanes([table], time_range("30d", NOW))[0].silences
    shown = time_range("30d", NOW)
    assert (first, last) == (pytest.approx(shown.share(ago(13 * DAY))), pytest.approx(shown.share(ago(6 * DAY))))


def test_a_table_of_few_commits_has_no_rhythm_and_one_without_any_in_the_range_no_mark() -> None:
    (lane,) = lanes([lane_of(loaded(200 * DAY, "a.parquet", 1))], week())
    assert (lane.marks, lane.commits, lane.silent, lane.usual) == ((), 0, None, None)
    assert lane.last == ago(200 * DAY)


def test_days_are_counted_over_all_tables_and_say_where_rows_were_lost() -> None:
    one = lane_of(loaded(30 * HOUR, "a.parquet", 5), [committed(HOUR, "DELETE"), remove("a.parquet")])
    other = lane_of(loaded(2 * HOUR, "a.parquet", 5))
    midnight = ago(12 * HOUR)
    days = overview([one, other], midnight - 2 * DAY, 3)
    assert [(day.commits, day.lost) for day in days] == [(0, False), (1, False), (2, True)]
    assert [day.share for day in days] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("", 7 * DAY, 0),
        ("24h", DAY, 0),
        ("30d", 30 * DAY, 0),
        ("visit", 5 * HOUR, 0),
        ("2026-11-20~2026-11-21", 60 * HOUR, 36 * HOUR),
        ("2026-11-20T06:00 ~ 2026-11-20 12:00 UTC", 54 * HOUR, 48 * HOUR),
        ("2026-11-20T06:00+02:00~2026-11-21", 56 * HOUR, 36 * HOUR),
        ("2026-11-20~", 60 * HOUR, 0),
        ("2026-11-20~2031-01-01", 60 * HOUR, 0),
        ("3 hours ago", 3 * HOUR, 0),
        ("2026-11-20 ~ 2 hours ago", 60 * HOUR, 2 * HOUR),
        ("20 Nov 2026 6am +02:00 ~ now", 56 * HOUR, 0),
    ],
)
def test_a_range_is_named_in_words_or_by_its_ends(text: str, start: int, end: int) -> None:
    shown = time_range(text, NOW, NOW - timedelta(hours=5))
    assert (shown.start, shown.end) == (ago(start), ago(end))
    again = time_range(shown.text, NOW, NOW - timedelta(hours=5))
    assert (again.start, again.end) == (shown.start, shown.end)
    ticks = shown.ticks()
    assert 1 <= len(ticks) <= 12
    assert all(0 <= tick.share <= 1 for tick in at_least_one(ticks))


@pytest.mark.parametrize("text", ["soon", "2026-11-21~2026-11-20", "x~y", "~", "2026-11-20~2026-11-20"])
def test_words_that_are_no_range_are_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(RequestError):
        time_range(text, NOW)


def test_without_a_known_visit_the_range_says_so() -> None:
    shown = time_range("visit", NOW)
    assert shown.text == "7d"
    assert "No earlier visit" in shown.note


def test_ranges_lead_to_those_before_after_and_around() -> None:
    shown = time_range("2026-11-10~2026-11-12", NOW)
    assert shown.moved(-1) == "2026-11-08T00:00~2026-11-10T00:00"
    assert shown.moved(1) == "2026-11-12T00:00~2026-11-14T00:00"
    assert shown.widened() == "2026-11-09T00:00~2026-11-13T00:00"
    assert not shown.shows_now
    assert time_range("24h", NOW).widened() == "2026-11-20T12:00~"
    assert datetime(2026, 11, 22, 12, tzinfo=UTC) == NOW
