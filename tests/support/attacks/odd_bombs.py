"""Bombs in the rarer files of a log: parts, sidecars, manifests, checksums, compactions, footers, deep nesting.

Each writes the log of a table into a folder, which would take about so many MiB.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyroaring import BitMap64

from explorer.core.protocol.deletion_vectors import MAGIC, z85_encode
from tests.support.attacks.forged_footers import FOOTERS, parquet_with

__all__ = ["ODD_BOMBS"]

_PROTOCOL: Final[dict[str, Any]] = {"minReaderVersion": 1, "minWriterVersion": 2}
_FIELD: Final = '{"name":"a","type":"long","nullable":true,"metadata":{}}'
_METADATA: Final[dict[str, Any]] = {
    "id": "x",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": '{"type":"struct","fields":[' + _FIELD + "]}",
    "partitionColumns": [],
    "configuration": {},
}
_ADD: Final = {"path": "q", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}


def _features(*names: str) -> dict[str, Any]:
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}


def _lines(*actions: object) -> bytes:
    return b"".join(
        action + b"\n" if isinstance(action, bytes) else json.dumps(action).encode() + b"\n" for action in actions
    )


def _start(log: Path, *more: object, protocol: dict[str, Any] = _PROTOCOL) -> None:
    (log / f"{0:020}.json").write_bytes(_lines({"protocol": protocol}, {"metaData": _METADATA}, *more))


def _many(mebibytes: int) -> bytes:
    return b"[" + b"{}," * (mebibytes << 13) + b"0]"


def _checksum(log: Path, mebibytes: int) -> None:
    _start(log)
    (log / f"{0:020}.crc").write_bytes(b'{"tableSizeBytes":0,"numFiles":0,"allFiles":' + _many(mebibytes) + b"}")


def _compaction(log: Path, mebibytes: int) -> None:
    _start(log)
    (log / f"{1:020}.json").write_bytes(_lines({"add": _ADD}))
    many = b'{"domainMetadata":{"x":' + _many(mebibytes) + b"}}"
    head = {"protocol": _PROTOCOL}, {"metaData": _METADATA}
    (log / f"{0:020}.{1:020}.compacted.json").write_bytes(_lines(*head, {"add": _ADD}, many))


def _manifest(log: Path, mebibytes: int) -> None:
    _start(log, protocol=_features("v2Checkpoint"))
    (log / f"{1:020}.json").write_bytes(_lines({"add": _ADD}))
    name = f"{1:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    tags = b'{"checkpointMetadata":{"version":1,"tags":{"x":' + _many(mebibytes) + b"}}}"
    head = {"protocol": _features("v2Checkpoint")}, {"metaData": _METADATA}
    (log / name).write_bytes(_lines(tags, *head, {"add": _ADD}))
    (log / f"{0:020}.json").unlink()


def _sidecar(log: Path, mebibytes: int) -> None:
    _start(log, protocol=_features("v2Checkpoint"))
    (log / "_sidecars").mkdir()
    data = parquet_with(FOOTERS["a million columns claimed"])
    (log / "_sidecars" / "x.parquet").write_bytes(data)
    sidecar = {"sidecar": {"path": "x.parquet", "sizeInBytes": len(data), "modificationTime": 1}}
    head = {"protocol": _features("v2Checkpoint")}, {"metaData": _METADATA}
    name = f"{1:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    (log / name).write_bytes(_lines({"checkpointMetadata": {"version": 1}}, *head, sidecar))
    (log / f"{1:020}.json").write_bytes(_lines({"add": _ADD}))
    (log / f"{0:020}.json").unlink()


def _footer(name: str, parts: int) -> Callable[[Path, int], None]:
    def write(log: Path, mebibytes: int) -> None:
        data = parquet_with(FOOTERS[name])
        for part in range(1, parts + 1):
            middle = f"{part:010}.{parts:010}." if parts > 1 else ""
            (log / f"{0:020}.checkpoint.{middle}parquet").write_bytes(data)
        (log / f"{1:020}.json").write_bytes(_lines({"add": _ADD}))

    return write


def _vector(data: bytes, cardinality: int) -> Callable[[Path, int], None]:
    def write(log: Path, mebibytes: int) -> None:
        padded = data + bytes(-len(data) % 4)
        descriptor = {
            "storageType": "i",
            "pathOrInlineDv": z85_encode(padded),
            "sizeInBytes": len(data),
            "cardinality": cardinality,
        }
        _start(log, {"add": _ADD | {"deletionVector": descriptor}}, protocol=_features("deletionVectors"))

    return write


def _rows(count: int) -> bytes:
    rows = BitMap64()
    rows.add_range(0, count)
    rows.run_optimize()
    return struct.pack("<i", MAGIC) + bytes(rows.serialize())


def _nested_schema(opening: str, closing: str) -> Callable[[Path, int], None]:
    def write(log: Path, mebibytes: int) -> None:
        depth = mebibytes << 8
        schema = '{"type":"struct","fields":[' + opening * depth + '"long"' + closing * depth + "]}"
        metadata = _METADATA | {"schemaString": schema}
        (log / f"{0:020}.json").write_bytes(_lines({"protocol": _PROTOCOL}, {"metaData": metadata}))

    return write


def _nested_statistics(log: Path, mebibytes: int) -> None:
    deep = '{"numRecords":1,"minValues":' + '{"a":' * (mebibytes << 8) + "1" + "}" * (mebibytes << 8) + "}"
    _start(log, {"add": _ADD | {"stats": deep}})


ODD_BOMBS: Final[dict[str, Callable[[Path, int], None]]] = {
    "objects in a checksum": _checksum,
    "objects in a log compaction": _compaction,
    "objects in a V2 manifest": _manifest,
    "a sidecar of a million columns": _sidecar,
    "parts of a million columns": _footer("a million columns claimed", 4),
    **{f"a checkpoint with {name}": _footer(name, 1) for name in FOOTERS},
    "a deletion vector of 2^32 rows": _vector(_rows(1 << 32), 1 << 32),
    "a deletion vector of 2^32 rows that claims one": _vector(_rows(1 << 32), 1),
    "a deletion vector of very many bitmaps": _vector(struct.pack("<iQ", MAGIC, 1 << 40), 1 << 40),
    "a deeply nested schema": _nested_schema('{"type":"array","containsNull":true,"elementType":', "}"),
    "a schema of nested brackets": _nested_schema("[", "]"),
    "deeply nested statistics": _nested_statistics,
}
"""Kind -> writes the log."""
