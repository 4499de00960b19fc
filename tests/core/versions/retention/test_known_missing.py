"""Versions that lost their data: to a vacuum of this program, to one that the log records, or as a look found."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.protocol.actions import AddCDCFile, Protocol
from explorer.core.versions.retention.missing_files import KnownMissing
from explorer.storage import open_store
from tests.support.comparison.audited_tables import DAY, NOW, ago, loaded, written
from tests.support.logs import small_logs
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, remove, write

PRESENT = int(time.time() * 1000)
FED = {"delta.enableChangeDataFeed": "true"}


def _old(name: str) -> Any:
    return remove(name, deletion_timestamp=PRESENT - 9 * DAY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Versions 0 to 2 need a file that is expired, versions 3 and 4 do not."""
    commits = [[PROTOCOL, METADATA, add("a")], [add("b")], [_old("a")], [_old("b"), add("c")], [add("d")]]
    write(open_store(tmp_path), dict(enumerate(commits)))
    for name in "abcd":
        (tmp_path / name).write_bytes(b"PAR1")
        os.utime(tmp_path / name, (time.time() - 30 * 86_400,) * 2)
    return tmp_path


def _states(table: explorer.Table) -> list[str]:
    states = table.version_risks().at(PRESENT)
    return [states.state(version) for version in range(table.latest_version() + 1)]


def test_after_an_own_vacuum_the_versions_that_it_took_are_lost(folder: Path) -> None:
    table = explorer.open_table(folder)
    assert _states(table) == ["at risk"] * 3 + ["readable"] * 2
    table.commit(table.plan({"kind": "vacuum"}))
    assert _states(table) == ["data gone"] * 3 + ["readable"] * 4
    found = {finding.rule: finding for finding in table.audit().findings}
    assert found["versions-gone"].versions == ((0, 2),)
    assert "no longer exist" in " ".join(each.text for each in found["versions-gone"].evidence)
    assert "versions-at-risk" not in found


def test_after_an_own_vacuum_the_horizon_neither_keeps_these_versions_nor_frees_the_files_again(folder: Path) -> None:
    table = explorer.open_table(folder)
    before = table.horizon().what_if()
    assert (before.kept, before.versions, before.files) == (2, ((0, 2),), 2)
    table.commit(table.plan({"kind": "vacuum"}))
    after = table.horizon().what_if()
    assert (after.kept, after.versions, after.files) == (4, (), 0)
    assert after.dates.column("gone").to_pylist() == [True] * 3 + [False] * 4


