"""Checkpoints that are cut off, or hold other things than the commits give: read around, told of, and written again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import explorer
from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log.log_path import LAST_CHECKPOINT, checkpoint_name, checksum_name, commit_name, replaced_name
from explorer.core.log.verify.integrity import verify
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.logs.checkpoint_shapes import Shape, write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, paths, table, write

WHOLE: list[Any] = [PROTOCOL, METADATA, add("a"), add("b"), add("c")]
LIVE = {("a", None), ("b", None), ("c", None), ("d", None)}
CHECKPOINT = {"kind": "checkpoint"}
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut in half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "its first bytes": lambda data: data[:4],
}


def _log(store: LogStore, held: list[Any], shape: Shape = "classic") -> list[str]:
    write(store, {0: (PROTOCOL, METADATA, add("a")), 1: (add("b"),), 2: (add("c"),), 3: (add("d"),)})
    return write_checkpoint(store, 2, held, shape)


def _kinds(store: LogStore) -> set[str]:
    return {each.kind for each in verify(store).problems}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("shape", ["classic", "multi-part", "v2-json", "v2-parquet"])
def test_a_newest_checkpoint_that_is_damaged_is_read_around_with_an_error_in_the_audit(
    shape: Shape, damage: str
) -> None:
    store = new_store()
    for path in _log(store, WHOLE, shape)[-1:]:
        store.put(path, DAMAGE[damage](store.read(path)))
    opened = explorer.Table(store)
    assert paths(opened.snapshot()) == LIVE
    assert paths(opened.snapshot(2)) == LIVE - {("d", None)}
    assert "damaged-checkpoint" in _kinds(store)
    assert not any(each.breaking for each in verify(store).problems)
    errors = [each for each in explorer.Table(store).audit().findings if each.severity == "error"]
    assert [(each.rule, each.remedy and each.remedy.intent is not None) for each in errors] == [
        ("checkpoint-differs", True)
    ]


def test_where_the_commits_are_gone_a_damaged_checkpoint_is_refused() -> None:
    store = new_store()
    (path,) = _log(store, WHOLE)
    store.put(path, b"")
    store.delete(commit_name(1))
    with pytest.raises(IncompleteCheckpoint, match="cannot be used"):
        explorer.Table(store).snapshot()


@pytest.mark.parametrize(
    "held",
    [
        [PROTOCOL, METADATA, add("a"), add("b")],
        [PROTOCOL, METADATA, add("a"), add("b"), add("c"), add("z")],
        [PROTOCOL, METADATA, add("a"), add("b"), add("c", size=999)],
    ],
    ids=["lacks a file", "holds one more", "another size"],
)
@pytest.mark.parametrize("shape", ["classic", "multi-part"])
def test_a_wrong_checkpoint_is_an_error_unasked_and_is_written_again(held: list[Any], shape: Shape) -> None:
    store = new_store()
    wrong = _log(store, held, shape)
    before = {path: store.read(path) for path in wrong}
    found = explorer.Table(store)
    assert [each.rule for each in found.audit().findings if each.severity == "error"] == ["checkpoint-differs"]
    plan = found.plan(CHECKPOINT)
    planned = {(file.path, file.change) for file in plan.files}
    assert {(replaced_name(path), "write") for path in wrong} <= planned
    assert (checkpoint_name(2), "write") in planned
    assert found.commit(plan).outcome == "committed"
    assert {path: store.read(replaced_name(path)) for path in wrong} == before
    assert paths(found.snapshot()) == LIVE == paths(explorer.Table(store).snapshot())
    assert "checkpoint-differs" not in _kinds(store)
    for version in range(3):
        store.delete(commit_name(version))
    assert paths(explorer.Table(store).snapshot()) == LIVE


def test_a_right_checkpoint_is_left_as_it_is() -> None:
    store = new_store()
    (path,) = _log(store, WHOLE)
    before = store.read(path)
    found = explorer.Table(store)
    plan = found.plan(CHECKPOINT)
    assert [(file.path, file.change) for file in plan.files] == [(checkpoint_name(3), "write")]
    assert found.commit(plan).outcome == "committed"
    assert store.read(path) == before
    assert replaced_name(path) not in set(store.list_tree())


def test_a_checkpoint_is_due_and_written_though_the_one_before_is_damaged() -> None:
    store = new_store()
    (path,) = _log(store, WHOLE)
    store.put(path, b"")
    found = explorer.Table(store)
    found.commit(found.plan({"kind": "set-properties", "properties": {"delta.checkpointInterval": "1"}}))
    assert paths(explorer.Table(store).snapshot()) == LIVE
    assert checkpoint_name(4) in set(store.list_tree())


@pytest.mark.parametrize(
    ("hint", "kinds"),
    [
        ({"size": 5, "numOfAddFiles": 3}, set()),
        ({"size": 3}, set()),
        ({}, set()),
        ({"size": 6}, {"checkpoint-short"}),
        ({"numOfAddFiles": 4}, {"checkpoint-short"}),
        ({"sizeInBytes": 1}, {"hint-differs"}),
        ({"numOfAddFiles": 2}, {"hint-differs"}),
    ],
    ids=["right", "files as size", "nothing", "more actions", "more files", "other bytes", "fewer files"],
)
def test_the_numbers_of_the_hint_are_compared_with_its_checkpoint(hint: dict[str, int], kinds: set[str]) -> None:
    store = new_store()
    _log(store, WHOLE)
    for version in range(3):
        store.delete(commit_name(version))
    store.put_if_absent(LAST_CHECKPOINT, json.dumps({"version": 2, "size": 5} | hint).encode())
    problems = verify(store).problems
    assert {each.kind for each in problems} == kinds
    assert any(each.breaking for each in problems) is ("checkpoint-short" in kinds)


def test_where_the_commits_prove_the_checkpoint_its_hint_is_wrong() -> None:
    store = new_store()
    _log(store, WHOLE)
    store.put_if_absent(LAST_CHECKPOINT, b'{"version":2,"size":9,"numOfAddFiles":7}')
    assert {(each.kind, each.breaking) for each in verify(store).problems} == {("hint-differs", False)}


def test_a_commit_of_zero_bytes_is_read_with_a_finding(tmp_path: Any) -> None:
    store = open_store(tmp_path)
    write(store, {0: (PROTOCOL, METADATA, add("a"))})
    store.put_if_absent(commit_name(1), b"")
    assert explorer.Table(store).snapshot().version == 1
    assert [(each.kind, each.version, each.breaking) for each in verify(store).problems] == [("empty-commit", 1, False)]
    assert table({0: (PROTOCOL, METADATA), 1: ()}).verify().problems == ()


def _checksum(files: int) -> bytes:
    return json.dumps({"tableSizeBytes": files, "numFiles": files, "numMetadata": 1, "numProtocol": 1}).encode()


@pytest.mark.parametrize("version", [2, 3])
def test_a_checksum_with_more_files_than_the_checkpoint_that_alone_gives_them_shows_that_rows_are_lost(
    version: int,
) -> None:
    store = new_store()
    write_checkpoint(store, 2, WHOLE[:-1], "classic")
    write(store, {3: (add("d"),)})
    store.put(checksum_name(version), _checksum(version + 1))
    (problem,) = verify(store).problems
    assert (problem.kind, problem.version, problem.breaking) == ("checkpoint-short", 2, True)
    assert f"the checksum of version {version}" in problem.detail
    found = {each.rule: each for each in explorer.Table(store).audit().findings}
    assert found["checkpoint-differs"].severity == "error"
    assert found["checkpoint-differs"].remedy is not None


def test_a_checksum_that_commits_contradict_or_that_has_fewer_files_is_itself_wrong() -> None:
    whole = new_store()
    _log(whole, WHOLE)
    whole.put(checksum_name(3), _checksum(9))
    assert _kinds(whole) == {"checksum-differs"}
    store = new_store()
    write_checkpoint(store, 2, WHOLE, "classic")
    store.put(checksum_name(2), _checksum(1))
    assert _kinds(store) == {"checksum-differs"}


def test_a_checkpoint_whose_actions_are_over_several_lines_is_read_and_named() -> None:
    store = new_store()
    (*_, path) = _log(store, WHOLE, "v2-json")
    spread = [json.dumps(json.loads(line), indent=1) for line in store.read(path).splitlines()]
    store.put(path, "\n".join(spread).encode())
    store.delete(commit_name(0))
    store.delete(commit_name(1))
    store.delete(commit_name(2))
    assert paths(explorer.Table(store).snapshot()) == LIVE
    assert [(each.kind, each.file) for each in verify(store).problems] == [("spread-action", path)]
    store.put(path, b"\xef\xbb\xbf" + store.read(path))
    with pytest.raises(IncompleteCheckpoint, match="byte-order mark"):
        explorer.Table(store).snapshot()
