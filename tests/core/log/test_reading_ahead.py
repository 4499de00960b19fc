"""Commits in batches, of which the next is read while the one before is decoded."""

from __future__ import annotations

import pytest

from explorer.core.errors import VersionGap
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import read_commit_files, read_commits
from tests.support.small_logs import METADATA, PROTOCOL, add, lines, new_store, write

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


def test_a_commit_that_vanished_ends_the_reading_with_the_range_that_it_was_in() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA), **{version: (add(f"f{version}"),) for version in range(1, MANY)}})
    paths = list(list_log(store).commits.values())
    store.delete(commit_name(MANY - 1))
    with pytest.raises(VersionGap) as gap:
        list(read_commits(store, paths))
    assert (gap.value.vanished, gap.value.latest) == (True, MANY - 1)
