"""Checkpoints: read any shape into file actions and small actions.

Protocol sections: Checkpoints, V1 Spec, V2 Spec, Sidecar Files. Invariants: a missing column or field reads as null
(CKPT-010), unknown ones are passed over (CKPT-030); exactly one protocol and one metaData row must exist (CKPT-011);
commitInfo is ignored (D-22); removed domains are suppressed (DOMAIN-005).
"""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from explorer.core.actions import DomainMetadata, Metadata, Protocol, SetTransaction, Sidecar
from explorer.core.columns import strings
from explorer.core.commits import CommitLine, decode_commit
from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log_segment import Checkpoint
from explorer.core.logical_files import child, empty_files, from_checkpoint, from_lines
from explorer.core.paths import SIDECAR_FOLDER, LogPath
from explorer.core.ports import LogStore
from explorer.core.uris import decode_path, is_absolute

__all__ = ["CheckpointState", "read_checkpoint_files", "read_checkpoint_state"]


class CheckpointState(msgspec.Struct, frozen=True):
    """The small actions of a checkpoint."""

    protocol: Protocol
    metadata: Metadata
    transactions: dict[str, SetTransaction]
    domains: dict[str, DomainMetadata]


_SMALL = ("protocol", "metaData", "txn", "domainMetadata")


def read_checkpoint_state(store: LogStore, checkpoint: Checkpoint) -> CheckpointState:
    """Read protocol, metadata, transactions and domains.

    Raises:
        IncompleteCheckpoint: A part is missing or unreadable, or the protocol or metadata is not there once.
    """
    rows: dict[str, list[Any]] = {name: [] for name in _SMALL}
    for part in checkpoint.parts:
        for name, values in _small_rows(store, part, _SMALL).items():
            rows[name].extend(values)
    try:
        protocols = [Protocol.from_wire(row) for row in rows["protocol"]]
        metadatas = [Metadata.from_wire(row) for row in rows["metaData"]]
        transactions = [SetTransaction.from_wire(row) for row in rows["txn"]]
        domains = [DomainMetadata.from_wire(row) for row in rows["domainMetadata"]]
    except msgspec.ValidationError as error:
        raise _unreadable(checkpoint.version, checkpoint.parts[0], str(error)) from error
    if len(protocols) != 1 or len(metadatas) != 1:
        reason = f"it holds {len(protocols)} protocol and {len(metadatas)} metaData actions instead of one each"
        raise _unreadable(checkpoint.version, checkpoint.parts[0], reason)
    return CheckpointState(
        protocols[0],
        metadatas[0],
        {txn.app_id: txn for txn in transactions},
        {domain.domain: domain for domain in domains if not domain.removed},
    )


def read_checkpoint_files(store: LogStore, checkpoint: Checkpoint) -> pa.Table:
    """Read the live files (columns of `explorer.core.logical_files.SCHEMA`), those in sidecars included.

    Raises:
        IncompleteCheckpoint: A part or a sidecar is missing or unreadable.
    """
    tables = []
    for part in checkpoint.parts:
        if part.name.endswith(".json"):
            tables.append(from_lines([line.add for line in _json_lines(store, part) if line.add is not None]))
        else:
            tables.append(_adds(_read(store, part.path, part, ("add",))))
        sidecars = (_sidecar_path(sidecar) for sidecar in _sidecars(store, part))
        tables.extend(_adds(_read(store, path, part, ("add",))) for path in sidecars)
    return pa.concat_tables(tables).combine_chunks()


def _small_rows(store: LogStore, part: LogPath, names: tuple[str, ...]) -> dict[str, list[Any]]:
    if part.name.endswith(".json"):
        lines = _json_objects(store, part)
        return {name: [line[name] for line in lines if line.get(name) is not None] for name in names}
    table = _read(store, part.path, part, names)
    found = (name for name in names if name in table.column_names)
    return {name: table.column(name).drop_null().to_pylist(maps_as_pydicts="strict") for name in found}


def _json_lines(store: LogStore, part: LogPath) -> list[CommitLine]:
    return decode_commit(_bytes(store, part), part.version, part.path).lines


