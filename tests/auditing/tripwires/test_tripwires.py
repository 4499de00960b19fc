"""Tripwires fire on the commits that they are about and on no other; files of them that make no sense are refused."""

from typing import Any

import pytest

from explorer.auditing.tripwires.alarms import Alarm, alarms, tried
from explorer.auditing.tripwires.records import read_tripwires
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import Protocol
from tests.support.comparison.audited_tables import DAY, HOUR, TIMED, ago, committed, described, timed
from tests.support.logs import small_logs

FILES = "delta.deletedFileRetentionDuration"


def _fired(rule: str, commits: list[Any], **more: Any) -> tuple[Alarm, ...]:
    wires = read_tripwires(f'[[tripwire]]\nname = "it"\n{rule}', "rules.toml")
    return alarms(wires, timed(commits).history_record(), ago(0), **more)


def _versions(rule: str, commits: list[Any], **more: Any) -> list[int]:
    return [alarm.version for alarm in _fired(rule, commits, **more)]


# Version 1 loads, 2 removes a fifth, 3 loads, 4 removes more.
LOST = [
    [committed(40 * DAY), *(small_logs.add(f"{n}.parquet", 100) for n in range(10))],
    [committed(30 * DAY, "DELETE", "ben"), small_logs.remove("0.parquet"), small_logs.remove("1.parquet")],
    [committed(20 * DAY), small_logs.add("a.parquet", 200)],
    [committed(10 * DAY, "DELETE", "ben"), *(small_logs.remove(f"{n}.parquet") for n in range(2, 6))],
]


def test_rows_removed_beyond_a_share() -> None:
    (alarm,) = _fired('when = "rows-removed"\nshare = 0.2', LOST)
    assert (alarm.version, alarm.author, alarm.time) == (4, "ben", ago(10 * DAY))
    assert alarm.text == "400 rows removed, 40 % of them"
    assert _versions('when = "rows-removed"\nshare = 0.1', LOST) == [2, 4]
    assert _versions('when = "rows-removed"\nshare = 0.1\nleast = 300', LOST) == [4]
    assert _versions('when = "rows-removed"\nshare = 0.1\nallowed = ["ben"]', LOST) == []


def test_only_new_commits_or_those_since_a_time_count() -> None:
    rule = 'when = "rows-removed"\nshare = 0.1'
    assert _versions(rule, LOST, after=2) == [4]
    assert _versions(rule, LOST, since=ago(15 * DAY)) == [4]
    assert _versions(rule, LOST, after=4) == []


def test_a_schema_that_changes_outside_of_hours() -> None:
    wider = {"id": "long", "day": "string", "note": "string"}
    # The present of these tests is 12:00 UTC, so that 5 days before it is noon, and 9 hours less is 03:00.
    noon = [[committed(5 * DAY, "ADD COLUMNS", "ben"), described(wider)]]
    night = [[committed(5 * DAY + 9 * HOUR, "ADD COLUMNS", "ben"), described(wider)]]
    assert _versions('when = "schema-changed"', noon) == [1]
    hours = 'when = "schema-changed"\noutside = "07:00-19:00"'
    assert (_versions(hours, noon), _versions(hours, night)) == ([], [1])
    tokyo = f'{hours}\nzone = "Asia/Tokyo"'
    assert (_versions(tokyo, noon), _versions(tokyo, night)) == ([1], [])
    over_midnight = 'when = "schema-changed"\noutside = "22:00-06:00"'
    assert (_versions(over_midnight, noon), _versions(over_midnight, night)) == ([1], [])


def test_retention_that_is_shortened_and_properties_that_change() -> None:
    commits = [
        [committed(9 * DAY), described(properties={FILES: "interval 30 days"})],
        [committed(8 * DAY), described(properties={FILES: "interval 1 day", "owner": "ana"})],
        [committed(7 * DAY), described(properties={FILES: "interval 1 day", "owner": "ben"})],
    ]
    (alarm,) = _fired('when = "retention-shortened"', commits)
    assert (alarm.version, alarm.text) == (2, f"{FILES} fell from 30 days to 1 day")
    assert _versions('when = "property-changed"\nproperty = "owner"', commits) == [2, 3]
    assert _versions('when = "property-changed"\nproperty = "delta.*"', commits) == [1, 2]


