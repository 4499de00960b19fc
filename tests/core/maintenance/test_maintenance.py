"""Changes of the log that make no version: planned first, done as planned, never over what is there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent, NotAllowed, VersionNotFound
from explorer.core.log.log_path import checkpoint_name, commit_name, compaction_name
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.storage import open_store
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, paths, remove, write

DAY = 86_400
CHECKPOINT = {"kind": "checkpoint"}


def small_log(store: LogStore, protocol: Protocol = PROTOCOL, **configuration: str) -> LogStore:
    metadata = msgspec.structs.replace(METADATA, configuration=configuration)
    write(store, {0: (protocol, metadata, add("a")), 1: (add("b"),), 2: (remove("a"), add("c")), 3: (add("d"),)})
    return store


def statuses(plan: CommitPlan) -> dict[str, str]:
    return {guard.name: guard.status for guard in plan.guards}


def test_a_checkpoint_is_planned_and_written() -> None:
    store = small_log(new_store())
    table = explorer.Table(store)
    plan = table.plan(CHECKPOINT)
    document = plan.document()
    assert (document["commitVersion"], document["actions"], document["committable"]) == (None, (), True)
    assert list(document["files"]) == [{"path": checkpoint_name(3), "change": "write", "size": None, "reason": None}]
    assert [found.path for found in store.list_from("_delta_log") if "checkpoint" in found.path] == []
    result = table.commit(plan)
    assert (result.outcome, result.version) == ("committed", None)
    (file,) = result.plan.files
    assert (file.path, file.size) == (checkpoint_name(3), store.head(checkpoint_name(3)).size)
    for version in range(4):
        store.delete(commit_name(version))
    assert paths(explorer.Table(store).snapshot()) == {("b", None), ("c", None), ("d", None)}


def test_a_checkpoint_that_is_there_is_left() -> None:
    store = small_log(new_store())
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("b"), add("c"), add("d")], "classic")
    before = store.read(checkpoint_name(3))
    table = explorer.Table(store)
    plan = table.plan(CHECKPOINT)
    assert statuses(plan)["something-to-do"] == "warn"
    assert plan.files == ()
    assert table.commit(plan).outcome == "committed"
    assert store.read(checkpoint_name(3)) == before


def test_a_checkpoint_by_the_policy_of_the_table() -> None:
    both = ("v2Checkpoint",)
    protocol = Protocol(min_reader_version=3, min_writer_version=7, reader_features=both, writer_features=both)
    store = small_log(new_store(), protocol, **{"delta.checkpointPolicy": "v2"})
    table = explorer.Table(store)
    plan = table.plan(CHECKPOINT)
    assert ".checkpoint.UUID." in plan.files[0].path
    written = table.commit(plan).plan.files[-1].path
    assert written.startswith("_delta_log/00000000000000000003.checkpoint.")
    assert store.head(written).size > 0


@pytest.mark.parametrize("intent", [CHECKPOINT, {"kind": "compact-log", "from": 0, "to": 2}])
def test_a_feature_that_is_not_known_keeps_from_it(intent: dict[str, Any]) -> None:
    store = small_log(new_store(), Protocol(min_reader_version=1, min_writer_version=7, writer_features=("zeta",)))
    table = explorer.Table(store)
    plan = table.plan(intent)
    assert statuses(plan)["protocol-allows-writer"] == "fail"
    assert table.commit(plan).outcome == "rejected"
    assert len(list(store.list_from("_delta_log"))) == 4


@pytest.mark.conformance("COMPACT-001")
def test_commits_are_compacted() -> None:
    store = small_log(new_store())
    table = explorer.Table(store)
    plan = table.plan({"kind": "compact-log", "from": 1, "to": 3})
    assert [file.path for file in plan.files] == [compaction_name(1, 3)]
    assert table.commit(plan).plan.files[0].size == store.head(compaction_name(1, 3)).size
    again = table.plan({"kind": "compact-log", "from": 1, "to": 3})
    assert (statuses(again)["something-to-do"], again.files) == ("warn", ())
    store.delete(commit_name(2))
    assert paths(explorer.Table(store).snapshot(3)) == {("b", None), ("c", None), ("d", None)}


@pytest.mark.parametrize(("first", "last"), [(2, 2), (3, 1), (-1, 2), (0, 4), (2, 10**15)])
def test_a_range_that_is_none_is_refused(first: int, last: int) -> None:
    table = explorer.Table(small_log(new_store()))
    with pytest.raises(InvalidIntent):
        table.plan({"kind": "compact-log", "from": first, "to": last})


@pytest.fixture
def aged(tmp_path: Path) -> Callable[..., explorer.Table]:
    """A log of which the first versions are 60 days old, with checkpoints at 3 and 6."""

    def build(protocol: Protocol = PROTOCOL, **configuration: str) -> explorer.Table:
        folder = tmp_path / "table"
        store = open_store(folder)
        metadata = msgspec.structs.replace(
            METADATA, configuration={key.replace("_", "."): value for key, value in configuration.items()}
        )
        write(store, {0: (protocol, metadata)} | {version: (add(f"f{version}"),) for version in range(1, 9)})
        for version in (3, 6):
            files = [add(f"f{number}") for number in range(1, version + 1)]
            write_checkpoint(store, version, [protocol, metadata, *files], "classic")
        for version in range(5):
            when = time.time() - (60 - version) * DAY
            os.utime(folder / commit_name(version), (when, when))
        return explorer.open_table(folder)

    return build


def test_a_clean_up_says_what_it_takes_and_takes_no_more(aged: Callable[..., explorer.Table]) -> None:
    table = aged()
    plan = table.plan({"kind": "clean-log"})
    assert {file.path for file in plan.files} == {commit_name(version) for version in range(3)}
    assert {file.change for file in plan.files} == {"delete"}
    assert all(file.size for file in plan.files)
    assert statuses(plan) == {"protocol-allows-writer": "pass", "retention": "pass", "time-travel": "warn"}
    assert plan.consequences.time_travel == "Versions 0 to 2 can no longer be read."
    assert "backup" in plan.consequences.undo
    result = table.commit(plan)
    assert (result.outcome, len(result.plan.files)) == ("committed", 3)
    assert table.version_range() == (3, 8)
    with pytest.raises(VersionNotFound):
        table.snapshot(2)
    assert table.commit(plan).plan.files == ()
    assert table.snapshot().num_files == 8


@pytest.mark.parametrize("name", ["zeta", "icebergCompatV2"])
def test_a_log_whose_writer_rules_are_not_known_is_not_cleaned(aged: Callable[..., explorer.Table], name: str) -> None:
    table = aged(Protocol(min_reader_version=1, min_writer_version=7, writer_features=(name,)))
    plan = table.plan({"kind": "clean-log"})
    assert statuses(plan)["protocol-allows-writer"] == "fail"
    assert table.commit(plan).outcome == "rejected"
    assert table.version_range() == (0, 8)


@pytest.mark.parametrize(
    ("configuration", "intent", "guard"),
    [
        ({}, {"olderThan": "interval 7 days"}, "fail"),
        ({}, {"olderThan": "interval 45 days"}, "pass"),
        ({}, {"olderThan": "2020-01-01T00:00:00Z"}, "pass"),
        ({"delta_logRetentionDuration": "interval 7 days"}, {"olderThan": "interval 7 days"}, "pass"),
        ({"delta_enableExpiredLogCleanup": "false"}, {"olderThan": "interval 45 days"}, "fail"),
    ],
)
def test_a_clean_up_keeps_to_what_the_table_states(
    configuration: dict[str, str], intent: dict[str, str], guard: str, aged: Callable[..., explorer.Table]
) -> None:
    table = aged(**configuration)
    plan = table.plan({"kind": "clean-log", **intent})
    assert statuses(plan)["retention"] == guard
    result = table.commit(plan)
    assert result.outcome == ("rejected" if guard == "fail" else "committed")
    if guard == "fail":
        assert table.version_range() == (0, 8)


def test_a_clean_up_of_what_is_young_does_nothing(aged: Callable[..., explorer.Table]) -> None:
    table = aged(delta_logRetentionDuration="interval 90 days")
    plan = table.plan({"kind": "clean-log"})
    assert (plan.files, plan.committable) == ((), True)
    assert statuses(plan)["something-to-do"] == "warn"


@pytest.mark.parametrize("text", ["", "a while", "7", "2026-13-02", "interval 3 moons"])
def test_an_age_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidIntent) as refused:
        explorer.Table(small_log(new_store())).plan({"kind": "clean-log", "olderThan": text})
    assert refused.value.field == "olderThan"


def test_maintenance_is_refused_on_a_table_opened_for_reading() -> None:
    table = explorer.Table(small_log(new_store()), read_only=True)
    with pytest.raises(NotAllowed):
        table.commit(table.plan(CHECKPOINT))
