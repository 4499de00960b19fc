"""What a restore undoes is said before it is done: versions, rows, properties, columns, retention, the change feed."""

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

import explorer
from explorer.core.protocol.actions import Action, Metadata, Protocol
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.intents.records import Restore
from explorer.core.transaction.proposal import GuardResult
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, remove, vector, write_log

COLUMNS = {"id": "long"}
FEED = "delta.enableChangeDataFeed"
FILES = "delta.deletedFileRetentionDuration"


def _plan(folder: Path, *commits: list[Action], to: int = 0, **properties: str) -> CommitPlan:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata(COLUMNS, configuration=properties)]
    plan = explorer.open_table(write_log(folder / "t", [created, *commits])).plan(Restore(version=to))
    assert isinstance(plan, CommitPlan)
    return plan


def _guard(plan: CommitPlan, name: str) -> GuardResult:
    (found,) = (guard for guard in plan.guards if guard.name == name)
    return found


def test_what_is_undone_is_counted_and_its_commits_are_listed(tmp_path: Path) -> None:
    guard = _guard(
        _plan(
            tmp_path,
            [commit_info("WRITE", user_name="ana"), add("a", 40), add("b", 10)],
            [commit_info("DELETE", user_name="bob"), remove("a"), add("c", 7)],
            [metadata({**COLUMNS, "more": "string"}, configuration={"team": "bob"})],
            to=1,
        ),
        "restore",
    )
    assert guard.status == "warn"
    assert guard.evidence["detail"] == (
        "Undoes v2 to v3: 1 file comes back with 40 rows, 1 file goes with 7 rows; 1 property and 1 column change."
    )
    facts = {name: guard.evidence[name] for name in ("rowsBack", "rowsGone", "propertiesChanged", "columnsChanged")}
    assert facts == {"rowsBack": 40, "rowsGone": 7, "propertiesChanged": ["team"], "columnsChanged": ["more"]}
    assert [(commit["version"], commit["operation"], commit["user"]) for commit in guard.evidence["undone"]] == [
        (3, None, None),
        (2, "DELETE", "bob"),
    ]
    assert guard.remedy


def test_a_restore_that_takes_no_row_away_warns_of_nothing(tmp_path: Path) -> None:
    plan = _plan(tmp_path, [add("a", 40)], [commit_info("DELETE"), remove("a")], to=1)
    guard = _guard(plan, "restore")
    assert (guard.status, guard.evidence["detail"]) == (
        "pass",
        "Undoes v2: 1 file comes back with 40 rows, no file goes.",
    )


def test_the_newest_version_undoes_nothing(tmp_path: Path) -> None:
    guard = _guard(_plan(tmp_path, [add("a", 40)], to=1), "restore")
    assert (guard.status, guard.evidence["undone"]) == ("pass", [])
    assert str(guard.evidence["detail"]).startswith("Undoes nothing, v1 is the newest version:")


@pytest.mark.conformance("FILE-005", "FILE-010", "FILE-016")
def test_a_remove_says_what_the_file_was_and_when_it_went(tmp_path: Path) -> None:
    masked = add("a", 40, vector=vector("v", 15))
    before = datetime.now(UTC)
    plan = _plan(tmp_path, [add("a", 40)], [remove("a"), masked, add("b", 3)], to=1)
    after = datetime.now(UTC)
    removes = {line["remove"]["path"]: line["remove"] for line in plan.actions if "remove" in line}
    assert removes.keys() == {"a", "b"}
    for gone in removes.values():
        assert int(before.timestamp() * 1000) <= gone["deletionTimestamp"] <= int(after.timestamp() * 1000)
        assert gone["extendedFileMetadata"] is True
        assert (gone["partitionValues"], gone["size"]) == ({}, masked.size)
    assert removes["a"]["deletionVector"]["cardinality"] == 15
    assert "deletionVector" not in removes["b"]
    assert [(line["add"]["path"], "deletionVector" in line["add"]) for line in plan.actions if "add" in line] == [
        ("a", False)
    ]


def test_a_file_that_only_hides_other_rows_counts_by_the_difference(tmp_path: Path) -> None:
    masked = add("a", 40, vector=vector("v", 15))
    guard = _guard(_plan(tmp_path, [add("a", 40)], [remove("a"), masked], to=1), "restore")
    assert (guard.status, guard.evidence["rowsBack"], guard.evidence["rowsGone"]) == ("pass", 15, 0)


def test_rows_without_a_count_are_unknown_and_warned_of(tmp_path: Path) -> None:
    guard = _guard(_plan(tmp_path, [add("a", None)]), "restore")
    assert (guard.status, guard.evidence["rowsGone"]) == ("warn", None)
    assert "1 file goes with an unknown number of rows" in guard.evidence["detail"]


