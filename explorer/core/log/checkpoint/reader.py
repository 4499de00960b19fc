"""Checkpoints: read any shape, and no more of it than is asked for.

Protocol sections: Checkpoints, V1 Spec, V2 Spec, Sidecar Files. Invariants: a missing column or field reads as null
(CKPT-010), unknown ones are skipped (CKPT-030); exactly one protocol and one metaData row must exist (CKPT-011);
commitInfo is ignored (D-22); removed domains are suppressed (DOMAIN-005).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec
import pyarrow as pa

from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log.checkpoint.kept_columns import KeptColumns
from explorer.core.log.checkpoint.parquet_part import CheckpointPart, read_rows
from explorer.core.log.commit import decode_commit
from explorer.core.log.log_path import SIDECAR_FOLDER, LogPath
from explorer.core.log.log_segment import Checkpoint
from explorer.core.log.table_state import TableState
from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol, SetTransaction, Sidecar
from explorer.core.protocol.file_paths import decode_path, is_absolute
from explorer.core.protocol.json_values import JsonObject, JsonValue, decode_json
from explorer.core.protocol.limits import check_checkpoint
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import FileSource, LineSource
from explorer.core.protocol.raw_actions import AddLine, CommitLine, RemoveLine

__all__ = [
    "CheckpointFile",
    "checkpoint_contents",
    "open_checkpoint_files",
    "open_checkpoint_tombstones",
    "read_checkpoint_state",
    "sidecar_keys",
    "unreadable",
]


class CheckpointFile(msgspec.Struct, frozen=True):
    """A Parquet file of a checkpoint that may hold files: one of its parts, or a sidecar.

    Attributes:
        path: Its key, or an absolute location.
        size: Its size in bytes, as listed or as the sidecar action says.
        part: The part that it is, or that names it.
    """

    path: str
    size: int
    part: LogPath


_SMALL = ("protocol", "metaData", "txn", "domainMetadata")


def read_checkpoint_state(store: LogStore, checkpoint: Checkpoint) -> TableState:
    """Read protocol, metadata, transactions and domains.

    Raises:
        IncompleteCheckpoint: A part is missing or unreadable, or there is not exactly one protocol and one metadata.
    """
    rows: dict[str, list[JsonValue]] = {name: [] for name in _SMALL}
    for part in checkpoint.parts:
        for name, values in _small_rows(store, part, _SMALL).items():
            rows[name].extend(values)
    try:
        protocols = [Protocol.from_wire(row) for row in rows["protocol"]]
        metadatas = [Metadata.from_wire(row) for row in rows["metaData"]]
        transactions = [SetTransaction.from_wire(row) for row in rows["txn"]]
        domains = [DomainMetadata.from_wire(row) for row in rows["domainMetadata"]]
    except msgspec.ValidationError as error:
        raise unreadable(checkpoint.parts[0], str(error)) from error
    if len(protocols) != 1 or len(metadatas) != 1:
        reason = f"it holds {len(protocols)} protocol and {len(metadatas)} metaData actions instead of one each"
        raise unreadable(checkpoint.parts[0], reason)
    return TableState(
        protocols[0],
        metadatas[0],
        {txn.app_id: txn for txn in transactions},
        {domain.domain: domain for domain in domains if not domain.removed},
    )


def open_checkpoint_files(
    store: LogStore, checkpoint: Checkpoint, kept: KeptColumns | None = None
) -> Sequence[FileSource]:
    """Open the live files, those in sidecars included; their columns are read when asked for.

    Args:
        store: The table's store.
        checkpoint: The checkpoint.
        kept: Keeps what is read of it; None keeps nothing.

    Raises:
        IncompleteCheckpoint: A part or a sidecar is missing or unreadable.
        LimitExceeded: They are too many for one process.
    """
    if kept is None:
        return _open_files(store, checkpoint, None)
    return kept.opened((store, checkpoint), partial(_open_files, store, checkpoint, kept))


def _open_files(store: LogStore, checkpoint: Checkpoint, kept: KeptColumns | None) -> list[FileSource]:
    sources: list[FileSource] = []
    size = sum(part.size for part in checkpoint.parts)
    check_checkpoint(checkpoint.version, size)
    for part in checkpoint.parts:
        if part.name.endswith(".json"):
            sources.append(LineSource([line.add for line in _json_lines(store, part) if line.add is not None]))
            sidecars = _sidecars(store, part)
        else:
            opened = _open(store, part.path, part, kept=kept)
            sources.append(opened)
            sidecars = _sidecars(store, part) if opened.holds("sidecar") else []
        size += sum(sidecar.size_in_bytes for sidecar in sidecars)
        check_checkpoint(checkpoint.version, size)
        sources.extend(_open(store, _sidecar_path(sidecar), part, kept=kept) for sidecar in sidecars)
    return [source for source in sources if source.num_rows]


def checkpoint_contents(store: LogStore, checkpoint: Checkpoint) -> tuple[list[CheckpointFile], list[AddLine]]:
    """Find the Parquet files that hold the live files, and the live files that a part in JSON holds itself.

    Raises:
        IncompleteCheckpoint: A part is missing or unreadable.
    """
    files: list[CheckpointFile] = []
    lines: list[AddLine] = []
    for part in checkpoint.parts:
        if part.name.endswith(".json"):
            lines += [line.add for line in _json_lines(store, part) if line.add is not None]
        else:
            files.append(CheckpointFile(part.path, part.size, part))
        found = _sidecars(store, part)
        files += [CheckpointFile(_sidecar_path(sidecar), sidecar.size_in_bytes, part) for sidecar in found]
    return files, lines


def open_checkpoint_tombstones(store: LogStore, checkpoint: Checkpoint) -> list[CheckpointPart | list[RemoveLine]]:
    """Open the tombstones, those in sidecars included.

    Raises:
        IncompleteCheckpoint: A part or a sidecar is missing or unreadable.
    """
    sources: list[CheckpointPart | list[RemoveLine]] = []
    for part in checkpoint.parts:
        if part.name.endswith(".json"):
            sources.append([line.remove for line in _json_lines(store, part) if line.remove is not None])
        else:
            sources.append(_open(store, part.path, part, "remove"))
        sources.extend(_open(store, _sidecar_path(sidecar), part, "remove") for sidecar in _sidecars(store, part))
    return sources


def sidecar_keys(store: LogStore, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Keys of the sidecars that a checkpoint names.

    Raises:
        IncompleteCheckpoint: A part is missing or unreadable.
    """
    return tuple(_sidecar_path(sidecar) for part in checkpoint.parts for sidecar in _sidecars(store, part))


