"""Logical files -> the actions that add or remove them.

Protocol section: Add File and Remove File. Invariants: an action keeps what the file's last add said (ROWTRACK-003);
a remove carries partition values and size (FILE-005).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.core.protocol.actions import Add, DeletionVectorDescriptor, Remove
from explorer.core.protocol.file_locations import sizeless
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.record_counts import count_of_text

__all__ = ["adds", "remove_of", "removes"]


def adds(
    files: pa.Table, *, data_change: bool, unknown: Mapping[tuple[str, str | None], JsonObject] | None = None
) -> tuple[Add, ...]:
    """Return an add for each file.

    Args:
        files: Columns of `explorer.core.protocol.logical_files.SCHEMA`.
        data_change: ``dataChange`` of each add.
        unknown: What the files record beyond these columns, by path and identity of the deletion vector; it is kept
            (`explorer.core.log.writing.writer_state.CarriedActions.unknown_adds`).

    Raises:
        CorruptTable: The log has no size of a file.
    """
    made = _adds(files, data_change, unknown or {})
    for add in made:
        if add.size is None:
            raise sizeless(add.path)
    return made


def removes(files: pa.Table, *, now: int, data_change: bool) -> tuple[Remove, ...]:
    """Return a tombstone for each file, with its statistics, so that later readers know how many rows were removed.

    Args:
        files: Columns of `explorer.core.protocol.logical_files.SCHEMA`.
        now: ``deletionTimestamp`` in ms since the epoch (FILE-016).
        data_change: ``dataChange`` of each remove.
    """
    gone = _adds(files, data_change, {})
    removed = (remove_of(add, now=now, data_change=data_change) for add in gone)
    return tuple(msgspec.structs.replace(item, stats=add.stats) for item, add in zip(removed, gone, strict=True))


def remove_of(add: Add, *, now: int, data_change: bool) -> Remove:
    """Return the tombstone of one logical file."""
    return Remove(
        path=add.path,
        deletion_timestamp=now,
        data_change=data_change,
        extended_file_metadata=True,
        partition_values=add.partition_values,
        size=add.size,
        tags=add.tags,
        deletion_vector=add.deletion_vector,
        base_row_id=add.base_row_id,
        default_row_commit_version=add.default_row_commit_version,
    )


def _adds(files: pa.Table, data_change: bool, unknown: Mapping[tuple[str, str | None], JsonObject]) -> tuple[Add, ...]:
    rows = files.to_pylist(maps_as_pydicts="strict")
    return tuple(_add(row, data_change, unknown.get((row["path"], row["dv_unique_id"]), {})) for row in rows)


def _add(row: dict[str, Any], data_change: bool, unknown: JsonObject) -> Add:
    provider = unknown.get("clusteringProvider")
    return Add(
        path=row["raw_path"],
        partition_values=row["partition_values"] or {},
        size=row["size"],
        modification_time=row["modification_time"],
        data_change=data_change,
        stats=row["stats"],
        tags=row["tags"],
        deletion_vector=_vector(row, unknown),
        base_row_id=row["base_row_id"],
        default_row_commit_version=row["default_row_commit_version"],
        clustering_provider=provider if isinstance(provider, str) else None,
        unknown={name: value for name, value in unknown.items() if name not in _PLACED},
    )


_PLACED: Final = frozenset(["clusteringProvider", "deletionVector"])


def _vector(row: dict[str, Any], unknown: JsonObject) -> DeletionVectorDescriptor | None:
    if row["dv_unique_id"] is None:
        return None
    return DeletionVectorDescriptor(
        storage_type=row["dv_storage_type"],
        path_or_inline_dv=row["dv_path_or_inline"],
        size_in_bytes=row["dv_size_in_bytes"],
        cardinality=row["dv_cardinality"],
        offset=row["dv_offset"],
        max_row_index=_max_row_index(unknown),
    )


def _max_row_index(unknown: JsonObject) -> int | None:
    match unknown:
        case {"deletionVector": {"maxRowIndex": int(greatest)}}:
            return greatest
        case _:
            return None


def num_records(add: Add) -> int | None:
    """Physical rows of a file as its statistics say; None if they do not, or cannot be used (STATS-002)."""
    return None if add.stats is None else count_of_text(add.stats)
