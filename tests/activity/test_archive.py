"""The archive of a record: nothing is lost, and what is gone from the record without a word is found."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from explorer.activity.archive import archive
from explorer.activity.chain import Head, Start
from explorer.activity.event import Event, RecordEntry, decoded, digest_of
from explorer.activity.files import RecordFiles
from explorer.activity.reading import RecordFilter, check_record, entries
from explorer.activity.record import ActivityRecord
from explorer.core.errors import RequestError, StorageError
from tests.support.at_least_one import at_least_one

NOW = datetime(2026, 6, 1, tzinfo=UTC)


class Days:
    """A clock that a test sets, in days before `NOW`."""

    def __init__(self) -> None:
        self.ago = 0.0

    def __call__(self) -> datetime:
        return NOW - timedelta(days=self.ago)


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture
def record(tmp_path: Path, days: Days) -> ActivityRecord:
    """A record of ten days, a line and a file each."""
    made = ActivityRecord(tmp_path / "record", program="tests/1", clock=days, most_bytes=300)
    for day in range(10, 0, -1):
        days.ago = day
        made.add(Event(kind="rows", person=f"person{day}"))
    days.ago = 0
    assert len(made.files.rotated()) == 9
    return made


def people(*records: RecordFiles) -> list[str]:
    """The people of several records, oldest first."""
    return [
        entry.event.person
        for files in records
        for entry in reversed(list(entries(files)))
        if entry.event.kind == "rows"
    ]


def everybody() -> list[str]:
    return [f"person{day}" for day in range(10, 0, -1)]


def test_older_files_move_and_both_parts_are_proven(record: ActivityRecord, tmp_path: Path) -> None:
    done = archive(record, tmp_path / "archive", before=NOW - timedelta(days=3.5), person="root")
    old = RecordFiles.at(tmp_path / "archive")
    assert [path.name for path in done.files] == [f"activity.{number:06}.jsonl" for number in range(1, 8)]
    assert people(old, record.files) == everybody()
    assert people(old) == [f"person{day}" for day in range(10, 3, -1)]
    assert done.end is not None
    rest = check_record(record.files)
    assert (rest.problems, rest.first) == ([], 8)
    assert check_record(old, expected=[done.end.digest]).problems == []
    told = next(iter(entries(record.files)))
    assert (told.event.what, told.event.person, told.event.refers_to) == ("archived", "root", 7)
    assert told.event.digest == done.end.digest
    modes = {path.stat().st_mode & 0o777 for path in done.files}
    assert modes == {0o400}


def test_a_second_archive_goes_on_in_the_same_folder(record: ActivityRecord, tmp_path: Path, days: Days) -> None:
    """The numbers of files go on, so no copy meets another file of its name."""
    for before in at_least_one((5.5, 2.5)):
        archive(record, tmp_path / "archive", before=NOW - timedelta(days=before))
    days.ago = -60
    record.add(Event(kind="rows", person="later"))
    archive(record, tmp_path / "archive", before=NOW + timedelta(days=50))
    old = RecordFiles.at(tmp_path / "archive")
    assert people(old, record.files) == [*everybody(), "later"]
    assert check_record(old).problems == []
    assert check_record(record.files).problems == []
    record.add(Event(kind="rows", person="last"))
    assert check_record(record.files).problems == []
    assert check_record(RecordFiles.at(record.files.current)).problems == []


def test_a_record_of_one_file_is_closed_so_that_it_can_go(tmp_path: Path, days: Days) -> None:
    record = ActivityRecord(tmp_path / "record", program="tests/1", clock=days)
    days.ago = 40
    record.add(Event(kind="rows", person="ana"))
    days.ago = 0
    done = archive(record, tmp_path / "archive", before=NOW - timedelta(days=30))
    assert len(done.files) == 1
    assert [entry.event.what for entry in entries(record.files)] == ["archived", "closed"]
    assert people(RecordFiles.at(tmp_path / "archive")) == ["ana"]
    # A program that has the record open goes on, and so does another one that opens it now.
    record.add(Event(kind="rows", person="ben"))
    ActivityRecord(tmp_path / "record", program="tests/2").add(Event(kind="rows", person="cleo"))
    assert check_record(record.files).problems == []


def test_what_is_young_stays(record: ActivityRecord, tmp_path: Path) -> None:
    before = sorted(os.listdir(record.files.current.parent))
    assert archive(record, tmp_path / "archive", before=NOW - timedelta(days=20)).end is None
    assert sorted(os.listdir(record.files.current.parent)) == before
    assert not (tmp_path / "archive").exists()


def test_a_record_that_was_changed_is_not_archived(record: ActivityRecord, tmp_path: Path) -> None:
    old = record.files.rotated()[1]
    old.write_bytes(old.read_bytes().replace(b"person9", b"person0"))
    with pytest.raises(StorageError, match="not as it was written, so nothing was archived"):
        archive(record, tmp_path / "archive", before=NOW)
    assert len(record.files.rotated()) >= 9
    assert not (tmp_path / "archive").exists()


def test_a_copy_is_never_written_over_another_file(record: ActivityRecord, tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "activity.000002.jsonl").write_text("of another record\n")
    with pytest.raises(StorageError, match="another file"):
        archive(record, tmp_path / "archive", before=NOW - timedelta(days=3.5))
    assert people(record.files) == everybody()
    assert check_record(record.files).problems == []


def test_the_folder_of_the_record_is_no_archive(record: ActivityRecord, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(record.files.current.parent)
    for folder in at_least_one((record.files.current.parent, tmp_path / "link")):
        with pytest.raises(RequestError, match="the folder of the record"):
            archive(record, folder, before=NOW)


@pytest.mark.parametrize("left", range(4))
def test_an_interrupted_archive_is_valid_and_is_finished_by_the_next(
    record: ActivityRecord, tmp_path: Path, left: int
) -> None:
    """The program ended while it deleted: some files are in both places."""
    rotated = {path: path.read_bytes() for path in record.files.rotated()}
    archive(record, tmp_path / "archive", before=NOW - timedelta(days=3.5))
    gone = [path for path in rotated if not path.exists()]
    assert len(gone) == 7
    for path in gone[len(gone) - left :]:
        path.write_bytes(rotated[path])
    assert check_record(record.files).problems == []
    archive(record, tmp_path / "archive", before=NOW - timedelta(days=3.5))
    assert check_record(record.files).problems == []
    assert people(RecordFiles.at(tmp_path / "archive"), record.files) == everybody()


def test_lines_that_somebody_took_away_are_found_behind_an_archive(record: ActivityRecord, tmp_path: Path) -> None:
    """A start that no line tells of is one that somebody wrote to hide what is gone."""
    archive(record, tmp_path / "archive", before=NOW - timedelta(days=7.5))
    known = record.files.start.read_bytes()
    first = record.files.rotated()[0]
    content = first.read_bytes()
    first.unlink()
    assert [problem.kind for problem in check_record(record.files).problems] == ["start"]
    # The attacker writes a start that fits what is left.
    last = decoded(content.splitlines()[-1])
    forged = Start(last.number, digest_of(content.splitlines()[-1]), 3)
    record.files.start.unlink()
    record.files.start.write_bytes(forged.encoded())
    assert [problem.kind for problem in check_record(record.files).problems] == ["start"]
    first.write_bytes(content)
    record.files.start.write_bytes(known)
    assert check_record(record.files).problems == []
    for damaged in at_least_one((b"", known[:-1], known.replace(b"0", b"1", 1), b"x" * len(known))):
        record.files.start.unlink()
        record.files.start.write_bytes(damaged)
        assert check_record(record.files).problems != []


def test_a_link_to_a_file_of_the_record_is_no_copy_of_it(record: ActivityRecord, tmp_path: Path) -> None:
    """It reads the same, and leads nowhere once the file is deleted."""
    (tmp_path / "archive").mkdir()
    for path in at_least_one(record.files.rotated()):
        (tmp_path / "archive" / path.name).symlink_to(path)
    with pytest.raises(StorageError, match="nothing was deleted"):
        archive(record, tmp_path / "archive", before=NOW)
    assert people(record.files) == everybody()


def test_an_empty_file_among_those_of_the_record_is_named(record: ActivityRecord, tmp_path: Path) -> None:
    record.files.current.with_name("activity.000000.jsonl").touch()
    with pytest.raises(StorageError, match=r"activity\.000000\.jsonl is empty"):
        archive(record, tmp_path / "archive", before=NOW)
    assert people(record.files) == everybody()


def test_a_number_too_long_for_the_start_is_that_of_no_file_of_the_record(
    record: ActivityRecord, tmp_path: Path
) -> None:
    """With it the start would be unreadable, and the record damaged for good."""
    record.files.current.with_name("activity.1234567890123.jsonl").write_bytes(b"no line\n")
    archive(record, tmp_path / "archive", before=NOW - timedelta(days=3.5))
    assert check_record(record.files).problems == []


def test_one_program_at_a_time_archives_a_record(record: ActivityRecord, tmp_path: Path) -> None:
    """Of two, the one with fewer files would say last that the record begins with lines that the other took away."""
    other = ActivityRecord(record.files.current, program="tests/2")
    reached = []

    class Second(ActivityRecord):
        def add(self, event: Event) -> RecordEntry:
            with pytest.raises(StorageError, match="Another program archives"):
                archive(other, tmp_path / "second", before=NOW)
            reached.append(event.what)
            return super().add(event)

    first = Second(record.files.current, program="tests/3")
    assert len(archive(first, tmp_path / "first", before=NOW - timedelta(days=7.5)).files) == 3
    assert reached == ["archived"]
    assert check_record(record.files).problems == []
    assert len(archive(other, tmp_path / "first", before=NOW - timedelta(days=3.5)).files) == 4


@pytest.mark.parametrize("when", ["soon", "2026-01-01T00:00:00", "0001-01-01T00:00:00+00:00"])
def test_a_line_without_a_time_is_damaged(record: ActivityRecord, tmp_path: Path, when: str) -> None:
    """Somebody who may write the record goes on with its chain and its head."""
    last = record.files.current.read_bytes().removesuffix(b"\n")
    forged = json.loads(last) | {"number": 11, "previous": digest_of(last), "time": when}
    line = json.dumps(forged).encode()
    record.files.current.write_bytes(last + b"\n" + line + b"\n")
    record.files.head.write_bytes(Head(11, digest_of(line)).encoded())
    assert [each.kind for each in check_record(record.files).problems] == ["damaged"]
    assert len(list(entries(record.files, RecordFilter(since=NOW - timedelta(days=99))))) == 10
    with pytest.raises(StorageError, match="it was changed"):
        archive(record, tmp_path / "archive", before=NOW)
    assert people(record.files) == everybody()


def test_a_damaged_first_line_is_named_before_anything_moves(record: ActivityRecord, tmp_path: Path) -> None:
    record.files.current.write_bytes(b"no line\n" + record.files.current.read_bytes())
    with pytest.raises(StorageError, match="nothing was archived"):
        archive(record, tmp_path / "archive", before=NOW)
    assert not (tmp_path / "archive").exists()
