"""Proposals to take a feature out of a table, whole: what uses it, what needs it, and what protects the history."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.log.log_path import LogFileKind
from explorer.core.protocol.actions import DomainMetadata
from explorer.core.transaction.intents.records import DropFeature
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.features import LogMarks, drop_feature
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add, remove
from tests.support.logs.small_proposals import protocol, snapshot
from tests.support.logs.small_schemas import field, mapped_table, plain_table, struct

MODE = "delta.columnMapping.mode"
ROW_IDS = "delta.rowTracking.materializedRowIdColumnName"
PROTECTED = "delta.requireCheckpointProtectionBeforeVersion"
CLASSIC = LogFileKind.CLASSIC_CHECKPOINT


def dropped(before: explorer.Snapshot, feature: str, log: LogMarks | None = None) -> Proposal:
    return drop_feature(DropFeature(feature=feature), before, log or LogMarks(0, before.version, CLASSIC))


def off(feature: str, key: str | None = None, value: str | None = None) -> GuardResult:
    evidence: dict[str, object] = {"feature": feature, "detail": "No property switches it on."}
    if key is not None:
        evidence |= {"property": key, "value": value, "detail": f"{key} does not switch it on."}
    return GuardResult("feature-switched-off", "pass", evidence)


def unused(feature: str) -> GuardResult:
    detail = "Nothing in the version uses it."
    return GuardResult("feature-unused", "pass", {"feature": feature, "traces": [], "detail": detail})


def alone(feature: str) -> GuardResult:
    detail = "No other feature needs it."
    return GuardResult("feature-dependents", "pass", {"feature": feature, "neededBy": [], "detail": detail})


def barrier(feature: str, version: int = 0) -> GuardResult:
    detail = (
        f"Clients without {feature} begin at the checkpoint of version {version}. Earlier versions stay, need the "
        "feature, and are protected from clients that would clean them up wrongly."
    )
    evidence = {"feature": feature, "newestCheckpoint": version, "version": version, "detail": detail}
    return GuardResult("history-barrier", "pass", evidence)


def test_a_feature_of_writers_that_goes_is_said_whole() -> None:
    since = "delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"
    key = "delta.enableInCommitTimestamps"
    rules = protocol(1, 7, w="appendOnly invariants inCommitTimestamp")
    before = snapshot(rules=rules, properties={key: "false", **dict.fromkeys(since, "1"), "own": "1"})
    assert dropped(before, "INCOMMITTIMESTAMP") == Proposal(
        operation="DROP FEATURE",
        parameters={"featureName": "inCommitTimestamp", "truncateHistory": False},
        metadata=msgspec.structs.replace(before.metadata, configuration={key: "false", "own": "1"}),
        protocol=protocol(1, 2),
        guards=(off("inCommitTimestamp", key, "false"), unused("inCommitTimestamp"), alone("inCommitTimestamp")),
        time_travel="No version is lost; commit times come from the log's files again, and copying changes those.",
        undo="Add the feature again: set delta.feature.inCommitTimestamp to 'supported'. "
        "delta.inCommitTimestampEnablementTimestamp, delta.inCommitTimestampEnablementVersion do not come back.",
    )


@pytest.mark.parametrize("vectors", [(), (remove("v.bin"),)])
def test_a_feature_of_readers_that_goes_is_said_whole(vectors: tuple[Any, ...]) -> None:
    rules = protocol(3, 7, r="deletionVectors", w="deletionVectors appendOnly")
    before = snapshot(add("a"), rules=rules, properties={"own": "1"})
    log = LogMarks(0, 0, CLASSIC, vectors=vectors)
    key = "delta.enableDeletionVectors"
    assert dropped(before, "deletionVectors", log) == Proposal(
        operation="DROP FEATURE",
        parameters={"featureName": "deletionVectors", "truncateHistory": False},
        metadata=msgspec.structs.replace(before.metadata, configuration={"own": "1", PROTECTED: "1"}),
        protocol=protocol(1, 7, w="appendOnly checkpointProtection"),
        removes=vectors,
        is_blind_append=not vectors,
        reads_files=True,
        guards=(
            *(off("deletionVectors", key), unused("deletionVectors"), alone("deletionVectors")),
            barrier("deletionVectors"),
        ),
        time_travel="No version is lost; those before 1 can be read only by clients that know deletionVectors.",
        undo="Add the feature again: set delta.feature.deletionVectors to 'supported'. "
        "delta.requireCheckpointProtectionBeforeVersion keeps its new value.",
    )


def failing(found: Proposal) -> list[GuardResult]:
    return [guard for guard in found.guards if guard.status == "fail"]


def used(feature: str, traces: list[str], detail: str, remedy: str) -> GuardResult:
    evidence = {"feature": feature, "traces": traces, "detail": detail}
    return GuardResult("feature-unused", "fail", evidence, remedy)


def test_what_uses_a_feature_is_told_with_what_to_do() -> None:
    bounds = snapshot(properties={"delta.constraints.b": "id > 0", "delta.constraints.a": "x"}, rules=protocol(1, 3))
    assert failing(dropped(bounds, "checkConstraints")) == [
        used(
            "checkConstraints",
            ["the constraint 'b' is in force", "the constraint 'a' is in force"],
            "The constraint 'b' is in force; the constraint 'a' is in force.",
            "Run drop-constraint for each of them first.",
        )
    ]
    masked = snapshot(*(add(name, vector=small_logs.vector(name)) for name in "ab"), add("c"), rules=small_logs.MASKED)
    assert failing(dropped(masked, "deletionVectors")) == [
        used(
            "deletionVectors",
            ["2 files have deletion vectors"],
            "2 files have deletion vectors.",
            "Purge the masked rows first, which rewrites these files.",
        )
    ]
    names = [DomainMetadata(domain=name, configuration="x") for name in "ba"]
    domains = snapshot(*names, rules=protocol(1, 7, w="domainMetadata"))
    assert failing(dropped(domains, "domainMetadata")) == [
        used(
            "domainMetadata",
            ["the domain 'a' is set", "the domain 'b' is set"],
            "The domain 'a' is set; the domain 'b' is set.",
            "Run remove-domain for each of them first.",
        )
    ]
    rules = protocol(3, 7, r="typeWidening", w="typeWidening")
    changed = field("x", metadata={"delta.typeChanges": [{"fromType": "short", "toType": "integer"}]})
    widened = plain_table(struct(field("y"), field("a b", struct(changed))), rules=rules)
    assert failing(dropped(widened, "typeWidening")) == [
        used(
            "typeWidening",
            ["the type of `a b`.x was widened, and files may hold the narrow one"],
            "The type of `a b`.x was widened, and files may hold the narrow one.",
            "Rewrite the files and drop the feature in Spark: only a rewrite removes every narrow value.",
        )
    ]


def test_a_property_that_switches_a_feature_on_is_told() -> None:
    evidence: dict[str, object] = {"feature": "columnMapping", "property": MODE, "value": "name"}
    evidence |= {"detail": "The property delta.columnMapping.mode is 'name'."}
    assert failing(dropped(mapped_table(), "columnMapping")) == [
        GuardResult("feature-switched-off", "fail", evidence, "Run set-column-mapping with mode none first."),
        used(
            "columnMapping",
            ["columns are mapped by name"],
            "Columns are mapped by name.",
            "Run set-column-mapping with mode none first; it rewrites the files.",
        ),
    ]
    policy = "delta.checkpointPolicy"
    newer = snapshot(rules=protocol(3, 7, r="v2Checkpoint", w="v2Checkpoint"), properties={policy: "V2"})
    evidence = {"feature": "v2Checkpoint", "property": policy, "value": "V2"}
    assert failing(dropped(newer, "v2Checkpoint")) == [
        GuardResult(
            "feature-switched-off",
            "fail",
            {**evidence, "detail": "The property delta.checkpointPolicy is 'V2'."},
            "Run set-properties with delta.checkpointPolicy = classic first, so that no writer uses it any more.",
        )
    ]


def test_features_that_need_another_one_are_told() -> None:
    rules = protocol(1, 7, w="domainMetadata rowTracking")
    told = {"feature": "domainMetadata", "neededBy": ["rowTracking"], "detail": "The feature rowTracking needs it."}
    assert failing(dropped(snapshot(rules=rules), "domainMetadata")) == [
        GuardResult("feature-dependents", "fail", told, "Drop rowTracking first.")
    ]
    rules = protocol(1, 7, w="domainMetadata rowTracking clustering")
    evidence = {
        "feature": "domainMetadata",
        "neededBy": ["rowTracking", "clustering"],
        "detail": "The feature rowTracking needs it; the feature clustering needs it.",
    }
    assert failing(dropped(snapshot(rules=rules), "domainMetadata")) == [
        GuardResult("feature-dependents", "fail", evidence, "clustering cannot be dropped, so this feature stays too.")
    ]


def test_a_domain_of_delta_goes_with_its_feature_and_not_by_hand() -> None:
    domains = [DomainMetadata(domain=name, configuration="{}") for name in ("a", "delta.clustering")]
    (unused,) = failing(dropped(snapshot(*domains, rules=protocol(1, 7, w="domainMetadata")), "domainMetadata"))
    assert unused.remedy == (
        "Run remove-domain for each of them first. "
        "Those that begin with delta. belong to Delta itself, and go with the feature that they are of."
    )


@pytest.mark.parametrize(
    ("feature", "log", "detail"),
    [
        (
            "v2Checkpoint",
            LogMarks(0, 4, CLASSIC),
            "Version 5 has no checkpoint; a client without v2Checkpoint would read commits that use it.",
        ),
        (
            "v2Checkpoint",
            LogMarks(0, 5, LogFileKind.UUID_CHECKPOINT),
            "The newest checkpoint itself needs the feature.",
        ),
        ("v2Checkpoint", LogMarks(0, 5, CLASSIC), None),
        ("vacuumProtocolCheck", LogMarks(0, 5, LogFileKind.UUID_CHECKPOINT), None),
    ],
)
def test_history_begins_at_a_checkpoint_for_clients_without_the_feature(
    feature: str, log: LogMarks, detail: str | None
) -> None:
    first: list[Any] = [protocol(3, 7, r=feature, w=feature), small_logs.METADATA]
    before = small_logs.table({0: first, **{number: [add(f"{number}")] for number in range(1, 6)}}).snapshot()
    found = dropped(before, feature, log).guards[-1]
    if detail is None:
        assert found == barrier(feature, 5)
        return
    evidence = {"feature": feature, "newestCheckpoint": log.checkpoint, "version": 5, "detail": detail}
    remedy = "Run the intent checkpoint, then this one again."
    assert found == GuardResult("history-barrier", "fail", evidence, remedy)


@pytest.mark.parametrize(
    ("named", "log", "before"),
    [
        ("3", LogMarks(3), 3),
        ("3", LogMarks(2), 3),
        (None, LogMarks(0), 1),
        (None, LogMarks(1, 0), 0),
        ("x", LogMarks(1, 2), 2),
        ("\u0663", LogMarks(1), 1),
        ("9" * 19, LogMarks(1), int("9" * 19)),
        ("9" * 20, LogMarks(1), 1),
    ],
)
def test_protection_goes_when_no_protected_version_is_left(named: str | None, log: LogMarks, before: int) -> None:
    properties = {} if named is None else {PROTECTED: named}
    metadata = msgspec.structs.replace(small_logs.METADATA, configuration=properties)
    rules = protocol(1, 7, w="checkpointProtection")
    found = dropped(small_logs.table({0: [rules, metadata], 1: []}).snapshot(), "checkpointProtection", log)
    evidence: dict[str, object] = {PROTECTED: named or "", "firstCommit": log.first_commit}
    if log.first_commit >= before:
        expected = GuardResult(
            "protected-history", "pass", {**evidence, "detail": f"No version before {before} is left."}
        )
    else:
        said = f"The log holds version {log.first_commit}, and versions before {before} are protected."
        remedy = f"Clean the log up to version {before} (clean-log): the history of these versions is then lost."
        expected = GuardResult("protected-history", "fail", {**evidence, "detail": said}, remedy)
    assert found.guards[-1] == expected
    assert found.parameters == {"featureName": "checkpointProtection", "truncateHistory": True}
    assert found.time_travel is None


@pytest.mark.parametrize(
    ("feature", "said", "allowed"),
    [
        (
            "deletionVectors",
            (
                "The table does not have the feature deletionVectors. Its features: appendOnly, invariants, "
                "checkConstraints."
            ),
            ["appendOnly", "invariants", "checkConstraints"],
        ),
        (
            "appendOnly",
            "The feature appendOnly cannot be dropped: no procedure shows that a table no longer uses it.",
            ["checkConstraints"],
        ),
    ],
)
def test_a_feature_that_cannot_be_dropped_is_told_with_those_that_can(
    feature: str, said: str, allowed: list[str]
) -> None:
    with pytest.raises(InvalidIntent) as caught:
        dropped(snapshot(rules=protocol(1, 3)), feature)
    assert (str(caught.value), caught.value.field, caught.value.allowed) == (said, "feature", allowed)
    with pytest.raises(InvalidIntent, match=r"Its features: none\.$"):
        dropped(snapshot(rules=protocol(1, 1)), feature)


@pytest.mark.parametrize("marked", [False, True])
def test_row_ids_that_go_leave_the_rest_of_each_file(marked: bool) -> None:
    mark = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":2}')
    files = add("a", 3, base_row_id=0, default_row_commit_version=0, tags={"t": "1"}), add("b", 2)
    rules = protocol(1, 7, w="domainMetadata rowTracking")
    before = snapshot(*files, *([mark] if marked else []), rules=rules, properties={ROW_IDS: "i", "own": "1"})
    log = LogMarks(0, unknown={("a", None): {"house": 7}})
    found = dropped(before, "rowTracking", log)
    bare = {"base_row_id": None, "default_row_commit_version": None, "data_change": False, "unknown": {"house": 7}}
    assert found.adds == (msgspec.structs.replace(files[0], **bare),)
    assert found.domains == ((msgspec.structs.replace(mark, removed=True),) if marked else ())
    assert (found.reads_files, found.is_blind_append, found.removes) == (True, True, ())
    assert found.metadata == msgspec.structs.replace(before.metadata, configuration={"own": "1"})
