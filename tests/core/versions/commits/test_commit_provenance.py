"""Who did what and when, out of the commits alone: it is what the history says, and needs no file action."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.core.errors import MalformedAction
from explorer.core.log.catalog_commits import CatalogCommits
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import CommitInfo, Protocol
from explorer.core.versions.commit_times import commit_time, file_times
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.provenance import PROVENANCE
from explorer.storage import open_store
from tests.core.log.test_small_actions import ROOTS
from tests.core.versions.test_kept_history import commits_read, folder, kept_in, opened
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.shared_tables import golden_root, reference_root

__all__ = ["folder"]

_PROTOCOL = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp",))
_MINUTE = 60_000


def _is_of_the_history(table: Path | str) -> int:
    found, meant = (explorer.open_table(table) for _ in range(2))
    assert found.provenance().equals(meant.history().select(PROVENANCE)), table
    return found.provenance().num_rows


@pytest.mark.parametrize("root", ROOTS)
def test_it_is_that_of_the_history_of_every_table(root: str) -> None:
    tables = (golden_root() if root == "golden" else reference_root()) / "tables"
    compared = 0
    for path in some_of(sorted(tables.iterdir()), 60):
        try:
            explorer.open_table(path).history()
        except explorer.ExplorerError:
            continue
        compared += _is_of_the_history(path) > 0
    assert compared >= 25


def _metadata(enabled: bool, since: int | None) -> Any:
    properties = {"delta.enableInCommitTimestamps": str(enabled).lower()}
    if since is not None:
        properties["delta.inCommitTimestampEnablementVersion"] = str(since)
        properties["delta.inCommitTimestampEnablementTimestamp"] = str(since * _MINUTE)
    return msgspec.structs.replace(small_logs.METADATA, configuration=properties)


_COMMIT = st.tuples(
    st.one_of(st.none(), st.integers(0, 5)),
    st.integers(0, 20),
    st.sampled_from(["", "enabled", "disabled"]),
    st.one_of(st.none(), st.just(-1), st.integers(0, 20)),
    st.booleans(),
)


@settings(max_examples=300 if WHOLE_DOSE else 60, deadline=None)
@given(commits=st.lists(_COMMIT, min_size=1, max_size=6), checkpoint=st.booleans(), gone=st.integers(0, 3))
def test_its_times_are_those_of_the_history_however_timestamps_come_and_go(
    tmp_path_factory: pytest.TempPathFactory, commits: list[Any], checkpoint: bool, gone: int
) -> None:
    """A commit enables in-commit timestamps, or disables them, and states one, or does not; it may say since when."""
    table = tmp_path_factory.mktemp("table")
    store = open_store(table)
    metadata = small_logs.METADATA
    for version, (since, minutes, change, stated, last) in enumerate(commits):
        if change:
            metadata = _metadata(change == "enabled", since)
        timestamp = None if stated is None or stated < 0 else stated * _MINUTE
        said = [] if stated is None else [CommitInfo(operation="WRITE", in_commit_timestamp=timestamp)]
        actions = [*([_PROTOCOL] if not version else []), *([metadata] if change or not version else [])]
        small_logs.write(store, {version: [*actions, *said] if last else [*said, *actions]})
        os.utime(table / commit_name(version), (minutes * 60, minutes * 60))
        if checkpoint and version == 2:
            write_checkpoint(store, version, [_PROTOCOL, metadata], "classic")
            for old in range(gone):
                (table / commit_name(old)).unlink()
    _is_of_the_history(table)


@given(st.lists(st.integers(-5, 5) | st.integers(0, 1 << 42), max_size=8))
def test_times_of_files_are_raised_all_at_once_as_they_are_one_by_one(modified: list[int]) -> None:
    meant, before = list[int](), -1
    for each in modified:
        before = commit_time(each, None, before)
        meant.append(before)
    assert file_times(np.array(modified, np.int64)).tolist() == meant


def test_the_newest_commits_come_first_and_may_be_asked_for_alone(folder: Path) -> None:
    table = explorer.open_table(folder)
    whole = table.provenance()
    assert whole.column_names == list(PROVENANCE)
    assert whole.column("version").to_pylist() == list(range(29, -1, -1))
    assert table.provenance(3).equals(whole.slice(0, 3))
    table.history()
    assert table.provenance(3).equals(whole.slice(0, 3))


def test_no_commit_is_read_whole_and_none_again(folder: Path) -> None:
    store = FaultyStore(open_store(folder))
    log = DeltaLog(store)
    first = log.provenance()
    read = [each for each in store.requests if each.startswith("read ") and "_last" not in each]
    # The first commit says nothing of itself, which only its whole file shows.
    assert read == ["read starts of 30", "read 1"]
    asked = len(store.requests)
    assert log.provenance(5).equals(first.slice(0, 5))
    assert len(store.requests) == asked


def test_new_commits_are_in_it_after_a_look_for_them(folder: Path) -> None:
    table = explorer.open_table(folder)
    assert table.provenance().num_rows == 30
    small_logs.write_log(folder, [[small_logs.commit_info("LATER")]], 30)
    assert table.provenance().num_rows == 30
    table.refresh()
    assert table.provenance(1).column("operation").to_pylist() == ["LATER"]


def test_what_is_kept_of_the_history_says_it_without_a_commit(folder: Path, tmp_path: Path) -> None:
    indexes = kept_in(tmp_path / "kept")
    opened(folder, indexes)[0].history()
    table, store = opened(folder, indexes)
    found = table.provenance()
    assert (commits_read(store), [each for each in store.requests if "starts" in each]) == (0, [])
    assert found.equals(explorer.open_table(folder).history().select(PROVENANCE))
    small_logs.write_log(folder, [[small_logs.commit_info("LATER"), small_logs.add("new", 1)]], 30)
    later, _ = opened(folder, indexes)
    assert later.provenance().equals(explorer.open_table(folder).history().select(PROVENANCE))


def test_what_is_wrong_behind_the_first_line_is_found_by_what_reads_it(tmp_path: Path) -> None:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    small_logs.write_log(tmp_path, [created, [small_logs.commit_info("WRITE")]])
    commit = tmp_path / commit_name(1)
    commit.write_bytes(commit.read_bytes() + b"{\n")
    table = explorer.open_table(tmp_path)
    assert table.provenance().column("operation").to_pylist() == ["WRITE", "CREATE TABLE"]
    with pytest.raises(MalformedAction):
        table.history()
    assert [problem.kind for problem in table.verify().problems] == ["unreadable-commit"]


def test_commits_that_a_catalog_ratified_are_in_it(tmp_path: Path) -> None:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    small_logs.write_log(tmp_path, [created])
    given = small_logs.lines([small_logs.commit_info("WRITE", user_metadata="m" * 3_000)])
    short = small_logs.lines([small_logs.commit_info("MERGE")])
    table = explorer.open_table(tmp_path, catalog=CatalogCommits(2, {1: given, 2: short}))
    assert table.provenance().column("operation").to_pylist() == ["MERGE", "WRITE", "CREATE TABLE"]
