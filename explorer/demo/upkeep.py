"""ALTER TABLE and VACUUM in the demo: intents with the rows that a reader should see, and deleted data files."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import pyarrow as pa

from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.schema.data_types import DataType, type_name
from explorer.core.protocol.times import milliseconds
from explorer.core.transaction.proposal import Proposal
from explorer.demo.provenance import DemoProvenance
from explorer.demo.writer import TableWriter

_WEEK: Final = 7 * 24 * 3600 * 1000


def rename_column(table: TableWriter, by: DemoProvenance, old: str, new: str) -> None:
    """Rename a column at the top level."""
    names = [new if name == old else name for name in table.rows.column_names]
    table.alter(by, {"kind": "rename-column", "column": old, "to": new}, table.rows.rename_columns(names))


def add_column(table: TableWriter, by: DemoProvenance, name: str, kind: DataType, comment: str) -> None:
    """Add a column at the end."""
    field = {"name": name, "type": type_name(kind), "nullable": True, "metadata": {"comment": comment}}
    nulls = pa.nulls(table.rows.num_rows, to_arrow(kind))
    rows = table.rows.append_column(pa.field(name, to_arrow(kind)), nulls)
    table.alter(by, {"kind": "add-columns", "fields": [field]}, rows)


def drop_column(table: TableWriter, by: DemoProvenance, name: str) -> None:
    """Drop a column: the files keep its data, and readers ignore it."""
    table.alter(by, {"kind": "drop-columns", "columns": [name]}, table.rows.drop_columns([name]))


def vacuum(table: TableWriter, by: DemoProvenance) -> None:
    """Delete the data files that left the table more than a week ago; commit VACUUM START and VACUUM END."""
    live = {file.path for file in table.live()}
    expired = [
        table.folder / path
        for path, time in table.removed.items()
        if time < milliseconds(by.at) - _WEEK and path not in live
    ]
    size = sum(path.stat().st_size for path in expired)
    start = {"retentionCheckEnabled": True, "defaultRetentionMillis": _WEEK}
    table.commit(by, _step("VACUUM START", start, numFilesToDelete=len(expired), sizeOfDataToDelete=size))
    for path in expired:
        path.unlink()
    after = DemoProvenance(by.at + timedelta(seconds=4), by.user, by.engine)
    status = {"status": "COMPLETED"}
    table.commit(after, _step("VACUUM END", status, numDeletedFiles=len(expired), numVacuumedDirectories=1))


def _step(operation: str, parameters: dict[str, Any], **metrics: int) -> Proposal:
    counts = {name: str(count) for name, count in metrics.items()}
    return Proposal(operation=operation, parameters=parameters, metrics=counts, isolation="SnapshotIsolation")
