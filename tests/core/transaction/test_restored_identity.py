"""What a restore must not lose: row ids that are given once, protected checkpoints, and the truth about the feed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import ChangeFeedGap
from explorer.core.protocol.actions import Action, Add, DomainMetadata
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.guards.protocol import row_tracking_guard
from explorer.core.transaction.intents.records import Restore
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals.restore import restore
from explorer.core.versions.delta_log import DeltaLog
from tests.support.logs import small_logs
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, remove, vector
from tests.support.logs.small_proposals import change, protocol, snapshot
from tests.support.logs.small_schemas import field, mapped, struct

PRESENT = Circumstances(now=1_700_000_000_000, new_id=lambda: "fresh")
TRACKED = protocol(1, 7, w="rowTracking domainMetadata")
LEFT = protocol(1, 7, w="domainMetadata")
NAMED = {
    "delta.rowTracking.materializedRowIdColumnName": "_row-id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version",
}
ON = {"delta.enableRowTracking": "true", **NAMED}
SUSPENDED = {"delta.rowTrackingSuspended": "true", **NAMED}
PROTECTED = "delta.requireCheckpointProtectionBeforeVersion"
DROP = {"kind": "drop-feature", "feature": "rowTracking"}


def marked(mark: int, *, removed: bool = False) -> DomainMetadata:
    text = json.dumps({"rowIdHighWaterMark": mark})
    return DomainMetadata(domain="delta.rowTracking", configuration=text, removed=removed)


def owning(path: str, records: int | None, first: int | None, version: int | None = 1, **more: Any) -> Add:
    """A file with row ids from ``first`` on."""
    return add(path, records, base_row_id=first, default_row_commit_version=version, **more)


def set_to(**configuration: str) -> Action:
    return msgspec.structs.replace(METADATA, configuration=configuration)


def committed(table: explorer.Table, *intents: dict[str, Any]) -> CommitPlan:
    """Commit them all; the plan of the last."""
    for intent in intents:
        plan = table.plan(intent)
        result = table.commit(plan)
        assert result.outcome == "committed", result
    assert isinstance(plan, CommitPlan)
    return plan


def guard(plan: CommitPlan, name: str) -> GuardResult:
    (found,) = (each for each in plan.guards if each.name == name)
    return found


def live(table: explorer.Table) -> dict[str, tuple[int | None, int | None]]:
    """First row id and commit version of each file, after a look at all of them: no id twice, none above the mark."""
    now = table.snapshot()
    rows = now.logical_files.select(["path", "base_row_id", "default_row_commit_version", "num_records"]).to_pylist()
    ids = [row["base_row_id"] + place for row in rows if row["base_row_id"] is not None
           for place in range(row["num_records"])]  # fmt: skip
    assert len(ids) == len(set(ids)), "an id is given twice"
    mark = now.row_tracking.high_water_mark
    assert max(ids, default=-1) <= (-1 if mark is None else mark), "an id is above the mark"
    assert not now.row_tracking.enabled or not [row for row in rows if row["base_row_id"] is None]
    return {row["path"]: (row["base_row_id"], row["default_row_commit_version"]) for row in rows}


def holding(*commits: Sequence[Any], files: str = "ab") -> explorer.Table:
    """A table whose data files exist."""
    store = small_logs.new_store()
    for name in files:
        store.put_if_absent(name, b"")
    return small_logs.table(dict(enumerate(commits)), store)


def proposed(*commits: Sequence[Any], to: int = 0, unknown: Any = None, now: Circumstances = PRESENT) -> Proposal:
    table = small_logs.table(dict(enumerate(commits)))
    return restore(Restore(version=to), table.snapshot(), table.snapshot(to), unknown or {}, now)


def numbers(made: Proposal) -> list[tuple[str, int | None, int | None, bool]]:
    return [(file.path, file.base_row_id, file.default_row_commit_version, file.data_change) for file in made.adds]


def mark_of(made: Proposal) -> list[int]:
    return [json.loads(each.configuration)["rowIdHighWaterMark"] for each in made.domains]


# --- row ids ----------------------------------------------------------------------------------------------------------


@pytest.mark.conformance("ROWTRACK-001", "ROWTRACK-002", "ROWTRACK-005")
def test_files_that_stayed_while_row_tracking_was_dropped_get_row_ids_again() -> None:
    table = holding([PROTOCOL, METADATA], [add("a", 5)], [add("b", 3)])
    committed(table, {"kind": "enable-feature", "feature": "rowTracking"})
    before = table.snapshot()
    assert before.row_tracking.enabled
    assert before.row_tracking.high_water_mark == 7
    off = {"kind": "set-properties", "properties": {"delta.enableRowTracking": "false"}}
    plan = committed(table, off, DROP, {"kind": "restore", "version": before.version})
    assert table.snapshot().row_tracking.enabled
    new = table.latest_version()
    assert live(table) == {"a": (8, new), "b": (13, new)}
    assert table.snapshot().row_tracking.high_water_mark == 15
    assert [file.data_change for file in plan.proposal.adds] == [False, False]
    assert guard(plan, "row-tracking").evidence["detail"] == "Every file has row ids."


@pytest.mark.conformance("ROWTRACK-001", "ROWTRACK-002", "ROWTRACK-003")
def test_files_that_come_back_after_the_drop_get_no_id_that_another_one_has() -> None:
    table = holding([PROTOCOL, METADATA], [add("a", 5)], [TRACKED, set_to(**NAMED)], [owning("b", 3, 0, 3), marked(2)])
    committed(table, DROP)
    small_logs.write(table.store, {5: [remove("a"), remove("b")]})
    table.refresh()
    plan = committed(table, {"kind": "restore", "version": 3})
    assert live(table) == {"a": (3, 6), "b": (0, 3)}
    assert table.snapshot().row_tracking.high_water_mark == 7
    assert guard(plan, "row-tracking").evidence["detail"] == "Every file that enters has row ids."


@pytest.mark.conformance("ROWTRACK-002")
def test_the_mark_comes_back_with_the_ids_that_it_is_above() -> None:
    table = holding([TRACKED, set_to(**NAMED), owning("a", 5, 0, 0), owning("b", 3, 5, 0), marked(7)], files="abc")
    committed(table, DROP)
    small_logs.write(table.store, {2: [remove("a"), remove("b")]})
    table.refresh()
    committed(table, {"kind": "restore", "version": 0})
    assert live(table) == {"a": (0, 0), "b": (5, 0)}
    assert table.snapshot().row_tracking.high_water_mark == 7
    small_logs.write(table.store, {4: [add("c", 2)]})  # by another client that knows nothing of row ids
    table.refresh()
    committed(table, {"kind": "set-properties", "properties": {"delta.enableRowTracking": "true"}})
    assert live(table)["c"] == (8, 5)


@pytest.mark.conformance("ROWTRACK-001", "ROWTRACK-002")
def test_a_file_that_got_another_id_after_the_drop_gives_it_up_for_one_of_the_target() -> None:
    first = [TRACKED, set_to(**ON), owning("a", 5, 0, 0), owning("b", 3, 5, 0), marked(7)]
    dropped = [LEFT, set_to(), add("b", 3), remove("a"), marked(7, removed=True)]
    again = [TRACKED, set_to(**ON), owning("b", 3, 0, 2), marked(2)]
    table = holding(first, dropped, again)
    committed(table, {"kind": "restore", "version": 0})
    assert live(table) == {"a": (0, 0), "b": (8, 3)}


@pytest.mark.parametrize(
    ("then", "now", "configuration", "ids", "mark"),
    [
        pytest.param(4, 4, ON, [], [], id="the same"),
        pytest.param(None, 8, NAMED, [], [], id="given later, above the target"),
        pytest.param(4, 8, ON, [], [], id="another one, above the target"),
        pytest.param(4, 7, ON, [("s", 21, 2, False)], [22], id="the target's mark is not above it"),
        pytest.param(None, 7, NAMED, [("s", 21, 2, False)], [22], id="given to another row once"),
        pytest.param(4, None, ON, [("s", 21, 2, False)], [22], id="lost, and needed"),
        pytest.param(4, None, NAMED, [], [], id="lost, and not needed"),
        pytest.param(4, 7, SUSPENDED, [("s", None, None, False)], [], id="none are given"),
        pytest.param(4, None, SUSPENDED, [], [], id="none are given, and none was"),
    ],
)
def test_a_file_that_stays_keeps_its_id_if_no_other_row_has_it(
    then: int | None, now: int | None, configuration: dict[str, str], ids: list[Any], mark: list[int]
) -> None:
    own = [owning("s", 2, then, None if then is None else 0) for then in (then, now)]
    made = proposed(
        [TRACKED, set_to(**configuration), own[0], marked(7)],
        [TRACKED, set_to(**NAMED), own[1], marked(20)],
    )
    assert (numbers(made), mark_of(made)) == (ids, mark)
    assert [each.name for each in made.guards] == ["restore"]


@pytest.mark.parametrize(
    ("then", "now", "file", "mark"),
    [
        (7, None, owning("b", 3, 0), [7]),
        (7, 9, owning("b", 3, 0), []),
        (9, 7, owning("b", 3, 0), [9]),
        (2, None, owning("b", 3, 0), [2]),
        (1, 1, owning("b", 3, 0), [2]),
        (None, None, owning("b", 3, 4), [6]),
        (None, None, owning("b", 0, 4), [3]),
        (6, None, owning("b", None, 4), [6]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("configuration", [NAMED, SUSPENDED])
def test_the_mark_is_never_below_an_id_that_the_table_has(
    then: int | None, now: int | None, file: Add, mark: list[int], configuration: dict[str, str]
) -> None:
    domains = [[] if each is None else [marked(each)] for each in (then, now)]
    gone = [] if now is not None or then is None else [marked(then, removed=True)]
    made = proposed([TRACKED, set_to(**configuration), file, *domains[0]], [remove("b"), *gone, *domains[1]])
    assert (numbers(made), mark_of(made)) == ([("b", file.base_row_id, 1, True)], mark)


def test_a_mark_that_is_below_the_ids_of_a_file_that_stays_is_raised() -> None:
    made = proposed([TRACKED, METADATA, marked(1), add("x", 1)], [owning("b", 3, 4)], [remove("x")], to=1)
    assert (numbers(made), mark_of(made)) == ([("x", 7, 3, True)], [7])


def test_a_table_that_never_gave_an_id_gets_no_mark() -> None:
    assert proposed([TRACKED, METADATA], [add("a", 1)]).domains == ()


COUNT = (
    "Let recompute-statistics count the rows of the file, if it is in the newest version; or restore a version whose "
    "files all say how many rows they have."
)


@pytest.mark.parametrize(
    ("commits", "path"),
    [
        ([[owning("a", None, 0), marked(7)], [add("a", None), marked(7, removed=True)]], "a"),
        ([[add("a", None)], [remove("a")]], "a"),
        ([[owning("b", 3, 0), owning("a%20c", None, 4), marked(3)], [remove("a%20c")]], "a%20c"),
        ([[owning("a", None, 0)], []], "a"),
        ([[add("a", 1)], [owning("a", None, 4), marked(3)]], "a"),
    ],
    ids=["stays without ids", "comes back without ids", "above the mark", "without a mark", "stays above the mark"],
)
def test_ids_beside_a_file_of_unknown_length_are_not_guessed(commits: list[list[Any]], path: str) -> None:
    made = proposed([TRACKED, set_to(**ON), *commits[0]], commits[1])
    fault = made.guards[0]
    assert (fault.name, fault.status, fault.evidence["path"], fault.remedy) == ("row-ids", "fail", path, COUNT)
    assert made.domains == ()


def test_a_file_whose_ids_nobody_needs_may_be_of_unknown_length() -> None:
    made = proposed([PROTOCOL, METADATA, add("a", None)], [remove("a")])
    assert (numbers(made), [each.name for each in made.guards]) == ([("a", None, None, True)], ["restore"])


@pytest.mark.conformance("ROWTRACK-003")
def test_a_file_that_is_numbered_again_keeps_the_rest_of_what_is_said_of_it() -> None:
    kept = owning("a%20b", 5, 0, vector=vector("v"), tags={"t": "1"}, size=7)
    bare = msgspec.structs.replace(kept, base_row_id=None, default_row_commit_version=None, stats='{"numRecords":6}')
    commits = [TRACKED, set_to(**ON), kept, marked(7)], [TRACKED, set_to(**ON), bare]
    key = ("a b", vector("v").unique_id)
    made = proposed(*commits, unknown={key: {"house": 7}})
    after = msgspec.structs.replace(bare, base_row_id=8, default_row_commit_version=2, data_change=False)
    assert made.adds == (msgspec.structs.replace(after, unknown={"house": 7}),)
    assert mark_of(made) == [13]
    assert (made.removes, made.required_paths, made.metrics["numRestoredFiles"]) == ((), (), "0")
    known = msgspec.structs.replace(PRESENT, unknown=lambda _: {key: {"house": 8}})
    assert proposed(*commits, unknown={key: {"house": 7}}, now=known).adds[0].unknown == {"house": 8}


# --- what the guard of row ids says -----------------------------------------------------------------------------------


@pytest.mark.conformance("ROWTRACK-005")
@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({}, "2 files would stay without row ids (ROWTRACK-005)"),
        ({"removes": (remove("a%20b"),)}, "1 file would stay without row ids (ROWTRACK-005)"),
        ({"removes": (remove("a%20b", vector=vector("v")),)}, "2 files would stay without row ids (ROWTRACK-005)"),
        ({"adds": (owning("m", 1, 9, vector=vector("v")),)}, "1 file would stay without row ids (ROWTRACK-005)"),
        ({"adds": (owning("m", 1, 9, vector=vector("v")),), "removes": (remove("a%20b"),)}, None),
    ],
)
def test_row_tracking_is_enabled_only_where_no_file_stays_without_ids(more: dict[str, Any], fault: str | None) -> None:
    before = snapshot(add("a%20b"), add("m", vector=vector("v")), owning("has", 1, 0), rules=TRACKED)
    found = row_tracking_guard(before, change(metadata=set_to(**ON), **more))
    assert found is not None
    said = ("pass", "Every file has row ids.") if fault is None else ("fail", f"{fault}.")
    assert (found.status, found.evidence["detail"]) == said


@pytest.mark.parametrize(
    ("properties", "adds", "said"),
    [
        (ON, (), "Every file that enters has row ids."),
        (NAMED, (owning("b", 1, 4),), "Every file that enters has row ids."),
        (SUSPENDED, (add("b"),), "Row tracking is suspended: files that enter need no row ids."),
    ],
)
def test_of_files_that_were_not_looked_at_nothing_is_said(
    properties: dict[str, str], adds: tuple[Add, ...], said: str
) -> None:
    found = row_tracking_guard(snapshot(add("a"), rules=TRACKED, properties=properties), change(adds=adds))
    assert found is not None
    assert (found.status, found.evidence["detail"]) == ("pass", said)


# --- protected checkpoints --------------------------------------------------------------------------------------------


@pytest.mark.conformance("CKPTPROT-001")
def test_checkpoints_stay_protected_after_a_restore() -> None:
    table = holding([PROTOCOL, METADATA], [add("a", 5)])
    committed(table, {"kind": "enable-feature", "feature": "deletionVectors"})
    table.commit(table.plan({"kind": "checkpoint"}))
    committed(table, {"kind": "set-properties", "properties": {"delta.enableDeletionVectors": "false"}})
    table.commit(table.plan({"kind": "checkpoint"}))
    committed(table, {"kind": "drop-feature", "feature": "deletionVectors"})
    held = table.snapshot().metadata.configuration[PROTECTED]
    committed(table, {"kind": "restore", "version": 1})
    assert table.snapshot().metadata.configuration == {PROTECTED: held}


@pytest.mark.parametrize(
    ("rules", "then", "now", "after"),
    [
        (protocol(1, 7, w="checkpointProtection"), None, "7", "7"),
        (protocol(1, 7, w="checkpointProtection"), "7", None, "7"),
        (protocol(1, 7, w="checkpointProtection"), "10", "9", "10"),
        (protocol(1, 7, w="checkpointProtection"), "9", "10", "10"),
        (protocol(1, 7, w="checkpointProtection"), None, None, None),
        (LEFT, None, "7", None),
        (LEFT, "7", "9", "7"),
    ],
)
def test_the_later_protected_version_stays(rules: Any, then: str | None, now: str | None, after: str | None) -> None:
    both = [set_to(**({} if value is None else {PROTECTED: value})) for value in (then, now)]
    made = proposed([rules, both[0]], [both[1]])
    assert made.metadata is not None
    assert made.metadata.configuration.get(PROTECTED) == after


# --- the change feed --------------------------------------------------------------------------------------------------


@pytest.mark.conformance("CDF-013")
@pytest.mark.parametrize(
    ("intent", "reason"),
    [
        (
            {"kind": "add-columns", "fields": [{"name": "c", "type": "long"}]},
            "column c is not in the schema to read with (dropped, or replaced by another column)",
        ),
        (
            {"kind": "rename-column", "column": "b", "to": "z"},
            "column z is named b in the schema to read with",
        ),
    ],
)
def test_a_restore_of_another_schema_says_that_the_feed_ends_there(intent: dict[str, Any], reason: str) -> None:
    rules = protocol(2, 7, w="columnMapping changeDataFeed")
    properties = {
        "delta.enableChangeDataFeed": "true",
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "2",
    }
    schema = json.dumps(mapped(struct(field("id", "long"), field("b"))))
    first = msgspec.structs.replace(METADATA, schema_string=schema, configuration=properties)
    table = holding([rules, first], [add("a", 5)])
    plan = committed(table, intent, {"kind": "restore", "version": 1})
    said = f"Ranges of the change data feed that cross version 3 are refused: {reason}."
    assert plan.consequences.change_feed == said
    with pytest.raises(ChangeFeedGap):
        DeltaLog(table.store).change_sources(2, 3)


def test_a_file_that_is_written_again_for_its_ids_keeps_what_others_wrote_in_it() -> None:
    """The fields that this program does not know are those of the newest version."""
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA], 1: [small_logs.add("a", 5)]})
    for intent in (
        {"kind": "enable-feature", "feature": "rowTracking"},
        {"kind": "set-properties", "properties": {"delta.enableRowTracking": "false"}},
        {"kind": "drop-feature", "feature": "rowTracking"},
    ):
        assert table.commit(table.plan(intent)).outcome == "committed", intent
    enabled = next(
        version for version in range(table.latest_version() + 1) if table.snapshot(version).row_tracking.enabled
    )
    last = table.latest_version() + 1
    line = (
        b'{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":false,'
        b'"stats":"{\\"numRecords\\":5}","kept":{"by":"all"}}}'
    )
    small_logs.write(table.store, {last: [line]})
    table.refresh()
    assert table.commit(table.plan({"kind": "restore", "version": enabled})).outcome == "committed"
    written = b"\n".join(table.commit_actions(table.latest_version()))
    assert b'"kept":{"by":"all"}' in written
    assert b'"baseRowId":' in written
