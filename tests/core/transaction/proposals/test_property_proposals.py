"""Intents on properties and the protocol: what is written, what comes with it, what is refused."""

import json
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import DomainMetadata, Protocol
from explorer.core.protocol.table_features import active_features
from explorer.core.transaction.guards.judge import Situation, judge
from explorer.core.transaction.intents.records import Restore
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.restore import restore
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import circumstances, proposal, protocol, snapshot
from tests.support.logs.small_schemas import NAME, field, mapped, struct


def _guards(before: explorer.Snapshot, made: Proposal) -> dict[str, GuardResult]:
    return {guard.name: guard for guard in judge(Situation(before, made, "tester"))}


def _configuration(made: Proposal) -> dict[str, str]:
    assert made.metadata is not None
    return made.metadata.configuration


def _protocol(made: Proposal) -> Protocol:
    assert made.protocol is not None
    return made.protocol


@pytest.mark.conformance("META-009", "WRITER-006")
def test_a_property_is_set_beside_all_that_was_there() -> None:
    made = proposal(snapshot(properties={"delta.unknown": "1", "a": "b"}), "set-properties", properties={"a": "c"})
    assert _configuration(made) == {"delta.unknown": "1", "a": "c"}
    assert made.metadata is not None
    assert made.metadata.unknown == {"kept": {"by": "all"}}
    assert made.protocol is None
    assert made.undo.startswith("Set a to 'b'")


def test_the_comment_is_the_description() -> None:
    before = snapshot()
    made = proposal(before, "set-properties", properties={"comment": "orders"})
    assert made.metadata is not None
    assert made.metadata.description == "orders"
    assert _configuration(made) == {}
    unset = proposal(before, "unset-properties", keys=["comment"]).metadata
    assert unset is not None
    assert unset.description is None


@pytest.mark.conformance("FEAT-005", "WRITER-006")
@pytest.mark.parametrize(
    ("key", "value", "feature"),
    [
        ("delta.enableChangeDataFeed", "true", "changeDataFeed"),
        ("delta.enableDeletionVectors", "true", "deletionVectors"),
        ("delta.enableTypeWidening", "true", "typeWidening"),
        ("delta.enableInCommitTimestamps", "true", "inCommitTimestamp"),
        ("delta.enableRowTracking", "true", "rowTracking"),
        ("delta.checkpointPolicy", "v2", "v2Checkpoint"),
        ("delta.columnMapping.mode", "name", "columnMapping"),
        ("delta.feature.vacuumProtocolCheck", "supported", "vacuumProtocolCheck"),
    ],
)
def test_a_property_brings_its_feature_in_the_same_commit(key: str, value: str, feature: str) -> None:
    before = snapshot()
    made = proposal(before, "set-properties", properties={key: value})
    assert feature in active_features(_protocol(made))
    assert active_features(before.protocol) <= active_features(_protocol(made))
    assert next(iter(made.actions())) == made.protocol
    assert not [name for name, guard in _guards(before, made).items() if guard.status == "fail"]


def test_a_property_that_is_off_brings_nothing() -> None:
    made = proposal(snapshot(), "set-properties", properties={"delta.enableDeletionVectors": "false"})
    assert made.protocol is None


def test_a_preview_of_the_feature_is_enough() -> None:
    rules = protocol(3, 7, r="typeWidening-preview", w="typeWidening-preview")
    made = proposal(snapshot(rules=rules), "set-properties", properties={"delta.enableTypeWidening": "true"})
    assert made.protocol is None


