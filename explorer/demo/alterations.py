"""ALTER TABLE in the demo: intents, and what they do to the rows that a reader should see."""

from __future__ import annotations

import pyarrow as pa

from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.schema.data_types import DataType, type_name
from explorer.demo.provenance import Provenance
from explorer.demo.writer import TableWriter

__all__ = ["add_column", "drop_column", "rename_column"]


def rename_column(table: TableWriter, by: Provenance, old: str, new: str) -> None:
    """Rename a column at the top level."""
    names = [new if name == old else name for name in table.rows.column_names]
    table.alter(by, {"kind": "rename-column", "column": old, "to": new}, table.rows.rename_columns(names))


def add_column(table: TableWriter, by: Provenance, name: str, kind: DataType, comment: str) -> None:
    """Add a column at the end."""
    field = {"name": name, "type": type_name(kind), "nullable": True, "metadata": {"comment": comment}}
    nulls = pa.nulls(table.rows.num_rows, to_arrow(kind))
    rows = table.rows.append_column(pa.field(name, to_arrow(kind)), nulls)
    table.alter(by, {"kind": "add-columns", "fields": [field]}, rows)


def drop_column(table: TableWriter, by: Provenance, name: str) -> None:
    """Drop a column: the files keep the data, nobody reads it."""
    table.alter(by, {"kind": "drop-columns", "columns": [name]}, table.rows.drop_columns([name]))
