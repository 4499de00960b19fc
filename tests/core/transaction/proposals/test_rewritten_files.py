"""Files that are rewritten or described anew: which ones, in which groups, and the whole of what the commit says."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Add, DomainMetadata, Protocol, Remove
from explorer.core.transaction.intents.records import Optimize
from explorer.core.transaction.new_files.file_facts import Arrangement, Touched
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal, Written
from explorer.core.transaction.proposals.rows.optimize_files import (
    Compaction,
    compaction,
    optimize_files,
    size_metrics,
)
from explorer.core.transaction.proposals.rows.purge_rows import files_to_purge, purge_rows
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add, metadata, vector
from tests.support.logs.small_proposals import protocol

MASKS = protocol(3, 7, r="deletionVectors", w="deletionVectors appendOnly invariants")
TRACKS = protocol(3, 7, r="deletionVectors", w="deletionVectors domainMetadata rowTracking")
CLUSTERS = protocol(1, 7, w="clustering domainMetadata")
COLUMNS = {"Id": "long", "v": "string", "b": "boolean", "p": "date"}
NOW = 1_000
PRESENT = Circumstances(now=NOW, new_id=lambda: "fresh")
DAYS = {"one": {"p": "2026-01-01"}, "two": {"p": "2026-01-02"}}


def version(*files: Add, rules: Protocol = MASKS, by: str | None = None, **properties: str) -> explorer.Snapshot:
    """Version 1 of a table of these files, partitioned by day, or clustered by a column."""
    kept = {key: value for key, value in properties.items() if key.startswith("delta.")}
    first: list[Any] = [rules, metadata(COLUMNS, () if by else ("p",), kept)]
    if by is not None:
        columns = json.dumps({"clusteringColumns": [[by]]})
        first.append(DomainMetadata(domain="delta.clustering", configuration=columns))
    return small_logs.table({0: first, 1: files}).snapshot()


def small(path: str, size: int, day: str = "one", **more: Any) -> Add:
    return add(path, **{"records": 100, "size": size, "partition_values": DAYS[day], **more})


def chosen(before: explorer.Snapshot, **asked: Any) -> Compaction:
    return compaction(Optimize(**asked), before, {})


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([], {}),
        ([7], dict.fromkeys(("minFileSize", "p25FileSize", "p50FileSize", "p75FileSize", "maxFileSize"), 7)),
        (
            [4, 1, 3, 2],
            {"minFileSize": 1, "p25FileSize": 2, "p50FileSize": 3, "p75FileSize": 4, "maxFileSize": 4},
        ),
        (
            [50, 10, 40, 20, 30, 60, 80, 70],
            {"minFileSize": 10, "p25FileSize": 30, "p50FileSize": 50, "p75FileSize": 70, "maxFileSize": 80},
        ),
    ],
)
def test_sizes_of_new_files_are_told_by_quarters(sizes: list[int], found: dict[str, int]) -> None:
    assert size_metrics([add(f"{size}", size=size) for size in sizes]) == found


# --- which files are optimized ----------------------------------------------------------------------------------------


def test_small_files_of_a_partition_go_together_up_to_the_size_asked_for() -> None:
    files = [
        small("other", 10, "two"),
        small("c", 31),
        small("a", 10),
        small("large", 50),
        small("d", 49),
        small("b", 40),
    ]
    found = chosen(version(*files), target_size=50)
    assert found.files == tuple(msgspec.structs.replace(each, data_change=False) for each in files[1:3])
    assert found.rows == 200
    assert found.arrangement == Arrangement({"a": 0, "c": 0}, (), True, 1)
    exact = chosen(version(small("a", 10), small("b", 40), small("c", 10, "two"), small("d", 5, "two")), target_size=50)
    assert exact.arrangement == Arrangement({"a": 0, "b": 0, "c": 1, "d": 1}, (), True, 2)


def test_a_file_that_masks_many_rows_is_rewritten_whatever_its_size_and_alone() -> None:
    files = [
        small("few", 60, vector=vector("few", 5)),
        small("many", 60, "two", vector=vector("many", 6)),
        small("uncounted", 60, records=None, vector=vector("uncounted", 1)),
        small("single", 10),
    ]
    found = chosen(version(*files), target_size=50)
    assert found.arrangement == Arrangement({"many": 0, "uncounted": 1}, (), True, 2)
    assert found.rows is None
    counted = chosen(version(files[1], small("b", 10), small("c", 10)), target_size=50)
    assert (sorted(counted.arrangement.groups), counted.rows) == (["b", "c", "many"], 300 - 6)


@pytest.mark.parametrize(
    ("asked", "order", "curve"),
    [({"order_by": ("ID", "`v`")}, ("Id", "v"), False), ({"z_order_by": ("v", "iD")}, ("v", "Id"), True)],
)
def test_rows_that_are_ordered_take_every_file_of_a_partition(
    asked: dict[str, Any], order: tuple[str, ...], curve: bool
) -> None:
    before = version(small("a", 60), small("b", 10, "two"), small("c", 40))
    found = chosen(before, target_size=50, **asked)
    assert found.arrangement == Arrangement({"a": 0, "c": 0, "b": 1}, order, curve, 2 + 1)
    more = chosen(version(small("a", 60), small("c", 41)), target_size=50, **asked)
    assert more.arrangement.files == 3
    whole = chosen(version(small("a", 60), small("c", 41)), **asked)
    assert whole.arrangement.files == 1


def test_a_condition_chooses_partitions_and_fields_that_are_not_known_are_kept() -> None:
    before = version(*(small(f"{name}-{day}", 10, day) for name in "ab" for day in ("one", "two")))
    unknown: dict[tuple[str, str | None], Any] = {("a-two", None): {"house": 7}}
    found = compaction(Optimize(where="p = '2026-01-02'"), before, unknown)
    assert [(each.path, each.unknown, each.data_change) for each in found.files] == [
        ("a-two", {"house": 7}, False),
        ("b-two", {}, False),
    ]
    with pytest.raises(InvalidIntent) as refused:
        chosen(before, where="length(v) > 3")
    assert str(refused.value) == "The condition cannot be answered from partition values alone."
    assert refused.value.field == "where"


def test_a_condition_over_another_column_is_refused() -> None:
    with pytest.raises(InvalidIntent) as refused:
        chosen(version(small("a", 10)), where="P = '2026-01-02' AND ID > 5")
    error = refused.value
    assert str(error) == "The condition names Id, but it may only name partition columns: p."
    assert (error.field, error.column, error.allowed) == ("where", "Id", ["p"])


def test_files_of_a_clustered_table_are_rewritten_until_they_say_that_they_are_clustered_so() -> None:
    cube = {"ZCUBE_ID": "x", "ZCUBE_ZORDER_BY": '["Id"]'}
    other = {"ZCUBE_ID": "x", "ZCUBE_ZORDER_BY": '["v"]'}
    files = add("done", tags=cube), add("other", tags=other), add("plain")
    found = chosen(version(*files, rules=CLUSTERS, by="Id"))
    assert found.arrangement == Arrangement({"other": 0, "plain": 0}, ("Id",), True, 1)


SO = "so files cannot be ordered by it."
CLUSTERED = "The table is clustered by Id: leave zOrderBy and orderBy out."
PATH = "write a dotted path, with parts in backticks where they contain dots."


@pytest.mark.parametrize(
    ("asked", "by", "said", "field", "column"),
    [
        ({"order_by": ("v", "zz")}, None, f"zz is no column with an order, {SO}", "orderBy", "zz"),
        ({"z_order_by": ("zz",)}, None, f"zz is no column with an order, {SO}", "zOrderBy", "zz"),
        ({"z_order_by": ("P",)}, None, f"P is a partition column, {SO}", "zOrderBy", "P"),
        ({"z_order_by": ("v",)}, "Id", CLUSTERED, "zOrderBy", None),
        ({"order_by": ("v",)}, "Id", CLUSTERED, "orderBy", None),
        ({"order_by": ("a..b",)}, None, f"'a..b' is not a column: {PATH}", "orderBy", None),
        ({"z_order_by": ("`v",)}, None, f"'`v' is not a column: {PATH}", "zOrderBy", None),
    ],
)
def test_an_order_that_cannot_be_names_its_column(
    asked: dict[str, Any], by: str | None, said: str, field: str, column: str | None
) -> None:
    before = version(add("a"), rules=MASKS if by is None else CLUSTERS, by=by)
    with pytest.raises(InvalidIntent) as refused:
        chosen(before, **asked)
    assert (str(refused.value), refused.value.field, refused.value.column) == (said, field, column)


# --- what the commit says ---------------------------------------------------------------------------------------------


def gone(file: Add) -> Remove:
    return Remove(
        path=file.path,
        deletion_timestamp=NOW,
        data_change=False,
        extended_file_metadata=True,
        partition_values=file.partition_values,
        size=file.size,
        stats=file.stats,
        tags=file.tags,
        deletion_vector=file.deletion_vector,
        base_row_id=file.base_row_id,
        default_row_commit_version=file.default_row_commit_version,
    )


UNCHANGED = "Nothing appears in it: the rows that readers see stay the same."
UNDO = "Restore version 1, as long as its files are not vacuumed."
ONE_FILE = {f"{name}FileSize": "25" for name in ("min", "p25", "p50", "p75", "max")}


def test_an_optimized_table_is_said_whole() -> None:
    own: dict[str, Any] = {"base_row_id": 0, "default_row_commit_version": 0}
    files = small("a", 10, vector=vector("v", 4), tags={"t": "1"}, **own), small("b", 20, **own)
    before = version(*files, rules=TRACKS)
    found = Compaction(files, 196, Arrangement({"a": 0, "b": 0}, files=1_000))
    new = small("new", 25, records=196)
    intent = Optimize(where="p > '2025-01-01'", order_by=("Id", "v"))
    assert optimize_files(intent, before, found, Written((new,)), PRESENT) == Proposal(
        operation="OPTIMIZE",
        parameters={
            "predicate": "[\"p > '2025-01-01'\"]",
            "zOrderBy": "[]",
            "clusterBy": "[]",
            "auto": False,
            "orderBy": '["Id","v"]',
        },
        adds=(msgspec.structs.replace(new, data_change=False, base_row_id=0, default_row_commit_version=2),),
        removes=(gone(files[0]), gone(files[1])),
        domains=(
            DomainMetadata(
                domain="delta.rowTracking",
                configuration='{"rowIdHighWaterMark":195,"domainName":"delta.rowTracking"}',
            ),
        ),
        metrics={
            "numRemovedFiles": "2",
            "numRemovedBytes": "30",
            "numAddedFiles": "1",
            "numAddedBytes": "25",
            "numDeletionVectorsRemoved": "1",
            **ONE_FILE,
        },
        tags={"delta.rowTracking.preserved": "false"},
        is_blind_append=False,
        isolation="SnapshotIsolation",
        guards=(
            GuardResult(
                "files-found", "pass", {"files": 2, "newFiles": 1_000, "detail": "2 files become about 1,000."}
            ),
        ),
        change_feed=UNCHANGED,
        undo=UNDO,
    )


def test_a_clustered_table_says_who_clustered_its_files_and_by_what() -> None:
    before = version(add("a"), rules=CLUSTERS, by="Id")
    found = Compaction((), 0, Arrangement({}))
    made = optimize_files(Optimize(), before, found, Written((add("b"), add("c"))), PRESENT)
    tags = {"ZCUBE_ID": "fresh", "ZCUBE_ZORDER_BY": '["Id"]'}
    assert made.adds == tuple(
        msgspec.structs.replace(add(name), data_change=False, clustering_provider="liquid", tags=tags) for name in "bc"
    )
    assert made.parameters == {
        "predicate": "[]",
        "zOrderBy": "[]",
        "clusterBy": '["Id"]',
        "auto": False,
        "isFull": False,
    }
    detail = "No partition has two files that are small enough, so there is nothing to commit."
    assert made.guards == (GuardResult("files-found", "fail", {"files": 0, "newFiles": 1, "detail": detail}),)
    curve = optimize_files(Optimize(z_order_by=("v",)), version(), found, Written(()), PRESENT)
    assert curve.parameters["zOrderBy"] == '["v"]'
    assert (curve.tags, curve.metrics["numAddedBytes"], "minFileSize" in curve.metrics) == ({}, "0", False)


def test_files_to_purge_mask_rows_or_hold_what_was_dropped() -> None:
    before = version(add("a b", vector=vector("x")), add("c"), add("d", vector=vector("y")), add("e"))
    for masking, dropped, paths in (
        (None, (), ["a b", "d"]),
        (["d", "c"], (), ["d"]),
        ([], ("e",), ["e"]),
        (None, ("e", "a b"), ["a b", "d", "e"]),
    ):
        found = files_to_purge(before, masking, dropped)
        assert sorted(found) == paths
        assert {(len(rows), rows.dtype) for rows in found.values()} == {(0, np.dtype(np.uint64))}


@pytest.mark.parametrize("rules", [MASKS, TRACKS])
@pytest.mark.parametrize(
    ("hidden", "dropped", "detail"),
    [
        ([1], 0, "1 masked row leaves 1 file."),
        ([1, 1], 1, "2 masked rows leave 2 files. 1 file holds columns that the table has dropped."),
        ([999, 1], 2, "1,000 masked rows leave 2 files. 2 files hold columns that the table has dropped."),
        ([0], 1, "0 masked rows leave 1 file. 1 file holds columns that the table has dropped."),
    ],
)
def test_a_purge_is_said_whole(rules: Protocol, hidden: list[int], dropped: int, detail: str) -> None:
    before = version(rules=rules, **{"delta.enableRowTracking": "true"})
    nothing = np.empty(0, np.uint64)
    files = [add(f"{place}", 5_000, vector=vector("v", rows) if rows else None) for place, rows in enumerate(hidden)]
    touched = [
        Touched(file, 5_000, np.arange(rows, dtype=np.uint64), nothing)
        for file, rows in zip(files, hidden, strict=True)
    ]
    new = small("new", 25, base_row_id=7, default_row_commit_version=1)
    tracked = {"delta.rowTracking.preserved": "true"} if rules is TRACKS else {}
    evidence = {"rows": sum(hidden), "files": len(files), "filesWithDroppedColumns": dropped, "detail": detail}
    assert purge_rows(before, touched, Written((new,)), PRESENT, with_dropped=dropped) == Proposal(
        operation="REORG",
        parameters={"predicate": "[]", "applyPurge": True},
        adds=(msgspec.structs.replace(new, data_change=False),),
        removes=tuple(map(gone, files)),
        metrics={
            "numRemovedFiles": str(len(files)),
            "numRemovedBytes": str(100 * len(files)),
            "numAddedFiles": "1",
            "numAddedBytes": "25",
            "numDeletionVectorsRemoved": str(sum(rows > 0 for rows in hidden)),
            **ONE_FILE,
        },
        tags=tracked,
        is_blind_append=False,
        isolation="SnapshotIsolation",
        guards=(GuardResult("masked-rows-found", "pass", evidence),),
        change_feed=UNCHANGED,
        undo=UNDO,
    )


def test_a_purge_that_finds_nothing_is_not_committed() -> None:
    detail = "No live file holds such a masked row or a dropped column, so there is nothing to commit."
    evidence = {"rows": 0, "files": 0, "filesWithDroppedColumns": 0, "detail": detail}
    made = purge_rows(version(), (), Written(()), PRESENT)
    remedy = "Check the predicate, if there is one."
    assert made.guards == (GuardResult("masked-rows-found", "fail", evidence, remedy),)