def test_a_protocol_that_demands_more() -> None:
    more = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp", "rowTracking"))
    commits = [[committed(9 * DAY), TIMED], [committed(8 * DAY), more], [committed(7 * DAY), TIMED]]
    assert _versions('when = "protocol-raised"', commits) == [2]


def test_authors_and_engines_that_the_log_does_not_have_before() -> None:
    commits = [
        [committed(9 * DAY, user="etl", engine_info="Apache-Spark/3.5")],
        [committed(8 * DAY, user="etl", engine_info="Apache-Spark/4.0")],
        [committed(7 * DAY, user="mallory", engine_info="Other/1")],
        [committed(6 * DAY, user="mallory", engine_info="Other/1")],
    ]
    assert _versions('when = "new-author"', commits) == [1, 3]
    assert _versions('when = "new-author"\nallowed = ["etl"]', commits, after=0) == [3]
    assert _versions('when = "new-engine"', commits) == [3]


def test_a_silence_between_commits_and_one_that_lasts() -> None:
    commits = [[committed(30 * DAY)], [committed(20 * DAY)], [committed(19 * DAY)], [committed(DAY)]]
    rule = 'when = "silence"\nlonger = "5 days"'
    assert _versions(rule, commits, since=ago(100 * DAY)) == [1, 3]
    quiet = commits[:-1]
    (alarm,) = _fired(rule, quiet, after=3)
    assert (alarm.version, alarm.time, alarm.text) == (3, ago(14 * DAY), "no commit for 19 days after it")
    assert _versions(f'{rule}\nauthor = "nobody"', commits) == []


def test_what_would_have_fired_is_said_in_a_sentence() -> None:
    (wire,) = read_tripwires('[[tripwire]]\nname = "it"\nwhen = "rows-removed"\nshare = 0.1', "rules.toml")
    raised = alarms([wire], timed(LOST).history_record(), ago(0), since=ago(90 * DAY))
    assert tried(wire, raised, "90 days") == "would have fired twice in 90 days: v2, v4"
    assert tried(wire, raised[:1], "90 days") == "would have fired once in 90 days: v2"
    assert tried(wire, (), "90 days") == "would not have fired in 90 days"


GOOD = '[[tripwire]]\nname = "good"\nwhen = "schema-changed"\n\n'


@pytest.mark.parametrize(
    ("text", "line", "field", "what"),
    [
        ("x = = 1", 1, None, "Invalid value"),
        ("", None, None, "tripwire"),
        (f'{GOOD}[[tripwire]]\nname = "b"\nwhen = "rows-removed"\n', 5, None, "share"),
        (f'{GOOD}[[tripwire]]\nname = "b"\nwhen = "rows-removed"\nshare = "much"\n', 5, "share", "number|float"),
        (f'{GOOD}[[tripwire]]\nname = "b"\nwhen = "rows-removed"\nshare = 20\n', 5, "share", "0.2"),
        (f'{GOOD}[[tripwire]]\nname = "b"\nwhen = "rows-gone"\n', 5, "when", "rows-gone"),
        (f'{GOOD}[[tripwire]]\nname = "b"\nwhen = "new-author"\nauthors = []\n', 5, None, "authors"),
        (f'{GOOD}[[tripwire]]\nname = "b"\nwhen = "new-author"\noutside = "9 to 5"\n', 5, "outside", "07:00-19:00"),
        (f'{GOOD}[[tripwire]]\nname = "b"\nwhen = "new-author"\nzone = "Mars/Olympus"\n', 5, "zone", "Mars"),
        (f'{GOOD}[[tripwire]]\nname = "b"\nwhen = "silence"\nlonger = "a while"\n', 5, "longer", "2 days"),
        (GOOD + GOOD, 5, "name", "used twice"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_line_and_field(
    text: str, line: int | None, field: str | None, what: str
) -> None:
    with pytest.raises(RequestError, match=what) as caught:
        read_tripwires(text, "rules.toml")
    assert (caught.value.position, caught.value.field) == (line, field)
