"""Logs of few bytes that become very many in the memory of a careless reader, of every kind that a table can hold."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from explorer.core.protocol.deletion_vectors import MAGIC, z85_encode

__all__ = ["BOMBS", "make_bomb"]

_MAP: Final = pa.map_(pa.string(), pa.string())
_PROTOCOL: Final = {"minReaderVersion": 1, "minWriterVersion": 2}
_METADATA: Final[dict[str, Any]] = {
    "id": "x",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}',
    "partitionColumns": [],
    "configuration": {},
}
_SCHEMA: Final = pa.schema(
    [
        ("protocol", pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])),
        (
            "metaData",
            pa.struct(
                [
                    ("id", pa.string()),
                    ("format", pa.struct([("provider", pa.string()), ("options", _MAP)])),
                    ("schemaString", pa.string()),
                    ("partitionColumns", pa.list_(pa.string())),
                    ("configuration", _MAP),
                ]
            ),
        ),
        ("txn", pa.struct([("appId", pa.string()), ("version", pa.int64())])),
        (
            "add",
            pa.struct(
                [
                    ("path", pa.string()),
                    ("partitionValues", _MAP),
                    ("size", pa.int64()),
                    ("modificationTime", pa.int64()),
                    ("dataChange", pa.bool_()),
                    ("stats", pa.string()),
                    ("tags", _MAP),
                ]
            ),
        ),
    ]
)
_START: Final = ({"protocol": _PROTOCOL}, {"metaData": _METADATA})


def make_bomb(write: Callable[[Path, int], None], folder: Path, mebibytes: int) -> int:
    """Write the log of a table, which would take about so many MiB, and return its bytes as stored."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    write(log, mebibytes)
    return sum(file.stat().st_size for file in log.rglob("*"))


def _commit(log: Path, version: int, lines: list[object] | bytes) -> None:
    data = lines if isinstance(lines, bytes) else b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    (log / f"{version:020}.json").write_bytes(data)


def _checkpoint(log: Path, adds: pa.Array, txns: int = 0, **options: Any) -> None:
    """A checkpoint of some files, each column of which is written as the options say."""
    heads: list[dict[str, Any]] = [
        {"protocol": _PROTOCOL},
        {"metaData": _METADATA | {"format": {"provider": "parquet", "options": []}, "configuration": []}},
    ]
    parts = [pa.Table.from_pylist(heads, _SCHEMA)]
    if txns:
        txn = pa.StructArray.from_arrays(
            [pa.repeat(pa.scalar("a"), txns), pa.repeat(pa.scalar(1, pa.int64()), txns)], ["appId", "version"]
        )
        parts.append(_only(txn, "txn"))
    parts.append(_only(adds, "add"))
    defaults: dict[str, Any] = {"store_schema": False, "dictionary_pagesize_limit": 1 << 30, "compression": "zstd"}
    path = log / f"{0:020}.checkpoint.parquet"
    pq.write_table(pa.concat_tables(parts).combine_chunks(), path, row_group_size=1 << 30, **(defaults | options))
    _commit(log, 1, [{"add": {"path": "q", "partitionValues": {}, "size": 1, "modificationTime": 1}}])


def _only(column: pa.Array, name: str) -> pa.Table:
    nulls = {field.name: pa.nulls(len(column), field.type) for field in _SCHEMA}
    return pa.table({**nulls, name: column}, schema=_SCHEMA)


def _adds(count: int, **columns: pa.Array) -> pa.StructArray:
    kinds = _SCHEMA.field("add").type
    made = {
        "path": pa.array([f"p{number}" for number in range(count)]),
        "partitionValues": pa.array([[]] * count, _MAP),
        "size": pa.repeat(pa.scalar(1, pa.int64()), count),
        "modificationTime": pa.repeat(pa.scalar(1, pa.int64()), count),
        "dataChange": pa.repeat(pa.scalar(True), count),
    } | columns
    return pa.StructArray.from_arrays(
        [made.get(field.name, pa.nulls(count, field.type)) for field in kinds], fields=list(kinds)
    )


_TEXT: Final = "x" * (1 << 20)


