"""Judgements of a whole commit: which guards and in which order, who commits, row ids, what a restore undoes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.protocol.actions import Action, DomainMetadata, Protocol
from explorer.core.transaction.guards.judge import Situation, catalog_guard, judge
from explorer.core.transaction.guards.protocol import row_tracking_guard
from explorer.core.transaction.guards.restore import UndoneCommit, restore_guard
from explorer.core.transaction.proposal import GuardResult, Proposal
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import change, protocol, setting, snapshot
from tests.support.logs.spark_tables import column, struct

LOG = "delta.logRetentionDuration"
TRACKED = protocol(1, 7, w="rowTracking domainMetadata")


def names(before: explorer.Snapshot | None, made: Proposal, user: str | None = "ana") -> dict[str, GuardResult]:
    return {guard.name: guard for guard in judge(Situation(before, made, user))}


def test_the_guards_of_an_intent_come_after_those_of_every_commit() -> None:
    own = GuardResult("own", "pass", {})
    made = change(metadata=small_logs.METADATA, guards=(own,))
    common = ["protocol-allows-writer", "protocol-evolution", "features-present", "changes-something"]
    assert list(names(snapshot(), made)) == [*common, "committer", "access", "own"]
    created = change(metadata=small_logs.METADATA, protocol=small_logs.PROTOCOL)
    assert list(names(None, created)) == [*common[:3], "committer", "access"]
    tracked = snapshot(rules=protocol(1, 7, w="rowTracking domainMetadata appendOnly"), properties={"own": "1"})
    short = {LOG: "interval 40 days", "delta.appendOnly": "true"}
    before = snapshot(rules=tracked.protocol, properties={"delta.appendOnly": "true"})
    assert list(names(before, setting(short))) == [
        *common[:3], "row-tracking", "append-only", "changes-something", "properties", "retention", "committer",
        "access",
    ]  # fmt: skip


def test_a_situation_knows_what_is_in_force_and_what_will_be() -> None:
    before, later = snapshot(), protocol(1, 3)
    changed = change(protocol=later)
    assert Situation(before, change(), None).protocols == (small_logs.PROTOCOL,)
    assert Situation(before, changed, None).protocols == (small_logs.PROTOCOL, later)
    assert Situation(None, changed, None).protocols == (later,)


def test_clients_that_are_shut_out_are_named_and_their_owners_are_asked() -> None:
    passed = GuardResult("access", "pass", {"detail": "No known client loses access or returns wrong results."})
    assert names(snapshot(), change())["access"] == passed
    lost = [
        {"client": name, "versionFrom": "2", "before": "yes", "after": "no", "versionTo": "2", "newest": True}
        for name in ("b", "a")
    ]
    found = [guard for guard in judge(Situation(snapshot(), change(), None, lost)) if guard.name == "access"]
    evidence = {
        "clients": ["a 2 (newest known)", "b 2 (newest known)"],
        "detail": "2 clients lose access in their newest releases.",
    }
    assert found == [
        GuardResult("access", "warn", evidence, "Check with the owners of these clients before you commit.")
    ]


@pytest.mark.parametrize("user", [None, ""])
def test_who_commits_is_said_in_the_history(user: str | None) -> None:
    assert names(snapshot(), change())["committer"] == GuardResult(
        "committer", "pass", {"user": "ana", "detail": "The commit will carry this name."}
    )
    evidence = {"detail": "The history will not show who made this commit."}
    expected = GuardResult("committer", "warn", evidence, "Give the name of the committer.")
    assert names(snapshot(), change(), user)["committer"] == expected


def test_only_a_catalog_commits_to_the_tables_that_it_manages() -> None:
    assert catalog_guard([small_logs.PROTOCOL, protocol(1, 7, w="appendOnly")]) is None
    managed = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("catalogOwned-preview", "catalogManaged"),
        writer_features=("catalogOwned-preview", "catalogManaged"),
    )
    evidence = {
        "features": ["catalogManaged", "catalogOwned-preview"],
        "detail": "Only its catalog may commit to this table (CATALOG-004).",
    }
    remedy = "Open the table by its name in the catalog, uc://CATALOG.SCHEMA.TABLE, and make the change there."
    for protocols in ([managed], [small_logs.PROTOCOL, managed], [managed, small_logs.PROTOCOL]):
        assert catalog_guard(protocols) == GuardResult("catalog-managed", "fail", evidence, remedy)


@pytest.mark.parametrize(
    ("value", "removes", "status", "more"),
    [
        (None, ("a",), None, {}),
        ("false", ("a",), None, {}),
        ("true", (), "pass", {"delta.appendOnly": "true", "detail": "No row is removed or changed."}),
        ("true", ("a", "b"), "fail", {"delta.appendOnly": "true", "files": 2, "detail": "2 files would lose rows."}),
    ],
)
def test_rows_of_a_table_for_additions_alone_stay(
    value: str | None, removes: tuple[str, ...], status: str | None, more: dict[str, object]
) -> None:
    before = snapshot(properties={} if value is None else {"delta.appendOnly": value})
    moved = small_logs.remove("moved", data_change=False)
    made = change(removes=(*(small_logs.remove(path) for path in removes), moved))
    found = names(before, made).get("append-only")
    remedy = "Set delta.appendOnly to false first, if rows may be removed from this table."
    if status is None:
        assert found is None
    elif status == "pass":
        assert found == GuardResult("append-only", "pass", more)
    else:
        assert found == GuardResult("append-only", "fail", more, remedy)


def test_a_table_for_additions_alone_whose_property_is_unreadable_is_unknown() -> None:
    found = names(snapshot(properties={"delta.appendOnly": "perhaps"}), change())["append-only"]
    assert (found.status, found.remedy, list(found.evidence)) == ("unknown", "Set delta.appendOnly again.", ["detail"])
    assert "delta.appendOnly" in str(found.evidence["detail"])
    without = snapshot(rules=protocol(1, 7, w="invariants"), properties={"delta.appendOnly": "true"})
    assert "append-only" not in names(without, change())


Files = list[tuple[str, int | None, int | None]]


def files(rows: Files) -> pa.Table:
    columns = [list(each) for each in zip(*rows, strict=True)] or [[], [], []]
    kinds = {"path": pa.string(), "num_records": pa.int64(), "dv_cardinality": pa.int64()}
    return pa.table({name: pa.array(each, kind) for (name, kind), each in zip(kinds.items(), columns, strict=True)})


@pytest.mark.parametrize(
    ("back", "gone", "rows", "moved"),
    [
        ([], [], (0, 0), "no file comes back, no file goes"),
        ([("a", 5, 4)], [], (1, 0), "1 file comes back with 1 row, no file goes"),
        ([], [("a", 1_200, None), ("b", 1, 1)], (0, 1_200), "no file comes back, 2 files go with 1,200 rows"),
        (
            [("a", None, None), ("b", 3, None)], [("c", 2, None)], (None, 2),
            "2 files come back with an unknown number of rows, 1 file goes with 2 rows",
        ),
        (
            [("a", 3, None)], [("b", 3, 1), ("c", None, 2)], (3, None),
            "1 file comes back with 3 rows, 2 files go with an unknown number of rows",
        ),
        (
            [("a", 9, 2), ("b", 4, None), ("d", 8, 8)], [("c", 6, None), ("b", 4, 3), ("a", 9, 5)], (6, 6),
            "1 file comes back, 1 file goes, 2 files stay and mask other rows: 6 rows back, 6 rows gone",
        ),
    ],
)  # fmt: skip
def test_a_restore_counts_the_rows_that_readers_see_again_and_no_more(
    back: Files, gone: Files, rows: tuple[int | None, int | None], moved: str
) -> None:
    now, then = _versions(3, 1)
    found = restore_guard(now, then, (now.metadata, "none"), (files(back), files(gone)), [])
    evidence: dict[str, object] = {
        "version": 1,
        "filesBack": len({path for path, *_ in back} - {path for path, *_ in gone}),
        "filesGone": len({path for path, *_ in gone} - {path for path, *_ in back}),
        "filesRemasked": len({path for path, *_ in gone} & {path for path, *_ in back}),
        "rowsBack": rows[0],
        "rowsGone": rows[1],
        "propertiesChanged": [],
        "columnsChanged": [],
        "undone": [],
        "domainsKept": ["a.house", "b.house"],
        "detail": f"Undoes v2 to v3: {moved}.",
    }
    remedy = "Commit only if these rows can be removed. Version 3 keeps them until VACUUM deletes its files."
    expected = GuardResult("restore", "pass", evidence) if rows[1] == 0 else GuardResult(
        "restore", "warn", evidence, remedy
    )  # fmt: skip
    assert found == expected


def _versions(now: int, then: int) -> tuple[explorer.Snapshot, explorer.Snapshot]:
    domains = [DomainMetadata(domain=name, configuration="x") for name in ("b.house", "delta.own", "a.house")]
    first: list[Action] = [protocol(1, 7, w="domainMetadata"), small_logs.METADATA, *domains]
    table = small_logs.table({0: first, **{each: [small_logs.add(f"{each}")] for each in (1, 2, 3)}})
    return table.snapshot(now), table.snapshot(then)


@pytest.mark.parametrize(
    ("now", "then", "columns", "properties", "said"),
    [
        (3, 3, ["id"], {}, "Undoes nothing, v3 is the newest version: no file comes back, no file goes."),
        (3, 2, ["id"], {"x": "1"}, "Undoes v3: no file comes back, no file goes; 1 property changes."),
        (2, 0, ["id"], {"x": "1", "y": "1"},
         "Undoes v1 to v2: no file comes back, no file goes; 2 properties change."),
        (1, 0, ["id", "n"], {}, "Undoes v1: no file comes back, no file goes; 1 column changes."),
        (1, 0, ["id", "n", "o"], {"x": "1"},
         "Undoes v1: no file comes back, no file goes; 1 property and 2 columns change."),
    ],
)  # fmt: skip
def test_a_restore_says_which_versions_and_settings_it_undoes(
    now: int, then: int, columns: list[str], properties: dict[str, str], said: str
) -> None:
    newest, target = _versions(now, then)
    restored = small_logs.metadata(dict.fromkeys(columns, "long"), configuration=properties)
    undone = [UndoneCommit(9, "WRITE", "ana"), UndoneCommit(8, None, None)]
    found = restore_guard(newest, target, (restored, "none"), (files([]), files([])), undone)
    assert found.evidence["detail"] == said
    assert found.evidence["propertiesChanged"] == sorted(properties)
    assert found.evidence["columnsChanged"] == columns[1:]
    assert found.evidence["undone"] == [
        {"version": 9, "operation": "WRITE", "user": "ana"}, {"version": 8, "operation": None, "user": None}
    ]  # fmt: skip


ROW_ID = "delta.rowTracking.materializedRowIdColumnName"
ROW_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"
NAMED = {ROW_ID: "_row-id", ROW_VERSION: "_row-version"}
ON = {"delta.enableRowTracking": "true", **NAMED}
MARK = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":5}')


@pytest.mark.parametrize(
    ("properties", "more", "enabled", "suspended", "mark", "faults"),
    [
        (ON, {}, True, False, 5, []),
        (NAMED, {"domains": (msgspec.structs.replace(MARK, removed=True, configuration=""),)}, False, False, 5, []),
        (
            ON,
            {"domains": (msgspec.structs.replace(MARK, configuration='{"rowIdHighWaterMark":9}'),)},
            True,
            False,
            9,
            [],
        ),
        (
            {**ON, "delta.rowTrackingSuspended": "true"},
            {"adds": (small_logs.add("b"),)},
            True,
            True,
            5,
            ["delta.enableRowTracking and delta.rowTrackingSuspended cannot both be true (ROWTRACK-004)"],
        ),
        ({"delta.rowTrackingSuspended": "true"}, {}, False, True, 5, []),
        (
            {**ON, ROW_ID: "ID"},
            {},
            True,
            False,
            5,
            ["'ID' is a column of the table and the name under which moved rows keep their ids"],
        ),
        (
            {"delta.enableRowTracking": "true", ROW_VERSION: "v"},
            {"adds": (small_logs.add("b", base_row_id=0),)},
            True,
            False,
            5,
            ["the columns that keep the ids of moved rows have no names (ROWTRACK-005)"],
        ),
        (
            {"delta.enableRowTracking": "true", ROW_ID: "v"},
            {"adds": (small_logs.add("b"),)},
            True,
            False,
            5,
            [
                "the columns that keep the ids of moved rows have no names (ROWTRACK-005)",
                "a file would enter the table without row ids (ROWTRACK-001)",
            ],
        ),
        (
            {},
            {"adds": (small_logs.add("b", base_row_id=1), small_logs.add("c"))},
            False,
            False,
            5,
            ["a file would enter the table without row ids (ROWTRACK-001)"],
        ),
    ],
)
def test_row_ids_are_given_to_every_file_or_to_none(  # noqa: PLR0917  # each is a fact of the guard
    properties: dict[str, str],
    more: dict[str, Any],
    enabled: bool,
    suspended: bool,
    mark: int,
    faults: list[str],
) -> None:
    evidence: dict[str, object] = {"enabled": enabled, "suspended": suspended, "highWaterMark": mark}
    free = "Row tracking is suspended: files that enter need no row ids."

    def judged(passed: str) -> GuardResult:
        if faults:
            told = {**evidence, "detail": f"{'; '.join(faults)}."}
            return GuardResult("row-tracking", "fail", told, "Set or unset the other property first.")
        return GuardResult("row-tracking", "pass", {**evidence, "detail": free if suspended else passed})

    before = snapshot(MARK, rules=TRACKED, properties=properties)
    assert row_tracking_guard(before, change(**more)) == judged("Every file that enters has row ids.")
    as_new = change(metadata=before.metadata, protocol=TRACKED, **{**more, "domains": (MARK,)})
    if mark == 5:
        assert row_tracking_guard(None, as_new) == judged("Every file has row ids.")


def test_row_ids_whose_mark_is_unreadable_are_unknown_and_without_the_feature_there_is_none() -> None:
    broken = msgspec.structs.replace(MARK, configuration="{}")
    found = row_tracking_guard(snapshot(broken, rules=TRACKED), change())
    assert found is not None
    assert (found.name, found.status, found.remedy) == ("row-tracking", "unknown", "Set the property again.")
    assert str(found.evidence["detail"]).startswith(
        "The domain delta.rowTracking does not contain rowIdHighWaterMark ("
    )
    assert list(found.evidence) == ["detail"]
    assert row_tracking_guard(snapshot(properties=ON), change()) is None


def test_a_column_whose_name_in_the_files_is_that_of_the_ids_is_a_fault() -> None:
    names = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "Col-1"}
    schema = json.dumps(struct(column("shown", "long", **names)))
    rules = protocol(2, 7, w="rowTracking domainMetadata columnMapping")
    found = row_tracking_guard(
        snapshot(rules=rules, schema=schema, properties={ROW_ID: "shown", ROW_VERSION: "COL-1"}), change()
    )
    assert found is not None
    same = "is a column of the table and the name under which moved rows keep their ids"
    assert (found.status, found.evidence["detail"]) == ("fail", f"'shown' {same}; 'COL-1' {same}.")
