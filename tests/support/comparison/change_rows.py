"""Change rows read from the files that the core names, with PyArrow alone: what a feed says, to compare with others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import explorer
from explorer.core.protocol.actions import DeletionVectorDescriptor
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.partition_values import parse_partition_value
from explorer.core.versions.change_feed.feed import ChangeSources
from explorer.core.versions.change_feed.sources import masked_difference

Row = tuple[Any, ...]


def change_rows(table: explorer.Table, root: Path, sources: ChangeSources) -> Iterator[Row]:
    """The rows of a range: the table's columns in schema order, then ``_change_type`` and ``_commit_version``."""
    snapshot = table.snapshot(sources.schema_version)
    for source in sources.files.to_pylist(maps_as_pydicts="strict"):
        for row, kind in _rows(table, snapshot, root, source):
            yield (*row, kind, source["version"])


def table_rows(table: explorer.Table, root: Path, version: int, schema_version: int) -> Iterator[Row]:
    """The rows of a version, shown with the schema of another."""
    snapshot = table.snapshot(schema_version)
    for file in table.snapshot(version).logical_files.to_pylist(maps_as_pydicts="strict"):
        for row, _ in _rows(table, snapshot, root, file | {"kind": "insert", "before_dv_storage_type": None}):
            yield row


def _rows(
    table: explorer.Table, snapshot: explorer.Snapshot, root: Path, source: dict[str, Any]
) -> Iterator[tuple[Row, str]]:
    data = pq.ParquetFile(root / source["path"]).read()
    columns = [_column(snapshot, field, source, data) for field in snapshot.schema.fields]
    for kind, places in _chosen(table, source, data):
        for place in places:
            kept = kind if kind is not None else data.column("_change_type")[place].as_py()
            yield tuple(column[place] for column in columns), kept


def content_hash(rows: Sequence[Row]) -> str:
    """The hash that the reference's README defines, for integers, strings and nulls."""
    lines = sorted(
        json.dumps([_plain(value) for value in row], ensure_ascii=False, separators=(",", ":")) for row in rows
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return f"s:{value}" if isinstance(value, str) else value


def _column(snapshot: explorer.Snapshot, field: Any, source: dict[str, Any], data: pa.Table) -> list[Any]:
    if field.name in snapshot.partition_columns:
        text = source["partition_values"].get(field.physical_name)
        return [parse_partition_value(text, field.type, field.name)] * data.num_rows
    name = field.name if snapshot.column_mapping_mode == "none" else field.physical_name
    found = data.column_names.index(name) if name in data.column_names else None
    return [None] * data.num_rows if found is None else data.column(found).to_pylist()


def _chosen(table: explorer.Table, source: dict[str, Any], data: pa.Table) -> Iterator[tuple[str | None, list[int]]]:
    after, before = _vector(source, ""), _vector(source, "before_")
    match source["kind"]:
        case "cdc":
            yield None, list(range(data.num_rows))
        case "difference":
            deleted, inserted = masked_difference(table.store, before, after)
            yield "delete", deleted.astype(np.int64).tolist()
            yield "insert", inserted.astype(np.int64).tolist()
        case kind:
            masked = set() if after is None else set(read_rows(table.store, after).astype(np.int64).tolist())
            yield kind, [place for place in range(data.num_rows) if place not in masked]


def _vector(source: dict[str, Any], prefix: str) -> DeletionVectorDescriptor | None:
    if source[f"{prefix}dv_storage_type"] is None:
        return None
    names = ("dv_storage_type", "dv_path_or_inline", "dv_size_in_bytes", "dv_cardinality", "dv_offset")
    return DeletionVectorDescriptor(*(source[prefix + name] for name in names))
