"""Small Delta tables by hand: real Parquet files, and a log with whatever the scenario needs said in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.protocol.deletion_vectors import encode_bitmap, z85_encode


def column(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    """A field of a schemaString."""
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    """A struct type of a schemaString."""
    return {"type": "struct", "fields": list(fields)}


def inline_vector(masked: Iterable[int]) -> dict[str, Any]:
    """A deletion vector's descriptor that holds its own bytes."""
    rows = np.array(sorted(masked), dtype=np.uint64)
    data = encode_bitmap(rows)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85_encode(data),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }


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
    features = ["columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "variantType"]
    actions: list[dict[str, Any]] = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": [*features, *writer_features],
            }
        },
        {
            "metaData": {
                "id": "8d2f4f0e-2a53-4b55-9a4e-111111111111",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(struct(*fields)),
                "partitionColumns": list(partition_columns),
                "configuration": dict(configuration or {}),
                "createdTime": 1_700_000_000_000,
            }
        },
    ]
    for file in files:
        target = root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(file.rows, target, **file.options)
        add: dict[str, Any] = {
            "path": file.logged if file.logged is not None else quote(file.path, safe="/"),
            "partitionValues": dict(file.partition_values),
            "size": target.stat().st_size,
            "modificationTime": 1_700_000_000_000,
            "dataChange": True,
            "stats": json.dumps({"numRecords": file.rows.num_rows}),
        }
        if file.base_row_id is not None:
            add |= {"baseRowId": file.base_row_id, "defaultRowCommitVersion": file.commit_version}
        if file.masked:
            add["deletionVector"] = inline_vector(file.masked)
        actions.append({"add": add})
    log = root / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    (log / f"{0:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions), "utf-8")
    return root
