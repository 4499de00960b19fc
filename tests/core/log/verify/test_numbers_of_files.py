"""Numbers that a log repeats, each changed alone: of files in checkpoints and checksums, and of commits."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.log.log_path import checksum_name, commit_name
from explorer.core.log.verify.verify import verify
from explorer.core.protocol.actions import Add, DomainMetadata
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, add, commit_info, metadata, new_store, vector, write

RULES = msgspec.structs.replace(metadata({"id": "long", "p": "string"}, ["p"]), created_time=None)
FILE = add("a", 10, partition_values={"p": "x"}, base_row_id=5, default_row_commit_version=1, vector=vector("v", 2))
CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "rows": ({"stats": '{"numRecords":11}'}, "numRecords of 1 files differs, such as a: 11, replay gives 10"),
    "time": ({"modification_time": 2}, "modificationTime of 1 files differs, such as a: 2, replay gives 1"),
    "row id": ({"base_row_id": 6}, "baseRowId of 1 files differs, such as a: 6, replay gives 5"),
    "version": (
        {"default_row_commit_version": 0},
        "defaultRowCommitVersion of 1 files differs, such as a: 0, replay gives 1",
    ),
    "partition": (
        {"partition_values": {"p": "y"}},
        "partitionValues of 1 files differs, such as a: {'p': 'y'}, replay gives {'p': 'x'}",
    ),
    "null": (
        {"partition_values": {"p": None}},
        "partitionValues of 1 files differs, such as a: {'p': None}, replay gives {'p': 'x'}",
    ),
    "size": ({"size": 101}, "1 files differ, such as a: 101 bytes, 2 rows masked by"),
    "masked rows": ({"deletion_vector": vector("v", 3)}, "1 files differ, such as a: 100 bytes, 3 rows masked by"),
}


def _details(store: LogStore, kind: str) -> list[str]:
    return [each.detail for each in verify(store).problems if each.kind == kind]


def _logged(held: Add) -> LogStore:
    store = new_store()
    write(store, {0: (MASKED, RULES), 1: (FILE, add("b", 1, partition_values={"p": ""}))})
    write_checkpoint(store, 1, (MASKED, RULES, held, add("b", 1, partition_values={"p": None})), "classic")
    return store


@pytest.mark.parametrize("what", CHANGES)
def test_each_number_of_a_file_in_a_checkpoint_is_compared(what: str) -> None:
    change, detail = CHANGES[what]
    (found,) = _details(_logged(msgspec.structs.replace(FILE, **change)), "checkpoint-differs")
    assert found.startswith(detail)


def test_numbers_that_a_checkpoint_does_not_state_are_no_difference() -> None:
    silent = msgspec.structs.replace(FILE, stats=None, base_row_id=None, default_row_commit_version=None)
    assert _details(_logged(silent), "checkpoint-differs") == []
    assert _details(_logged(FILE), "checkpoint-differs") == []


@pytest.mark.parametrize(
    ("listed", "differs"),
    [
        ({"path": "a", "size": 100}, False),
        ({"path": "a"}, False),
        ({"path": "a", "size": 101}, True),
        ({"path": "a", "size": 100, "deletionVector": msgspec.to_builtins(vector("v", 2))}, True),
    ],
)
def test_each_file_that_a_checksum_lists_is_compared(listed: dict[str, Any], *, differs: bool) -> None:
    store = new_store()
    write(store, {0: (MASKED, METADATA, add("a"))})
    stated = {"tableSizeBytes": 100, "numFiles": 1, "numMetadata": 1, "numProtocol": 1, "allFiles": [listed]}
    store.put(checksum_name(0), json.dumps(stated).encode())
    expected = "allFiles has another size or deletion vector of 1 live files, such as a"
    assert _details(store, "checksum-differs") == ([expected] if differs else [])


MARK = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":9}', removed=False)


@pytest.mark.parametrize(
    ("actions", "detail"),
    [
        ((commit_info("WRITE", read_version=0), add("a"), MARK), ""),
        ((commit_info("WRITE", read_version=1), add("a")), "commitInfo.readVersion is 1: the writer read a version"),
        ((commit_info("WRITE", read_version=7), add("a")), "commitInfo.readVersion is 7: the writer read a version"),
        ((add("a", 10, base_row_id=0, default_row_commit_version=1), MARK), ""),
        ((add("a", 11, base_row_id=0), MARK), "row ids of a reach 10, but the highest that was assigned is 9"),
        ((add("a", 1, default_row_commit_version=2),), "defaultRowCommitVersion of a is 2, a later version"),
    ],
)
def test_a_number_that_its_commit_cannot_have_is_a_problem(actions: tuple[Any, ...], detail: str) -> None:
    store = new_store()
    write(store, {0: (MASKED, METADATA), 1: actions})
    found = _details(store, "impossible-number")
    assert len(found) == bool(detail)
    assert "".join(found).startswith(detail)
    assert all(each.next_step for each in verify(store).problems)


@pytest.mark.parametrize("shape", ["commit", "checkpoint"])
def test_a_partition_value_under_another_spelling_of_its_column_is_a_problem_of_the_file(shape: str) -> None:
    store = new_store()
    held = add("a", partition_values={"P": "x"})
    write(store, {0: (MASKED, RULES, held)})
    if shape == "checkpoint":
        write_checkpoint(store, 0, (MASKED, RULES, held), "classic")
        store.delete(commit_name(0))
    (problem,) = verify(store).problems
    assert (problem.kind, problem.breaking) == ("invalid-file-values", True)
    assert "It spells the partition column 'p' as 'P': delta-spark and delta-kernel read NULL there." in problem.detail
    assert explorer.Table(store).audit().findings[0].severity == "error"