@pytest.mark.conformance("FEAT-009", "CATALOG-004")
@pytest.mark.parametrize("name", ["catalogManaged", "clustering", "nope"])
def test_features_that_cannot_be_added_are_refused(name: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(snapshot(), "enable-feature", feature=name)
    assert caught.value.field == "feature"


def test_a_feature_that_this_program_does_not_write_is_not_enabled() -> None:
    before = snapshot()
    made = proposal(before, "enable-feature", feature="icebergCompatV2")
    assert {"columnMapping", "icebergCompatV2"} <= active_features(_protocol(made))
    assert _guards(before, made)["protocol-allows-writer"].status == "fail"


def test_enabling_a_feature_sets_its_property() -> None:
    made = proposal(snapshot(), "enable-feature", feature="deletionVectors")
    assert _configuration(made) == {"delta.enableDeletionVectors": "true"}
    assert json.loads(made.parameters["properties"]) == {
        "delta.feature.deletionVectors": "supported",
        "delta.enableDeletionVectors": "true",
    }
    assert _configuration(proposal(snapshot(), "enable-feature", feature="domainMetadata")) == {}


@pytest.mark.conformance("ROWTRACK-001", "ROWTRACK-002", "ROWTRACK-005", "FILE-006")
def test_enabling_row_tracking_numbers_every_file_in_the_same_commit() -> None:
    before = snapshot(small_logs.add("a", records=3), small_logs.add("b", records=5))
    made = proposal(before, "set-properties", properties={"delta.enableRowTracking": "true"})
    assert [(add.path, add.base_row_id, add.default_row_commit_version) for add in made.adds] == [
        ("a", 0, 1),
        ("b", 3, 1),
    ]
    # The same files once more: no row comes, and nothing is removed without coming back.
    assert not any(add.data_change for add in made.adds)
    assert made.removes == ()
    assert json.loads(made.domains[0].configuration)["rowIdHighWaterMark"] == 7
    names = {value for key, value in _configuration(made).items() if "materialized" in key}
    assert len(names) == 2
    guards = _guards(before, made)
    assert guards["row-tracking"].status == "pass"


@pytest.mark.conformance("ROWTRACK-005", "ROWTRACK-003")
def test_files_that_came_while_tracking_was_suspended_get_ids_before_it_is_enabled_and_others_keep_theirs() -> None:
    mark = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":8}')
    files = (small_logs.add("old", records=3, base_row_id=2), small_logs.add("new", records=5))
    rules = protocol(1, 7, w="domainMetadata rowTracking")
    before = snapshot(mark, *files, rules=rules, properties={"delta.rowTrackingSuspended": "true"})
    wanted = {"delta.enableRowTracking": "true", "delta.rowTrackingSuspended": "false"}
    made = proposal(before, "set-properties", properties=wanted)
    assert [(add.path, add.base_row_id) for add in made.adds] == [("new", 9)]
    assert json.loads(made.domains[0].configuration)["rowIdHighWaterMark"] == 13
    assert _guards(before, made)["row-tracking"].status == "pass"


@pytest.mark.conformance("ROWTRACK-005")
@pytest.mark.parametrize("name", ["_Row-Ids", "_row-ids", "_ROW-VERSIONS"])
def test_columns_of_row_ids_have_names_that_no_column_has(name: str) -> None:
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_Row-Ids",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-versions",
    }
    rules = protocol(2, 7, w="domainMetadata rowTracking columnMapping")
    taken = json.dumps(mapped(struct(field("id", "long"), field(name))))
    before = snapshot(rules=rules, schema=taken, properties={**NAME, **names})
    made = proposal(before, "set-properties", properties={"delta.enableRowTracking": "true"})
    guard = _guards(before, made)["row-tracking"]
    assert guard.status == "fail"
    assert "is a column of the table" in guard.evidence["detail"]
    free = snapshot(rules=rules, properties=names)
    assert (
        _guards(free, proposal(free, "set-properties", properties={"delta.enableRowTracking": "true"}))[
            "row-tracking"
        ].status
        == "pass"
    )


@pytest.mark.conformance("STATS-002")
@pytest.mark.parametrize("stats", [None, "{", '{"numRecords":-1}', '{"numRecords":"3"}'])
def test_row_tracking_is_not_enabled_while_a_file_does_not_say_how_many_rows_it_has(stats: str | None) -> None:
    before = snapshot(msgspec.structs.replace(small_logs.add("a"), stats=stats))
    made = proposal(before, "set-properties", properties={"delta.enableRowTracking": "true"})
    guard = _guards(before, made)["row-ids"]
    assert (guard.status, guard.evidence["path"]) == ("fail", "a")
    assert guard.evidence["detail"] == (
        "Row tracking needs the number of rows of every file; the log does not record it for this one."
    )
    assert guard.remedy == "Rewrite the file with statistics, or suspend row tracking."


