"""Guards on what a commit sets, whole: properties and their risks, retention, needed features."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from explorer.core.protocol.actions import AddCDCFile, DomainMetadata, Metadata, TransactionAction
from explorer.core.transaction.guards.judge import change_guard, properties_guard, retention_guard
from explorer.core.transaction.guards.protocol import needs_guard
from explorer.core.transaction.proposal import GuardResult, RecordedBatch, Writing, Written
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import change, protocol, setting, snapshot
from tests.support.logs.spark_tables import column, struct

INTEND = "Commit only if this is what you want."
LOG, FILES = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"


@pytest.mark.parametrize(
    ("properties", "risks"),
    [
        (
            {FILES: "interval 6 days"},
            "VACUUM may remove files that running queries and time travel need, after 6 days.",
        ),
        (
            {FILES: "interval 59 minutes"},
            (
                "VACUUM may remove files that running queries and time travel need, after 59 minutes. It may also "
                "delete files that a running writer is about to commit, if you accept that by name."
            ),
        ),
        ({FILES: "interval 7 days"}, None),
        ({LOG: "interval 167 hours"}, "Versions can be lost 167 hours after they were replaced."),
        ({LOG: "interval 168 hours"}, None),
        (
            {"delta.setTransactionRetentionDuration": "interval 6 days"},
            "A stream that pauses for longer loses its progress and writes its last batch twice.",
        ),
        ({"delta.setTransactionRetentionDuration": "interval 1 week"}, None),
        ({"delta.checkpointInterval": "101"}, "With so few checkpoints the table opens slowly."),
        ({"delta.checkpointInterval": "100"}, None),
        ({"delta.enableExpiredLogCleanup": "false"}, "The log will grow without limit."),
        ({"delta.enableExpiredLogCleanup": "true"}, None),
        (
            {"delta.enableInCommitTimestamps": "false"},
            "Commit times come from the log's files again, and copying changes those.",
        ),
        ({"delta.enableInCommitTimestamps": "true"}, None),
        (
            {"delta.dataSkippingNumIndexedCols": "0"},
            "New files get no statistics, so every query reads all of them.",
        ),
        ({"delta.dataSkippingNumIndexedCols": "1"}, None),
        ({"delta.dataSkippingNumIndexedCols": "-1"}, None),
        (
            {"delta.checkpoint.writeStatsAsJson": "false"},
            "Checkpoints keep no statistics: they are lost when the commits are cleaned up.",
        ),
        ({"delta.checkpoint.writeStatsAsStruct": "false"}, None),
        (
            {"delta.checkpointInterval": "500", "delta.enableExpiredLogCleanup": "false"},
            "With so few checkpoints the table opens slowly. The log will grow without limit.",
        ),
    ],
)
def test_a_risk_is_told_on_its_side_of_the_bound_and_not_on_the_other(
    properties: dict[str, str], risks: str | None
) -> None:
    found = properties_guard(snapshot(), setting(properties))
    assert found is not None
    assert (found.name, found.status) == ("properties", "pass" if risks is None else "warn")
    assert found.remedy == (None if risks is None else INTEND)
    passed = "1 property changes. The guard access shows what that means for clients."
    assert found.evidence["detail"] == (passed if risks is None else risks)


def test_statistics_that_checkpoints_keep_in_columns_are_not_lost() -> None:
    both = {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"}
    found = properties_guard(snapshot(), setting(both))
    assert found is not None
    assert (found.status, found.evidence["detail"]) == (
        "pass", "2 properties change. The guard access shows what that means for clients."
    )  # fmt: skip
    neither = both | {"delta.checkpoint.writeStatsAsStruct": "false"}
    told = properties_guard(snapshot(properties=both), setting(neither))
    assert told is not None
    assert told.evidence["detail"] == "Checkpoints keep no statistics: they are lost when the commits are cleaned up."


def test_properties_that_go_back_to_their_defaults_are_no_risk() -> None:
    risky = {LOG: "interval 1 day", FILES: "interval 1 day", "delta.setTransactionRetentionDuration": "interval 1 day"}
    more = {"delta.checkpointInterval": "500", "delta.enableExpiredLogCleanup": "false"}
    more |= {"delta.dataSkippingNumIndexedCols": "0", "delta.checkpoint.writeStatsAsJson": "false"}
    found = properties_guard(snapshot(properties=risky | more), setting({}))
    assert found is not None
    detail = "7 properties change. The guard access shows what that means for clients."
    assert (found.status, found.evidence["detail"]) == ("pass", detail)


def test_changed_properties_are_listed_with_what_they_do() -> None:
    before = snapshot(properties={"own": "1", "gone": "x", "same": "y"})
    after = {"own": "2", "same": "y", "delta.appendOnly": "true", LOG: "interval 40 days"}
    found = properties_guard(before, setting(after))
    changes: list[dict[str, object]] = [
        {"property": "own", "before": "1", "after": "2"},
        {"property": "gone", "before": "x", "after": None},
        {
            "property": "delta.appendOnly",
            "before": None,
            "after": "true",
            "default": "false",
            "effect": "Rows may be added, never changed or removed.",
            "feature": "appendOnly",
        },
        {
            "property": LOG,
            "before": None,
            "after": "interval 40 days",
            "default": "interval 30 days",
            "effect": "How long the history of the table is retained.",
            "feature": None,
        },
    ]
    detail = "4 properties change. The guard access shows what that means for clients."
    assert found == GuardResult("properties", "pass", {"changes": changes, "detail": detail})
    assert properties_guard(before, change()) is None
    assert properties_guard(before, change(metadata=before.metadata)) is None


def test_a_property_that_cannot_be_read_fails() -> None:
    found = properties_guard(snapshot(), setting({"delta.enableExpiredLogCleanup": "perhaps"}))
    assert found is not None
    assert (found.name, found.status, found.remedy) == ("properties", "fail", "Set the property again.")
    assert list(found.evidence) == ["changes", "detail"]
    assert "delta.enableExpiredLogCleanup" in str(found.evidence["detail"])
    kept = retention_guard(snapshot(), setting({LOG: "for ever"}))
    assert kept is not None
    assert (kept.name, kept.status, kept.remedy, list(kept.evidence)) == (
        "retention", "fail", "Set the property again.", ["detail"]
    )  # fmt: skip
    assert LOG in str(kept.evidence["detail"])


@pytest.mark.parametrize(
    ("before", "after", "status", "detail", "remedy"),
    [
        ({}, {"own": "1"}, None, "", None),
        ({LOG: "interval 8 days"}, {LOG: "interval 8 days", "own": "1"}, None, "", None),
        ({}, {FILES: "interval 30 days"}, "pass", "The log outlives the files that its versions need.", None),
        (
            {},
            {FILES: "interval 31 days"},
            "fail",
            "Removed files would be kept for 31 days, but the log entries for them only for 30 days.",
            f"Set {LOG} to at least {FILES}.",
        ),
        (
            {},
            {LOG: "interval 7 days"},
            "warn",
            "A clean-up of the log may delete commits after 7 days instead of 30 days.",
            INTEND,
        ),
        (
            {},
            {LOG: "interval 20 days", FILES: "interval 1 day"},
            "warn",
            (
                "A clean-up of the log may delete commits after 20 days instead of 30 days. "
                "VACUUM may delete removed files after 1 day instead of 7 days."
            ),
            INTEND,
        ),
        ({FILES: "interval 1 day"}, {}, "pass", "The log outlives the files that its versions need.", None),
    ],
)
def test_the_log_lives_as_long_as_the_files_that_its_versions_need(
    before: dict[str, str], after: dict[str, str], status: str | None, detail: str, remedy: str | None
) -> None:
    found = retention_guard(snapshot(properties=before), setting(after))
    if status is None:
        assert found is None
        return
    assert found is not None
    days = {key: int(after.get(key, default).split()[1]) for key, default in ((LOG, "x 30 x"), (FILES, "x 7 x"))}
    lengths = {key: f"{each} day{'' if each == 1 else 's'}" for key, each in days.items()}
    assert (found.name, found.status, found.remedy) == ("retention", status, remedy)
    assert found.evidence == {**lengths, "detail": detail}


KEPT = DomainMetadata(domain="house", configuration="x")


def _nothing() -> Written:
    return Written(())


@pytest.mark.parametrize(
    ("more", "changes"),
    [
        ({}, False),
        ({"metadata": "same", "protocol": small_logs.PROTOCOL, "domains": (KEPT,)}, False),
        ({"metadata": small_logs.METADATA}, True),
        ({"protocol": protocol(1, 3)}, True),
        ({"adds": (small_logs.add("b"),)}, True),
        ({"removes": (small_logs.remove("a"),)}, True),
        ({"change_files": (AddCDCFile(path="c", size=1),)}, True),
        ({"transactions": (TransactionAction(app_id="a", version=1),)}, True),
        ({"domains": (DomainMetadata(domain="house", configuration="y"),)}, True),
        ({"domains": (KEPT, DomainMetadata(domain="other", configuration="x"))}, True),
        ({"domains": (DomainMetadata(domain="house", configuration="x", removed=True),)}, True),
        ({"recorded": RecordedBatch("a", 1, 1, None)}, True),
        ({"writing": Writing(_nothing, lambda _: change())}, True),
    ],
)
def test_a_commit_that_changes_nothing_is_left(more: dict[str, Any], changes: bool) -> None:
    before = snapshot(KEPT)
    if more.get("metadata") == "same":
        more = {**more, "metadata": before.metadata}
    expected = (
        GuardResult("changes-something", "pass", {"detail": "The commit changes the table."})
        if changes
        else GuardResult(
            "changes-something",
            "fail",
            {"detail": "The table is already in this state. The commit would change nothing."},
            "Leave it.",
        )
    )
    assert change_guard(before, change(**more)) == expected


NEEDY = struct(
    column("t", "timestamp_ntz"),
    column("s", struct(column("x", "long", **{"delta.generationExpression": "1"}), column("v", "variant"))),
)
USED = {"delta.enableDeletionVectors": "true", "own": "x", "delta.constraints.c": "t > 0"}
LACKING = {
    "delta.enableDeletionVectors = true": "deletionVectors",
    "the constraint c": "checkConstraints",
    "the type timestamp_ntz of t": "timestampNtz",
    "the type variant of s": "variantType",
    "delta.generationExpression of s.x": "generatedColumns",
}


def needy(properties: dict[str, str] | None = None, schema: str | None = None) -> Metadata:
    text = json.dumps(NEEDY) if schema is None else schema
    return msgspec.structs.replace(small_logs.METADATA, configuration=properties or {}, schema_string=text)


def test_what_the_new_state_uses_needs_its_features() -> None:
    found = needs_guard(snapshot(), change(metadata=needy(USED)))
    assert found is not None
    text = "; ".join(f"{what} needs {feature}" for what, feature in LACKING.items())
    evidence = {"needed": sorted(LACKING.values()), "lacking": LACKING, "detail": f"{text}."}
    remedy = "Enable checkConstraints, deletionVectors, generatedColumns, timestampNtz, variantType first"
    assert found == GuardResult("features-present", "fail", evidence, f"{remedy} (enable-feature).")
    assert list(LACKING) == list(dict(found.evidence["lacking"]))  # type: ignore[call-overload]  # it is a dict
    assert needs_guard(None, change(metadata=needy(USED), protocol=small_logs.PROTOCOL)) == found


def test_what_was_lacking_before_is_warned_of_and_only_what_is_new_fails() -> None:
    old = snapshot(properties=USED, schema=json.dumps(NEEDY))
    found = needs_guard(old, change(metadata=needy({**USED, "own": "y"})))
    text = "; ".join(f"{what} has no effect without {feature}" for what, feature in LACKING.items())
    evidence = {"needed": sorted(LACKING.values()), "lacking": LACKING, "detail": f"{text}."}
    remedy = "Enable checkConstraints, deletionVectors, generatedColumns, timestampNtz, variantType"
    assert found == GuardResult("features-present", "warn", evidence, f"{remedy}, or remove these settings.")
    more = needs_guard(old, change(metadata=needy({**USED, "delta.enableChangeDataFeed": "true"})))
    assert more is not None
    assert (more.status, more.remedy) == ("fail", "Enable changeDataFeed first (enable-feature).")
    assert more.evidence["detail"] == "delta.enableChangeDataFeed = true needs changeDataFeed."
    assert more.evidence["lacking"] == {**LACKING, "delta.enableChangeDataFeed = true": "changeDataFeed"}


def test_files_and_domains_need_their_features_too() -> None:
    masked = change(adds=(small_logs.add("a", vector=small_logs.vector("v")),), domains=(KEPT,))
    lacking = {"a file with a deletion vector": "deletionVectors", "domain metadata": "domainMetadata"}
    found = needs_guard(snapshot(), masked)
    assert found is not None
    assert (found.status, found.evidence["lacking"]) == ("fail", lacking)
    assert found.evidence["needed"] == ["deletionVectors", "domainMetadata"]
    rules = protocol(3, 7, r="deletionVectors", w="deletionVectors domainMetadata")
    detail = "The protocol has every feature that the table uses."
    passed = {"needed": ["deletionVectors", "domainMetadata"], "lacking": {}, "detail": detail}
    assert needs_guard(snapshot(), msgspec.structs.replace(masked, protocol=rules)) == GuardResult(
        "features-present", "pass", passed
    )
    assert needs_guard(snapshot(), change(adds=(small_logs.add("a"),))) is None
    bare = needs_guard(snapshot(), change(protocol=protocol(1, 3)))
    assert bare == GuardResult("features-present", "pass", {"needed": [], "lacking": {}, "detail": detail})


def test_metadata_that_cannot_be_read_leave_the_needs_unknown() -> None:
    found = needs_guard(snapshot(), change(metadata=needy(schema="{")))
    assert found is not None
    assert (found.name, found.status, found.remedy) == ("features-present", "unknown", "Check the metadata yourself.")
    assert list(found.evidence) == ["detail"]
    assert "schema" in str(found.evidence["detail"])
