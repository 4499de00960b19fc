"""The live files of some partitions, for changes whose condition may name partition columns alone.

Protocol section: Add File and Remove File (partition values). Invariants: a condition over other columns is refused, as
statistics would only say which files may hold such a row. What is left is vetted by the engine.
"""

from __future__ import annotations

import pyarrow as pa

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.statistics.data_skipping import answerable
from explorer.core.versions.snapshot import Snapshot

__all__ = ["partition_files"]


def partition_files(where: str | None, snapshot: Snapshot) -> pa.Table:
    """The live files of the partitions that a condition names.

    Args:
        where: A boolean SQL expression over partition columns; None for all files.
        snapshot: The version.

    Returns:
        Columns of `explorer.core.protocol.logical_files.SCHEMA`.

    Raises:
        InvalidIntent: The condition names another column, or cannot be answered from partition values.
        RequestError: The text is not a condition, or names a column that the table does not have.
    """
    files = snapshot.logical_files
    if where is None:
        return files
    _, used = answerable(where, snapshot.schema, snapshot.statistics_columns)
    others = [format_column(path) for path in used if path[0] not in snapshot.partition_columns]
    if others:
        known = ", ".join(snapshot.partition_columns) or "the table has none"
        raise InvalidIntent(
            f"The condition names {', '.join(others)}, and may name partition columns alone: {known}.",
            field="where",
            column=others[0],
            allowed=list(snapshot.partition_columns),
        )
    found = snapshot.skipping(where)
    if found.unsplittable:
        raise InvalidIntent("The condition cannot be answered from partition values alone.", field="where")
    return files.filter(found.files.column("kept"))
