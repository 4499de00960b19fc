"""Maintenance is recorded: a VACUUM in the log as the reference writes it, all of it in the journal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import StorageError
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.log_store import LogStore
from explorer.storage.journal.journal_folder import JournalFolder
from tests.support.logs.small_logs import PROTOCOL, add, metadata, new_store, remove, write
from tests.support.shared_tables import reference_root

SOON = {"delta.deletedFileRetentionDuration": "interval 0 hours", "delta.logRetentionDuration": "interval 1 days"}


def vacuumed(where: LogStore | None = None) -> explorer.Table:
    """A table with two live files, one that was removed long ago, and one that nothing names."""
    where = new_store() if where is None else where
    for name in ("a", "b", "gone", "left"):
        where.put(name, b"rows of it")
    created = metadata({"id": "long"}, configuration=SOON)
    write(where, {0: (PROTOCOL, created, add("a"), add("gone")), 1: (remove("gone"), add("b"))})
    return explorer.Table(where)


def done(table: explorer.Table, kind: str, **fields: Any) -> Any:
    plan = table.plan({"kind": kind, **fields}, accept=["retention"])
    result = table.commit(plan, reason="storage is full", user="ana")
    assert result.outcome == "committed", plan.blocking
    return result


def actions(table: explorer.Table, version: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in table.store.read(commit_name(version)).splitlines()]


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DELTA_EXPLORER_JOURNAL", str(tmp_path / "journal"))
    return tmp_path / "journal"


def reference(version: int) -> dict[str, Any]:
    path = reference_root() / "tables" / "vacuum" / commit_name(version)
    (line,) = path.read_text().splitlines()
    info: dict[str, Any] = json.loads(line)["commitInfo"]
    return info


@pytest.mark.reference
@pytest.mark.parametrize(("version", "place"), [(8, 0), (9, 1)])
def test_a_vacuum_writes_the_two_commits_that_the_reference_writes(version: int, place: int) -> None:
    table = vacuumed()
    result = done(table, "vacuum", olderThan="interval 0 hours")
    (line,) = actions(table, result.recorded[place])
    ours, theirs = line["commitInfo"], reference(version)
    own = {"userName", "userMetadata"}
    assert ours.keys() - own == theirs.keys()
    for part in ("operationParameters", "operationMetrics"):
        assert {key: type(value) for key, value in ours[part].items()} == {
            key: type(value) for key, value in theirs[part].items()
        }
    same = ("operation", "isolationLevel", "isBlindAppend")
    assert [ours[name] for name in same] == [theirs[name] for name in same]
    assert (ours["userName"], ours["userMetadata"]) == ("ana", "storage is full")


def test_a_vacuum_records_what_it_deletes_before_and_after() -> None:
    table = vacuumed()
    result = done(table, "vacuum")
    assert (result.recorded, result.version) == ((2, 3), 3)
    begun, ended = (actions(table, version)[0]["commitInfo"] for version in (2, 3))
    assert begun["operationMetrics"] == {"numFilesToDelete": "2", "sizeOfDataToDelete": "20"}
    assert begun["operationParameters"] == {"retentionCheckEnabled": True, "defaultRetentionMillis": 0}
    assert ended["operationParameters"] == {"status": "COMPLETED"}
    assert ended["operationMetrics"] == {"numDeletedFiles": "2", "numVacuumedDirectories": "1"}
    assert table.latest_version() == 3
    assert table.snapshot().num_files == 2
    horizon = explorer.Table(table.store).horizon()
    assert horizon.versions.versions[horizon.versions.lost].tolist() == [0], "another process knows what is lost"


def test_a_vacuum_without_files_to_delete_writes_no_commit(journal: Path) -> None:
    table = vacuumed()
    done(table, "vacuum")
    journal.rename(journal.with_name("before"))
    plan = table.plan({"kind": "vacuum"}, accept=["retention"])
    assert plan.files == ()
    assert table.commit(plan, reason="nothing", user="ana").version is None
    assert table.latest_version() == 3
    (entry,) = table.maintenance()
    assert (entry.source, entry.recorded_in, entry.bytes_deleted) == ("log", (2, 3), 20)
    assert not journal.exists()


class Refusing:
    """A store that refuses to delete."""

    def __init__(self, store: LogStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def delete_many(self, keys: Any) -> None:
        raise StorageError(f"403 for {len(list(keys))} files")


def test_a_vacuum_that_fails_is_recorded_as_failed(journal: Path) -> None:
    store = new_store()
    vacuumed(store)
    table = explorer.Table(Refusing(store))  # type: ignore[arg-type]  # it has the members of a store
    with pytest.raises(StorageError, match="403"):
        done(table, "vacuum")
    assert [actions(table, version)[0]["commitInfo"]["operation"] for version in (2, 3)] == [
        "VACUUM START",
        "VACUUM END",
    ]
    assert actions(table, 3)[0]["commitInfo"]["operationParameters"] == {"status": "FAILED"}
    (entry,) = table.maintenance()
    assert (entry.outcome, entry.num_deleted, entry.user, entry.recorded_in) == ("failed", None, "ana", (2, 3))


def test_the_journal_holds_person_reason_digest_and_deleted_paths(journal: Path) -> None:
    table = vacuumed()
    plan = table.plan({"kind": "vacuum"}, accept=["retention"])
    table.commit(plan, reason="storage is full", user="ana")
    (entry,) = explorer.Table(table.store).maintenance()
    assert (entry.kind, entry.user, entry.reason, entry.source) == ("vacuum", "ana", "storage is full", "journal")
    assert (entry.digest, entry.deleted, entry.bytes_deleted) == (plan.digest, ("gone", "left"), 20)
    assert entry.time_travel == "Version 0 can no longer be read."
    (file,) = journal.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert journal.stat().st_mode & 0o077 == 0


def test_checkpoints_and_compactions_are_in_the_journal_alone_and_the_newest_comes_first(journal: Path) -> None:
    table = vacuumed()
    done(table, "checkpoint")
    done(table, "compact-log", **{"from": 0, "to": 1})
    done(table, "checkpoint")
    entries = table.maintenance()
    assert [(entry.kind, entry.num_written, entry.recorded_in) for entry in entries] == [
        ("compact-log", 1, ()),
        ("checkpoint", 1, ()),
    ]
    assert entries[0].time >= entries[1].time
    assert table.latest_version() == 1


@pytest.mark.reference
def test_vacuums_of_other_programs_are_listed_from_the_log() -> None:
    entries = explorer.open_table(reference_root() / "tables" / "vacuum").maintenance()
    known = {entry.recorded_in: entry for entry in entries}
    assert [(known[pair].outcome, known[pair].num_deleted) for pair in ((4, 5), (6, 7), (8, 9))] == [
        ("done", 0),
        ("done", 0),
        ("done", 4),
    ]
    assert {(entry.source, entry.digest, entry.kind) for entry in entries} == {("log", None, "vacuum")}
    assert known[8, 9].bytes_deleted == 4423
    assert [entry.time for entry in entries] == sorted((entry.time for entry in entries), reverse=True)


def test_a_journal_that_cannot_be_written_is_a_note_and_the_work_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DELTA_EXPLORER_JOURNAL", str(tmp_path / "file" / "journal"))
    result = done(vacuumed(), "checkpoint")
    (note,) = result.notes
    assert note.startswith("The journal of maintenance could not be written")
    assert "DELTA_EXPLORER_JOURNAL" in note


def test_a_broken_line_of_the_journal_hides_no_other(journal: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = vacuumed()
    done(table, "checkpoint")
    (file,) = journal.iterdir()
    whole = file.read_bytes()
    file.write_bytes(b"{\n\xff\n" + whole)
    assert [entry.kind for entry in JournalFolder(journal).entries(table.location)] == ["checkpoint"]
    assert "is not an entry" in caplog.text
