"""Changes of rows whose rows are given: what is asked of the engine, and what the commit is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Action
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.transaction.commit_info import IDENTITY_TAG
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.proposal import Proposal, RowCounts
from explorer.core.transaction.row_preparation.matched_files import OnVersion
from explorer.core.transaction.row_preparation.proposer import row_proposer
from explorer.core.versions.reads import Reads
from tests.support.logs import small_logs
from tests.support.logs.given_rows import GivenRows
from tests.support.logs.small_proposals import protocol
from tests.support.logs.small_schemas import IDENTITY, field, struct
from tests.support.logs.spark_tables import masking

RULES = protocol(3, 7, r="deletionVectors", w="deletionVectors changeDataFeed rowTracking domainMetadata")
MASKS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}


def files() -> tuple[Action, ...]:
    """Three files of ten rows, in two partitions; the second masks its first two rows."""
    return (
        small_logs.add("one", 10, bounds={"id": (0, 9)}, partition_values={"p": "a"}, size=101),
        small_logs.add(
            "two", 10, bounds={"id": (10, 19)}, partition_values={"p": "a"}, vector=masking([0, 1]), size=103
        ),
        small_logs.add("three", 10, bounds={"id": (20, 29)}, partition_values={"p": "b"}, size=107),
    )  # fmt: skip


def table(properties: Mapping[str, str] | None = None, *, identity: bool = False) -> explorer.Table:
    described = small_logs.metadata({"id": "long", "p": "string"}, ["p"], properties)
    if identity:
        kind = struct(field("id", "long", metadata=IDENTITY), field("p", "string"))
        described = msgspec.structs.replace(described, schema_string=json.dumps(kind))
    return small_logs.table({0: (RULES, described), 1: files()})


def proposer(log: explorer.Table, engine: GivenRows, intent: Mapping[str, Any], rows: object = "rows") -> OnVersion:
    asked: Any = parse_intent(dict(intent))
    return row_proposer(log, asked, engine.context(), rows if "source" in intent else None)


def written(made: Proposal) -> Proposal:
    """The proposal once its rows are written."""
    assert made.writing is not None
    return made.writing.complete(made.writing.write())


def names(made: Proposal) -> dict[str, list[str]]:
    return {
        "adds": [each.path for each in made.adds],
        "removes": [each.path for each in made.removes],
        "changes": [each.path.removeprefix("_change_data/") for each in made.change_files],
    }


def hidden(made: Proposal) -> dict[str, int]:
    return {each.path: each.deletion_vector.cardinality for each in made.adds if each.deletion_vector is not None}


def numbers(made: Proposal, *wanted: str) -> list[int]:
    return [int(made.metrics[name]) for name in wanted]


def found(made: Proposal) -> tuple[str, str]:
    (guard,) = [each for each in made.guards if each.name in {"rows-found", "masked-rows-found"}]
    return guard.status, str(guard.evidence["detail"])


ALL_OF_ONE = tuple(range(10))
SOME = {"one": ALL_OF_ONE, "two": (2, 3, 4), "three": (9,)}
"""All rows of a file, some of one that masks others, one of another file."""


# --- delete


def test_a_delete_masks_what_it_finds_and_removes_a_file_that_keeps_no_row() -> None:
    log, engine = table(MASKS), GivenRows(SOME)
    made = proposer(log, engine, {"kind": "delete", "where": "id >= 0"})(log.snapshot())
    assert made.writing is None
    assert engine.asked == [("matching_rows", {"version": 1, "where": "id >= 0"})]
    assert names(made) == {"adds": ["two", "three"], "removes": ["one", "two", "three"], "changes": []}
    assert hidden(made) == {"two": 5, "three": 1}
    assert found(made) == ("pass", "14 rows in 3 files.")
    assert len(made.staged) == 1
    assert [None if each.deletion_vector is None else each.deletion_vector.cardinality for each in made.removes] == [
        None,
        2,
        None,
    ]
    assert all(each.data_change for each in (*made.adds, *made.removes))
    assert (made.operation, made.parameters, made.is_blind_append, made.reads_files) == (
        "DELETE",
        {"predicate": '["id >= 0"]'},
        False,
        True,
    )
    assert numbers(made, "numDeletedRows", "numRemovedFiles", "numRemovedBytes", "numDeletionVectorsAdded") == [
        14,
        1,
        101,
        2,
    ]
    assert numbers(made, "numDeletionVectorsRemoved", "numDeletionVectorsUpdated", "numCopiedRows") == [1, 1, 0]
    assert "version 1" in made.undo


@pytest.mark.parametrize("recorded", [False, True])
def test_a_delete_rewrites_where_there_are_no_vectors_and_records_what_went_of_every_file(recorded: bool) -> None:
    log, engine = table(FEED if recorded else {}), GivenRows(SOME)
    planned = proposer(log, engine, {"kind": "delete", "where": "id >= 0"})(log.snapshot())
    assert engine.calls("rewrite") == [], "a plan writes nothing"
    assert planned.estimate is not None
    assert planned.estimate.rows == 14
    made = written(planned)
    (asked,) = engine.calls("rewrite")
    assert asked == {
        "files": ["one", "two", "three"] if recorded else ["two", "three"],
        "where": "id >= 0",
        "recorded": recorded,
    }
    assert names(made) == {
        "adds": ["kept"],
        "removes": ["one", "two", "three"],
        "changes": ["gone"] if recorded else [],
    }
    assert numbers(made, "numDeletedRows", "numCopiedRows", "numRemovedFiles", "numRemovedBytes") == [14, 14, 3, 311]
    assert numbers(made, "numAddedFiles", "numAddedBytes", "numAddedChangeFiles") == [1, 11, int(recorded)]
    assert (made.change_feed or "") == ("14 rows will appear as deleted." if recorded else "")


def test_a_delete_of_whole_files_writes_nothing() -> None:
    log, engine = table(), GivenRows({"one": ALL_OF_ONE, "two": range(2, 10)})
    made = proposer(log, engine, {"kind": "delete", "where": "p = 'a'"})(log.snapshot())
    assert (made.writing, names(made)) == (None, {"adds": [], "removes": ["one", "two"], "changes": []})
    assert numbers(made, "numDeletedRows", "numRemovedFiles") == [18, 2]


def test_a_delete_that_finds_nothing_has_nothing_to_commit() -> None:
    log = table()
    made = proposer(log, GivenRows(), {"kind": "delete", "where": "id > 99"})(log.snapshot())
    assert found(made) == ("fail", "No rows match. Nothing to commit.")


# --- what was read, and how long what was found lasts


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize(
    ("intent", "read"),
    [
        ({"kind": "delete", "where": "id < 5"}, {"one"}),
        ({"kind": "update", "where": "id < 5", "set": {"id": "1"}}, {"one"}),
        ({"kind": "update", "set": {"id": "1"}}, None),
        ({"kind": "overwrite", "source": "", "where": "id < 5"}, {"one"}),
        (
            {
                "kind": "merge", "source": "", "on": "target.id < 5 AND target.id = source.id",
                "matched": [{"delete": True}],
            },
            {"one"},
        ),
        (
            {
                "kind": "merge", "source": "", "on": "target.id < 5 AND target.id = source.id",
                "matched": [{"delete": True}], "notMatchedBySource": [{"delete": True}],
            },
            None,
        ),
    ],
    ids=["delete", "update", "update of all", "overwrite", "merge", "merge by source"],
)  # fmt: skip
def test_what_was_read_is_what_the_condition_may_hold_where_the_engine_reads_it_as_the_core_does(
    intent: dict[str, Any], read: set[str] | None, alike: bool
) -> None:
    log = table()
    engine = GivenRows({"one": [1]}, counts=RowCounts(updated=1), rows=1, alike=alike)
    made = proposer(log, engine, intent)(log.snapshot())
    assert made.reads_files
    if not alike or read is None:
        assert made.reads == Reads()
    else:
        assert (made.reads.files, made.reads.condition is None, made.reads.partitions) == (frozenset(read), False, None)


@pytest.mark.parametrize(
    ("intent", "asks"),
    [
        ({"kind": "delete", "where": "id < 5"}, "matching_rows"),
        ({"kind": "update", "where": "id < 5", "set": {"id": "1"}}, "find_changes"),
        ({"kind": "overwrite", "source": "", "where": "id < 5"}, "matching_rows"),
        ({"kind": "purge", "where": "id < 5"}, "files_masking"),
    ],
    ids=lambda each: each["kind"] if isinstance(each, dict) else "",
)
def test_rows_are_found_again_only_where_a_file_that_changes_is_another_one(intent: dict[str, Any], asks: str) -> None:
    log = table()
    engine = GivenRows({"two": [5]}, counts=RowCounts(updated=1), rows=1, masking=["two"])
    change = proposer(log, engine, intent)
    first = change(log.snapshot())
    small_logs.write(log.store, {2: [small_logs.add("four", 1, bounds={"id": (99, 99)}, partition_values={"p": "b"})]})
    log.refresh()
    second = change(log.snapshot())
    assert len(engine.calls(asks)) == 1
    assert "version 1" in first.undo
    assert "version 2" in second.undo
    again = small_logs.add("two", 10, bounds={"id": (10, 19)}, partition_values={"p": "a"}, vector=masking([0, 1, 2]))
    small_logs.write(log.store, {3: [small_logs.remove("two", vector=masking([0, 1])), again]})
    log.refresh()
    change(log.snapshot())
    assert len(engine.calls(asks)) == 2


# --- update and merge

MERGE = {
    "kind": "merge",
    "source": "",
    "on": "target.id = source.id",
    "matched": [{"when": "source.id > 3", "update": {"p": "source.p"}}, {"delete": True}],
    "notMatched": [{"insert": "*"}],
    "notMatchedBySource": [{"when": "target.id < 3", "update": {"p": "'x'"}}, {"delete": True}],
}
UPDATE = {"kind": "update", "where": "id >= 0", "set": {"p": "'x'"}}
COUNTS = RowCounts(updated=5, deleted=3, updated_alone=4, deleted_alone=2, inserted=6, source=19)


@pytest.mark.parametrize("properties", [{}, FEED, MASKS, FEED | MASKS], ids=["rewrites", "fed", "masks", "masks, fed"])
@pytest.mark.parametrize(
    ("intent", "counts"), [(UPDATE, RowCounts(updated=14)), (MERGE, COUNTS)], ids=["update", "merge"]
)
def test_rows_that_change_leave_their_files_and_come_in_new_ones(
    intent: dict[str, Any], counts: RowCounts, properties: dict[str, str]
) -> None:
    log, engine = table(properties), GivenRows(SOME, counts=counts)
    masked, recorded = "delta.enableDeletionVectors" in properties, "delta.enableChangeDataFeed" in properties
    planned = proposer(log, engine, intent)(log.snapshot())
    assert engine.calls("write_changes") == []
    stay = 0 if masked else 14
    assert planned.estimate is not None
    assert planned.estimate.rows == counts.new + stay
    made = written(planned)
    assert engine.calls("find_changes") == [{"version": 1, "source": "rows" if intent is MERGE else None}]
    assert engine.calls("write_changes") == [{"found": "found", "numbered": [], "masked": masked, "recorded": recorded}]
    assert names(made) == {
        "adds": ["two", "three", "new"] if masked else ["new"],
        "removes": ["one", "two", "three"],
        "changes": ["changed"] if recorded else [],
    }
    assert hidden(made) == ({"two": 5, "three": 1} if masked else {})
    gone = 101 if masked else 311
    vectors = [2, 1, 1] if masked else [0, 1, 0]
    if intent is UPDATE:
        assert made.parameters == {"predicate": '["id >= 0"]'}
        assert found(made) == ("pass", "Rows: 14 updated in 3 files.")
        told = (
            "numUpdatedRows",
            "numCopiedRows",
            "numRemovedFiles",
            "numRemovedBytes",
            "numAddedFiles",
            "numAddedBytes",
        )
        assert numbers(made, *told) == [14, stay, 3, gone, 1, 13]
        assert numbers(made, *(f"numDeletionVectors{each}" for each in ("Added", "Removed", "Updated"))) == vectors
        assert numbers(made, "numAddedChangeFiles") == [int(recorded)]
    else:
        assert made.parameters == {
            "predicate": '["target.id = source.id"]',
            "matchedPredicates": '[{"predicate":"source.id > 3","actionType":"update"},{"actionType":"delete"}]',
            "notMatchedPredicates": '[{"actionType":"insert"}]',
            "notMatchedBySourcePredicates": '[{"predicate":"target.id < 3","actionType":"update"},'
            '{"actionType":"delete"}]',
        }
        assert found(made) == ("pass", "Rows: 9 updated and 5 deleted in 3 files, 6 inserted.")
        told = ("Inserted", "Updated", "Deleted", "Copied", "MatchedUpdated", "MatchedDeleted")
        assert numbers(made, *(f"numTargetRows{each}" for each in told)) == [6, 9, 5, stay, 5, 3]
        told = ("NotMatchedBySourceUpdated", "NotMatchedBySourceDeleted")
        assert numbers(made, *(f"numTargetRows{each}" for each in told)) == [4, 2]
        assert numbers(made, "numSourceRows", "numOutputRows") == [19, 15 + stay]
        told = ("FilesAdded", "BytesAdded", "FilesRemoved", "BytesRemoved", "ChangeFilesAdded")
        assert numbers(made, *(f"numTarget{each}" for each in told)) == [1, 13, 1 if masked else 3, gone, int(recorded)]
        told = ("Added", "Removed", "Updated")
        assert numbers(made, *(f"numTargetDeletionVectors{each}" for each in told)) == vectors
    assert (made.change_feed is not None) == recorded
    if recorded and intent is MERGE:
        assert made.change_feed == (
            "Rows will appear as updated, with their values before and after: 9; deleted: 5; inserted: 6."
        )


def test_inserted_rows_move_the_mark_of_an_identity_column_that_they_lack() -> None:
    log = table(identity=True)
    engine = GivenRows({}, counts=RowCounts(inserted=3, source=3), given=())
    made = written(proposer(log, engine, MERGE)(log.snapshot()))
    assert engine.calls("write_changes")[0]["numbered"] == ["id"]
    assert made.metadata is not None
    (identity, _) = json.loads(made.metadata.schema_string or "")["fields"]
    assert identity["metadata"]["delta.identity.highWaterMark"] == 5, "1, 3 and 5"
    assert made.tags[IDENTITY_TAG] == "true"
    nothing = GivenRows({"one": [1]}, counts=RowCounts(updated=1), given=())
    assert written(proposer(log, nothing, MERGE)(log.snapshot())).metadata is None


# --- overwrite


def overwritten(engine: GivenRows, properties: dict[str, str] | None = None, **more: Any) -> tuple[Proposal, Proposal]:
    log = table(properties)
    planned = proposer(log, engine, {"kind": "overwrite", "source": "", **more})(log.snapshot())
    assert not engine.calls("write_rows")
    return planned, written(planned)


def test_a_whole_overwrite_replaces_every_file_and_read_all_rows() -> None:
    planned, made = overwritten(GivenRows(rows=4), FEED)
    assert names(made) == {"adds": ["new"], "removes": ["one", "two", "three"], "changes": []}
    assert made.reads == Reads()
    assert planned.estimate is not None
    assert planned.estimate.rows == 4
    assert numbers(made, "numFiles", "numOutputRows", "numOutputBytes", "numRemovedFiles", "numRemovedBytes") == [
        1,
        4,
        13,
        3,
        311,
    ]
    assert "numDeletedRows" not in made.metrics
    assert found(made) == ("pass", "4 rows replace 28 rows in 3 files.")
    assert made.change_feed == "4 rows will appear as inserted, 28 rows as deleted."
    assert made.parameters == {"mode": "Overwrite", "partitionBy": "[]"}


def test_a_dynamic_overwrite_replaces_the_partitions_of_its_rows_and_read_these_alone() -> None:
    _, made = overwritten(GivenRows(rows=4, partitions=[("a",)]), partitions=True)
    assert names(made) == {"adds": ["new"], "removes": ["one", "two"], "changes": []}
    assert made.reads == Reads(frozenset(["one", "two"]), None, frozenset([("a",)]))
    assert made.parameters == {"mode": "Overwrite", "partitionBy": "[]", "isDynamicPartitionOverwrite": True}


@pytest.mark.parametrize(
    ("properties", "asked", "changes"),
    [
        ({}, ["two", "three"], []),
        (FEED, ["one", "two", "three"], ["inserted", "gone"]),
        (MASKS, None, []),
        (MASKS | FEED, None, []),
    ],
    ids=["rewrites", "fed", "masks", "masks, fed"],
)
def test_an_overwrite_of_rows_that_meet_a_condition_goes_through_their_files(
    properties: dict[str, str], asked: list[str] | None, changes: list[str]
) -> None:
    engine = GivenRows(SOME, rows=4)
    planned, made = overwritten(engine, properties, where="id >= 0")
    assert engine.calls("incoming_rows") == [{"version": 1, "source": "rows", "rules": ["id >= 0"]}]
    assert planned.estimate is not None
    assert planned.estimate.rows == 4 + (0 if asked is None else 14)
    rewritten = [] if asked is None else [{"files": asked, "where": "id >= 0", "recorded": bool(changes)}]
    assert engine.calls("rewrite") == rewritten
    assert len(engine.calls("record_inserts")) == bool(changes)
    assert names(made) == {
        "adds": ["two", "three", "new"] if asked is None else ["new", "kept"],
        "removes": ["one", "two", "three"],
        "changes": changes,
    }
    assert hidden(made) == ({"two": 5, "three": 1} if asked is None else {})
    copied = 0 if asked is None else 14
    assert numbers(made, "numDeletedRows", "numCopiedRows", "numOutputRows") == [14, copied, 4 + copied]
    assert numbers(made, "numRemovedFiles", "numAddedChangeFiles") == [1 if asked is None else 3, len(changes)]
    assert made.parameters["predicate"] == "id >= 0"


def test_partitions_are_not_overwritten_where_there_are_none() -> None:
    log = small_logs.table({0: (small_logs.PROTOCOL, small_logs.METADATA)})
    with pytest.raises(InvalidIntent, match="has no partitions"):
        proposer(log, GivenRows(rows=1), {"kind": "overwrite", "source": "", "partitions": True})(log.snapshot())


# --- purge and append


@pytest.mark.parametrize(
    ("where", "masks", "dropped", "matched", "purged"),
    [
        (None, (), (), {}, ["two"]),
        ("id = 1", ("two",), (), {}, ["two"]),
        ("id = 1", (), (), {"two": [3]}, []),
        # files with dropped columns are asked for only where the table maps its columns
        ("id = 1", (), ("one",), {"one": [3]}, []),
    ],
)
def test_a_purge_takes_the_files_that_mask_a_matching_row(
    where: str | None,
    masks: tuple[str, ...],
    dropped: tuple[str, ...],
    matched: dict[str, list[int]],
    purged: list[str],
) -> None:
    log, engine = table(), GivenRows(matched, masking=masks, dropped=dropped)
    planned = proposer(log, engine, {"kind": "purge"} | ({} if where is None else {"where": where}))(log.snapshot())
    made = planned if planned.writing is None else written(planned)
    assert names(made)["removes"] == purged
    assert found(made)[0] == ("pass" if purged else "fail")
    assert not any(each.data_change for each in (*made.adds, *made.removes))
    if purged:
        assert engine.calls("rewrite") == [{"files": ["two"], "where": "false", "recorded": False}]
        assert made.isolation == "SnapshotIsolation"


@pytest.mark.parametrize("rows", [0, 4])
def test_an_append_adds_files_and_reads_nothing(rows: int) -> None:
    log, engine = table(FEED), GivenRows(rows=rows)
    planned = proposer(log, engine, {"kind": "append", "source": ""})(log.snapshot())
    made = written(planned) if planned.writing is not None else planned
    assert (made.is_blind_append, made.reads_files) == (True, False)
    assert found(made)[0] == ("pass" if rows else "fail")
    if rows:
        assert names(made) == {"adds": ["new"], "removes": [], "changes": []}
        assert numbers(made, "numFiles", "numOutputRows", "numOutputBytes") == [1, 4, 13]
        assert made.change_feed == "4 rows will appear as inserted."


def test_what_is_hidden_is_what_was_and_what_goes() -> None:
    log, engine = table(MASKS), GivenRows({"two": [7, 9]})
    made = proposer(log, engine, {"kind": "delete", "where": "id > 1"})(log.snapshot())
    (file,) = made.staged
    log.store.put_if_absent(file.path, file.data)
    (again,) = made.adds
    assert again.deletion_vector is not None
    np.testing.assert_array_equal(read_rows(log.store, again.deletion_vector), [0, 1, 7, 9])


def test_an_append_reads_its_source_again_where_the_rules_of_the_table_moved_and_only_there() -> None:
    log, engine = table(), GivenRows(rows=3)
    propose = proposer(log, engine, {"kind": "append", "source": ""})

    def read(version: int, *actions: Action) -> int:
        small_logs.write(log.store, {version: actions})
        log.refresh()
        made = propose(log.snapshot(version))
        assert made.estimate is not None
        assert made.estimate.rows == 3
        return len(engine.calls("incoming_rows"))

    assert read(2, small_logs.add("four", 1, partition_values={"p": "a"})) == 1
    assert read(3, small_logs.add("five", 1, partition_values={"p": "a"})) == 1
    assert read(4, small_logs.metadata({"id": "long", "p": "string"}, ["p"], FEED)) == 2
    assert read(5, protocol(3, 7, r="deletionVectors", w="deletionVectors changeDataFeed")) == 3
    assert read(6, small_logs.add("six", 1, partition_values={"p": "a"})) == 3


# --- optimize


def test_an_optimize_plans_its_files_and_asks_for_them_when_it_is_written() -> None:
    log, engine = table(), GivenRows()
    planned = proposer(log, engine, {"kind": "optimize", "where": "p = 'a'"})(log.snapshot())
    assert engine.asked == [("vet", {"expression": "p = 'a'"})], "a plan writes nothing"
    assert names(planned) == {"adds": [], "removes": ["one", "two"], "changes": []}
    assert planned.estimate is not None
    assert (planned.estimate.rows, planned.estimate.files, planned.estimate.bytes) == (18, 1, None)
    made = written(planned)
    assert engine.calls("compact") == [{"version": 1, "groups": {"one": 0, "two": 0}, "order": [], "curve": True}]
    assert names(made) == {"adds": ["joined0"], "removes": ["one", "two"], "changes": []}
    assert made.writing is None
    assert not any(each.data_change for each in (*made.adds, *made.removes))


def test_an_optimize_along_a_curve_orders_and_estimates_bytes_of_large_files_alone() -> None:
    log, engine = table(), GivenRows()
    small_logs.write(log.store, {2: [small_logs.add("large", 10, partition_values={"p": "c"}, size=1 << 22)]})
    log.refresh()
    planned = proposer(log, engine, {"kind": "optimize", "where": "p = 'c'", "zOrderBy": ["id"]})(log.snapshot())
    assert planned.estimate is not None
    assert planned.estimate.bytes == 1 << 22
    written(planned)
    assert engine.calls("compact") == [{"version": 2, "groups": {"large": 0}, "order": ["id"], "curve": True}]


def test_an_optimize_without_files_to_join_writes_nothing() -> None:
    log, engine = table(), GivenRows()
    made = proposer(log, engine, {"kind": "optimize", "where": "p = 'b'"})(log.snapshot())
    assert (made.writing, made.estimate, names(made)["removes"]) == (None, None, [])
