"""Small logs, written action by action: tables in memory or in a folder, without data files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import explorer
from explorer.core.log.commit import SmallActions, decode_small_actions
from explorer.core.log.log_path import LogFileKind, LogPath, checkpoint_name, commit_name
from explorer.core.log.log_segment import CompleteCheckpoint, LogListing
from explorer.core.protocol.actions import (
    Action,
    Add,
    CommitInfo,
    DeletionVectorDescriptor,
    Metadata,
    Protocol,
    Remove,
    encode_line,
)
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store

Line = Action | dict[str, Any] | bytes
"""An action; or a line as a client of another kind writes it, as JSON or in bytes."""

SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
PROTOCOL = Protocol(min_reader_version=1, min_writer_version=2)
MASKED = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("deletionVectors",),
    writer_features=("deletionVectors",),
)
METADATA = Metadata(id="0e8a4c6e-2d0b-4f4c-9a3e-6a1f9a3b7c55", schema_string=SCHEMA)
LONG_AGO = 1_772_460_311_000
"""A moment of March 2026, in ms since the epoch."""

_names = itertools.count()


def new_store() -> LogStore:
    """An empty store in memory that no other test sees."""
    return open_store(f"memory://test-{next(_names)}/table")


def metadata(
    columns: Mapping[str, str],
    partition_columns: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
    *,
    comment: str | None = None,
) -> Metadata:
    """Metadata of columns of simple types, all of which carry the comment."""
    carried = {} if comment is None else {"comment": comment}
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": carried} for name, kind in columns.items()]
    return Metadata(
        id=METADATA.id,
        description=comment,
        schema_string=json.dumps({"type": "struct", "fields": fields}),
        partition_columns=tuple(partition_columns),
        configuration=dict(configuration or {}),
        created_time=LONG_AGO,
    )


def add(
    path: str,
    records: int | None = 1,
    *,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    vector: DeletionVectorDescriptor | None = None,
    partition_values: Mapping[str, str | None] | None = None,
    size: int = 100,
    **more: Any,
) -> Add:
    """An add of a file; ``bounds`` are the smallest and largest value of columns without nulls."""
    stats: dict[str, Any] = {"numRecords": records}
    if bounds is not None:
        stats["minValues"] = {name: low for name, (low, _) in bounds.items()}
        stats["maxValues"] = {name: high for name, (_, high) in bounds.items()}
        stats["nullCount"] = dict.fromkeys(bounds, 0)
    return Add(
        path=path,
        partition_values=dict(partition_values or {}),
        size=size,
        modification_time=1,
        stats=None if records is None else json.dumps(stats, separators=(",", ":")),
        deletion_vector=vector,
        **more,
    )


def remove(
    path: str, *, vector: DeletionVectorDescriptor | None = None, deletion_timestamp: int = 2, **more: Any
) -> Remove:
    """A removal of the same."""
    return Remove(path=path, deletion_timestamp=deletion_timestamp, deletion_vector=vector, **more)


def vector(name: str, cardinality: int = 1) -> DeletionVectorDescriptor:
    """A descriptor of its own identity; there are no bytes behind it."""
    return DeletionVectorDescriptor("p", f"file:///vectors/{name}.bin", 34, cardinality, 1)


def commit_info(operation: str | None = None, **more: Any) -> CommitInfo:
    """What a commit says of itself."""
    return CommitInfo(**{"timestamp": LONG_AGO, "operation": operation, **more})


def listed(checkpoints: Mapping[int, int], commits: Mapping[int, int]) -> LogListing:
    """A listing of commits and classic checkpoints by version, with the times of their files, ms since the epoch."""
    kinds = LogFileKind.COMMIT, LogFileKind.CLASSIC_CHECKPOINT
    return LogListing(
        {version: LogPath(commit_name(version), kinds[0], version, modified=time) for version, time in commits.items()},
        tuple(
            CompleteCheckpoint(version, (LogPath(checkpoint_name(version), kinds[1], version, modified=time),))
            for version, time in checkpoints.items()
        ),
    )


def decode_small(data: bytes, version: int, path: str) -> SmallActions:
    """The small actions of one commit file; the path is its key."""
    (found,) = decode_small_actions([(LogPath(path.removeprefix("_delta_log/"), LogFileKind.COMMIT, version), data)])
    return found


def lines(actions: Iterable[Line]) -> bytes:
    """The bytes of a commit; without actions it is a blank line, as zero bytes are a fault."""
    return b"".join(_line(action) + b"\n" for action in actions) or b"\n"


def _line(action: Line) -> bytes:
    match action:
        case bytes():
            return action
        case dict():
            return json.dumps(action).encode()
        case _:
            return encode_line(action)


def write(store: LogStore, commits: Mapping[int, Iterable[Line]]) -> None:
    """Write commit files."""
    for version, actions in commits.items():
        store.put_if_absent(commit_name(version), lines(actions))


def write_log(folder: Path, commits: Sequence[Iterable[Line]], first: int = 0) -> Path:
    """Write one commit file for each list of actions, from version ``first`` on, and return the table's folder."""
    write(open_store(folder), dict(enumerate(commits, first)))
    return folder


def table(commits: Mapping[int, Iterable[Line]], store: LogStore | None = None) -> explorer.Table:
    """A table of these commits in memory."""
    where = new_store() if store is None else store
    write(where, commits)
    return explorer.Table(where)


def paths(snapshot: explorer.Snapshot) -> set[tuple[str, str | None]]:
    """The live files as (path, deletion-vector id)."""
    files = snapshot.files()
    return set(zip(files.column("path").to_pylist(), files.column("dv_unique_id").to_pylist(), strict=True))
