"""One open checkpoint file, read by several threads at once."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.protocol.arrow.row_groups import RowGroups

_GROUPS, _ROWS = 2, 3
_COLUMNS = ("first", "second", "third")


def test_threads_that_read_one_file_do_not_disturb_each_other() -> None:
    """Arrow's readers are not made for it: where threads share one, the process crashes within a few hundred turns."""
    rows = range(_GROUPS * _ROWS)
    table = pa.table({column: pa.array([f"{column} {row}" for row in rows]) for column in _COLUMNS})
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=_ROWS)

    def agrees(groups: RowGroups, turn: int) -> bool:
        group, column = turn % _GROUPS, _COLUMNS[turn % len(_COLUMNS)]
        read = groups.read(group, [column], alone=False)
        (batch,) = groups.batches(group, _ROWS, [column])
        wanted = table.column(column).slice(group * _ROWS, _ROWS)
        return bool(read.column(column).equals(wanted)) and bool(pa.chunked_array(batch.columns).equals(wanted))

    with ThreadPoolExecutor(4) as pool:
        for _ in range(500):
            groups = RowGroups(pa.BufferReader(file.getvalue()))
            assert list(pool.map(agrees, [groups] * 12, range(12))) == [True] * 12
