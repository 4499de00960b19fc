"""Hints at the newest checkpoint that no reader can use, and that name a version which the log lost all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.core.errors import VersionGap
from explorer.core.log.last_checkpoint import hinted_version, parse_last_checkpoint
from explorer.core.log.log_path import LAST_CHECKPOINT, commit_name
from explorer.core.log.verify.integrity import verify
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, paths, write

NAMING = {
    "cut off": b'{"version":5,"size":4,"numOfAdd',
    "a text for the number": b'{"version":"5","size":4}',
    "a byte-order mark": b'\xef\xbb\xbf{"version":5,"size":4}',
    "a key twice": b'{"version":5,"version":5,"size":4}',
    "a fraction": b'{ "version" : 5.0 }',
}
SILENT = {
    "a false checksum": b'{"version":5,"size":4,"checksum":"00000000000000000000000000000000"}',
    "nothing": b"",
    "another member": b'{"lastVersion":5,"size":4}',
    "no number": b'{"version":true}',
    "a power": b'{"version":5e0,"size":4}',
    "a number beyond 64 bits": b'{"version":99999999999999999999999,"size":4}',
    "an older version": b'{"version":1,"size":',
}
DESCRIPTION = {"kind": "set-description", "description": "x"}


def _log(folder: Path, hint: bytes) -> LogStore:
    store = open_store(folder)
    write(store, {0: (PROTOCOL, METADATA, add("a")), 1: (add("b"),), 2: (add("c"),)})
    store.put(LAST_CHECKPOINT, hint)
    return store


@pytest.mark.parametrize("shape", NAMING)
def test_a_malformed_hint_names_the_version_that_was_lost(tmp_path: Path, shape: str) -> None:
    store = _log(tmp_path, NAMING[shape])
    assert parse_last_checkpoint(NAMING[shape]) is None
    table = explorer.Table(store)
    with pytest.raises(VersionGap, match="names version 5 in _delta_log/_last_checkpoint"):
        table.snapshot()
    with pytest.raises(VersionGap, match="Restore the missing log files"):
        table.plan(DESCRIPTION)
    assert commit_name(3) not in set(store.list_tree())
    assert paths(table.snapshot(2)) == {("a", None), ("b", None), ("c", None)}
    assert "lost-version" in {each.kind for each in verify(store).problems if each.breaking}
    assert table.audit().findings[0].rule == "unreadable-log"


@pytest.mark.parametrize("shape", SILENT)
def test_a_hint_that_names_no_newer_version_is_passed_over(tmp_path: Path, shape: str) -> None:
    store = _log(tmp_path, SILENT[shape])
    assert explorer.Table(store).snapshot().version == 2
    assert {each.kind for each in verify(store).problems} == {"unusable-hint"}


def test_a_valid_hint_names_its_version() -> None:
    assert hinted_version(b'{"size":4,"tags":{"version":"7"},"version":3}') == 3
