"""What the history says of each commit, to the last column, and how it is read: in order, watched, and going on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Action, AddCDCFile, CommitInfo, DomainMetadata, Metadata, TransactionAction
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.history_reader import CommitRecorder
from explorer.core.versions.provenance import BaseState, CommitRecord
from explorer.storage import open_store
from tests.support.logs.checkpoint_shapes import begun_late, write_checkpoint
from tests.support.logs.small_logs import (
    LONG_AGO,
    METADATA,
    PROTOCOL,
    add,
    commit_info,
    decode_small,
    lines,
    metadata,
    remove,
    table,
    vector,
    write_log,
)
from tests.support.logs.small_proposals import protocol
from tests.support.logs.small_schemas import field, struct

FIRST: list[Action] = [PROTOCOL, METADATA]


def timed(**properties: str) -> Metadata:
    return metadata({"id": "long"}, configuration={"delta.enableInCommitTimestamps": "true"} | properties)


def test_the_time_of_a_version_whose_commit_is_gone_is_that_of_its_newest_file(tmp_path: Path) -> None:
    store = open_store(write_log(tmp_path, [FIRST, *([add(f"{version}")] for version in range(1, 4))]))
    write_checkpoint(store, 3, [*FIRST, *(add(f"{version}") for version in range(1, 4))], "multi-part")
    for part, path in enumerate(sorted((tmp_path / "_delta_log").glob("*.checkpoint.*"))):
        os.utime(path, (1_700_000_000 + part % 2,) * 2)
    for version in range(4):
        store.delete(commit_name(version))
    assert DeltaLog(store).snapshot().timestamp == datetime.fromtimestamp(1_700_000_001, UTC)


def test_the_time_of_a_commit_is_its_own_or_that_of_its_file_raised_above_those_before(tmp_path: Path) -> None:
    stamps: list[list[Action]] = [
        [PROTOCOL, timed(), CommitInfo(in_commit_timestamp=70)],
        [CommitInfo(in_commit_timestamp=30), add("a")],
    ]
    stated = DeltaLog(open_store(write_log(tmp_path / "stated", stamps)))
    write_checkpoint(stated.store, 1, [PROTOCOL, timed(), add("a")], "classic")
    for found in (stated, DeltaLog(stated.store)):
        assert found.snapshot(1).timestamp == datetime.fromtimestamp(0.03, UTC)
    plain = write_log(tmp_path / "plain", [FIRST, *([add(f"{version}")] for version in range(1, 4))])
    for version, time in enumerate((500, 400, 400, 600)):
        os.utime(plain / commit_name(version), (time, time))
    found = DeltaLog(open_store(plain))
    millisecond = timedelta(milliseconds=1)
    first = datetime.fromtimestamp(500, UTC)
    told = [found.snapshot(version).timestamp for version in range(4)]
    assert told == [first, first + millisecond, first + 2 * millisecond, first + timedelta(seconds=100)]


def test_a_row_of_the_history_says_all_that_its_commit_does() -> None:
    created = commit_info(
        "CREATE TABLE",
        user_name="eva",
        engine_info="engine/1",
        operation_parameters={"mode": "x", "n": 1, "list": [1, "a"], "none": None},
        operation_metrics={"numFiles": "2", "share": 0.5},
        is_blind_append=True,
        user_metadata="why",
        in_commit_timestamp=LONG_AGO + 5,
    )
    mask = vector("one", 3)
    deleted = commit_info("DELETE", operation_parameters={"only": "text"}, is_blind_append=False, timestamp=1 << 60)
    found = table(
        {
            0: [
                created,
                protocol(3, 7, r="deletionVectors", w="deletionVectors changeDataFeed"),
                timed(),
                add("a", 10),
            ],
            1: [
                CommitInfo(in_commit_timestamp=LONG_AGO + 6),
                metadata({"id": "long", "x": "date"}, configuration={"delta.enableChangeDataFeed": "true"}),
                add("b", None, size=7),
            ],
            2: [deleted, remove("a"), add("a", 10, vector=mask), AddCDCFile(path="c", size=1), remove("b")],
        }
    )
    second, masked = found.history(2).to_pylist()[::-1]
    (first,) = found.history().slice(2).to_pylist()
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert first == {
        "version": 0,
        "timestamp": epoch + timedelta(milliseconds=LONG_AGO + 5),
        "timestamp_basis": "in-commit",
        "commit_info_timestamp": epoch + timedelta(milliseconds=LONG_AGO),
        "operation": "CREATE TABLE",
        "user_name": "eva",
        "engine_info": "engine/1",
        "parameters": [("mode", "x"), ("n", "1"), ("list", '[1,"a"]'), ("none", None)],
        "metrics": [("numFiles", "2"), ("share", "0.5")],
        "is_blind_append": True,
        "num_files_added": 1,
        "num_files_removed": 0,
        "num_files_remasked": 0,
        "bytes_added": 100,
        "bytes_removed": 0,
        "rows_added": 10,
        "rows_removed": 0,
        "rows_masked": 0,
        "rows_rewritten": 0,
        "num_files": 1,
        "num_bytes": 100,
        "num_rows": 10,
        "num_deleted_rows": 0,
        "metadata_changed": True,
        "protocol_changed": True,
        "schema_changed": False,
        "data_change": True,
        "change_files": False,
        "change_feed": False,
        "reason": "why",
    }
    nothing = dict.fromkeys(("operation", "user_name", "engine_info", "parameters", "metrics", "reason"))
    unlike = {
        "version": 1,
        "timestamp_basis": "file",
        "commit_info_timestamp": None,
        "is_blind_append": None,
        **nothing,
        "bytes_added": 7,
        "rows_added": None,
        "num_files": 2,
        "num_bytes": 107,
        "num_rows": None,
        "protocol_changed": False,
        "schema_changed": True,
        "change_feed": True,
    }
    assert {name: value for name, value in second.items() if name != "timestamp"} == {
        name: value for name, value in {**first, **unlike}.items() if name != "timestamp"
    }
    assert {name: value for name, value in masked.items() if value not in (0, None, False) and name != "timestamp"} == {
        "version": 2,
        "timestamp_basis": "file",
        "operation": "DELETE",
        "parameters": [("only", "text")],
        "num_files_removed": 1,
        "num_files_remasked": 1,
        "bytes_removed": 7,
        "rows_masked": 3,
        "num_files": 1,
        "num_bytes": 100,
        "num_rows": 7,
        "num_deleted_rows": 3,
        "data_change": True,
        "change_files": True,
        "change_feed": True,
    }
    assert (masked["rows_removed"], masked["is_blind_append"], masked["commit_info_timestamp"]) == (None, False, None)
    assert {str(found.history().schema.field(name).type) for name in ("timestamp", "commit_info_timestamp")} == {
        "timestamp[ms, tz=UTC]"
    }
    assert found.history().schema.field("parameters").type == pa.map_(pa.string(), pa.string())


@pytest.mark.parametrize(
    ("metrics", "copied"),
    [
        (None, 0),
        ({}, 0),
        ({"numCopiedRows": "5"}, 5),
        ({"numTargetRowsCopied": 4}, 4),
        ({"numCopiedRows": "5", "numTargetRowsCopied": "4"}, 9),
        ({"numCopiedRows": "x", "numTargetRowsCopied": "4"}, 4),
        ({"numCopiedRows": "-5"}, 0),
        ({"numCopiedRows": "٣"}, 0),
        ({"numCopiedRows": "9" * 18}, int("9" * 18)),
        ({"numCopiedRows": "9" * 19, "numTargetRowsCopied": "1"}, 1),
    ],
)
def test_rows_that_a_writer_says_it_copied_are_rewritten_ones(metrics: dict[str, Any] | None, copied: int) -> None:
    info = commit_info("MERGE", operation_metrics=metrics)
    found = table({0: FIRST, 1: [info, add("a", 7, data_change=False), add("b", 9)]})
    assert found.history(1).column("rows_rewritten").to_pylist() == [7 + copied]


def test_a_protocol_changes_with_its_numbers_and_features_and_not_with_their_order() -> None:
    protocols: list[Action] = [
        protocol(2, 5),
        protocol(2, 6),
        protocol(3, 7, r="a b", w="a b c"),
        protocol(3, 7, r="b a", w="c b a"),
        protocol(3, 7, r="b a", w="a b c d"),
        protocol(3, 7, r="a b e", w="a b c d"),
        protocol(3, 7, r="a b e", w="a b c d"),
    ]
    found = table({0: FIRST} | {version: [each] for version, each in enumerate(protocols, 1)})
    changed = found.history().column("protocol_changed").to_pylist()[::-1]
    assert changed == [True, True, True, True, False, True, True, False]


def test_a_mark_that_rows_move_changes_no_metadata_and_no_schema() -> None:
    def marked(mark: int | None, step: int = 1, **configuration: str) -> Metadata:
        keys = {"delta.identity.start": 1, "delta.identity.step": step}
        keys |= {} if mark is None else {"delta.identity.highWaterMark": mark}
        text = json.dumps(struct(field("id", "long", metadata=keys)))
        return msgspec.structs.replace(METADATA, schema_string=text, configuration=configuration)

    versions = [marked(None), marked(5), marked(9, x="1"), marked(9, 2, x="1"), marked(9, 2, x="1"), marked(7, 2)]
    commits: dict[int, Iterable[Action]] = {v: [each] for v, each in enumerate(versions)}
    rows = table(commits | {0: [PROTOCOL, versions[0]]}).history().to_pylist()[::-1]
    assert [(row["metadata_changed"], row["schema_changed"]) for row in rows] == [
        (True, False),
        (False, False),
        (True, False),
        (True, True),
        (False, False),
        (True, False),
    ]


def late(gone: int = 2, *more: Action) -> Any:
    commits: dict[int, Any] = {version: [add(f"{version}")] for version in range(1, 6)}
    commits[0], commits[4] = FIRST, [PROTOCOL, METADATA, *more, add("4")]
    return begun_late(commits, 3, [*FIRST, *(add(f"{version}") for version in range(1, 4))], gone=gone)


def test_before_the_first_readable_version_nothing_is_said_of_what_is_in_force() -> None:
    rows = late(1).history().to_pylist()[::-1]
    told = [(row["version"], row["change_feed"], row["metadata_changed"], row["num_files"]) for row in rows]
    assert told == [
        (1, None, False, None),
        (2, None, False, None),
        (3, False, False, 3),
        (4, False, False, 4),
        (5, False, False, 5),
    ]


RECORDED = [
    TransactionAction(app_id="x", version=1),
    commit_info("WRITE", in_commit_timestamp=40),
    AddCDCFile(path="c", size=7),
    DomainMetadata(domain="d", configuration="{}"),
    DomainMetadata(domain="e", configuration="", removed=True),
    add("a"),
]


def small(version: int, *actions: Any) -> Any:
    return decode_small(lines(actions), version, commit_name(version))


def test_a_record_holds_the_small_actions_of_its_commit_and_its_time() -> None:
    recorder = CommitRecorder(None)
    on = timed()
    info = commit_info("WRITE", in_commit_timestamp=40)
    recorder.take(small(0, *RECORDED), 9)
    recorder.take(small(1, PROTOCOL), 5)
    recorder.take(small(2, on, info, b'{"cdc":{"path":"x"}}'), 60)
    other = recorder.copy()
    recorder.take(small(3, add("b")), 3)
    recorder.take(small(4, METADATA, info), 2)
    domains = (RECORDED[3], RECORDED[4])
    assert recorder.records == [
        CommitRecord(0, 9, info, None, None, True, False, False, (7,), domains),  # type: ignore[arg-type] # two domains
        CommitRecord(1, 10, None, PROTOCOL, None, False),
        CommitRecord(2, 40, info, None, on, True, True, False, (None,)),
        CommitRecord(3, 41, None, None, None, False, False, True),
        CommitRecord(4, 42, info, None, METADATA, False),
    ]
    assert other.records == recorder.records[:3]
    other.take(small(3), 70)
    assert (other.records[3].timestamp, other.records[3].time_lacking) == (70, True)


def test_a_record_that_begins_late_takes_its_times_from_what_is_in_force() -> None:
    since = timed(
        **{"delta.inCommitTimestampEnablementVersion": "2", "delta.inCommitTimestampEnablementTimestamp": "20"}
    )
    recorder = CommitRecorder(BaseState(3, PROTOCOL, since, {}))
    for version in range(1, 6):
        recorder.take(small(version, CommitInfo(in_commit_timestamp=version * 10)), 100)
    told = [(record.timestamp, record.time_in_commit) for record in recorder.records]
    assert told == [(100, False), (20, True), (30, True), (40, True), (50, True)]
    off = CommitRecorder(BaseState(3, PROTOCOL, METADATA, {}))
    off.take(small(3, CommitInfo(in_commit_timestamp=7)), 100)
    off.take(small(4, timed(), CommitInfo(in_commit_timestamp=8)), 100)
    off.take(small(5, CommitInfo(in_commit_timestamp=9)), 100)
    assert [record.timestamp for record in off.records] == [100, 8, 9]
