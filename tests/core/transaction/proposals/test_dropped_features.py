"""Features taken out of the protocol: what must be done first, what goes along, what protects the history."""

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.log.log_path import LogFileKind
from explorer.core.protocol.actions import DomainMetadata, Protocol
from explorer.core.protocol.table_features import active_features
from explorer.core.transaction.guards.judge import Situation, judge
from explorer.core.transaction.intents.records import DropFeature
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals.features import LogMarks, drop_feature
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import protocol, snapshot
from tests.support.logs.small_schemas import mapped_table

FRESH = LogMarks(0, 0, LogFileKind.CLASSIC_CHECKPOINT)


def _drop(before: explorer.Snapshot, feature: str, log: LogMarks = FRESH) -> tuple[Proposal, list[str]]:
    made = drop_feature(DropFeature(feature=feature), before, log)
    failed = [guard.name for guard in judge(Situation(before, made, "tester")) if guard.status == "fail"]
    return made, failed


@pytest.mark.conformance("FEAT-006", "PROTO-006")
@pytest.mark.parametrize(
    ("feature", "rules", "properties", "guard"),
    [
        ("checkConstraints", protocol(1, 3), {"delta.constraints.c": "id > 0"}, "feature-unused"),
        (
            "deletionVectors",
            protocol(3, 7, r="deletionVectors", w="deletionVectors"),
            {"delta.enableDeletionVectors": "true"},
            "feature-switched-off",
        ),
        (
            "inCommitTimestamp",
            protocol(1, 7, w="inCommitTimestamp"),
            {"delta.enableInCommitTimestamps": "true"},
            "feature-switched-off",
        ),
        ("domainMetadata", protocol(1, 7, w="domainMetadata rowTracking"), {}, "feature-dependents"),
        (
            "v2Checkpoint",
            protocol(3, 7, r="v2Checkpoint", w="v2Checkpoint"),
            {"delta.checkpointPolicy": "v2"},
            "feature-switched-off",
        ),
        (
            "rowTracking",
            protocol(1, 7, w="rowTracking domainMetadata"),
            {"delta.enableRowTracking": "true"},
            "feature-switched-off",
        ),
    ],
)
def test_a_feature_in_use_is_not_dropped(feature: str, rules: Protocol, properties: dict[str, str], guard: str) -> None:
    before = snapshot(rules=rules, properties=properties)
    assert guard in _drop(before, feature)[1]


@pytest.mark.conformance("FEAT-006")
def test_vectors_in_live_files_keep_their_feature() -> None:
    before = snapshot(small_logs.add("a", vector=small_logs.vector("v")), rules=small_logs.MASKED)
    made, failed = _drop(before, "deletionVectors")
    assert failed == ["feature-unused"]
    assert any(guard.remedy and "Purge the masked rows" in guard.remedy for guard in made.guards)


@pytest.mark.conformance("FEAT-006", "TYPEWIDEN-006")
def test_widened_columns_keep_their_feature() -> None:
    schema = (
        '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":'
        '{"delta.typeChanges":[{"fromType":"integer","toType":"long"}]}}]}'
    )
    before = snapshot(rules=protocol(3, 7, r="typeWidening", w="typeWidening"), schema=schema)
    assert "feature-unused" in _drop(before, "typeWidening")[1]


@pytest.mark.conformance("FEAT-006")
def test_mapped_columns_keep_their_feature() -> None:
    assert _drop(mapped_table(), "columnMapping")[1] == ["feature-switched-off", "feature-unused"]


@pytest.mark.conformance("FEAT-006")
def test_domains_keep_their_feature() -> None:
    domain = DomainMetadata(domain="app", configuration="{}")
    before = snapshot(domain, rules=protocol(1, 7, w="domainMetadata"))
    assert _drop(before, "domainMetadata")[1] == ["feature-unused"]


@pytest.mark.conformance("CKPTPROT-001", "CKPTPROT-002")
def test_history_that_needs_a_readers_feature_is_protected() -> None:
    made, failed = _drop(snapshot(rules=small_logs.MASKED), "deletionVectors")
    assert failed == []
    assert made.protocol is not None
    assert active_features(made.protocol) == {"checkpointProtection"}
    assert made.metadata is not None
    assert made.metadata.configuration == {"delta.requireCheckpointProtectionBeforeVersion": "1"}


@pytest.mark.conformance("FEAT-006")
@pytest.mark.parametrize(
    ("feature", "log"),
    [
        ("deletionVectors", LogMarks(0)),
        ("v2Checkpoint", LogMarks(0, 0, LogFileKind.UUID_CHECKPOINT)),
    ],
)
def test_history_must_end_at_a_checkpoint_that_all_can_read(feature: str, log: LogMarks) -> None:
    before = snapshot(rules=protocol(3, 7, r=feature, w=feature))
    assert _drop(before, feature, log)[1] == ["history-barrier"]


@pytest.mark.conformance("CKPTPROT-001")
def test_the_protection_goes_with_the_history_that_it_protects() -> None:
    before = snapshot(
        rules=protocol(1, 7, w="checkpointProtection"),
        properties={"delta.requireCheckpointProtectionBeforeVersion": "7", "a": "b"},
    )
    assert _drop(before, "checkpointProtection", LogMarks(3))[1] == ["protected-history"]
    made, failed = _drop(before, "checkpointProtection", LogMarks(7))
    assert failed == []
    assert made.metadata is not None
    assert made.metadata.configuration == {"a": "b"}
    assert made.parameters["truncateHistory"] is True


@pytest.mark.conformance("CKPTPROT-001")
def test_protection_without_a_version_goes_when_no_history_is_left() -> None:
    rules = protocol(1, 7, w="checkpointProtection")
    before = small_logs.table({0: (rules, small_logs.METADATA), 1: (small_logs.add("a"),)}).snapshot()
    assert _drop(before, "checkpointProtection", LogMarks(0))[1] == ["protected-history"]
    assert _drop(before, "checkpointProtection", LogMarks(1))[1] == []


@pytest.mark.conformance("ROWTRACK-003")
def test_row_ids_go_with_row_tracking() -> None:
    mark = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":2}')
    file = msgspec.structs.replace(small_logs.add("a", records=3), base_row_id=0, default_row_commit_version=0)
    before = snapshot(
        file,
        mark,
        rules=protocol(1, 7, w="domainMetadata rowTracking"),
        properties={"delta.enableRowTracking": "false", "delta.rowTracking.materializedRowIdColumnName": "x"},
    )
    made, failed = _drop(before, "rowTracking")
    assert failed == []
    assert [(add.path, add.base_row_id, add.data_change) for add in made.adds] == [("a", None, False)]
    assert made.domains == (msgspec.structs.replace(mark, removed=True),)
    assert made.metadata is not None
    assert made.metadata.configuration == {}
    assert made.protocol is not None
    assert active_features(made.protocol) == {"domainMetadata"}


@pytest.mark.conformance("FEAT-006")
@pytest.mark.parametrize("feature", ["appendOnly", "invariants", "changeDataFeed", "nope", "deletionVectors"])
def test_features_that_are_absent_or_stay_for_ever_are_refused(feature: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        _drop(snapshot(rules=protocol(1, 4)), feature)
    assert caught.value.field == "feature"
