"""Whatever is changed in a record is found."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.activity.event import KINDS, Event
from explorer.activity.files import RecordFiles
from explorer.activity.reading import check_record, cloud_event, entries
from explorer.activity.record import ActivityRecord
from tests.support.at_least_one import at_least_one

_TEXTS = st.text(max_size=12)
_EVENTS = st.lists(
    st.builds(Event, kind=st.sampled_from(KINDS), person=_TEXTS, table=_TEXTS, version=st.none() | st.integers(0, 99)),
    min_size=1,
    max_size=6,
)
_NUMBERS = count()


def contents(events: list[Event], place: Path, most_bytes: int) -> dict[Path, bytes]:
    """Return the files of a record with these events: its lines, oldest first, then its head."""
    record = ActivityRecord(place, program="tests/1", most_bytes=most_bytes)
    for event in events:
        record.add(event)
    files = [*record.files.existing(), record.files.head]
    return {path: path.read_bytes() for path in files}


def is_found(place: Path) -> bool:
    return bool(check_record(RecordFiles.at(place)).problems)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), events=_EVENTS, most_bytes=st.sampled_from([300, 1 << 20]))
def test_any_byte_that_is_changed_added_or_removed_is_found(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, events: list[Event], most_bytes: int
) -> None:
    place = tmp_path_factory.mktemp(f"record{next(_NUMBERS)}")
    written = contents(events, place, most_bytes)
    assert not is_found(place)
    path = data.draw(st.sampled_from(list(written)))
    content = written[path]
    at = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda each: each != content[at]))
    way = data.draw(st.sampled_from(["changed", "removed", "added"]))
    changed = content[:at] + (b"" if way == "removed" else bytes([byte])) + content[at + (way != "added") :]
    path.write_bytes(changed)
    assert is_found(place), (way, at, byte)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), events=_EVENTS)
def test_any_line_that_is_removed_doubled_or_moved_is_found(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, events: list[Event]
) -> None:
    place = tmp_path_factory.mktemp(f"record{next(_NUMBERS)}")
    path, content = next(iter(contents(events, place, 1 << 20).items()))
    lines = content.splitlines(keepends=True)
    first = data.draw(st.integers(0, len(lines) - 1))
    way = data.draw(st.sampled_from(["removed", "doubled", "moved"] if len(lines) > 1 else ["removed", "doubled"]))
    others = [*lines]
    match way:
        case "removed":
            del others[first]
        case "doubled":
            others.insert(first, lines[first])
        case _:
            second = data.draw(st.integers(0, len(lines) - 1).filter(lambda each: each != first))
            others[first], others[second] = others[second], others[first]
    path.write_bytes(b"".join(others))
    assert is_found(place), (way, first)


def test_a_file_that_was_rotated_away_and_removed_is_found(tmp_path: Path) -> None:
    files = list(contents([Event(kind="rows")] * 6, tmp_path, 300))
    for path in at_least_one(files):
        content = path.read_bytes()
        path.unlink()
        assert is_found(tmp_path), path.name
        path.write_bytes(content)
    assert not is_found(tmp_path)


def test_a_record_that_was_rewritten_with_its_head_is_found_by_a_digest_that_was_kept(tmp_path: Path) -> None:
    contents([Event(kind="commit", person="ana"), Event(kind="rows")], tmp_path / "a", 1 << 20)
    kept = check_record(RecordFiles.at(tmp_path / "a")).end.digest
    assert check_record(RecordFiles.at(tmp_path / "a"), expected=[kept]).problems == []
    contents([Event(kind="commit", person="ben"), Event(kind="rows")], tmp_path / "b", 1 << 20)
    forged = RecordFiles.at(tmp_path / "b")
    assert not is_found(tmp_path / "b")
    assert [each.kind for each in check_record(forged, expected=[kept]).problems] == ["expected"]


def test_a_line_is_a_cloud_event(tmp_path: Path) -> None:
    contents([Event(kind="commit", outcome="begun", person="ana", table="sales/orders", version=3)], tmp_path, 1 << 20)
    (entry,) = entries(RecordFiles.at(tmp_path))
    event = json.loads(json.dumps(cloud_event(entry)))
    # The attributes that CloudEvents 1.0 requires, in section "Required Attributes".
    assert {"id", "source", "specversion", "type"} <= event.keys()
    assert all(name.islower() and name.isalnum() for name in event)
    assert event["specversion"] == "1.0"
    assert event["subject"] == "sales/orders"
    assert event["data"]["event"]["person"] == "ana"
