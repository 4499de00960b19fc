"""Objects read by ranges as files: like the bytes in memory, and on several threads at once."""

from __future__ import annotations

import io
import random
import sys
import time
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.protocol.arrow.row_groups import RowGroups
from explorer.core.protocol.arrow.threads import in_parallel
from explorer.storage.ranged_file import ranged_file
from tests.support.at_least_one import at_least_one

ROUNDS = 40


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Many threads that take turns as often as they can."""
    processors, pace = pa.cpu_count(), sys.getswitchinterval()
    pa.set_cpu_count(16)
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(pace)
    pa.set_cpu_count(processors)


def test_reads_like_a_file_in_memory() -> None:
    data = bytes(range(256)) * 40
    ours, theirs = ranged_file(lambda start, end: data[start:end], len(data)), io.BytesIO(data)
    for place, length in ((0, 10), (5_000, 4_000), (len(data) - 3, 10), (len(data), 5), (0, -1)):
        assert ours.seek(place) == theirs.seek(place)
        assert ours.read(length) == theirs.read(length)
        assert ours.tell() == theirs.tell()
    assert ours.seek(-7, io.SEEK_END) == theirs.seek(-7, io.SEEK_END)


@pytest.mark.usefixtures("hasty_threads")
def test_row_groups_are_read_on_many_threads_while_others_open_the_file() -> None:
    kept = io.BytesIO()
    rows = pa.table({"a": list(range(4_000)), "b": [str(n) * 50 for n in range(4_000)]})
    pq.write_table(rows, kept, row_group_size=100)
    data = kept.getvalue()

    def fetch(start: int, end: int) -> bytes:
        time.sleep(0.0002)
        return data[start:end]

    for _ in at_least_one(range(ROUNDS)):
        groups = RowGroups(lambda: pa.PythonFile(ranged_file(fetch, len(data)), mode="r"))
        tables = in_parallel(partial(groups.read, columns=["a", "b"], alone=False), list(range(groups.count)))
        assert pa.concat_tables(tables).equals(rows)


def test_columns_that_lie_side_by_side_are_not_asked_for_one_by_one() -> None:
    kept = io.BytesIO()
    names = ("a", "b", "c", "d")
    rows = pa.table({name: random.Random(name).choices(range(10**9), k=400_000) for name in names})
    pq.write_table(rows, kept, compression="none", use_dictionary=False)
    data, asked = kept.getvalue(), list[range]()

    def fetch(start: int, end: int) -> bytes:
        asked.append(range(start, end))
        return data[start:end]

    groups = RowGroups(lambda: pa.PythonFile(ranged_file(fetch, len(data)), mode="r"))
    asked.clear()
    assert groups.read(0, ["b", "c"], alone=False).equals(rows.select(["b", "c"]))
    # A column is a quarter of the file; the file is fetched in whole blocks, so that the end of both comes apart.
    assert len(asked[0]) > len(data) // 3
    assert len(asked) == 2
