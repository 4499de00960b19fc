"""A look at the folder: checksums whose file stays anyway or that the log names, and change files that are links."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import AddCDCFile
from explorer.storage import open_store
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, remove, write

FEED = msgspec.structs.replace(METADATA, configuration={"delta.enableChangeDataFeed": "true"})


def test_a_checksum_goes_with_its_file_alone_and_one_that_the_log_names_is_hidden_as_any_file_is() -> None:
    store = new_store()
    write(store, {0: [PROTOCOL, METADATA, add("a"), add(".named.crc"), add(".left.crc")], 1: [remove(".left.crc")]})
    for name in ("a", "named", "left", "stray", "_kept/b"):
        folder, slash, last = name.rpartition("/")
        store.put(name, b"x")
        store.put(f"{folder}{slash}.{last}.crc", b"x")
    files = explorer.Table(store).folder().files
    assert {row["path"]: row["state"] for row in files.to_pylist()} == {
        "a": "live",
        ".a.crc": "live",
        "named": "orphan",
        "left": "orphan",
        "stray": "orphan",
        ".stray.crc": "orphan",
    }


def test_changes_in_a_file_that_is_a_link_count_as_old_once_the_commit_is(tmp_path: Path) -> None:
    root = tmp_path / "table"
    store = open_store(root)
    linked, beside = (AddCDCFile(path=f"_change_data/{name}", partition_values={}, size=1) for name in ("link", "file"))
    write(store, {0: [PROTOCOL, FEED], 1: [linked], 2: [linked, beside]})
    (tmp_path / "elsewhere").write_bytes(b"x")
    store.put("_change_data/file", b"x")
    os.utime(root / "_change_data" / "file", (70, 70))
    (root / "_change_data" / "link").symlink_to(tmp_path / "elsewhere")
    for version, time in {1: 0, 2: 40}.items():
        os.utime(root / commit_name(version), (time, time))
    look = explorer.open_table(root).folder()
    assert look.changes == {1: 0, 2: 40_000}, "a listing leaves out links, so that the time of one is not known"
