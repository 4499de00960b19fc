"""The thread that writes a record: in order, in time, and never on the thread that asks."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from explorer.activity.event import Event
from explorer.activity.reading import check_record, entries
from explorer.activity.record import ActivityRecord
from explorer.activity.writer import RecordWriter
from explorer.core.errors import StorageError

_LONG = 30


def told(record: ActivityRecord) -> list[tuple[str, str, int | None]]:
    found = [entry.event for entry in entries(record.files)]
    return [(event.person, event.outcome, event.refers_to) for event in reversed(found)]


@contextmanager
def held(record: ActivityRecord) -> Iterator[None]:
    """Hold the lock of a record, as another program that writes."""
    with record.files.lock.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_lines_are_written_in_the_order_in_which_they_were_asked_for(tmp_path: Path) -> None:
    record = ActivityRecord(tmp_path, program="tests/1")
    asked = []
    for number in range(30):
        if number % 3 == 0:
            asked.append(record.writer.begin(Event(kind="rows", person=str(number))))
        elif number % 3 == 1:
            record.writer.tell(Event(kind="sign-in", person=str(number)))
        else:
            record.writer.tell_refusal(Event(kind="refusal", person=str(number)))
    assert record.writer.flush(_LONG)
    assert [person for person, _, _ in told(record)] == [str(number) for number in range(30)]
    assert [entry.event.person for future in asked if (entry := future.result(_LONG))] == [
        str(number) for number in range(0, 30, 3)
    ]
    assert check_record(record.files).problems == []


def test_a_line_is_on_the_disk_when_its_future_says_so(tmp_path: Path) -> None:
    record = ActivityRecord(tmp_path, program="tests/1")
    with held(record):
        future = record.writer.begin(Event(kind="rows", person="ana"))
        assert not future.done()
        assert told(record) == []
    assert future.result(_LONG) is not None
    assert told(record) == [("ana", "done", None)]


def test_what_waits_too_long_is_not_done_and_not_announced(tmp_path: Path) -> None:
    record = ActivityRecord(tmp_path, program="tests/1")
    writer = RecordWriter(record, patience=0.2)
    with held(record):
        first, second = (writer.begin(Event(kind="commit", outcome="begun", person=name)) for name in ("ana", "ben"))
        started = time.monotonic()
        for future in (first, second):
            with pytest.raises(StorageError, match="Nothing was done"):
                future.result(_LONG)
        assert time.monotonic() - started < _LONG
    assert writer.flush(_LONG)
    # The first was being written: its line came after nobody waited for it any more, and says that. The second is not.
    assert told(record) == [("ana", "begun", None), ("ana", "failed", 1)]
    assert check_record(record.files).problems == []


def test_a_record_that_cannot_be_written_is_told_to_those_who_wait(tmp_path: Path) -> None:
    record = ActivityRecord(tmp_path, program="tests/1")
    record.files.current.unlink(missing_ok=True)
    record.files.current.mkdir()
    with pytest.raises(StorageError, match="cannot be written"):
        record.writer.begin(Event(kind="rows", person="ana")).result(_LONG)
    record.files.current.rmdir()
    record.writer.tell(Event(kind="sign-in", person="ben"))
    assert record.writer.flush(_LONG)
    assert told(record) == [("ben", "done", None)]
