"""Rewrite files without some of their rows: Spark reads the rows that stay, and new files hold them.

Invariants: the rows of one file stay together and in their partition; ids that row tracking gave them go with them
(ROWTRACK-003) in the materialised columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.new_files.rewrite import Rewrite, Touched
from explorer.spark.scan.scan import scan

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["rewritten"]


def rewritten(
    log: DeltaLog, snapshot: Snapshot, touched: Sequence[Touched], where: str, layout: FileLayout, *, recorded: bool
) -> dict[str, Rewrite]:
    """Write the rows that stay of some files.

    Args:
        log: The table's log.
        snapshot: The version.
        touched: The files; of one that keeps no row only the deleted rows are written.
        where: What is deleted.
        layout: The layout of the table's files.
        recorded: Record the deleted rows as change data.

    Returns:
        What replaces each file, by its path in the log.
    """
    tracking = snapshot.row_tracking
    extra = (tracking.row_id_column, tracking.row_commit_version_column) if tracking.enabled else (None, None)
    stay = f"NOT coalesce((\n{where}\n), false)"
    made = {}
    for file in touched:
        files = _only(snapshot.logical_files, file.add.path)
        changes = []
        if recorded:
            gone = scan(log, snapshot, files, where).to_arrow()
            changes = list(layout.change_files(gone, "delete"))
        if file.is_emptied:
            made[file.add.path] = Rewrite((), tuple(changes), 0)
            continue
        kept = scan(log, snapshot, files, stay, row_identity=tracking.enabled).to_arrow()
        names = []
        if extra[0] is not None and extra[1] is not None:
            kept = kept.rename_columns(
                [{"_row_id": extra[0], "_row_commit_version": extra[1]}.get(n, n) for n in kept.column_names]
            )
            names = [extra[0], extra[1]]
        new = tuple(layout.files(kept, extra=names, rows_per_file=max(1, kept.num_rows)))
        made[file.add.path] = Rewrite(new, tuple(changes), kept.num_rows)
    return made


def _only(files: pa.Table, path: str) -> pa.Table:
    return files.slice(files.column("raw_path").to_pylist().index(path), 1)