def _long_texts(member: str) -> Callable[[Path, int], None]:
    def write(log: Path, mebibytes: int) -> None:
        text = '{"numRecords":1,"minValues":{"a":1},"x":"' + _TEXT + '"}' if member == "stats" else _TEXT
        _checkpoint(log, _adds(mebibytes, **{member: pa.repeat(pa.scalar(text), mebibytes)}))

    return write


def _long_values(member: str) -> Callable[[Path, int], None]:
    def write(log: Path, mebibytes: int) -> None:
        keys, values = pa.repeat(pa.scalar("k"), mebibytes), pa.repeat(pa.scalar(_TEXT), mebibytes)
        offsets = pa.array(range(mebibytes + 1), pa.int32())
        _checkpoint(log, _adds(mebibytes, **{member: pa.MapArray.from_arrays(offsets, keys, values)}))

    return write


def _encoded(encoding: str, codec: str) -> Callable[[Path, int], None]:
    def write(log: Path, mebibytes: int) -> None:
        adds = _adds(mebibytes, stats=pa.repeat(pa.scalar(_TEXT), mebibytes))
        options: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"add.stats": encoding}}
        _checkpoint(log, adds, compression=codec, **options)

    return write


def _many_nulls(log: Path, mebibytes: int) -> None:
    _checkpoint(log, pa.nulls(mebibytes << 17, _SCHEMA.field("add").type))


def _many_transactions(log: Path, mebibytes: int) -> None:
    _checkpoint(log, _adds(1), txns=mebibytes << 12)


def _values_of_json(member: str) -> Callable[[Path, int], None]:
    def write(log: Path, mebibytes: int) -> None:
        many = b"[" + b"{}," * (mebibytes << 13) + b"0]"
        lines = b"".join(json.dumps(line).encode() + b"\n" for line in _START)
        if member == "schemaString":
            schema = '{"type":"struct","fields":' + many.decode() + "}"
            lines = json.dumps(_START[0]).encode() + b"\n"
            lines += json.dumps({"metaData": _METADATA | {"schemaString": schema}}).encode() + b"\n"
        else:
            lines += b'{"' + member.encode() + b'":{"x":' + many + b"}}\n"
        _commit(log, 0, lines)

    return write


def _hint(log: Path, mebibytes: int) -> None:
    _commit(log, 0, list(_START))
    name, numbers = "n" * 10_000, ",".join("1" for _ in range(mebibytes * 100))
    (log / "_last_checkpoint").write_text(f'{{"version":0,"size":1,"checksum":"0","x":{{"{name}":[{numbers}]}}}}')


def _vector(log: Path, mebibytes: int) -> None:
    rows = BitMap64()
    rows.add_range(0, mebibytes << 17)
    rows.run_optimize()
    data = struct.pack("<i", MAGIC) + rows.serialize()
    metadata = _METADATA | {"configuration": {"delta.enableDeletionVectors": "true"}}
    features = ["deletionVectors"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    padded = z85_encode(data)
    vector = {
        "storageType": "i",
        "pathOrInlineDv": padded,
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }
    add = {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    _commit(log, 0, [{"protocol": protocol}, {"metaData": metadata}, {"add": add | {"deletionVector": vector}}])


BOMBS: Final[dict[str, Callable[[Path, int], None]]] = {
    "statistics repeated by a dictionary": _long_texts("stats"),
    "paths repeated by a dictionary": _long_texts("path"),
    "tags repeated by a dictionary": _long_values("tags"),
    "partition values repeated by a dictionary": _long_values("partitionValues"),
    "texts repeated by their prefix": _encoded("DELTA_BYTE_ARRAY", "zstd"),
    "pages of zstd": _encoded("PLAIN", "zstd"),
    "pages of gzip": _encoded("PLAIN", "gzip"),
    "pages of brotli": _encoded("PLAIN", "brotli"),
    "pages of lz4": _encoded("PLAIN", "lz4"),
    "lengths in pages of zstd": _encoded("DELTA_LENGTH_BYTE_ARRAY", "zstd"),
    "rows of nulls": _many_nulls,
    "transactions repeated by a dictionary": _many_transactions,
    "objects in commitInfo": _values_of_json("commitInfo"),
    "objects in domainMetadata": _values_of_json("domainMetadata"),
    "objects in a schema": _values_of_json("schemaString"),
    "a hint with a long name": _hint,
    "a deletion vector of one run": _vector,
}
"""Kind -> writes a log of it into a folder, which would take about so many MiB."""
