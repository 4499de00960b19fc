"""Proposals that raise the protocol, number rows, make a table or drop a feature, with every guard's evidence."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import DomainMetadata, Protocol, TransactionAction
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals import propose
from tests.support.logs.small_logs import add
from tests.support.logs.small_proposals import circumstances, compact, proposal, protocol, refused, snapshot
from tests.support.logs.small_schemas import configuration, field, mapped_table, plain_table, struct

MODE, HIGHEST = "delta.columnMapping.mode", "delta.columnMapping.maxColumnId"
TRACKING = "delta.enableRowTracking"
ROW_IDS = "delta.rowTracking.materializedRowIdColumnName"
ROW_VERSIONS = "delta.rowTracking.materializedRowCommitVersionColumnName"
TRACKED = protocol(1, 7, w="domainMetadata rowTracking")


# --- versions, features and properties --------------------------------------------------------------------------------


def test_an_intent_that_needs_more_than_a_version_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidIntent) as caught:
        propose(parse_intent({"kind": "restore", "version": 0}), snapshot(), circumstances())
    assert str(caught.value) == "The intent restore cannot be proposed from a version alone."


def test_raised_versions_are_said_whole() -> None:
    before = snapshot()
    evidence = {"before": [1, 2], "after": [2, 5], "detail": "The versions go from (1, 2) to (2, 5)."}
    assert proposal(before, "upgrade-protocol", minReaderVersion=2, minWriterVersion=5) == Proposal(
        operation="SET TBLPROPERTIES",
        parameters={"properties": compact({"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"})},
        metadata=before.metadata,
        protocol=protocol(2, 5),
        guards=(GuardResult("protocol-upgrade", "pass", evidence),),
    )
    same = proposal(before, "upgrade-protocol", minReaderVersion=1, minWriterVersion=2)
    assert same.protocol is None
    assert same.guards[0].evidence["detail"] == "The versions go from (1, 2) to (1, 2)."


@pytest.mark.parametrize(
    ("rules", "wanted", "detail", "steps"),
    [
        ((1, 4), (1, 3), "Versions never fall; the table is at (1, 4).", "(2, 5), (2, 6), (1, 7), (2, 7), (3, 7)"),
        ((2, 5), (1, 7), "Versions never fall; the table is at (2, 5).", "(2, 6), (2, 7), (3, 7)"),
        (
            (2, 5),
            (3, 6),
            "Reader version 3 with writer version 6 is not a legal pair.",
            "(2, 6), (2, 7), (3, 7)",
        ),
        ((3, 7), (3, 6), "Versions never fall; the table is at (3, 7).", "none: it is the newest"),
    ],
)
def test_versions_that_cannot_be_are_told_with_those_that_can(
    rules: tuple[int, int], wanted: tuple[int, int], detail: str, steps: str
) -> None:
    lists: dict[str, Any] = {"r": "", "w": ""} if rules == (3, 7) else {}
    before = snapshot(rules=protocol(*rules, **lists))
    made = proposal(before, "upgrade-protocol", minReaderVersion=wanted[0], minWriterVersion=wanted[1])
    evidence = {"before": list(rules), "after": list(wanted), "detail": detail}
    assert made.guards == (GuardResult("protocol-upgrade", "fail", evidence, f"Legal versions from here: {steps}."),)
    assert made.protocol is None


@pytest.mark.parametrize(
    ("properties", "after"),
    [
        ({"delta.minWriterVersion": "4"}, protocol(1, 4)),
        ({"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}, protocol(2, 5)),
        ({"delta.feature.checkConstraints": "supported", "delta.enableChangeDataFeed": "true"}, protocol(1, 7)),
    ],
)
def test_a_version_or_a_feature_may_be_asked_for_alone(properties: dict[str, str], after: Protocol) -> None:
    if after.min_writer_version == 7:
        names = "appendOnly invariants checkConstraints changeDataFeed"
        after = protocol(1, 7, w=names)
    assert proposal(snapshot(), "set-properties", properties=properties).protocol == after


@pytest.mark.parametrize(
    ("feature", "said"),
    [
        ("CLUSTERING", "clustering starts by naming the columns (ALTER TABLE ... CLUSTER BY in Spark), which adds it"),
        ("catalogManaged", "it comes with the catalog that creates the table"),
    ],
)
def test_a_feature_that_no_person_adds_says_why(feature: str, said: str) -> None:
    error = refused(snapshot(), "enable-feature", feature=feature)
    name = "clustering" if feature == "CLUSTERING" else feature
    assert (str(error), error.field) == (f"The feature {name} cannot be added: {said}.", "feature")


def test_a_feature_comes_with_the_property_that_switches_it_on() -> None:
    made = proposal(snapshot(), "enable-feature", feature="V2CHECKPOINT")
    wanted = {"delta.feature.v2Checkpoint": "supported", "delta.checkpointPolicy": "v2"}
    assert made.parameters == {"properties": compact(wanted)}
    assert configuration(made) == {"delta.checkpointPolicy": "v2"}
    assert made.protocol == protocol(3, 7, r="v2Checkpoint", w="appendOnly invariants v2Checkpoint")


@pytest.mark.parametrize(
    ("value", "column"), [("id, s.y", "s.y"), ("id.x", "id.x"), ("`a b`", "`a b`"), ("id,s.x", None), ("", None)]
)
def test_statistics_are_asked_for_columns_that_exist(value: str, column: str | None) -> None:
    before = plain_table(struct(field("id", "long"), field("s", struct(field("x")))))
    wanted = {"delta.dataSkippingStatsColumns": value}
    if column is None:
        assert configuration(proposal(before, "set-properties", properties=wanted)) == wanted
        return
    error = refused(before, "set-properties", properties=wanted)
    assert str(error) == f"delta.dataSkippingStatsColumns names {column}, which the table does not have."
    assert (error.field, error.column) == ("delta.dataSkippingStatsColumns", column)


def test_a_mapping_mode_may_be_set_as_a_property_beside_others() -> None:
    before = plain_table(struct(field("id", "long")))
    made = proposal(before, "set-properties", properties={MODE: "NAME", "own": "1"})
    assert made.operation == "SET TBLPROPERTIES"
    assert made.parameters == {"properties": compact({MODE: "NAME", "own": "1"})}
    assert configuration(made) == {MODE: "NAME", HIGHEST: "1", "own": "1"}
    assert made.protocol == protocol(2, 7, w="appendOnly invariants columnMapping")
    assert [(each.name, each.status) for each in made.guards] == [("mapping-mode", "pass")]
    same = proposal(mapped_table(), "set-properties", properties={MODE: "name"})
    assert (same.guards, same.protocol) == ((), None)


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("set-properties", {"properties": {MODE: "None", "own": "1"}}),
        ("unset-properties", {"keys": ["own", MODE]}),
    ],
)
def test_a_mapping_is_taken_away_alone(kind: str, asked: dict[str, Any]) -> None:
    error = refused(mapped_table(), kind, **asked)
    assert str(error) == "Removing the column mapping rewrites the table. Ask for that alone."
    assert error.field == MODE
    alone = {"properties": {MODE: "None"}} if kind == "set-properties" else {"keys": [MODE]}
    assert proposal(mapped_table(), kind, **alone).operation == "REMOVE COLUMN MAPPING"
    unmapped = snapshot(properties={MODE: "none"})
    assert proposal(unmapped, kind, **asked).operation.endswith("SET TBLPROPERTIES")


@pytest.mark.parametrize(
    ("before", "after", "looked"), [(None, "true", True), ("true", "true", False), (None, "false", False)]
)
def test_names_are_looked_at_when_the_change_feed_is_switched_on(before: str | None, after: str, looked: bool) -> None:
    key = "delta.enableChangeDataFeed"
    kind = struct(field("a b", "long"), field("s", struct(field("_change_type"))))
    table = plain_table(kind, properties={} if before is None else {key: before})
    made = proposal(table, "set-properties", properties={key: after})
    said = {
        "columns": ["`a b`", "s", "s._change_type"],
        "detail": "The names are free, valid and unique ignoring case.",
    }
    assert made.guards == ((GuardResult("column-names", "pass", said),) if looked else ())


# --- row tracking -----------------------------------------------------------------------------------------------------


def test_row_tracking_that_is_enabled_is_said_whole() -> None:
    before = snapshot(add("a", 3), add("b", 5))
    made = proposal(before, "set-properties", properties={TRACKING: "true"})
    found = configuration(made)
    ends = "-0000-4000-8000-000000000000"
    assert (found[ROW_IDS][:12], found[ROW_IDS].endswith(ends)) == ("_row-id-col-", True)
    assert (found[ROW_VERSIONS][:24], found[ROW_VERSIONS].endswith(ends)) == ("_row-commit-version-col-", True)
    assert found.keys() == {TRACKING, ROW_IDS, ROW_VERSIONS}
    mark = '{"rowIdHighWaterMark":7,"domainName":"delta.rowTracking"}'
    numbered = [(add("a", 3), 0), (add("b", 5), 3)]
    assert made == Proposal(
        operation="SET TBLPROPERTIES",
        parameters={"properties": compact({TRACKING: "true"})},
        metadata=msgspec.structs.replace(before.metadata, configuration=found),
        protocol=protocol(1, 7, w="appendOnly invariants domainMetadata rowTracking"),
        adds=tuple(
            msgspec.structs.replace(file, data_change=False, base_row_id=first, default_row_commit_version=1)
            for file, first in numbered
        ),
        domains=(DomainMetadata(domain="delta.rowTracking", configuration=mark),),
        is_blind_append=False,
        isolation="SnapshotIsolation",
        reads_files=True,
        undo=f"Unset {TRACKING}. delta.rowTracking.materializedRowIdColumnName, "
        "delta.rowTracking.materializedRowCommitVersionColumnName stay set.",
    )


@pytest.mark.parametrize(
    ("asked", "before", "names", "tags"),
    [
        ({TRACKING: "true"}, {}, True, {"rowTrackingEnablementOnly": "true"}),
        ({TRACKING: "true"}, {ROW_IDS: "i", ROW_VERSIONS: "v"}, True, {"rowTrackingEnablementOnly": "true"}),
        ({TRACKING: "true", "own": "1"}, {}, True, {}),
        ({TRACKING: "true", "comment": "new"}, {}, True, {}),
        ({TRACKING: "true", "delta.feature.checkConstraints": "supported"}, {}, True, {}),
        ({"own": "1"}, {}, False, {}),
        ({"own": "1"}, {TRACKING: "true"}, True, {}),
        ({TRACKING: "false"}, {}, False, {}),
    ],
)
def test_a_commit_that_enables_row_tracking_alone_says_so(
    asked: dict[str, str], before: dict[str, str], names: bool, tags: dict[str, str]
) -> None:
    file = add("a", 3, base_row_id=0, default_row_commit_version=0)
    mark = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":2}')
    table = snapshot(file, mark, rules=TRACKED, properties=before)
    made = proposal(table, "set-properties", properties=asked)
    assert made.tags == tags
    assert (made.adds, made.domains, made.is_blind_append) == ((), (), True)
    found = configuration(made)
    assert [key in found for key in (ROW_IDS, ROW_VERSIONS)] == [names, names]
    if ROW_IDS in before:
        assert (found[ROW_IDS], found[ROW_VERSIONS]) == ("i", "v")


# --- domains and applications -----------------------------------------------------------------------------------------


def test_a_domain_and_its_removal_are_said_whole() -> None:
    before = snapshot(DomainMetadata(domain="app", configuration="old"), rules=TRACKED)
    has = {"feature": "domainMetadata", "detail": "The protocol has the feature domainMetadata."}
    supported = GuardResult("feature-supported", "pass", has)
    assert proposal(before, "set-domain", domain="app", configuration="new") == Proposal(
        operation="SET DOMAIN METADATA",
        parameters={"domain": "app"},
        domains=(DomainMetadata(domain="app", configuration="new"),),
        guards=(supported,),
        undo="Set it to 'old' again.",
    )
    assert proposal(before, "remove-domain", domain="app") == Proposal(
        operation="REMOVE DOMAIN METADATA",
        parameters={"domain": "app"},
        domains=(DomainMetadata(domain="app", configuration="old", removed=True),),
        guards=(supported,),
        undo="Set the domain 'app' to 'old' again.",
    )
    lacks = {"feature": "domainMetadata", "detail": "The protocol lacks the feature domainMetadata."}
    assert proposal(snapshot(), "set-domain", domain="app", configuration="").guards == (
        GuardResult("feature-supported", "fail", lacks, "Enable the feature domainMetadata first."),
    )


@pytest.mark.parametrize("domain", ["", "Delta.x"])
@pytest.mark.parametrize("kind", ["set-domain", "remove-domain"])
def test_a_domain_of_the_system_is_refused_by_its_name(domain: str, kind: str) -> None:
    before = snapshot(DomainMetadata(domain=domain, configuration="x"), rules=TRACKED)
    error = refused(before, kind, domain=domain, **({"configuration": "x"} if kind == "set-domain" else {}))
    assert error.field == "domain"
    assert str(error) == (
        f"The domain {domain!r} cannot be set by hand: names that start with delta. belong to Delta itself."
    )


@pytest.mark.parametrize(("before", "version"), [(None, -5), (7, 8), (7, 7), (7, 6)])
def test_the_version_of_an_application_is_said_whole(before: int | None, version: int) -> None:
    there = () if before is None else (TransactionAction(app_id="a", version=before),)
    rises = before is None or version > before
    evidence = {"appId": "a", "before": before, "after": version, "detail": f"The application is already at {before}."}
    remedy = f"Give a version above {before}, or do nothing: the application would skip this batch."
    expected = GuardResult("transaction-rises", "fail", evidence, remedy)
    if rises:
        expected = GuardResult("transaction-rises", "pass", {**evidence, "detail": "The version rises."})
    assert proposal(snapshot(*there), "set-transaction", appId="a", version=version) == Proposal(
        operation="SET TRANSACTION",
        parameters={"appId": "a", "version": str(version)},
        transactions=(TransactionAction(app_id="a", version=version, last_updated=1_700_000_000_000),),
        read_applications=("a",),
        guards=(expected,),
        undo="A transaction version cannot be taken back; restoring an earlier version of the table does not lower it.",
    )


@pytest.mark.parametrize(
    ("asked", "field", "said"),
    [
        ({"appId": "", "version": 1}, "appId", "The application needs a name."),
        ({"appId": "a", "version": 2**63}, "version", "The version is not a 64-bit integer."),
    ],
)
def test_an_application_that_cannot_be_recorded_is_refused(asked: dict[str, Any], field: str, said: str) -> None:
    error = refused(snapshot(), "set-transaction", **asked)
    assert (str(error), error.field) == (said, field)
