"""Paths with empty or dotted segments and with escapes in conflicts, plans, and vacuums: one file, however written."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import explorer
from explorer.core.maintenance.vacuum import plan_vacuum
from explorer.core.protocol.actions import AddCDCFile
from explorer.core.transaction.commit.conflicts import conflict_with
from explorer.core.transaction.consequences import file_moves
from explorer.core.transaction.intents.records import Restore
from explorer.core.transaction.planner import _some_masked
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.reads import rows_meeting
from tests.support.logs.small_logs import (
    MASKED,
    METADATA,
    PROTOCOL,
    Line,
    add,
    commit_info,
    metadata,
    remove,
    table,
    vector,
    write_log,
)

SPELLINGS = ["d/e.parquet", "d//e.parquet", "./d/e.parquet", "d/x/../e.parquet", "d%2Fe.parquet"]
"""Of one file."""
OLD = 1_700_000_000_000


def _stored(root: Path, commits: list[list[Line]], *names: str) -> explorer.Table:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"PAR1xxxxPAR1")
        os.utime(file, (OLD / 1000, OLD / 1000))
    write_log(root, commits)
    return explorer.open_table(str(root))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("p=a/f.parquet", "a"),
        ("p=a%253Ab/f.parquet", "a:b"),
        ("p=2024-01-01%252000/f.parquet", "x"),
        ("a%2520b.parquet", "x"),
        ("a%2F%2Fb.parquet", "x"),
        ("%2e/b.parquet", "x"),
        ("c%3Ad.parquet", "x"),
        ("./c:d.parquet", "x"),
    ],
)
def test_a_removal_of_a_file_that_was_read_is_a_conflict(path: str, value: str) -> None:
    first = add(path, 1, partition_values={"p": value}), add("p=z/g.parquet", 1, partition_values={"p": "z"})
    log = table(
        {
            0: (PROTOCOL, metadata({"id": "long", "p": "string"}, ["p"]), *first),
            1: (remove(path, data_change=True, partition_values={"p": value}),),
        }
    )
    snapshot = log.snapshot(0)
    reads = rows_meeting(snapshot, f"p = '{value}'", as_core=True)
    (winner,) = log.commits(1, 1)
    proposal = Proposal(operation="DELETE", parameters={}, reads=reads, reads_files=True)
    assert conflict_with(proposal, winner, snapshot) is not None


@pytest.mark.parametrize("path", SPELLINGS)
def test_plans_take_every_spelling_for_the_live_file(path: str) -> None:
    log = table({0: (MASKED, METADATA, add(path, 10, vector=vector("a")))})
    snapshot = log.snapshot()
    gone = Proposal(operation="REORG", parameters={}, removes=(remove(path, vector=vector("a")),))
    assert not _some_masked(snapshot, gone)
    moves = file_moves(snapshot, gone)
    assert (len(moves.removed), len(moves.tombstones)) == (1, 0)
    described = Proposal(operation="COMPUTE STATS", parameters={}, adds=(add(path, 10, vector=vector("a")),))
    moves = file_moves(snapshot, described)
    assert (len(moves.added), len(moves.described)) == (0, 1)
    again = (remove("d/e.parquet", vector=vector("a")),), (add(path, 10, vector=vector("b", 2)),)
    moves = file_moves(snapshot, Proposal(operation="DELETE", parameters={}, removes=again[0], adds=again[1]))
    assert (len(moves.remasked), len(moves.removed), len(moves.added)) == (1, 0, 0)


@pytest.mark.parametrize("path", SPELLINGS)
def test_a_restore_of_another_file_brings_no_erased_row_back(path: str, tmp_path: Path) -> None:
    erased = commit_info("DELETE", user_metadata="erasure of a person, GDPR art. 17")
    commits = [
        [PROTOCOL, METADATA, add(path, 1)],
        [add("x.parquet", 1)],
        [erased, remove("x.parquet", data_change=True)],
        [remove(path, data_change=True)],
    ]
    plan = _stored(tmp_path, commits, "d/e.parquet", "x.parquet").plan(Restore(version=0))
    assert [action.path for action in plan.proposal.adds] == [path]
    assert "fail" not in {guard.status for guard in plan.guards if guard.name == "erased-rows"}


LIVE = [*SPELLINGS, "d%2F%2Fe.parquet", "%2e/d/e.parquet", "d/..%2Fd/e.parquet", "../elsewhere.parquet"]


@pytest.mark.parametrize("path", LIVE)
def test_a_vacuum_knows_that_a_version_is_lost_however_its_other_file_is_written(path: str, tmp_path: Path) -> None:
    live = [PROTOCOL, METADATA, add("old.parquet", 1), add(path, 1)]
    removed = [remove("old.parquet", deletion_timestamp=OLD, data_change=True)]
    (tmp_path / "elsewhere.parquet").write_bytes(b"PAR1xxxxPAR1")
    log = _stored(tmp_path / "t", [live, removed], "old.parquet", "d/e.parquet")
    plan = plan_vacuum(log, datetime.now(UTC) + timedelta(days=30), None)
    names = {file.path for file in plan.files}
    assert "old.parquet" in names
    assert ("d/e.parquet" in names) == path.startswith("../")
    assert "Version 0 can no longer be read" in str(plan.consequences.time_travel)
    assert {guard.status for guard in plan.guards if guard.name == "time-travel"} == {"warn"}


@pytest.mark.parametrize("path", ["_change_data/x.parquet", "_change_data//x.parquet", "./_change_data/x.parquet"])
def test_a_vacuum_says_which_changes_go_however_their_file_is_written(path: str, tmp_path: Path) -> None:
    feed = metadata({"id": "long"}, configuration={"delta.enableChangeDataFeed": "true"})
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}
    removed = remove("old.parquet", deletion_timestamp=OLD, data_change=True)
    changed = [removed, AddCDCFile(path=path, partition_values={}, size=10)]
    names = ("old.parquet", "d/e.parquet", "_change_data/x.parquet")
    log = _stored(tmp_path, [[protocol, feed, add("old.parquet", 1), add("d/e.parquet", 1)], changed], *names)
    plan = plan_vacuum(log, datetime.now(UTC) + timedelta(days=30), None)
    assert ("_change_data/x.parquet", "changes that version 1 recorded") in {
        (file.path, file.reason) for file in plan.files
    }
    assert "Versions 0 to 1" in str(plan.consequences.change_feed)
