"""Versions that both a vacuum and a cleanup of the log may take are named, whichever comes first."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import explorer
from explorer.storage import open_store
from tests.support.logs.small_logs import PROTOCOL, add, metadata, remove, write

DAY = 86_400


@pytest.mark.parametrize("kept", ["interval 1 days", "interval 5 days", "interval 30 days"])
def test_a_vacuum_that_is_due_is_named_where_the_cleanup_of_the_log_was_due_before(tmp_path: Path, kept: str) -> None:
    store = open_store(tmp_path / "table")
    write(
        store, {0: (PROTOCOL, metadata({"id": "long"}, configuration={"delta.logRetentionDuration": kept}), add("a"))}
    )
    write(store, {1: (remove("a", deletion_timestamp=int((time.time() - 10 * DAY) * 1000)), add("b"))})
    store.put("a", b"rows")
    store.put("b", b"rows")
    opened = explorer.Table(store)
    opened.commit(opened.plan({"kind": "checkpoint"}))
    for file in (tmp_path / "table" / "_delta_log").iterdir():
        os.utime(file, (time.time() - 20 * DAY,) * 2)
    (finding,) = (each for each in explorer.Table(store).audit().findings if each.rule == "versions-at-risk")
    assert finding.title == "A vacuum would now delete the data of 1 version"
    assert (finding.versions, finding.files) == (((0, 0),), 1)
