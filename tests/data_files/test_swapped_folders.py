"""A folder of a table that becomes a link after it was checked, while a data file is made in it."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from explorer.core.errors import NotAllowed
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.data_files.file_plan import file_plan
from explorer.data_files.rows_at_hand import write_rows
from explorer.storage import open_store
from explorer.storage.roots import AllowedRoots
from tests.support.logs import small_logs


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux names what is open")
def test_no_data_file_is_made_behind_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, outside = tmp_path / "served" / "t", tmp_path / "outside"
    for folder in (table / "p=a", outside):
        folder.mkdir(parents=True)
    described = small_logs.metadata({"p": "string", "id": "long"}, ["p"])
    layout = FileLayout.of(small_logs.table({0: [small_logs.PROTOCOL, described]}).snapshot())
    store = open_store(table, roots=AllowedRoots(tmp_path / "served"))
    makedirs: Callable[..., None] = os.makedirs

    def then_swapped(folder: str, exist_ok: bool = False) -> None:
        makedirs(folder, exist_ok=exist_ok)
        if (table / "p=a").is_dir() and not (table / "p=a").is_symlink():
            (table / "p=a").rmdir()
            (table / "p=a").symlink_to(outside)

    monkeypatch.setattr(os, "makedirs", then_swapped)
    rows = pa.table({"p": ["a"], "id": pa.array([1], pa.int64())})
    with pytest.raises(NotAllowed, match="a link in the table's folder leads out"):
        write_rows(store, layout, dataclasses.replace(file_plan(layout)), rows)
    assert list(outside.iterdir()) == []
