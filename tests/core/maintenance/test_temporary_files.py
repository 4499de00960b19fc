"""Temporary files of writers that were stopped are told from everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.core.maintenance.folder_listing import is_leftover
from explorer.storage import open_store
from tests.support.logs.small_logs import METADATA, PROTOCOL, table

LEFT = [
    "_delta_log/.00000000000000000001.json.0123456789abcdef.tmp",
    "_delta_log/_sidecars/.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet.0123456789abcdef.tmp",
    "_delta_log/.00000000000000000001.json.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.tmp",
    "_delta_log/.00000000000000000001.json.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.tmp.crc",
    "_delta_log/_commit_3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json.tmp",
    "p=1/.part-00000.parquet.0123456789abcdef.tmp",
]
KEPT = [
    "_delta_log/00000000000000000001.json",
    "_delta_log/.00000000000000000001.json.crc",
    "_delta_log/00000000000000000001.json.tmp",
    "part-00000.tmp.parquet",
    "p=.x.0123456789abcdef.tmp/part-00000.parquet",
    ".part-00000.parquet.crc",
]


@pytest.mark.parametrize("key", LEFT)
def test_what_writers_leave(key: str) -> None:
    assert is_leftover(key)


@pytest.mark.parametrize("key", KEPT)
def test_what_is_no_leftover(key: str) -> None:
    assert not is_leftover(key)


def test_a_table_lists_them_with_size_and_time(tmp_path: Path) -> None:
    store = open_store(tmp_path / "table")
    found = table({0: (PROTOCOL, METADATA)}, store)
    assert found.leftovers().num_rows == 0
    for key in (*LEFT, *KEPT[1:]):
        store.put(key, b"12345")
    listed = found.leftovers()
    assert listed.column("path").to_pylist() == sorted(LEFT)
    assert set(listed.column("size").to_pylist()) == {5}
    assert listed.column("modified").null_count == 0
    assert found.latest_version() == 0
