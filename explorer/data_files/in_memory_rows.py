"""Rows in memory written as files of a table, without Spark.

Protocol sections: Data Files, Add CDC File. Invariants: the rows of a partition lie together, partitions in the order
in which they first appear, and rows in theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.data_files.file_plan import CHANGE_TYPE, FilePlan, held_fields
from explorer.data_files.file_writer import writer
from explorer.data_files.written_files import WrittenFiles, write_files


def write_rows(store: LogStore, layout: FileLayout, plan: FilePlan, rows: pa.Table) -> WrittenFiles:
    """Write rows as files of a table.

    Args:
        plan: `explorer.data_files.file_plan.file_plan` of this layout, without rules and groups.
        rows: A column for each field of the schema, by logical name, of its type; for change files `CHANGE_TYPE` too.
    """
    assert not plan.rules, "rows in memory are not judged"
    assert not plan.grouped, "rows in memory are not grouped"
    partitions = list(layout.metadata.partition_columns)
    stored = [field.name for field in held_fields(layout, changes=plan.changes)]
    names = [*stored, *([CHANGE_TYPE] if plan.changes else []), *partitions]
    arranged = rows.take(pa.array(_order([rows.column(name) for name in partitions]))) if partitions else rows
    chosen = pa.Table.from_arrays(
        [arranged.column(name) for name in names], names=list(map(str, range(len(names))))
    ).combine_chunks()
    return write_files(
        store,
        plan,
        lambda placed: [file for report in writer(placed)(chosen.to_batches()) for file in report.to_pylist()],
    )


def _order(columns: Sequence[pa.ChunkedArray]) -> npt.NDArray[np.int64]:
    """Return the places of rows with equal values together, in the order in which the values first appear."""
    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        own = column.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        codes = codes * (len(codes) + 1) + own
        _, codes = np.unique(codes, return_inverse=True)
    _, first, groups = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(first[groups], kind="stable")
