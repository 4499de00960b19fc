"""Rows about versions that begin later than the log, or than the table: each is of the version that it names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Protocol
from explorer.core.versions.provenance import CommitRecord
from explorer.core.versions.retention import version_states
from explorer.core.versions.retention.expiry import FOREVER
from explorer.core.versions.retention.readable_until import feed_readable_until
from tests.support.comparison.audited_tables import NOW
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import begun_late, write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add

FED = Protocol(min_reader_version=1, min_writer_version=4)
ON = small_logs.metadata({"id": "long"}, (), {"delta.enableChangeDataFeed": "true"})


def _never(record: CommitRecord) -> tuple[int, bool]:
    raise AssertionError(f"version {record.version} has no change files")


@pytest.mark.parametrize("lost", ["", "early", "late"])
def test_a_file_of_a_version_that_cannot_be_read_ends_the_changes_of_no_other(lost: str) -> None:
    """The commit of version 1 is there, but no version before 2 can be read: only version 3 has changes, in `late`."""
    live: list[Any] = [FED, ON, add("first"), add("early")]
    commits: dict[int, list[Any]] = {0: [FED, ON, add("first")], 1: [add("early")], 2: [], 3: [add("late")]}
    history = begun_late(commits, 2, live, gone=1).history_record()
    life = history.lifetimes
    paths: list[str] = life.take(np.arange(len(life.added)), ["path"]).column(0).to_pylist()
    assert set(paths) == {"early", "first", "late"}
    until = np.array([{"first": 40, "early": 50, "late": 60}[path] for path in paths], np.int64)
    found = feed_readable_until(history, until, np.array([path == lost for path in paths]), _never)
    assert found.versions.tolist() == [2, 3]
    assert found.until.tolist() == [FOREVER, 60]
    assert found.lost.tolist() == [False, lost == "late"]


def test_where_only_some_old_versions_have_a_row_each_row_has_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the versions before 5, which is the first that can be read, only the last two have a row."""
    monkeypatch.setattr(version_states, "_MOST_LOST", 2)
    store = small_logs.new_store()
    adds = [add(f"{version}") for version in range(7)]
    small_logs.write(store, {0: [PROTOCOL, METADATA, adds[0]], **{version: [adds[version]] for version in range(1, 7)}})
    write_checkpoint(store, 5, [PROTOCOL, METADATA, *adds[:6]], "classic")
    for version in range(3):
        store.delete(commit_name(version))
    for version in range(7):
        store.put(f"{version}", b"x")
    found = explorer.Table(store).retention(NOW)
    assert found.column("version").to_pylist() == [3, 4, 5, 6]
    assert found.column("status").to_pylist() == ["log gone", "log gone", "readable", "readable"]
