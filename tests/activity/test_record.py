"""The record that is written: one chain, whoever writes, whatever fails."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from explorer.activity.event import Event
from explorer.activity.files import RecordFiles
from explorer.activity.reading import RecordFilter, check_record, entries
from explorer.activity.record import MOST_REFUSALS, ActivityRecord
from explorer.core.errors import StorageError
from tests.support.at_least_one import at_least_one

PROGRAM = "tests/1"
_WRITER = """
import sys
from explorer.activity.event import Event
from explorer.activity.record import ActivityRecord
record = ActivityRecord(sys.argv[1], program="writer/" + sys.argv[2])
for number in range(int(sys.argv[3])):
    record.add(Event(kind="rows", person=sys.argv[2], version=number))
"""
_FULL = """
import resource, sys
from explorer.activity.event import Event
from explorer.activity.record import ActivityRecord
from explorer.core.errors import StorageError
record = ActivityRecord(sys.argv[1], program="writer/1")
record.add(Event(kind="plan", person="ana"))
size = record.files.current.stat().st_size
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, hard))
try:
    record.add(Event(kind="commit", outcome="begun", person="ana"))
except StorageError as error:
    print(error.message)
record.tell(Event(kind="commit", outcome="committed", person="ben"))
print(record.files.current.stat().st_size == size)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
record.add(Event(kind="commit", outcome="begun", person="cleo"))
"""


def written(place: Path, *people: str, most_bytes: int = 1 << 20) -> ActivityRecord:
    record = ActivityRecord(place, program=PROGRAM, most_bytes=most_bytes)
    for person in people:
        record.add(Event(kind="rows", person=person, table="sales/orders"))
    return record


def people(record: ActivityRecord) -> list[str]:
    return [entry.event.person for entry in entries(record.files)]


def test_lines_are_chained_and_read_newest_first(tmp_path: Path) -> None:
    record = written(tmp_path, "ana", "ben", "cleo")
    assert people(record) == ["cleo", "ben", "ana"]
    check = check_record(record.files)
    assert (check.problems, check.lines, check.first) == ([], 3, 1)


def test_a_record_goes_on_where_another_run_left_it(tmp_path: Path) -> None:
    written(tmp_path / "record.jsonl", "ana")
    record = written(tmp_path / "record.jsonl", "ben")
    assert [entry.number for entry in entries(record.files)] == [2, 1]
    assert check_record(record.files).problems == []


def test_files_are_rotated_and_stay_one_chain(tmp_path: Path) -> None:
    record = written(tmp_path, *map(str, range(40)), most_bytes=1_000)
    assert len(record.files.rotated()) > 5
    assert people(record) == [str(number) for number in reversed(range(40))]
    assert check_record(record.files).problems == []


def test_a_record_whose_file_was_rotated_by_another_program_goes_on(tmp_path: Path) -> None:
    first, second = written(tmp_path, most_bytes=600), written(tmp_path, most_bytes=600)
    for number in range(12):
        (first if number % 2 else second).add(Event(kind="rows", person=str(number)))
    assert people(first) == [str(number) for number in reversed(range(12))]
    assert check_record(first.files).problems == []


def test_two_processes_write_one_record(tmp_path: Path) -> None:
    commands = [[sys.executable, "-c", _WRITER, str(tmp_path), name, "60"] for name in ("ana", "ben")]
    processes = [subprocess.Popen(command) for command in commands]
    assert [process.wait(60) for process in processes] == [0, 0]
    files = RecordFiles.at(tmp_path)
    assert check_record(files).problems == []
    for name in at_least_one(("ana", "ben")):
        versions = [entry.event.version for entry in entries(files, RecordFilter(by=name))]
        assert versions == list(reversed(range(60)))


def test_threads_write_one_record(tmp_path: Path) -> None:
    record = written(tmp_path)
    threads = [threading.Thread(target=lambda: [record.add(Event(kind="rows")) for _ in range(20)]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check = check_record(record.files)
    assert (check.problems, check.lines) == ([], 120)


def test_a_lock_that_is_held_for_long_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = written(tmp_path, "ana")
    monkeypatch.setattr("explorer.activity.record.PATIENCE", 0.05)
    handle = os.open(record.files.lock, os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(StorageError, match="Another program has held the lock"):
        record.add(Event(kind="rows"))
    os.close(handle)
    record.add(Event(kind="rows", person="ben"))
    assert people(record) == ["ben", "ana"]


def test_a_full_disk_adds_nothing_and_what_was_told_meanwhile_comes_first(tmp_path: Path) -> None:
    # A limit of the system for the size of a file: the write itself fails, after its first bytes.
    result = subprocess.run([sys.executable, "-c", _FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    message, unchanged = result.stdout.splitlines()
    assert "cannot be written: File too large" in message
    assert unchanged == "True"
    files = RecordFiles.at(tmp_path)
    assert [entry.event.person for entry in entries(files)] == ["cleo", "ben", "ana"]
    assert check_record(files).problems == []


def test_an_unfinished_line_is_taken_away_and_said(tmp_path: Path) -> None:
    record = written(tmp_path, "ana")
    with record.files.current.open("ab") as file:
        file.write(b'{"number":2,"prev')
    assert [each.kind for each in check_record(record.files).problems] == ["torn"]
    again = written(tmp_path, "ben")
    newest, repaired, _ = entries(again.files)
    assert (newest.event.person, repaired.event.what) == ("ben", "repaired")
    assert "17 bytes of an unfinished line were taken away" in repaired.event.detail
    assert check_record(again.files).problems == []


def test_a_program_that_ends_between_a_line_and_its_head_is_said(tmp_path: Path) -> None:
    record = written(tmp_path, "ana")
    head = record.files.head.read_bytes()
    record.add(Event(kind="rows", person="ben"))
    record.files.head.write_bytes(head)
    assert [each.kind for each in check_record(record.files).problems] == ["head"]
    again = written(tmp_path, "cleo")
    assert [entry.event.what for entry in entries(again.files)] == ["", "repaired", "", ""]
    assert check_record(again.files).problems == []


@pytest.mark.parametrize("kept", [0, 1])
def test_nothing_is_added_to_a_record_that_was_cut(tmp_path: Path, kept: int) -> None:
    record = written(tmp_path, "ana", "ben", "cleo")
    lines = record.files.current.read_bytes().splitlines(keepends=True)
    record.files.current.write_bytes(b"".join(lines[:kept]))
    with pytest.raises(StorageError, match="does not end as its head says"):
        record.add(Event(kind="rows"))
    with pytest.raises(StorageError, match="--verify"):
        written(tmp_path)
    assert [each.kind for each in check_record(record.files).problems] == ["cut"]


def test_refusals_do_not_fill_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = written(tmp_path)
    for _ in range(MOST_REFUSALS + 25):
        record.tell_refusal(Event(kind="refusal", outcome="refused", detail="no"))
    assert len(people(record)) == MOST_REFUSALS
    monkeypatch.setattr("explorer.activity.record._MINUTE", 0.0)
    record.tell_refusal(Event(kind="refusal", outcome="refused", detail="no"))
    assert next(entries(record.files)).event.detail == "no; 25 more before it were not written"


def test_only_the_owner_may_read_a_record(tmp_path: Path) -> None:
    record = written(tmp_path / "new", "ana")
    for path in at_least_one([record.files.current, record.files.head, record.files.lock]):
        assert path.stat().st_mode & 0o077 == 0
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("important\n")
    (tmp_path / "activity.jsonl").symlink_to(other)
    with pytest.raises(StorageError, match="cannot be written"):
        written(tmp_path)
    assert other.read_text() == "important\n"


def test_texts_of_any_kind_are_one_line_each(tmp_path: Path) -> None:
    record = written(tmp_path, "a\nb", "\udce9", "x" * 5_000, "\u2028\0")
    assert [len(person) for person in reversed(people(record))] == [3, 6, 400, 2]
    assert check_record(record.files).problems == []


def test_lines_are_found_by_time_table_and_kind(tmp_path: Path) -> None:
    times = iter(datetime(2026, 11, day, tzinfo=UTC) for day in range(1, 9))
    record = ActivityRecord(tmp_path, program=PROGRAM, clock=lambda: next(times))
    record.add(Event(kind="rows", table="sales/eu/orders"))
    record.add(Event(kind="commit", table="sales/eu"))
    record.add(Event(kind="rows", table="sales/europe"))

    def found(**wanted: object) -> list[int]:
        return [entry.number for entry in entries(record.files, RecordFilter(**wanted))]  # type: ignore[arg-type]

    assert found(table="sales/eu") == [2, 1]
    assert found(kind="rows") == [3, 1]
    assert found(since=datetime(2026, 11, 2, tzinfo=UTC)) == [3, 2]


def test_a_long_record_is_read_backwards_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.activity.reading._BLOCK", 7)
    record = written(tmp_path, "ana", "ben", "cleo")
    assert people(record) == ["cleo", "ben", "ana"]
