"""Operation metrics that the actions of their commit contradict, and those that a writer counts in its own way."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.core.log.log_path import commit_name
from explorer.core.log.verify.verify import verify
from explorer.core.protocol.actions import AddCDCFile
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, commit_info, new_store, remove, vector, write

START = (PROTOCOL, METADATA, add("a", 10), add("b", 5))
CHANGE = AddCDCFile(path="_change_data/c", partition_values={}, size=40)


def found(operation: str, metrics: dict[str, Any], *actions: Any, start: tuple[Any, ...] = START) -> list[str]:
    store = new_store()
    write(store, {0: start, 1: (commit_info(operation, operation_metrics=metrics), *actions)})
    problems = verify(store).problems
    assert {(each.version, each.file, each.breaking) for each in problems} <= {(1, commit_name(1), False)}
    assert all(each.next_step for each in problems)
    return [f"{each.kind}: {each.detail.removeprefix('operationMetrics record ')}" for each in problems]


@pytest.mark.parametrize(
    ("operation", "metrics", "actions", "expected"),
    [
        (
            "WRITE",
            {"numFiles": "2", "numOutputRows": "7", "numOutputBytes": "200"},
            (add("c", 4),),
            [
                "commit-short: numOutputRows = 7, but 4 rows are in the added files",
                "commit-short: numFiles = 2, but 1 files are added",
                "metrics-differ: numOutputBytes = 200, but 100 bytes are added",
            ],
        ),
        (
            "WRITE",
            {"numFiles": "1", "numOutputRows": "4", "numOutputBytes": "100"},
            (add("c", 4), add("d", 2)),
            [
                "metrics-differ: numOutputRows = 4, but 6 rows are in the added files",
                "metrics-differ: numFiles = 1, but 2 files are added",
                "metrics-differ: numOutputBytes = 100, but 200 bytes are added",
            ],
        ),
        (
            "DELETE",
            {"numRemovedFiles": "2", "numAddedFiles": "0", "numDeletedRows": "15", "numRemovedBytes": "200"},
            (remove("a", size=100),),
            [
                "commit-short: numRemovedFiles = 2, but 1 files are removed",
                "metrics-differ: numRemovedBytes = 200, but 100 bytes are removed",
                "commit-short: numDeletedRows = 15, but 10 rows are deleted",
            ],
        ),
        (
            "DELETE",
            {"numDeletedRows": 3, "numDeletionVectorsAdded": 1, "numDeletionVectorsRemoved": 1},
            (remove("a"), add("a", 10, vector=vector("v", 4))),
            [
                "metrics-differ: numDeletionVectorsRemoved = 1, but 0 files are removed with a deletion vector",
                "metrics-differ: numDeletedRows = 3, but 4 rows are deleted",
            ],
        ),
        (
            "MERGE",
            {"numTargetFilesAdded": "1", "numTargetFilesRemoved": "0", "numTargetChangeFilesAdded": "2"},
            (remove("a"), add("c", 9), CHANGE),
            [
                "metrics-differ: numTargetFilesRemoved = 0, but 1 files are removed",
                "metrics-differ: numTargetChangeFilesAdded = 2, but 1 change files are added",
            ],
        ),
        (
            "RESTORE",
            {"numRestoredFiles": "1", "numOfFilesAfterRestore": "3", "tableSizeAfterRestore": "100"},
            (remove("a"), remove("b"), add("c", 9)),
            ["commit-short: numOfFilesAfterRestore = 3, but 1 files are live after the commit"],
        ),
        (
            "MERGE",
            {"num_target_files_added": 3, "num_output_rows": 12, "num_target_files_removed": 1},
            (remove("a"), add("c", 9)),
            [
                "commit-short: num_target_files_added = 3, but 1 files are added",
                "commit-short: num_output_rows = 12, but 9 rows are in the added files",
            ],
        ),
    ],
)
def test_each_metric_that_the_actions_contradict_is_named(
    operation: str, metrics: dict[str, Any], actions: tuple[Any, ...], expected: list[str]
) -> None:
    start = (MASKED, *START[1:])
    assert sorted(found(operation, metrics, *actions, start=start)) == sorted(expected)


@pytest.mark.parametrize(
    ("operation", "metrics", "actions"),
    [
        # Files without rows are written and left out of the commit.
        ("WRITE", {"numFiles": "3", "numOutputRows": "4", "numOutputBytes": "999"}, (add("c", 4),)),
        ("WRITE", {"numFiles": "3", "numOutputBytes": "999"}, (add("c", None),)),
        # Rows that an overwrite copied, as delta-spark and delta-rs count them.
        ("WRITE", {"numOutputRows": "3"}, (remove("a"), add("a", 10, vector=vector("v", 8)), add("c", 1))),
        ("WRITE", {"num_added_rows": 3, "num_added_files": 2}, (remove("a"), add("c", 8), CHANGE)),
        # The bytes of removed files, which delta-spark counts with change files, without, or not at all.
        ("DELETE", {"numRemovedBytes": "0", "numRemovedFiles": "1"}, (remove("b", vector=vector("v")),)),
        ("UPDATE", {"numRemovedBytes": "140", "numAddedBytes": "100"}, (remove("b"), add("c", 5), CHANGE)),
        ("UPDATE", {"numRemovedBytes": "40", "numAddedBytes": "100"}, (remove("b"), add("c", 5), CHANGE)),
        # What is no number, and what no action tells.
        ("WRITE", {"numFiles": "many", "numOutputRows": True, "numOutputBytes": None, "numSourceRows": "5"}, ()),
        ("DELETE", {"numDeletedRows": "7"}, (remove("a"), add("c", None))),
        ("VACUUM END", {"numDeletedFiles": "8", "numVacuumedDirectories": "1"}, ()),
    ],
)
def test_what_a_writer_counts_in_its_own_way_is_no_difference(
    operation: str, metrics: dict[str, Any], actions: tuple[Any, ...]
) -> None:
    masked = (MASKED, METADATA, add("a", 10), add("b", 5, vector=vector("v")))
    start = masked if any(getattr(each, "deletion_vector", None) for each in actions) else START
    assert found(operation, metrics, *actions, start=start) == []


def test_rows_before_a_commit_are_those_of_the_checkpoint_where_the_log_begins_with_one() -> None:
    store = new_store()
    write(store, {0: START, 1: (commit_info("DELETE", operation_metrics={"numDeletedRows": "99"}), remove("a"))})
    write_checkpoint(store, 0, START, "classic")
    store.delete(commit_name(0))
    (problem,) = verify(store).problems
    assert (problem.kind, problem.version) == ("commit-short", 1)
    assert problem.detail == "operationMetrics record numDeletedRows = 99, but 10 rows are deleted"
