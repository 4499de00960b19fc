"""Commits in batches, of which the next is read while the one before is decoded."""

from __future__ import annotations

from functools import partial

import pytest

from explorer.core.errors import CorruptTable, StorageError, VersionGap
from explorer.core.log import replay
from explorer.core.log.alike_lines import AlikeLines
from explorer.core.log.commit import decode_commit
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import (
    advance_state,
    checkpoint_reader,
    read_commit_files,
    read_commits,
    replay_files,
    replay_state,
)
from explorer.core.protocol.actions import DomainMetadata
from tests.support.at_least_one import at_least_one
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines, new_store, remove, write

MANY = 2_100
"""More than two batches of commits."""


def test_many_commits_are_read_in_their_order() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA), **{version: (add(f"f{version}"),) for version in range(1, MANY)}})
    paths = list(list_log(store).commits.values())
    found = list(read_commits(store, paths))
    assert [commit.version for commit in found] == list(range(MANY))
    added = [line.add.path for commit in found for line in commit.lines if line.add is not None]
    assert added == [f"f{version}" for version in range(1, MANY)]


def test_commits_of_many_bytes_are_read_a_few_at_a_time() -> None:
    store, wide = new_store(), "x" * (3 << 20)
    write(store, {0: (PROTOCOL, METADATA), **{version: (add(f"{wide}{version}"),) for version in range(1, 6)}})
    paths = list(list_log(store).commits.values())
    assert [(path.version, data) for path, data in read_commit_files(store, paths)][1:] == [
        (version, lines((add(f"{wide}{version}"),))) for version in range(1, 6)
    ]


@pytest.mark.parametrize(
    ("sizes", "batches"),
    [
        pytest.param([1] * 7, [3, 3, 1], id="by their number"),
        pytest.param([50, 49, 1, 1], [3, 1], id="up to so many bytes"),
        pytest.param([50, 50, 1], [2, 1], id="exactly so many bytes"),
        pytest.param([50, 51, 49, 60], [1, 2, 1], id="one byte more"),
        pytest.param([500, 1, 1, 1, 1], [1, 3, 1], id="one that is larger alone"),
        pytest.param([], [], id="none"),
    ],
)
def test_commits_are_read_in_batches_of_so_many_and_so_many_bytes(
    sizes: list[int], batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "_BATCH", 3)
    monkeypatch.setattr(replay, "_BATCH_BYTES", 100)
    store = FaultyStore(new_store())
    for version, size in enumerate(sizes):
        store.put_if_absent(commit_name(version), b" " * size)
    paths = list(list_log(store).commits.values()) if sizes else []
    store.requests.clear()
    assert [len(data) for _, data in read_commit_files(store, paths)] == sizes
    assert store.requests == [f"read {number}" for number in batches]


def test_the_commits_of_a_batch_are_there_before_the_next_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_BATCH", 2)
    inner = new_store()
    write(inner, {0: (PROTOCOL, METADATA), **{version: (add(f"f{version}"),) for version in range(1, 5)}})
    paths = list(list_log(inner).commits.values())
    parts, with_columns = partial(replay.read_parts, similar=None), partial(replay.read_parts, similar=AlikeLines())
    reads = ((replay.read_commits, 2), (parts, 1), (with_columns, 1), (replay.read_small_actions, 2))
    for read, once in at_least_one(reads):
        found = iter(read(FaultyStore(inner, {1: "fails"}), paths))
        assert [next(found) is not None for _ in range(once)] == [True] * once
        with pytest.raises(StorageError):
            next(found)


def test_a_commit_that_vanished_ends_the_reading_with_the_range_that_it_was_in() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA), **{version: (add(f"f{version}"),) for version in range(1, MANY)}})
    paths = list(list_log(store).commits.values())
    store.delete(commit_name(MANY - 1))
    for read in at_least_one((read_commits, partial(replay.read_parts, similar=AlikeLines()))):
        with pytest.raises(VersionGap) as gap:
            list(read(store, paths))
        assert (gap.value.vanished, gap.value.earliest, gap.value.latest) == (True, 2048, MANY - 1)
        assert gap.value.message.startswith(
            f"A commit between versions 2048 and {MANY - 1} disappeared while the log was being read"
        )
        assert isinstance(gap.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize(("count", "parts"), [(3_000, 1), (90_000, 3)], ids=["in one buffer", "in parts"])
def test_lines_that_are_alike_become_columns_however_large_their_commit_is(count: int, parts: int) -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA), 1: [add(f"file-{place}") for place in range(count)]})
    paths = list(list_log(store).commits.values())
    found = list(replay.read_parts(store, paths[1:], AlikeLines()))
    assert len(found) == parts
    assert sum(len(each.places) for part in found for each in part.similar) == count
    assert [piece.path.version for part in found for piece in part.pieces] == [1] * parts


def test_files_come_in_the_order_in_which_they_were_added_last() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA, add("a"), add("b"), add("c")), 1: (add("a"),), 2: (remove("b"),)})
    segment = list_log(store).segment()
    files = replay_files(checkpoint_reader(store, segment), read_commits(store, segment.commits))
    assert files.select(["path"]).column(0).to_pylist() == ["c", "a"]


def test_a_domain_that_was_never_there_can_be_removed() -> None:
    gone = DomainMetadata(domain="d", configuration="", removed=True)
    commit = decode_commit(lines((PROTOCOL, METADATA, gone)), 0, "0.json")
    assert dict(advance_state(None, [commit], 0).domains) == {}


def test_a_log_without_metadata_says_up_to_which_version() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL,), 1: (add("a"),)})
    segment = list_log(store).segment()
    with pytest.raises(CorruptTable, match="no metaData action up to version 1,") as error:
        replay_state(checkpoint_reader(store, segment), read_commits(store, segment.commits), segment.version)
    assert error.value.version == 1
    with pytest.raises(CorruptTable, match="no protocol action up to version 7,") as error:
        advance_state(None, [], 7)
    assert error.value.version == 7