def test_a_retention_that_gets_shorter_is_warned_of(tmp_path: Path) -> None:
    longer = [metadata(COLUMNS, configuration={FILES: "interval 21 days"})]
    guard = _guard(_plan(tmp_path, longer), "retention")
    assert guard.status == "warn"
    assert guard.evidence["detail"] == "VACUUM may delete removed files after 7 days instead of 21 days."


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("false", "false", "The change data feed stays off."),
        ("true", "false", "The change data feed ends with version 1: it is off after the restore."),
        ("false", "true", "The change data feed is on again from version 2 on."),
        ("true", "true", "Rows of files that come back appear as inserted, rows of files that go as deleted."),
    ],
)
def test_the_change_feed_is_compared_with_what_it_was(tmp_path: Path, before: str, after: str, words: str) -> None:
    plan = _plan(tmp_path, [metadata(COLUMNS, configuration={FEED: before})], **{FEED: after})
    assert plan.consequences.change_feed == words


@pytest.mark.conformance("IDENT-004")
@pytest.mark.parametrize(("step", "then", "now", "kept"), [(5, 10, 25, 25), (-5, -10, -25, -25), (5, 25, 10, 25)])
def test_an_identity_column_never_goes_back(tmp_path: Path, step: int, then: int, now: int, kept: int) -> None:
    def marked(mark: int) -> Metadata:
        fields = [{"name": "id", "type": "long", "nullable": True, "metadata": {
            "delta.identity.start": 0, "delta.identity.step": step, "delta.identity.highWaterMark": mark,
            "delta.identity.allowExplicitInsert": False,
        }}]  # fmt: skip
        return msgspec.structs.replace(metadata({}), schema_string=json.dumps({"type": "struct", "fields": fields}))

    rules = Protocol(min_reader_version=1, min_writer_version=6)
    commits = [[rules, marked(then), add("a")], [marked(now), add("b")]]
    plan = explorer.open_table(write_log(tmp_path / "t", commits)).plan(Restore(version=0))
    (action,) = [line["metaData"] for line in plan.actions if "metaData" in line] or [None]
    written = json.loads((action or {"schemaString": marked(now).schema_string})["schemaString"])
    assert written["fields"][0]["metadata"]["delta.identity.highWaterMark"] == kept


@pytest.mark.conformance("CMUSAGE-001", "CM-009")
@pytest.mark.parametrize(
    ("then", "now", "kept"),
    [
        (("false", {"a": "a"}), ("true", {"a": "a"}), "true"),
        (("false", {"a": "a"}), ("false", {"a": "a"}), "false"),
        (("false", {"a": "a"}), ("false", {"a": "a", "b": "b"}), "true"),
        (("true", {"a": "x"}), ("true", {"b": "x"}), "true"),
        ((None, {"a": "x"}), ("true", {"a": "x"}), "true"),
    ],
    ids=["dropped since", "nothing was", "drops a column", "renames a column", "from before the feature"],
)
def test_a_restore_keeps_on_record_that_columns_were_dropped_or_renamed(
    tmp_path: Path, then: tuple[str | None, dict[str, str]], now: tuple[str, dict[str, str]], kept: str
) -> None:
    flag, highest = "delta.columnMapping.hasDroppedOrRenamed", "delta.columnMapping.maxColumnId"

    def mapped(mark: str | None, names: dict[str, str], last: int) -> Metadata:
        fields = [
            {"name": name, "type": "long", "nullable": True, "metadata": {
                "delta.columnMapping.id": place, "delta.columnMapping.physicalName": physical,
            }}
            for place, (name, physical) in enumerate(names.items(), 1)
        ]  # fmt: skip
        properties = {"delta.columnMapping.mode": "name", highest: str(last)} | ({} if mark is None else {flag: mark})
        text = json.dumps({"type": "struct", "fields": fields})
        return msgspec.structs.replace(metadata({}, configuration=properties), schema_string=text)

    features = ("columnMapping", "columnMappingUsageTracking")
    rules = Protocol(min_reader_version=2, min_writer_version=7, writer_features=features)
    commits = [[rules, mapped(*then, 3), add("a")], [mapped(*now, 7), add("b")]]
    plan = explorer.open_table(write_log(tmp_path / "t", commits)).plan(Restore(version=0))
    assert isinstance(plan, CommitPlan)
    assert plan.proposal.metadata is not None
    after = plan.proposal.metadata.configuration
    assert (after[flag], after[highest]) == (kept, "7")
