"""The golden and reference tables with what others computed for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

import explorer
from explorer.core.errors import CorruptTable, UnsupportedFeature
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, PrimitiveType, StructType

REFUSED: dict[str, tuple[type[explorer.ExplorerError], str]] = {
    "delta__bench-basic_catalog_managed__delta": (UnsupportedFeature, "catalogManaged"),
    "delta__canonicalized-paths-normal-a": (CorruptTable, "no schemaString"),
    "delta__data-reader-absolute-paths-escaped-chars": (CorruptTable, "The log has no metaData action"),
    "delta__deltalog-commit-info": (CorruptTable, "no schemaString"),
    "delta__deltalog-invalid-protocol-version": (UnsupportedFeature, "minReaderVersion 99"),
    "delta__deltalog-state-reconstruction-without-metadata": (CorruptTable, "The log has no metaData action"),
    "delta__deltalog-state-reconstruction-without-protocol": (CorruptTable, "The log has no protocol action"),
    "deltars__err_logs__table_d": (UnsupportedFeature, "catalogOwned"),
    "deltars__err_logs__table_e": (UnsupportedFeature, "catalogOwned"),
    "deltars__simple_table_features": (UnsupportedFeature, "minReaderVersion 5"),
    "kernelrs__table-with-geo": (UnsupportedFeature, "geospatial"),
}
"""Tables refused at every version: their protocol is not implemented, or they break a rule that binds writers."""

_SPARK_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def expected(root: Path) -> dict[str, dict[str, Any]]:
    """Expectations by table name."""
    loaded = (json.loads(path.read_text("utf-8")) for path in sorted((root / "expected").glob("*.json")))
    return {record["table"]: record for record in loaded}


def agrees(snapshot: explorer.Snapshot, replay: dict[str, Any]) -> None:
    """Assert that a version is what the expectation says of it."""
    protocol, metadata = snapshot.protocol.to_wire(), snapshot.metadata
    wanted = {key: value for key, value in replay["protocol"].items() if value is not None}
    for features in ("readerFeatures", "writerFeatures"):
        if features in wanted:
            assert set(wanted.pop(features)) == set(protocol.pop(features))
    assert protocol.items() >= wanted.items()
    expectation = replay["metadata"]
    assert metadata.id == expectation["id"]
    assert metadata.name == expectation["name"]
    assert metadata.description == expectation["description"]
    assert metadata.created_time == expectation["createdTime"]
    assert list(metadata.partition_columns) == expectation["partitionColumns"]
    assert metadata.configuration == expectation["configuration"]
    assert parsed_schema(metadata.schema_string) == parsed_schema(expectation["schemaString"])
    assert found_files(snapshot.files()) == expected_files(replay)
    assert snapshot.num_files == replay["num_files"]
    assert snapshot.size_in_bytes == replay["total_size"]
    assert snapshot.num_records == replay["num_records_in_stats"]
    assert snapshot.num_deleted_records == (replay["dv_cardinality"] or 0)
    assert snapshot.transactions == replay["txns"]
    assert snapshot.domain_metadata == replay["domain_metadata"]


def parsed_schema(text: str | None) -> Any:
    """A schema string as JSON, for comparison."""
    return None if text is None else json.loads(text)


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