@pytest.mark.conformance("ROWTRACK-004")
def test_row_tracking_is_not_enabled_while_it_is_suspended() -> None:
    before = snapshot(properties={"delta.rowTrackingSuspended": "true"})
    made = proposal(before, "set-properties", properties={"delta.enableRowTracking": "true"})
    guard = _guards(before, made)["row-tracking"]
    assert guard.status == "fail"
    assert "suspended" in guard.evidence["detail"].lower()


@pytest.mark.conformance("PROTO-006", "PROTO-008", "PROTO-009")
@pytest.mark.parametrize(
    ("rules", "versions"),
    [
        (protocol(2, 5), (1, 2)),
        (protocol(1, 4), (2, 4)),
        (protocol(3, 7, r="", w=""), (1, 3)),
        (protocol(1, 2), (1, 1)),
        (protocol(1, 2), (3, 6)),
    ],
)
def test_a_protocol_is_not_lowered_nor_made_meaningless(rules: Protocol, versions: tuple[int, int]) -> None:
    before = snapshot(rules=rules)
    made = proposal(before, "upgrade-protocol", minReaderVersion=versions[0], minWriterVersion=versions[1])
    assert made.protocol is None
    guard = _guards(before, made)["protocol-upgrade"]
    assert guard.status == "fail"
    assert guard.remedy


@pytest.mark.conformance("FEAT-005")
def test_version_7_lists_all_that_the_old_version_implied() -> None:
    made = proposal(snapshot(rules=protocol(1, 4)), "upgrade-protocol", minReaderVersion=3, minWriterVersion=7)
    assert _protocol(made).reader_features == ()
    assert set(_protocol(made).writer_features or ()) == {
        *("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns")
    }


@pytest.mark.parametrize(
    ("keys", "properties"),
    [
        (["delta.feature.deletionVectors"], {}),
        (["delta.minReaderVersion"], {}),
        (["delta.constraints.c"], {"delta.constraints.c": "id > 0"}),
        pytest.param(
            ["delta.columnMapping.maxColumnId"],
            {"delta.columnMapping.maxColumnId": "1"},
            marks=pytest.mark.conformance("CM-009"),
        ),
        pytest.param(
            ["delta.columnMapping.hasDroppedOrRenamed"],
            {"delta.columnMapping.hasDroppedOrRenamed": "true"},
            marks=pytest.mark.conformance("CMUSAGE-001"),
        ),
        (["delta.nope"], {}),
    ],
)
def test_what_may_not_be_unset_is_refused(keys: list[str], properties: dict[str, str]) -> None:
    with pytest.raises(InvalidIntent):
        proposal(snapshot(properties=properties), "unset-properties", keys=keys)


def test_an_unknown_key_that_is_set_may_be_unset() -> None:
    before = snapshot(properties={"delta.unknownKey": "1", "a": "b"})
    assert _configuration(proposal(before, "unset-properties", keys=["delta.unknownKey"])) == {"a": "b"}


@pytest.mark.parametrize(
    ("properties", "status"),
    [
        ({"delta.deletedFileRetentionDuration": "interval 0 hours"}, "warn"),
        ({"delta.logRetentionDuration": "interval 1 day", "delta.deletedFileRetentionDuration": "1 hour"}, "warn"),
        ({"delta.checkpointInterval": "1000"}, "warn"),
        ({"delta.checkpoint.writeStatsAsJson": "false"}, "warn"),
        ({"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"}, "pass"),
        ({"delta.dataSkippingNumIndexedCols": "0"}, "warn"),
        ({"delta.checkpointInterval": "5", "team": "x"}, "pass"),
    ],
)
def test_risky_values_are_told(properties: dict[str, str], status: str) -> None:
    before = snapshot()
    guard = _guards(before, proposal(before, "set-properties", properties=properties))["properties"]
    assert guard.status == status
    assert {change["property"] for change in guard.evidence["changes"]} == set(properties)