def _json_objects(store: LogStore, part: LogPath) -> list[dict[str, Any]]:
    try:
        lines = [msgspec.json.decode(line) for line in _bytes(store, part).splitlines() if line.strip()]
    except msgspec.DecodeError as error:
        raise _unreadable(part.version, part, str(error)) from error
    return [line for line in lines if isinstance(line, dict)]


def _bytes(store: LogStore, part: LogPath) -> bytes:
    try:
        return store.read(part.path)
    except FileNotFoundError as error:
        raise _unreadable(part.version, part, "the file is gone") from error


def _sidecars(store: LogStore, part: LogPath) -> list[Sidecar]:
    rows = _small_rows(store, part, ("sidecar",)).get("sidecar", [])
    try:
        return [Sidecar.from_wire(row) for row in rows]
    except msgspec.ValidationError as error:
        raise _unreadable(part.version, part, f"sidecar: {error}") from error


def _sidecar_path(sidecar: Sidecar) -> str:
    path = decode_path(sidecar.path)
    return path if "/" in path else f"{SIDECAR_FOLDER}/{path}"


def _read(store: LogStore, path: str, part: LogPath, names: tuple[str, ...]) -> pa.Table:
    """Read those columns (``add`` narrowed to its wanted members) of a Parquet file that it has."""
    import pyarrow.parquet as pq

    try:
        holder, key = store.elsewhere(path) if is_absolute(path) else (store, path)
        file = pq.ParquetFile(pa.BufferReader(holder.read(key)), coerce_int96_timestamp_unit="us")
        return file.read(columns=_columns(file.schema_arrow, names))
    except FileNotFoundError as error:
        raise _unreadable(part.version, part, f"{path} is missing") from error
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(part.version, part, f"{path}: {error}") from error


_ADD_MEMBERS = [
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "dataChange",
    "tags",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
    "stats",
    "stats_parsed",
]


def _columns(schema: pa.Schema, names: tuple[str, ...]) -> list[str]:
    columns: list[str] = []
    for name in names:
        if schema.get_field_index(name) < 0:
            continue
        if name == "add":
            members = {field.name for field in schema.field("add").type}
            columns += [f"add.{member}" for member in _ADD_MEMBERS if member in members]
        else:
            columns.append(name)
    return columns


def _adds(table: pa.Table) -> pa.Table:
    if "add" not in table.column_names or not table.num_rows:
        return empty_files()
    add = table.column("add").combine_chunks()
    if isinstance(add, pa.ChunkedArray):
        add = pa.concat_arrays(add.chunks)
    add = add.filter(child(add, "path").is_valid())
    return from_checkpoint(add, _stats_text(add))


def _stats_text(add: pa.StructArray) -> pa.StringArray:
    """Statistics as JSON: the ``stats`` column, filled from ``stats_parsed`` where it is null (CKPT-019)."""
    names = {field.name for field in add.type}
    text = child(add, "stats").cast(pa.string()) if "stats" in names else pa.nulls(len(add), pa.string())
    if "stats_parsed" not in names or not text.null_count:
        return text
    rows = zip(text.to_pylist(), child(add, "stats_parsed").to_pylist(), strict=True)
    return strings([old if old is not None else _as_json(parsed) for old, parsed in rows])


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def _as_json(parsed: dict[str, Any] | None) -> str | None:
    """Statistics of a struct as JSON; both spellings of the null counter are read (D-09)."""
    kept: dict[str, Any] = _prune(parsed or {})
    if "nullCounts" in kept:
        kept.setdefault("nullCount", kept.pop("nullCounts"))
    return _ENCODER.encode(kept).decode() if kept else None


def _prune(value: Any) -> Any:
    """Drop nulls at every depth and spell typed values as statistics in JSON do."""
    match value:
        case dict():
            return {name: _prune(item) for name, item in value.items() if item is not None}
        case bytes():
            return value.decode("latin-1")
        case _:
            return value


def _unreadable(version: int, part: LogPath, reason: str) -> IncompleteCheckpoint:
    return IncompleteCheckpoint(
        f"The checkpoint of version {version} ({part.name}) cannot be used: {reason}. "
        "If all commits since an older checkpoint are still there, remove the broken checkpoint; else restore it.",
        version=version,
        path=part.path,
    )
