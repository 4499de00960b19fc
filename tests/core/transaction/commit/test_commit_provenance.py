"""What a commit says of itself and of what follows: provenance, isolation, lost versions, the change data feed."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.core.protocol.actions import CommitInfo
from explorer.core.transaction.commit_info import (
    ENGINE,
    IDENTITY_TAG,
    ROWS_KEPT_TAG,
    check_provenance,
    commit_bytes,
    commit_info,
    commit_lines,
    has_timestamp,
    isolation_level,
    shown_lines,
    with_timestamp,
)
from explorer.core.transaction.consequences import (
    change_feed_effect,
    in_days,
    shorter_retentions,
    time_travel_effect,
)
from explorer.core.transaction.proposal import Proposal
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import protocol, snapshot
from tests.support.logs.spark_tables import column, struct

LOG, FILES = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"
ON, OFF = {"delta.enableChangeDataFeed": "true"}, {"delta.enableChangeDataFeed": "false"}
SAME_FEED = "Nothing changes for readers of the change data feed."


def change(**more: Any) -> Proposal:
    return Proposal(**{"operation": "CHANGE", "parameters": {"a": 1}, **more})


def setting(before: explorer.Snapshot, **more: Any) -> Proposal:
    return change(metadata=msgspec.structs.replace(before.metadata, **more))


def test_names_that_other_programs_look_for_stay() -> None:
    assert ENGINE == "Delta-Table-Explorer"
    assert IDENTITY_TAG == "delta.identity.schemaUpdate"
    assert ROWS_KEPT_TAG == "delta.rowTracking.preserved"


def test_provenance_says_what_is_known_and_leaves_out_the_rest() -> None:
    made = change(metrics={"n": "1"}, tags={"t": "true"}, is_blind_append=False)
    found = commit_info(
        made, read_version=0, now=5, txn_id="id", engine="e/1", user="ana", reason="why", timestamp=6,
        isolation="WriteSerializable",
    )  # fmt: skip
    assert found == CommitInfo(
        timestamp=5,
        in_commit_timestamp=6,
        operation="CHANGE",
        operation_parameters={"a": 1},
        operation_metrics={"n": "1"},
        user_name="ana",
        user_metadata="why",
        engine_info="e/1",
        read_version=0,
        is_blind_append=False,
        isolation_level="WriteSerializable",
        txn_id="id",
        unknown={"tags": {"t": "true"}},
    )
    bare = commit_info(change(isolation="SnapshotIsolation"), read_version=-1, now=5, txn_id="id", engine="e/1")
    assert bare == CommitInfo(
        timestamp=5,
        operation="CHANGE",
        operation_parameters={"a": 1},
        operation_metrics={},
        engine_info="e/1",
        is_blind_append=True,
        isolation_level="SnapshotIsolation",
        txn_id="id",
    )


def test_the_lines_of_a_commit_are_its_provenance_and_its_actions_one_a_line() -> None:
    made = change(adds=(small_logs.add("b"),), metadata=small_logs.METADATA)
    info = CommitInfo(operation="CHANGE")
    data = commit_bytes(made, info)
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == 3
    lines = [json.loads(line) for line in data.splitlines()]
    assert [list(line) for line in lines] == [["commitInfo"], ["metaData"], ["add"]]
    assert list(commit_lines(made, info)) == list(shown_lines(data)) == lines
    assert shown_lines(b"") == ()


@pytest.mark.parametrize(
    ("asked", "own", "level"),
    [
        ("WriteSerializable", "Serializable", "WriteSerializable"),
        ("WRITESERIALIZABLE", "Serializable", "WriteSerializable"),
        ("Serializable", "Serializable", "Serializable"),
        ("SnapshotIsolation", "Serializable", "Serializable"),
        (None, "Serializable", "Serializable"),
        ("WriteSerializable", "SnapshotIsolation", "SnapshotIsolation"),
    ],
)
def test_the_table_says_how_strictly_commits_are_kept_apart(asked: str | None, own: str, level: str) -> None:
    before = snapshot(properties={} if asked is None else {"delta.isolationLevel": asked})
    assert isolation_level(change(isolation=own), before) == level
    assert isolation_level(change(isolation=own), None) == own


def test_timestamps_are_those_of_the_metadata_after_the_commit() -> None:
    enabled = {"delta.enableInCommitTimestamps": "true"}
    on, off = snapshot(properties=enabled), snapshot()
    assert not has_timestamp(setting(on, configuration={}), on)
    assert has_timestamp(setting(off, configuration=enabled), off)
    assert has_timestamp(change(), None) is False
    marked = with_timestamp(setting(off, configuration=enabled), off, 9)
    assert marked.metadata is not None
    assert marked.metadata.configuration["delta.inCommitTimestampEnablementVersion"] == "1"
    assert with_timestamp(change(), off, 9) == change()


@pytest.mark.parametrize("field", ["user", "reason"])
def test_what_people_say_must_fit_into_a_log(field: str) -> None:
    check_provenance()
    for text in ("", "änä", None):
        check_provenance(**{field: text})
        assert text is None or text.encode().decode() == text
    wrong: dict[str, Any] = {field: 3}
    with pytest.raises(RequestError) as caught:
        check_provenance(**wrong)
    assert str(caught.value) == f"The {field} of a commit must be text, not int."
    assert caught.value.facts()["field"] == field
    with pytest.raises(RequestError) as caught:
        check_provenance(**{field: "a\ud800"})
    assert str(caught.value) == f"The {field} contains an unpaired surrogate, so it cannot be written into a log."
    assert caught.value.facts()["field"] == field
    other: dict[str, Any] = {"user": "ana", "reason": "why", field: 3}
    with pytest.raises(RequestError, match=f"^The {field} of a commit"):
        check_provenance(**other)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"own": "1"}, "The table records no change data feed."),
        ({}, ON, "Changes are recorded from version 1 on; ranges that begin earlier are refused."),
        (ON, OFF, "The feed ends with version 0; ranges that reach further are refused."),
        (ON, {**ON, "own": "1"}, SAME_FEED),
    ],
)
def test_the_change_feed_begins_and_ends_with_its_property(
    before: dict[str, str], after: dict[str, str], said: str
) -> None:
    old = snapshot(properties=before)
    assert change_feed_effect(old, setting(old, configuration=after)) == said
    assert change_feed_effect(None, setting(old, configuration=after)) == SAME_FEED
    own = setting(old, configuration=after)
    assert change_feed_effect(old, msgspec.structs.replace(own, change_feed="")) == ""


def test_a_feed_that_is_neither_on_nor_off_is_not_known() -> None:
    before = snapshot(properties={"delta.enableChangeDataFeed": "perhaps"})
    said = change_feed_effect(before, change())
    assert said.startswith("It is not known whether the change data feed is on: ")
    assert "delta.enableChangeDataFeed" in said


def test_ranges_that_cross_a_schema_that_does_not_fit_are_refused() -> None:
    before = snapshot(properties=ON)
    other = json.dumps(struct(column("key", "long")))
    said = change_feed_effect(before, setting(before, schema_string=other))
    assert said == (
        "Ranges of the change data feed that cross version 1 are refused: column id is not in the schema to read with "
        "(dropped, or replaced by another column)."
    )
    names = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    mapped = json.dumps(struct(column("id", "long", **names)))
    rules = protocol(2, 5)
    on = {**ON, "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    kept = snapshot(rules=rules, schema=mapped, properties=on)
    assert change_feed_effect(kept, change()) == SAME_FEED
    assert change_feed_effect(kept, change(protocol=protocol(2, 6))) == SAME_FEED
    unmapped = msgspec.structs.replace(setting(kept, configuration=ON), protocol=protocol(2, 6))
    assert change_feed_effect(kept, unmapped).startswith("Ranges of the change data feed that cross version 1 are ")


@pytest.mark.parametrize(
    ("before", "after", "removes", "said"),
    [
        ({}, {}, 0, "No version is lost."),
        (
            {},
            {},
            1,
            ("No version is lost. 1 file is removed; earlier versions need it, and VACUUM may delete it after 7 days."),
        ),
        (
            {},
            {FILES: "interval 12 hours"},
            2,
            (
                "No version is lost. VACUUM may delete removed files after 12 hours instead of 7 days. 2 files are "
                "removed; earlier versions need them, and VACUUM may delete them after 12 hours."
            ),
        ),
        (
            {FILES: "interval 1 day"},
            None,
            1_200,
            (
                "No version is lost. 1,200 files are removed; earlier versions need them, and VACUUM may delete "
                "them after 1 day."
            ),
        ),
        ({}, {FILES: "for ever"}, 2, "No version is lost."),
        (
            {},
            {LOG: "interval 10 days", FILES: "interval 3 days"},
            0,
            (
                "No version is lost. A clean-up of the log may delete commits after 10 days instead of 30 days. VACUUM "
                "may delete removed files after 3 days instead of 7 days."
            ),
        ),
    ],
)
def test_what_may_be_deleted_sooner_is_told_with_when(
    before: dict[str, str], after: dict[str, str] | None, removes: int, said: str
) -> None:
    metadata = msgspec.structs.replace(small_logs.METADATA, configuration=before)
    live = [small_logs.add(f"{number}") for number in range(removes)]
    old = small_logs.table({0: [small_logs.PROTOCOL, metadata, *live]}).snapshot()
    gone = tuple(small_logs.remove(f"{number}") for number in range(removes))
    made = change(removes=gone) if after is None else setting(old, configuration=after)
    made = msgspec.structs.replace(made, removes=gone)
    assert time_travel_effect(old, made) == said
    assert time_travel_effect(None, made) == "The table begins with this version."
    assert time_travel_effect(old, msgspec.structs.replace(made, time_travel="")) == ""


def test_a_retention_that_is_as_long_or_longer_or_unreadable_is_not_told() -> None:
    assert list(shorter_retentions({}, {LOG: "interval 30 days", FILES: "interval 7 days"})) == []
    assert list(shorter_retentions({}, {LOG: "interval 31 days"})) == []
    unreadable = {LOG: "for ever", FILES: "interval 6 days"}
    assert list(shorter_retentions({}, unreadable)) == [
        "VACUUM may delete removed files after 6 days instead of 7 days."
    ]
    assert list(shorter_retentions(unreadable, {FILES: "interval 7 days"})) == []


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(0), "0 hours"),
        (timedelta(seconds=30), "30 seconds"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(minutes=30), "30 minutes"),
        (timedelta(hours=1), "1 hour"),
        (timedelta(hours=23), "23 hours"),
        (timedelta(hours=24), "1 day"),
        (timedelta(hours=36), "1.5 days"),
        (timedelta(hours=167), "167 hours"),
        (timedelta(minutes=90), "1.5 hours"),
        (timedelta(minutes=200), "200 minutes"),
        (timedelta(days=30), "30 days"),
    ],
)
def test_a_length_of_time_is_said_in_days_from_one_day_on(length: timedelta, said: str) -> None:
    assert in_days(length) == said
