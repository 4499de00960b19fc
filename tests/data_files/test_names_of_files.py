"""Names of data files: each write has its own, and no file is written over."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pyarrow as pa
import pytest

from explorer.core.transaction.new_files.layout import FileLayout
from explorer.data_files.file_plan import file_plan
from explorer.data_files.in_memory_rows import write_rows
from explorer.storage import open_store
from tests.support.logs import small_logs

ROWS = pa.table({"p": ["a", "a", "b"], "id": pa.array([1, 2, 3], pa.int64())})
GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture
def layout() -> FileLayout:
    described = small_logs.metadata({"p": "string", "id": "long"}, ["p"])
    return FileLayout.of(small_logs.table({0: [small_logs.PROTOCOL, described]}).snapshot())


@pytest.mark.conformance("PATH-007")
@pytest.mark.parametrize("changes", [False, True], ids=["data", "change data"])
@pytest.mark.parametrize("in_memory", [False, True], ids=["folder", "store"])
def test_equal_rows_that_are_written_again_go_into_files_of_other_names(
    tmp_path: Path, layout: FileLayout, in_memory: bool, changes: bool
) -> None:
    store = small_logs.new_store() if in_memory else open_store(tmp_path)
    rows = ROWS.append_column("_change_type", pa.array(["insert"] * 3)) if changes else ROWS
    seen: dict[str, bytes] = {}
    for time in (1, 2, 3):
        made = [file.location for file in write_rows(store, layout, file_plan(layout, changes=changes), rows).files]
        assert len(set(made)) == 2
        assert not seen.keys() & set(made)
        assert all(GUID.search(location) for location in made)
        seen |= {location: store.read(location) for location in made}
        assert len(seen) == 2 * time
    assert {location: store.read(location) for location in seen} == seen, "what was written first is as it was"


@pytest.mark.conformance("PATH-007")
def test_a_name_that_is_taken_makes_the_write_fail_and_leaves_the_file_as_it_is(
    tmp_path: Path, layout: FileLayout
) -> None:
    store = open_store(tmp_path)
    plan = dataclasses.replace(file_plan(layout), new_id=lambda: "taken")
    made = [file.location for file in write_rows(store, layout, plan, ROWS).files]
    before = {location: store.read(location) for location in made}
    with pytest.raises(Exception, match="exists") as caught:
        write_rows(store, layout, plan, ROWS.slice(1))
    assert "taken" in str(caught.value)
    assert {location: store.read(location) for location in made} == before
