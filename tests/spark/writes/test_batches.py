"""Batches of an application: each is written once, however often it comes and wherever its writer was stopped."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import GuardFailed, InvalidIntent
from explorer.core.log.log_path import commit_name
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult
from explorer.core.versions.retention.missing_files import data_locations
from tests.spark.writes.stream_victim import stream
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import REPOSITORY

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=3)]

ROWS = pa.table({"id": pa.array([1, 100], pa.int64()), "seen": pa.array([0, 0], pa.int64())})
BATCH = {"txnAppId": "loader", "txnVersion": 7}
INTENTS: list[dict[str, Any]] = [
    {"kind": "append", "source": ""},
    {"kind": "update", "set": {"seen": "seen + 1"}, "where": "id < 3"},
    {"kind": "delete", "where": "id = 2"},
    {
        "kind": "merge",
        "source": "",
        "on": "target.id = source.id",
        "matched": [{"update": {"seen": "target.seen + 1"}}],
        "notMatched": [{"insert": "*"}],
    },
    {"kind": "overwrite", "source": ""},
]


def new_table(folder: Path) -> explorer.Table:
    rows = pa.table({"id": pa.array(range(5), pa.int64()), "seen": pa.array([0] * 5, pa.int64())})
    fields = [column("id", "long"), column("seen", "long")]
    properties = {"delta.enableDeletionVectors": "true"}
    return explorer.open_table(write_table(folder, fields, [DataFile("a.parquet", rows)], (), properties))


def plan(table: explorer.Table, intent: dict[str, Any]) -> CommitPlan:
    found = table.plan(intent, rows=ROWS if "source" in intent else None)
    assert isinstance(found, CommitPlan)
    return found


def committed(table: explorer.Table, intent: dict[str, Any]) -> CommitResult:
    result = table.commit(plan(table, intent))
    assert isinstance(result, CommitResult)
    assert result.outcome == "committed", result.plan.blocking
    return result


def rows_of(table: explorer.Table) -> list[tuple[int, int]]:
    table.refresh()
    return sorted((row["id"], row["seen"]) for row in table.rows().toArrow().to_pylist())


def orphans(table: explorer.Table) -> set[str]:
    """Files of rows and vectors that no version names."""
    table.refresh()
    data = {key for key in table.store.list_tree() if not key.startswith("_delta_log/")}
    return data - set(data_locations(table.history_record().lifetimes))


@pytest.mark.sampled(cases=2)
@pytest.mark.conformance("TXN-003", "TXN-004")
@pytest.mark.parametrize("intent", INTENTS, ids=lambda intent: str(intent["kind"]))
def test_a_batch_that_comes_again_is_found(tmp_path: Path, intent: dict[str, Any]) -> None:
    table = new_table(tmp_path / "t")
    first = committed(table, intent | BATCH)
    assert first.version == 1
    (recorded,) = [line["txn"] for line in map(json.loads, table.commit_actions(1)) if "txn" in line]
    assert (recorded["appId"], recorded["version"]) == ("loader", 7)
    assert recorded["lastUpdated"] > 1_700_000_000_000
    rows, files = rows_of(table), sorted(table.store.list_tree())
    for older in (0, 1):
        again = committed(table, intent | BATCH | {"txnVersion": 7 - older})
        assert again.version == (None if older else 1)
        assert "'loader'" in again.notes[0]
    assert (rows_of(table), sorted(table.store.list_tree())) == (rows, files), "nothing was written"
    assert committed(table, INTENTS[0] | BATCH | {"txnVersion": 8}).version == 2, "the next one is another batch"
    assert committed(table, INTENTS[0] | BATCH | {"txnAppId": "other"}).version == 3
    assert committed(table, intent | BATCH).version == 1, "the log tells which version wrote it"


@pytest.mark.whole("test_a_batch_that_comes_again_is_found, and tests/prove/test_row_races.py")
@pytest.mark.conformance("TXN-007", "LOG-023")
def test_of_two_writers_of_one_batch_one_writes_it_and_the_other_finds_it(tmp_path: Path) -> None:
    table, other = new_table(tmp_path / "t"), explorer.open_table(tmp_path / "t")
    for number, intent in enumerate(at_least_one(some_of(INTENTS, 3))):
        batch = intent | BATCH | {"txnVersion": number}
        late = plan(table, batch)
        won = committed(other, batch)
        rows, files = rows_of(other), sorted(other.store.list_tree())
        result = table.commit(late)
        assert (result.outcome, result.version) == ("committed", won.version)
        assert "not written again" in result.notes[0]
        assert (rows_of(other), sorted(other.store.list_tree())) == (rows, files)
    early = plan(table, INTENTS[0] | BATCH | {"txnVersion": 20})
    assert committed(other, INTENTS[0] | BATCH | {"txnVersion": 19}).version == number + 2
    result = table.commit(early)
    assert result.conflict is not None
    assert (result.outcome, result.conflict.action) == ("conflicted", "txn")
    assert orphans(table) == set()


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("intent", INTENTS, ids=lambda intent: str(intent["kind"]))
def test_a_plan_that_is_committed_again_is_found(tmp_path: Path, intent: dict[str, Any]) -> None:
    table = new_table(tmp_path / "t")
    once = plan(table, intent)
    assert table.commit(once).version == 1
    rows = rows_of(table)
    assert explorer.open_table(tmp_path / "t").commit(once).version == 1
    assert committed(table, INTENTS[0]).version == 2
    again = explorer.open_table(tmp_path / "t").commit(once)
    assert (again.outcome, again.version) == ("committed", 1)
    assert table.latest_version() == 2
    assert Counter(rows_of(table)) == Counter([*rows, *((row["id"], row["seen"]) for row in ROWS.to_pylist())])
    assert orphans(table) == set()


def test_a_batch_whose_commit_is_gone_from_the_log_is_found_all_the_same(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    committed(table, INTENTS[0] | BATCH)
    assert table.commit(table.plan({"kind": "checkpoint"})).outcome == "committed"
    committed(table, INTENTS[0])
    for version in (0, 1):
        table.store.delete(commit_name(version))
    found = committed(explorer.open_table(tmp_path / "t"), INTENTS[0] | BATCH)
    assert found.version is None
    assert found.notes == (
        "The application is at 7, so the table holds batch 7 of the application 'loader'; it was not written again.",
    )


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"txnAppId": "a"}, "txnVersion"),
        ({"txnVersion": 1}, "txnAppId"),
        ({"txnAppId": "", "txnVersion": 1}, "txnAppId"),
        ({"txnAppId": "a", "txnVersion": 2**63}, "txnVersion"),
        ({"txnAppId": "a", "txnVersion": "1"}, "txnVersion"),
    ],
)
def test_a_batch_needs_a_name_and_a_number(tmp_path: Path, fields: dict[str, Any], named: str) -> None:
    table = new_table(tmp_path / "t")
    for intent in INTENTS:
        with pytest.raises(InvalidIntent) as caught:
            table.plan(intent | fields)
        assert caught.value.field == named


def test_a_writer_of_batches_raises_what_keeps_a_batch_from_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.core.transaction.commit.batch_writer._PAUSE", 0)
    table = new_table(tmp_path / "t")
    with pytest.raises(InvalidIntent, match="does not write the rows of a batch"):
        table.batch_writer("app", {"kind": "vacuum"})
    write = table.batch_writer("app", {"kind": "append"}, user="ada", reason="stream")
    assert write(ROWS, 0).version == 1
    assert write(ROWS, 0).notes
    constraint = {"kind": "add-constraint", "name": "small", "expression": "id < 100 OR seen = 0"}
    assert table.commit(table.plan(constraint)).version == 2
    with pytest.raises(GuardFailed, match="small"):
        write(pa.table({"id": pa.array([200], pa.int64()), "seen": pa.array([1], pa.int64())}), 1)
    assert write(ROWS, 1).version == 3, "a batch that was refused is not recorded"
    (info,) = [line["commitInfo"] for line in map(json.loads, table.commit_actions(3)) if "commitInfo" in line]
    assert (info["userName"], info["userMetadata"]) == ("ada", "stream")


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove")
@pytest.mark.skipif(
    os.environ.get("DELTA_EXPLORER_SPARK", "").startswith("sc:"),
    reason="the writer of a stream stays in the process that opened the table; test_connect.py holds that it says so",
)
@pytest.mark.parametrize("kind", ["append", "merge"])
def test_a_stream_that_is_killed_and_started_again_writes_every_row_once(
    tmp_path: Path, kind: str, record_property: Callable[[str, object], None]
) -> None:
    files, kills = 30, 25
    table = new_table(tmp_path / "t")
    source = tmp_path / "source"
    source.mkdir()
    for number in range(files):
        ids = pa.array(range(1_000 + 3 * number, 1_003 + 3 * number), pa.int64())
        pq.write_table(pa.table({"id": ids}), source / f"{number}.parquet")
    pick, told = random.Random(kind), Counter[str]()
    for _ in range(kills):
        told += _killed(tmp_path, kind, pick)
    lines: list[str] = []
    stream(*_arguments(tmp_path, kind), tell=lines.append)
    told += Counter(line.split()[0] for line in lines)
    assert rows_of(table)[5:] == [
        (number, 1 if kind == "merge" else None) for number in range(1_000, 1_000 + 3 * files)
    ]
    # A kill between the two logs in which Spark notes a batch makes it take that file and the next one as one batch.
    batches = table.snapshot().transactions["stream"] + 1
    assert files - kills <= batches <= files
    assert table.latest_version() == batches
    left = orphans(table)
    found = table.plan({"kind": "vacuum", "olderThan": "interval 0 seconds"}, accept=["vacuum-retention"])
    assert left <= {file.path for file in found.files}
    assert told["killed"] >= (kills + 1) // 2
    record_property("found", {**told, "orphans": len(left)})


def _arguments(folder: Path, kind: str) -> tuple[str, str, str, str]:
    return str(folder / "t"), str(folder / "source"), str(folder / "checkpoint"), kind


def _killed(folder: Path, kind: str, pick: random.Random) -> Counter[str]:
    """Stream in a process of its own until it is killed at some moment of some batch; what it told.

    It may have ended by then, with nothing left to read.
    """
    command = [sys.executable, "-m", "tests.spark.writes.stream_victim", *_arguments(folder, kind)]
    told = Counter[str]()
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        end, begun = pick.randrange(1, 4), time.monotonic()
        for line in process.stdout:
            told[line.split()[0]] += 1
            if told["batch"] == end:
                # At most as long as what came before took: the batches that are left take longer.
                time.sleep(pick.random() * min(2, time.monotonic() - begun))
                # The JVM too: it would go on with the batch.
                os.killpg(process.pid, signal.SIGKILL)
                break
            if line.startswith("batch"):
                begun = time.monotonic()
    assert process.returncode in {0, -signal.SIGKILL}
    told["killed"] = int(process.returncode != 0)
    return told
