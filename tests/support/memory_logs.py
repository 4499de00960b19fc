"""Small logs for tests, written action by action."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import (
    Action,
    Add,
    DeletionVectorDescriptor,
    Metadata,
    Protocol,
    Remove,
    encode_line,
)
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store

SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
PROTOCOL = Protocol(min_reader_version=1, min_writer_version=2)
MASKED = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("deletionVectors",),
    writer_features=("deletionVectors",),
)
METADATA = Metadata(id="0e8a4c6e-2d0b-4f4c-9a3e-6a1f9a3b7c55", schema_string=SCHEMA)

_names = itertools.count()


def new_store() -> LogStore:
    """An empty store in memory that no other test sees."""
    return open_store(f"memory://test-{next(_names)}/table")


def add(path: str, *, records: int | None = 1, vector: DeletionVectorDescriptor | None = None, **more: Any) -> Add:
    """An add of a file of 100 bytes."""
    stats = None if records is None else json.dumps({"numRecords": records}, separators=(",", ":"))
    return Add(
        path=path, partition_values={}, size=100, modification_time=1, stats=stats, deletion_vector=vector, **more
    )


def remove(path: str, *, vector: DeletionVectorDescriptor | None = None, **more: Any) -> Remove:
    """A removal of the same."""
    return Remove(path=path, deletion_timestamp=2, deletion_vector=vector, **more)


def vector(name: str, cardinality: int = 1) -> DeletionVectorDescriptor:
    """A descriptor of its own identity; there are no bytes behind it."""
    return DeletionVectorDescriptor("p", f"file:///vectors/{name}.bin", 34, cardinality, 1)


def lines(actions: Iterable[Action | bytes]) -> bytes:
    """The bytes of a commit."""
    return b"".join((action if isinstance(action, bytes) else encode_line(action)) + b"\n" for action in actions)


def write(store: LogStore, commits: Mapping[int, Iterable[Action | bytes]]) -> None:
    """Write commit files."""
    for version, actions in commits.items():
        store.put_if_absent(commit_name(version), lines(actions))


def table(commits: Mapping[int, Iterable[Action | bytes]], store: LogStore | None = None) -> explorer.Table:
    """A table of these commits; version 0 gets a protocol and metadata if it is given and has none."""
    where = new_store() if store is None else store
    write(where, commits)
    return explorer.Table(where)


def paths(snapshot: explorer.Snapshot) -> set[tuple[str, str | None]]:
    """The live files as (path, deletion-vector id)."""
    files = snapshot.files()
    return set(zip(files.column("path").to_pylist(), files.column("dv_unique_id").to_pylist(), strict=True))
