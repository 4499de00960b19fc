"""The golden and reference tables with what others computed for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, PrimitiveType, StructType

_SPARK_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def expected(root: Path) -> dict[str, dict[str, Any]]:
    """Expectations by table name."""
    loaded = (json.loads(path.read_text("utf-8")) for path in sorted((root / "expected").glob("*.json")))
    return {record["table"]: record for record in loaded}


def expected_files(replay: dict[str, Any]) -> dict[tuple[str, str | None], tuple[Any, ...]]:
    """(decoded path, deletion-vector id) -> what is expected of the file."""
    return {
        (canonical_key(file["path"]), (file["dv"] or {}).get("id")): (
            file["size"],
            file["modificationTime"],
            file["partitionValues"],
            file["numRecords"],
            (file["dv"] or {}).get("storageType"),
            (file["dv"] or {}).get("cardinality"),
            file.get("baseRowId"),
        )
        for file in replay["active_files"]
    }


def found_files(files: pa.Table) -> dict[tuple[str, str | None], tuple[Any, ...]]:
    """The same of a snapshot's files."""
    columns = (
        "size",
        "modification_time",
        "partition_values",
        "num_records",
        "dv_storage_type",
        "dv_cardinality",
        "base_row_id",
    )
    values = zip(*(files.column(name).to_pylist(maps_as_pydicts="strict") for name in columns), strict=True)
    keys = zip(files.column("path").to_pylist(), files.column("dv_unique_id").to_pylist(), strict=True)
    return dict(zip(keys, values, strict=True))


def spark_type(data_type: DataType) -> str:
    """A type as the expectations spell it."""
    match data_type:
        case PrimitiveType(name="decimal", precision=precision, scale=scale):
            return f"decimal({precision},{scale})"
        case PrimitiveType(name=name):
            return _SPARK_NAMES.get(name, name)
        case ArrayType(element_type=element):
            return f"array<{spark_type(element)}>"
        case MapType(key_type=key, value_type=value):
            return f"map<{spark_type(key)},{spark_type(value)}>"
        case StructType(fields=fields):
            return f"struct<{','.join(f'{field.name}:{spark_type(field.type)}' for field in fields)}>"
