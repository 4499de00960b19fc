"""Plans of the log's upkeep as documents, whole: each guard with its evidence and what to do, files, consequences."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.log.log_path import checkpoint_name, commit_name, compaction_name
from explorer.core.protocol.actions import Protocol
from tests.core.maintenance.test_maintenance import CHECKPOINT, DAY, aged, small_log
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, write

__all__ = ["aged"]

KNOWN = {
    "name": "protocol-allows-writer",
    "status": "pass",
    "evidence": {"detail": "This program knows every feature of the table."},
    "remedy": None,
}
KEPT = {
    "name": "time-travel",
    "status": "pass",
    "evidence": {"detail": "Every version that can be read now can be read afterwards."},
    "remedy": None,
}
NO_VERSION, SAME_FEED = "No version is lost.", "Nothing changes for readers of the change data feed."
V2 = Protocol(
    min_reader_version=3, min_writer_version=7, reader_features=("v2Checkpoint",), writer_features=("v2Checkpoint",)
)


def said(status: str, name: str, detail: str, remedy: str | None = None, **evidence: object) -> dict[str, Any]:
    return {"name": name, "status": status, "evidence": {**evidence, "detail": detail}, "remedy": remedy}


def file(path: str, change: str, size: int | None = None) -> dict[str, Any]:
    return {"path": path, "change": change, "size": size, "reason": None}


def parts(plan: explorer.CommitPlan) -> dict[str, Any]:
    document = plan.document()
    found = {name: document[name] for name in ("guards", "files", "consequences")}
    return {"guards": [*found["guards"]], "files": [*found["files"]], "consequences": found["consequences"]}


def meant(undo: str, travel: str = NO_VERSION, feed: str = SAME_FEED) -> dict[str, Any]:
    return {"readers": (), "writers": (), "timeTravel": travel, "changeFeed": feed, "undo": undo}


def test_a_checkpoint_is_said_and_told() -> None:
    store = small_log(new_store())
    table = explorer.Table(store)
    plan = table.plan(CHECKPOINT)
    known = {"guards": [KNOWN], "consequences": meant("It repeats the log and can stay.")}
    assert parts(plan) == {**known, "files": [file(checkpoint_name(3), "write")]}
    size = store.head(table.commit(plan).plan.files[0].path).size
    there = said(
        "warn",
        "something-to-do",
        "Version 3 already has a checkpoint; nothing will be written.",
        file=checkpoint_name(3),
    )
    assert parts(table.plan(CHECKPOINT)) == {**known, "guards": [KNOWN, there], "files": []}
    store.delete(checkpoint_name(3))
    result = explorer.Table(store).commit(explorer.Table(store).plan(CHECKPOINT))
    assert [*result.document()["files"]] == [file(checkpoint_name(3), "write", size)]


def test_the_checkpoint_of_the_version_that_was_planned_is_written() -> None:
    store = small_log(new_store())
    table = explorer.Table(store)
    plan = table.plan(CHECKPOINT)
    write(store, {4: [add("later")]})
    assert table.commit(plan).outcome == "committed"
    assert {each.path for each in store.list_from("_delta_log") if "checkpoint." in each.path} == {checkpoint_name(3)}


@pytest.mark.parametrize(
    ("protocol", "policy", "path"),
    [
        (PROTOCOL, {}, checkpoint_name(3)),
        (V2, {"delta.checkpointPolicy": "classic"}, checkpoint_name(3)),
        (V2, {"delta.checkpointPolicy": "v2"}, checkpoint_name(3).replace("parquet", "UUID.parquet")),
    ],
)
def test_the_name_of_a_checkpoint_follows_the_policy(protocol: Protocol, policy: dict[str, str], path: str) -> None:
    plan = explorer.Table(small_log(new_store(), protocol, **policy)).plan(CHECKPOINT)
    assert [each.path for each in plan.files] == [path]


def test_a_feature_that_is_not_known_is_named_with_what_to_do() -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("zeta", "eta"))
    table = explorer.Table(small_log(new_store(), protocol))
    for intent in (CHECKPOINT, {"kind": "compact-log", "from": 0, "to": 2}):
        [guard] = table.plan(intent).document()["guards"]
        assert guard["evidence"].pop("detail").startswith("A checkpoint of version 3 cannot be written")
        assert guard == {
            "name": "protocol-allows-writer",
            "status": "fail",
            "evidence": {"missing": ["eta", "zeta"]},
            "remedy": "Do it with an engine that implements these features.",
        }


def test_a_result_has_the_fields_of_a_commit_s_and_no_version() -> None:
    table = explorer.Table(small_log(new_store()))
    result = table.commit(table.plan(CHECKPOINT))
    document = result.document()
    ended = {"outcome": "committed", "version": None, "conflict": None, "notes": ()}
    assert document == {**result.plan.document(), **ended}
    assert len(document["files"]) == 1


def test_every_hundredth_checkpoint_of_the_newer_kind_has_the_older_name() -> None:
    store = small_log(new_store(), V2, **{"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "1"})
    write(store, {version: [add(f"n{version}")] for version in range(4, 11)})
    names = [explorer.Table(store).plan(CHECKPOINT).files[0].path]
    write(store, {11: [add("last")]})
    names.append(explorer.Table(store).plan(CHECKPOINT).files[0].path)
    assert names == [checkpoint_name(10), checkpoint_name(11).replace("parquet", "UUID.parquet")]


@pytest.mark.parametrize(
    ("protocol", "configuration", "detail"),
    [
        (V2, {"delta.checkpointPolicy": "v9"}, "The table property delta.checkpointPolicy is 'v9'"),
        (Protocol(min_reader_version=1, min_writer_version=7), {}, "The protocol of version 3 lacks a feature list"),
    ],
)
def test_a_table_that_is_broken_is_repaired_first(
    protocol: Protocol, configuration: dict[str, str], detail: str
) -> None:
    plan = explorer.Table(small_log(new_store(), protocol, **configuration)).plan(CHECKPOINT)
    [guard] = parts(plan)["guards"]
    assert guard["evidence"]["detail"].startswith(detail)
    told = said("fail", "protocol-allows-writer", guard["evidence"]["detail"], "Repair the table first.")
    assert (guard, plan.files, plan.committable) == (told, (), False)


def test_commits_are_compacted_and_told() -> None:
    store = small_log(new_store())
    table = explorer.Table(store)
    plan = table.plan({"kind": "compact-log", "from": 1, "to": 3})
    path = compaction_name(1, 3)
    known = {"guards": [KNOWN], "consequences": meant("It repeats the commits and can stay.")}
    assert parts(plan) == {**known, "files": [file(path, "write")]}
    assert [*table.commit(plan).document()["files"]] == [file(path, "write", store.head(path).size)]
    there = said(
        "warn", "something-to-do", "Versions 1 to 3 are already compacted; nothing will be written.", file=path
    )
    assert parts(table.plan({"kind": "compact-log", "from": 1, "to": 3})) == {
        **known,
        "guards": [KNOWN, there],
        "files": [],
    }
    for first, last in ((1, 2), (2, 3), (0, 3)):
        plan = table.plan({"kind": "compact-log", "from": first, "to": last})
        assert parts(plan)["files"] == [file(compaction_name(first, last), "write")]


@pytest.mark.parametrize(
    ("first", "last", "missing", "field"),
    [
        (0, 2, 0, "from"),
        (1, 4, 1, "from"),
        (2, 4, 4, "to"),
        (2, 5, 4, "to"),
        (2, 6, 4, "to"),
        (3, 9, 4, "to"),
        (4, 5, 4, "to"),
        (7, 9, 9, "to"),
    ],
)
def test_a_commit_that_is_not_there_is_named(first: int, last: int, missing: int, field: str) -> None:
    store = small_log(new_store())
    write_checkpoint(store, 2, [PROTOCOL, METADATA, add("b"), add("c")], "classic")
    for version in (0, 1):
        store.delete(commit_name(version))
    with pytest.raises(InvalidIntent) as refused:
        explorer.Table(store).plan({"kind": "compact-log", "from": first, "to": last})
    error = refused.value
    assert str(error) == (
        f"The commit of version {missing} is not in the log, so versions {first} to {last} cannot be compacted. "
        "The log has commits 2 to 3."
    )
    assert (error.field, error.earliest, error.latest) == (field, 2, 3)


def test_the_last_commit_of_the_log_can_be_compacted_and_a_gap_before_it_can_not() -> None:
    store = small_log(new_store())
    assert explorer.Table(store).plan({"kind": "compact-log", "from": 2, "to": 3}).committable
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("b"), add("c"), add("d")], "classic")
    store.delete(commit_name(2))
    with pytest.raises(InvalidIntent, match="The commit of version 2 is not in the log") as refused:
        explorer.Table(store).plan({"kind": "compact-log", "from": 1, "to": 3})
    assert (refused.value.field, refused.value.earliest) == ("from", 3)


def test_a_range_that_goes_backwards_names_its_end() -> None:
    with pytest.raises(InvalidIntent) as refused:
        explorer.Table(small_log(new_store())).plan({"kind": "compact-log", "from": 3, "to": 3})
    assert refused.value.field == "to"
    assert str(refused.value) == "A compaction goes from a version to a later one; 3 to 3 does not."


def _cutoff(plan: explorer.CommitPlan) -> tuple[dict[str, Any], dict[str, str]]:
    """The parts of a plan, and the moments that its guard of retention names, taken out of it."""
    found = parts(plan)
    evidence = found["guards"][1]["evidence"]
    return found, {name: evidence.pop(name) for name in ("cutoff", "ownCutoff") if name in evidence}


def _ago(text: str) -> float:
    """How many days ago a moment was."""
    return (datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds() / DAY


def test_a_clean_up_is_said_and_told(aged: Callable[..., explorer.Table]) -> None:
    table = aged()
    plan = table.plan({"kind": "clean-log"})
    found, moments = _cutoff(plan)
    sizes = {version: table.store.head(commit_name(version)).size for version in range(3)}
    assert found == {
        "guards": [
            found["guards"][0],
            said(
                "pass",
                "retention",
                "Only files past the table's own retention are deleted.",
                **{"delta.logRetentionDuration": "interval 30 days"},
            ),
            said(
                "warn",
                "time-travel",
                "Versions 0 to 2 will be lost.",
                "Check who still reads these versions, or keep a copy.",
                firstVersion=0,
                lastVersion=2,
            ),
        ],
        "files": [file(commit_name(version), "delete", size) for version, size in sizes.items()],
        "consequences": meant(
            "Only a backup can bring deleted log files back.",
            "Versions 0 to 2 can no longer be read.",
            "Ranges of the change data feed that begin before version 3 are refused.",
        ),
    }
    assert moments.keys() == {"cutoff"}
    assert 30 <= _ago(moments["cutoff"]) < 32
    assert [*table.commit(plan).document()["files"]] == found["files"]


def test_a_clean_up_that_finds_nothing_says_so(aged: Callable[..., explorer.Table]) -> None:
    found, _ = _cutoff(aged(delta_logRetentionDuration="interval 90 days").plan({"kind": "clean-log"}))
    assert found["guards"][1:] == [
        said(
            "pass",
            "retention",
            "Only files past the table's own retention are deleted.",
            **{"delta.logRetentionDuration": "interval 90 days"},
        ),
        KEPT,
        said("warn", "something-to-do", "No readable checkpoint is old enough for the log to begin with."),
    ]
    assert (found["files"], found["consequences"]) == ([], meant("Nothing is done."))


@pytest.mark.parametrize(
    ("configuration", "older_than", "detail", "remedy", "own"),
    [
        (
            {"delta_enableExpiredLogCleanup": "false"},
            "interval 45 days",
            "The table keeps its expired log (delta.enableExpiredLogCleanup is false).",
            "Set delta.enableExpiredLogCleanup to true first, so that the history shows who decided it.",
            None,
        ),
        (
            {"delta_logRetentionDuration": "interval 40 days"},
            "interval 7 days",
            "The table keeps its log longer: interval 40 days.",
            "Set delta.logRetentionDuration to a shorter interval first, so that the history shows who decided it.",
            40,
        ),
    ],
)
def test_a_clean_up_that_the_table_forbids_says_what_to_set(  # noqa: PLR0917  # each is a column of the table
    configuration: dict[str, str],
    older_than: str,
    detail: str,
    remedy: str,
    own: int | None,
    aged: Callable[..., explorer.Table],
) -> None:
    plan = aged(**configuration).plan({"kind": "clean-log", "olderThan": older_than})
    found, moments = _cutoff(plan)
    stated = configuration.get("delta_logRetentionDuration", "interval 30 days")
    assert found["guards"][1] == said("fail", "retention", detail, remedy, **{"delta.logRetentionDuration": stated})
    assert moments.keys() == ({"cutoff"} if own is None else {"cutoff", "ownCutoff"})
    days = int(older_than.split()[1])
    assert days <= _ago(moments["cutoff"]) < days + 2
    assert own is None or own <= _ago(moments["ownCutoff"]) < own + 2
    assert not plan.committable


def test_one_version_is_lost_by_its_number(aged: Callable[..., explorer.Table]) -> None:
    table = aged()
    write_checkpoint(table.store, 1, [PROTOCOL, METADATA, add("f1")], "classic")
    plan = explorer.open_table(table.location).plan({"kind": "clean-log", "olderThan": "interval 57 days"})
    assert plan.consequences.time_travel == "Version 0 can no longer be read."


def test_what_is_cleaned_is_what_was_planned_and_still_may_go(aged: Callable[..., explorer.Table]) -> None:
    table = aged()
    plan = table.plan({"kind": "clean-log", "olderThan": "interval 40 days"})
    assert len(plan.files) == 3
    few = msgspec.structs.replace(plan, files=plan.files[:1])
    assert [each.path for each in table.commit(few).plan.files] == [commit_name(0)]
    assert next(each.path for each in table.store.list_from("_delta_log")) == commit_name(1)


def test_a_clean_up_keeps_to_the_age_that_was_asked_for(aged: Callable[..., explorer.Table]) -> None:
    table = aged(delta_logRetentionDuration="interval 1 days")
    plan = table.plan({"kind": "clean-log", "olderThan": "interval 80 days"})
    assert plan.files == ()
    wide = table.plan({"kind": "clean-log"})
    asked = msgspec.structs.replace(plan, files=wide.files)
    assert table.commit(asked).plan.files == ()
    assert table.version_range() == (0, 8)