def test_files_are_not_kept_longer_than_the_log_that_knows_them() -> None:
    before = snapshot()
    wanted = {"delta.deletedFileRetentionDuration": "interval 90 days"}
    assert _guards(before, proposal(before, "set-properties", properties=wanted))["retention"].status == "fail"
    wanted["delta.logRetentionDuration"] = "interval 100 days"
    assert _guards(before, proposal(before, "set-properties", properties=wanted))["retention"].status == "pass"


def test_a_commit_that_changes_nothing_is_not_made() -> None:
    before = snapshot(properties={"a": "b"})
    made = proposal(before, "set-properties", properties={"a": "b"})
    assert _guards(before, made)["changes-something"].status == "fail"


def test_statistics_columns_must_exist() -> None:
    with pytest.raises(InvalidIntent, match="nope"):
        proposal(snapshot(), "set-properties", properties={"delta.dataSkippingStatsColumns": "id,nope"})


@pytest.mark.conformance("WRITER-002", "CONSTR-010")
@pytest.mark.parametrize(
    ("rules", "properties", "feature"),
    [
        (protocol(1, 7, w=""), {"delta.constraints.c": "id > 0"}, "checkConstraints"),
        (protocol(1, 7, w=""), {"delta.appendOnly": "true"}, "appendOnly"),
        (protocol(1, 1), {"delta.enableChangeDataFeed": "true"}, "changeDataFeed"),
    ],
)
def test_a_setting_without_its_feature_has_no_effect_and_is_told(
    rules: Protocol, properties: dict[str, str], feature: str
) -> None:
    before = snapshot(rules=rules, properties=properties)
    guard = _guards(before, proposal(before, "set-properties", properties={"a": "b"}))["features-present"]
    assert guard.status == "warn"
    assert feature in guard.evidence["lacking"].values()


@pytest.mark.conformance("PROTO-002", "FEAT-002")
@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        (protocol(1, 99), "minWriterVersion 99"),
        (protocol(1, 7, w="neverHeardOf"), "neverHeardOf"),
        (protocol(1, 7), "writerFeatures"),
        (protocol(3, 7, r="deletionVectors"), "writerFeatures"),
    ],
)
def test_a_table_that_this_program_may_not_write_is_left_alone(rules: Protocol, missing: str) -> None:
    before = snapshot(rules=rules)
    made = proposal(before, "set-properties", properties={"a": "b"})
    guard = _guards(before, made)["protocol-allows-writer"]
    assert guard.status == "fail"
    (name,) = guard.evidence["missing"]
    assert missing in name


HOSTILE: list[Any] = ["a'b", 'a"b', "a`b", "a\nb", "'; DROP TABLE x --", "../../etc", "\u202e", "é" * 300, "$(id)"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_keys_and_values_are_stored_as_they_are(text: str) -> None:
    made = proposal(snapshot(), "set-properties", properties={f"k{text}": text})
    assert _configuration(made) == {f"k{text}": text}
    assert json.loads(made.parameters["properties"]) == {f"k{text}": text}


@pytest.mark.conformance("PROTO-006", "FEAT-005")
def test_restoring_a_version_with_lists_keeps_what_the_present_version_implies() -> None:
    before = snapshot(rules=protocol(1, 4))
    target = snapshot(rules=protocol(1, 7, w="inCommitTimestamp"))
    made = restore(Restore(version=0), before, target, {}, circumstances())
    assert active_features(_protocol(made)) == active_features(before.protocol) | {"inCommitTimestamp"}


@pytest.mark.conformance("ROWTRACK-005")
def test_restoring_a_version_without_row_tracking_keeps_the_names_of_its_columns() -> None:
    rules = protocol(1, 7, w="rowTracking domainMetadata")
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-now",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-now",
    }
    before = snapshot(rules=rules, properties={"delta.enableRowTracking": "true", **names})
    made = restore(Restore(version=0), before, snapshot(properties={"a": "b"}), {}, circumstances())
    assert _configuration(made) == {"a": "b", **names}
    then = {name: f"{value}-then" for name, value in names.items()}
    made = restore(Restore(version=0), before, snapshot(rules=rules, properties=then), {}, circumstances())
    assert _configuration(made) == then
