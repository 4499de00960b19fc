"""A data file in an object store never takes the place of another."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from explorer.data_files.file_plan import FilePlan
from explorer.data_files.file_writer import writer


def _plan(store: Any, folder: str, shown: tuple[str, ...] | None) -> FilePlan:
    return FilePlan(
        name="part-{}.parquet", folder=folder, schema=pa.schema([("id", pa.int64())]), partitions=(), shown=shown,
        rules=0, leaves=(), marks={}, codec="snappy", most_rows=10, grouped=False, new_id=lambda: "taken",
        store=store, root="t/",
    )  # fmt: skip


@pytest.mark.parametrize(("folder", "shown"), [("", None), ("_change_data/", None), ("", ())])
def test_a_name_that_is_taken_fails_and_leaves_the_object(folder: str, shown: tuple[str, ...] | None) -> None:
    store: Any = MemoryStore()
    write = writer(_plan(store, folder, shown))
    (said,) = write([pa.record_batch({"id": [1, 2]})])
    key = "t/" + said["location"][0].as_py()
    with pytest.raises(FileExistsError, match="taken"):
        list(write([pa.record_batch({"id": [3]})]))
    held = pq.read_table(pa.BufferReader(store.get(key).bytes().to_bytes()))
    assert held["id"].to_pylist() == [1, 2]
