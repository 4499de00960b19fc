"""Of the tombstones of a checkpoint only the paths are held, however large the files were; of its live files the sizes
too."""

from __future__ import annotations

import io
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log.checkpoint.parquet_part import CheckpointPart
from explorer.core.protocol.arrow.row_groups import RowGroups

PATHS = [f"part-{number:05}.parquet" for number in range(64)]


def _part(action: Literal["add", "remove"], *, sized: bool) -> CheckpointPart:
    """64 files, with their sizes or without the column of sizes."""
    sizes = {"size": pa.array(range(64), pa.int64())} if sized else {}
    members = {"path": pa.array(PATHS), **sizes}
    sink = io.BytesIO()
    rows = pa.StructArray.from_arrays(list(members.values()), names=list(members))
    pq.write_table(pa.table({action: rows}), sink)
    file = RowGroups(lambda: pa.BufferReader(sink.getvalue()))
    return CheckpointPart(file, lambda error: IncompleteCheckpoint(str(error)), action)


@pytest.mark.parametrize("action", ["add", "remove"])
def test_sizes_are_held_of_live_files_alone(action: Literal["add", "remove"]) -> None:
    bare, sized = _part(action, sized=False), _part(action, sized=True)
    more = sized.num_bytes - bare.num_bytes
    assert more >= 64 * 8 if action == "add" else more == 0
    for part, sizes in ((bare, [None] * 64), (sized, list(range(64)))):
        assert part.num_rows == 64
        ((paths,), (found,)) = part.chunks(["path", "size"])
        assert (paths.to_pylist(), found.to_pylist()) == (PATHS, sizes)
