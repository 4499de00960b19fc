"""Checkpoints of our own, written for tests, and what stands in them."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import pyarrow.parquet as pq

from explorer.core.log.log_segment import list_log
from explorer.core.log.writing.checkpoint import WrittenCheckpoint, write_checkpoint
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout
from explorer.core.protocol.actions import Action, Metadata, Protocol
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.small_logs import METADATA, new_store, write

NOW: Final = datetime(2026, 3, 10, 12, tzinfo=UTC)
V2: Final = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("v2Checkpoint", "deletionVectors"),
    writer_features=("v2Checkpoint", "deletionVectors", "domainMetadata"),
)
LAYOUTS: Final = {
    "v1": CheckpointLayout("v1"),
    "v2": CheckpointLayout("v2"),
    "v2-json": CheckpointLayout("v2", top_level="json"),
    "v2-sidecars": CheckpointLayout("v2", most_inline=2, sidecar_rows=2),
    "v2-classic": CheckpointLayout("v2", classic_name=True, most_inline=0),
}


def metadata_with(properties: Mapping[str, str] | None = None, **more: Any) -> Metadata:
    """Metadata with these properties."""
    return msgspec.structs.replace(METADATA, configuration=dict(properties or {}), **more)


def log_of(*commits: Iterable[Action | bytes]) -> LogStore:
    """A store with a log of these commits."""
    store = new_store()
    write(store, dict(enumerate(commits)))
    return store


def checkpoint_of(
    store: LogStore, layout: str | CheckpointLayout | None = None, now: datetime = NOW, version: int | None = None
) -> WrittenCheckpoint:
    """Write the checkpoint of a version."""
    chosen = LAYOUTS[layout] if isinstance(layout, str) else layout
    return write_checkpoint(store, list_log(store), version, now=now, new_uuid=uuid.uuid4, layout=chosen)


def rows_of(store: LogStore, path: str) -> list[dict[str, Any]]:
    """The rows of a Parquet file as objects without nulls at their top."""
    found = pq.read_table(io.BytesIO(store.read(path))).to_pylist(maps_as_pydicts="strict")
    return [{name: item for name, item in row.items() if item is not None} for row in found]


def adds_of(store: LogStore, path: str) -> list[dict[str, Any]]:
    """The adds of a Parquet file."""
    return [row["add"] for row in rows_of(store, path) if "add" in row]


def ms(moment: datetime) -> int:
    """Milliseconds since the epoch."""
    return int(moment.timestamp() * 1000)