def test_after_an_own_vacuum_the_changes_that_it_took_are_lost(tmp_path: Path) -> None:
    fed = small_logs.metadata({"id": "long"}, (), FED)
    feed = AddCDCFile(path="_change_data/x", size=4)
    write(
        open_store(tmp_path),
        {0: [Protocol(min_reader_version=1, min_writer_version=4), fed, add("a")], 1: [feed, add("b")]},
    )
    for name in ("a", "b", "_change_data/x", "_delta_log/00000000000000000001.json"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        if not file.exists():
            file.write_bytes(b"PAR1")
        os.utime(file, (time.time() - 30 * 86_400,) * 2)
    table = explorer.open_table(tmp_path)
    table.commit(table.plan({"kind": "vacuum"}))
    found = table.horizon()
    assert found.feed.lost.tolist() == [False, True, False, False]
    assert found.what_if().files == 0


@pytest.mark.parametrize("look", ["retention", "folder", "changes"])
def test_a_look_that_misses_a_file_is_remembered_and_one_that_sees_it_forgets(folder: Path, look: str) -> None:
    table = explorer.open_table(folder)
    kept = (folder / "a").read_bytes()

    def again() -> None:
        match look:
            case "retention":
                table.retention(datetime.now(UTC))
            case "folder":
                table.folder()
            case _:
                table.change_sources(0, 4, inferred=True, skip=True)

    (folder / "a").unlink()
    again()
    assert _states(table)[:2] == ["data gone"] * 2
    (folder / "a").write_bytes(kept)
    again()
    assert _states(table)[:2] == ["at risk"] * 2


def test_what_is_known_holds_for_the_log_as_it_is_later(folder: Path) -> None:
    table = explorer.open_table(folder)
    table.commit(table.plan({"kind": "vacuum"}))
    write(open_store(folder), {7: [add("e")]})
    later = table.successor()
    assert later.latest_version() == 7
    assert _states(later) == ["data gone"] * 3 + ["readable"] * 5


def _vacuum(status: str | None, retention: int, to_delete: str = "2", deleted: str = "2") -> list[list[Any]]:
    start = small_logs.commit_info(
        "VACUUM START",
        timestamp=ago(DAY),
        operation_parameters={"specifiedRetentionMillis": retention},
        operation_metrics={"numFilesToDelete": to_delete},
    )
    if status is None:
        return [[start]]
    metrics = {"numDeletedFiles": deleted}
    end = small_logs.commit_info("VACUUM END", operation_parameters={"status": status}, operation_metrics=metrics)
    return [[start], [end]]


@pytest.mark.parametrize(
    ("vacuum", "state"),
    [
        pytest.param(_vacuum("COMPLETED", 0), "data gone", id="completed"),
        pytest.param(_vacuum("COMPLETED", 0, deleted="0"), "readable", id="deleted nothing"),
        pytest.param(_vacuum("COMPLETED", 0, to_delete="0"), "readable", id="had nothing to delete"),
        pytest.param(_vacuum("COMPLETED", 7 * DAY), "readable", id="kept it"),
        pytest.param(_vacuum("FAILED", 0), "at risk", id="failed"),
        pytest.param(_vacuum(None, 0), "at risk", id="no end"),
        pytest.param([*_vacuum(None, 0), *_vacuum(None, 7 * DAY)], "at risk", id="no end before another"),
    ],
)
def test_the_record_of_a_vacuum_says_what_it_can_say_and_no_more(vacuum: list[Any], state: str) -> None:
    gone = [small_logs.commit_info("DELETE"), remove("0.parquet", deletion_timestamp=ago(2 * DAY))]
    table = written(loaded("0.parquet"), gone, *vacuum)
    states = table.version_risks().at(ago(0))
    assert states.state(1) == state
    findings = {finding.title for finding in table.audit(NOW).findings if finding.rule == "versions-at-risk"}
    doubted = "An unfinished VACUUM may have deleted the data of 1 version"
    assert (doubted in findings) == (state == "at risk")


def test_a_full_look_ends_the_doubt_of_an_unfinished_vacuum() -> None:
    gone = [small_logs.commit_info("DELETE"), remove("0.parquet", deletion_timestamp=ago(2 * DAY))]
    table = written(loaded("0.parquet"), gone, *_vacuum(None, 0))
    table.store.put("0.parquet", b"PAR1")
    table.retention(NOW)
    assert table.version_risks().at(ago(0)).state(1) == "readable"


def test_each_thing_learned_has_a_revision_and_nothing_new_has_none() -> None:
    known = KnownMissing()
    known.deleted(["a", "b"], [3])
    first = known.now
    known.deleted(["a"])
    assert known.now is first
    known.record_checked(["a", "c"], {"c"})
    assert (known.now.missing, known.now.feed, known.now.revision) == ({"b", "c"}, {3}, 2)
    known.record_all_checked({"b"}, 7, [])
    assert (known.now.missing, known.now.feed, known.now.checked_to) == ({"b"}, frozenset(), 7)


def test_files_that_are_known_to_be_missing_are_matched_once(tmp_path: Path) -> None:
    small_logs.write_log(tmp_path, [[PROTOCOL, METADATA, add("a")], [add("b")]])
    table = explorer.open_table(tmp_path)
    table.known_missing.record_all_checked(frozenset({"a"}), 1)
    risks = table.version_risks()
    first = risks.at(1)
    assert first.state(0) == "data gone"
    assert risks.at(2).lost is first.lost
    table.known_missing.record_all_checked(frozenset({"b"}), 1)
    later = risks.at(2)
    assert later.lost is not first.lost
    assert (later.state(0), later.state(1)) == ("readable", "data gone")