def unreadable(part: LogPath, reason: str, *, vanished: bool | None = None) -> IncompleteCheckpoint:
    """The error for a checkpoint that cannot be used; ``vanished`` if one of its files is missing."""
    return IncompleteCheckpoint(
        f"The checkpoint of version {part.version} ({part.name}) cannot be used: {reason}. "
        "If all commits since an older checkpoint still exist, remove the broken checkpoint. If not, restore it.",
        version=part.version,
        path=part.path,
        vanished=vanished,
    )


def _small_rows(store: LogStore, part: LogPath, names: tuple[str, ...]) -> dict[str, list[JsonValue]]:
    if part.name.endswith(".json"):
        lines = _json_objects(store, part)
        return {name: [line[name] for line in lines if line.get(name) is not None] for name in names}
    try:
        with store.open_input(part.path) as file:
            return read_rows(file, names)
    except FileNotFoundError as error:
        raise unreadable(part, "the file is missing", vanished=True) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unreadable(part, str(error)) from error


def _open(
    store: LogStore,
    path: str,
    part: LogPath,
    action: Literal["add", "remove"] = "add",
    kept: KeptColumns | None = None,
) -> CheckpointPart:
    holder, key = store.elsewhere(path) if is_absolute(path) else (store, path)
    kept_part = None if kept is None else kept.part(store, part, path)
    try:
        return CheckpointPart(
            holder.open_input(key), lambda reason: unreadable(part, f"{path}: {reason}"), action, kept=kept_part
        )
    except FileNotFoundError as error:
        raise unreadable(part, f"{path} is missing", vanished=True) from error


def _json_lines(store: LogStore, part: LogPath) -> list[CommitLine]:
    lines = decode_commit(_bytes(store, part), part.version, part.path).lines
    # A caller that knows the small actions reads only the files: an empty checkpoint must not look like no files.
    for name in ("protocol", "metaData"):
        if not any(getattr(line, name) for line in lines):
            raise unreadable(part, f"it holds no {name} action")
    return lines


def _json_objects(store: LogStore, part: LogPath) -> list[JsonObject]:
    try:
        lines = [decode_json(line) for line in _bytes(store, part).splitlines() if line.strip()]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(part, str(error)) from error
    return [line for line in lines if isinstance(line, dict)]


def _bytes(store: LogStore, part: LogPath) -> bytes:
    try:
        return store.read(part.path)
    except FileNotFoundError as error:
        raise unreadable(part, "the file is gone", vanished=True) from error


def _sidecars(store: LogStore, part: LogPath) -> list[Sidecar]:
    rows = _small_rows(store, part, ("sidecar",)).get("sidecar", [])
    try:
        return [Sidecar.from_wire(row) for row in rows]
    except msgspec.ValidationError as error:
        raise unreadable(part, f"sidecar: {error}") from error


def _sidecar_path(sidecar: Sidecar) -> str:
    path = decode_path(sidecar.path)
    return path if "/" in path or is_absolute(sidecar.path) else f"{SIDECAR_FOLDER}/{path}"
