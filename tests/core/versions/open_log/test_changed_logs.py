"""Logs that lose and regain files while they are open: listing and history answer as a log that is opened anew."""

from __future__ import annotations

import pytest

from explorer.core.errors import VersionGap
from explorer.core.log.log_path import commit_name
from explorer.core.versions.delta_log import DeltaLog
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, write

STAGED = "_delta_log/_staged_commits/{:020d}.0f8fad5b-d9cb-469f-a165-70867728950e.json"


def test_a_version_that_other_files_named_is_read_once_its_commit_is_there() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA), 1: (add("1"),), 2: (add("2"),)})
    store.put(STAGED.format(4), b"{}")
    found = DeltaLog(store)
    found.outdate()
    with pytest.raises(VersionGap):
        found.version_range()
    write(store, {3: (add("3"),)})
    found.refresh()
    assert (found.version_range(), list(found.listing.commits)) == ((0, 3), [0, 1, 2, 3])
    assert found.history().num_rows == 4


def test_a_history_has_the_commits_that_the_listing_has() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA)} | {version: (add(f"{version}"),) for version in range(1, 5)})
    found = DeltaLog(store)
    assert found.history().num_rows == 5
    lost = store.read(commit_name(2))
    store.delete(commit_name(2))
    found.refresh()
    for question in (found.version_range, found.history, found.provenance, found.version_risks):
        with pytest.raises(VersionGap):
            question()
    store.put(commit_name(2), lost)
    found.refresh()
    assert (found.version_range(), found.history().num_rows, found.provenance().num_rows) == ((0, 4), 5, 5)
