"""Small Delta tables by hand: real Parquet files, and a log that says of them what the scenario needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.protocol.actions import Action, Add, DeletionVectorDescriptor, Metadata, Protocol
from explorer.core.protocol.deletion_vectors import encode_bitmap, z85_encode
from tests.support.logs.small_logs import write_log


def column(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    """A field of a schemaString."""
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    """A struct type of a schemaString."""
    return {"type": "struct", "fields": list(fields)}


def masking(rows: Iterable[int]) -> DeletionVectorDescriptor:
    """A deletion vector's descriptor that holds its own bytes."""
    masked = np.array(sorted(rows), dtype=np.uint64)
    data = encode_bitmap(masked)
    return DeletionVectorDescriptor("i", z85_encode(data), len(data), len(masked))


def inline_vector(masked: Iterable[int]) -> dict[str, Any]:
    """The same as it is in the log."""
    found: dict[str, Any] = msgspec.to_builtins(masking(masked))
    return found


@dataclass(frozen=True)
class DataFile:
    """One file of a table; ``path`` is the name on disk, encoded for the log unless ``logged`` says it otherwise."""

    path: str
    rows: pa.Table
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    masked: Sequence[int] = ()
    logged: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    base_row_id: int | None = None
    commit_version: int | None = None


def write_table(
    root: Path,
    fields: Sequence[dict[str, Any]],
    files: Sequence[DataFile],
    partition_columns: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
    *,
    writer_features: Sequence[str] = (),
) -> Path:
    """Write the table with one commit, and return its root."""
    features = ("columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "variantType")
    actions: list[Action] = [
        Protocol(
            min_reader_version=3,
            min_writer_version=7,
            reader_features=features,
            writer_features=(*features, *writer_features),
        ),
        Metadata(
            id="8d2f4f0e-2a53-4b55-9a4e-111111111111",
            schema_string=json.dumps(struct(*fields)),
            partition_columns=tuple(partition_columns),
            configuration=dict(configuration or {}),
            created_time=1_700_000_000_000,
        ),
    ]
    for file in files:
        target = root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(file.rows, target, **file.options)
        actions.append(
            Add(
                path=file.logged if file.logged is not None else quote(file.path, safe="/"),
                partition_values=dict(file.partition_values),
                size=target.stat().st_size,
                modification_time=1_700_000_000_000,
                stats=json.dumps({"numRecords": file.rows.num_rows}),
                base_row_id=file.base_row_id,
                default_row_commit_version=file.commit_version,
                deletion_vector=masking(file.masked) if file.masked else None,
            )
        )
    return write_log(root, [actions])
