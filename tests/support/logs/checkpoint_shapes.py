"""Checkpoints of every shape, written for tests by pyarrow from plain actions."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Action, Add, CheckpointMetadata, Remove, Sidecar, encode_line
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.small_logs import Line, table

Shape = Literal["classic", "multi-part", "v2-parquet", "v2-json", "v2-sidecars", "v2-json-sidecars"]
SHAPES: tuple[Shape, ...] = ("classic", "multi-part", "v2-parquet", "v2-json", "v2-sidecars", "v2-json-sidecars")

_MAP = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
_FILE = {"path": pa.string(), "partitionValues": _MAP, "size": pa.int64(), "deletionVector": _VECTOR}
_TYPES = {
    "add": pa.struct(
        {
            **_FILE,
            "modificationTime": pa.int64(),
            "dataChange": pa.bool_(),
            "stats": pa.string(),
            "tags": _MAP,
            "baseRowId": pa.int64(),
            "defaultRowCommitVersion": pa.int64(),
        }
    ),
    "remove": pa.struct({**_FILE, "deletionTimestamp": pa.int64(), "dataChange": pa.bool_()}),
    "protocol": pa.struct(
        {
            "minReaderVersion": pa.int32(),
            "minWriterVersion": pa.int32(),
            "readerFeatures": pa.list_(pa.string()),
            "writerFeatures": pa.list_(pa.string()),
        }
    ),
    "metaData": pa.struct(
        {
            "id": pa.string(),
            "format": pa.struct({"provider": pa.string(), "options": _MAP}),
            "schemaString": pa.string(),
            "partitionColumns": pa.list_(pa.string()),
            "configuration": _MAP,
        }
    ),
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
    "domainMetadata": pa.struct({"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}),
    "checkpointMetadata": pa.struct({"version": pa.int64(), "tags": _MAP}),
    "sidecar": pa.struct({"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64()}),
}
_MAPS = {"partitionValues", "tags", "options", "configuration"}
_UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


def begun_late(
    commits: Mapping[int, Iterable[Line]],
    version: int,
    live: Sequence[Action],
    *,
    gone: int = 1,
    shape: Shape = "classic",
) -> explorer.Table:
    """A table in memory whose record does not begin with version 0.

    Args:
        commits: Its commits, those that are cleaned up as well.
        version: That of its checkpoint.
        live: What the checkpoint holds.
        gone: How many commits from the first on are cleaned up.
        shape: That of the checkpoint.
    """
    found = table(commits)
    write_checkpoint(found.store, version, live, shape)
    for cleaned in range(gone):
        found.store.delete(commit_name(cleaned))
    return explorer.Table(found.store)


def write_checkpoint(store: LogStore, version: int, actions: Sequence[Action], shape: Shape) -> list[str]:
    """Write a checkpoint and return the keys of its files."""
    name = f"_delta_log/{version:020d}.checkpoint"
    if shape == "classic":
        return _put(store, {f"{name}.parquet": _parquet(actions)})
    if shape == "multi-part":
        parts = [actions[start::3] for start in range(3)]
        return _put(store, {f"{name}.{i:010d}.{3:010d}.parquet": _parquet(part) for i, part in enumerate(parts, 1)})
    top: list[Action] = [CheckpointMetadata(version=version), *actions]
    files: dict[str, bytes] = {}
    if shape.endswith("sidecars"):
        moved = [action for action in actions if isinstance(action, Add | Remove)]
        top = [action for action in top if not isinstance(action, Add | Remove)]
        for number, part in enumerate((moved[::2], moved[1::2])):
            sidecar = f"{version}-{number}.parquet"
            files[f"_delta_log/_sidecars/{sidecar}"] = data = _parquet(part)
            top.append(Sidecar(path=sidecar, size_in_bytes=len(data), modification_time=1))
    if "json" in shape:
        files[f"{name}.{_UUID}.json"] = b"".join(encode_line(action) + b"\n" for action in top)
    else:
        files[f"{name}.{_UUID}.parquet"] = _parquet(top)
    return _put(store, files)


def _put(store: LogStore, files: dict[str, bytes]) -> list[str]:
    for key, data in files.items():
        store.put_if_absent(key, data)
    return list(files)


def _parquet(actions: Sequence[Action]) -> bytes:
    rows = [json.loads(encode_line(action)) for action in actions]
    names = [name for name in _TYPES if any(name in row for row in rows)] or ["add"]
    columns = [[_paired(row.get(name)) for row in rows] for name in names]
    arrays = [pa.array(column, _TYPES[name]) for name, column in zip(names, columns, strict=True)]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, names), sink, row_group_size=3)
    return sink.getvalue()


def _paired(value: Any) -> Any:
    """Objects that are maps in Parquet as lists of pairs."""
    if not isinstance(value, dict):
        return value
    return {
        key: list(item.items()) if key in _MAPS and isinstance(item, dict) else _paired(item)
        for key, item in value.items()
    }
