"""The actions that add or remove files, with their row ids, and what the log carries of them that is unknown here.

Protocol sections: Add File and Remove File, Row Tracking (Writer Requirements), Deletion Vectors, Action Reconciliation
(tombstones). Invariants: an action keeps what the file's last add recorded (ROWTRACK-003); a remove carries partition
values and size (FILE-005); row ids are unique in every version and above the mark (ROWTRACK-002). When a table drops
deletion vectors, each file of vectors that an unexpired tombstone names gets a tombstone of its own: clients without
the feature see it as an orphaned file, and their VACUUM would delete it while earlier versions still need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.core.log.writing.writer_state import CarriedActions, FileKey, carry_actions
from explorer.core.protocol.actions import Add, DeletionVectorDescriptor, DeletionVectorId, DomainMetadata, Remove
from explorer.core.protocol.arrow.arrays import mask, numbers
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_locations import sizeless
from explorer.core.protocol.file_paths import canonical_key, encode_path, is_absolute
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.raw_actions import RemoveLine
from explorer.core.protocol.record_counts import count_of_text
from explorer.core.protocol.row_tracking import DOMAIN, RowTracking
from explorer.core.protocol.table_properties.registry import FILE_RETENTION
from explorer.core.protocol.times import span_milliseconds
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot


def adds(
    files: pa.Table, *, data_change: bool, unknown: Mapping[tuple[str, str | None], JsonObject] | None = None
) -> tuple[Add, ...]:
    """Return an add for each file.

    Args:
        files: Columns of `explorer.core.protocol.logical_files.SCHEMA`.
        data_change: ``dataChange`` of each add.
        unknown: What the files record beyond these columns, by path and identity of the deletion vector
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
    """Return a tombstone for each file, with its statistics, so that later readers can count the removed rows.

    Args:
        files: Columns of `explorer.core.protocol.logical_files.SCHEMA`.
        now: ``deletionTimestamp`` in ms since the epoch (FILE-016).
        data_change: ``dataChange`` of each remove.
    """
    added = _adds(files, data_change, {})
    removed = (remove_of(add, now=now, data_change=data_change) for add in added)
    return tuple(msgspec.structs.replace(item, stats=add.stats) for item, add in zip(removed, added, strict=True))


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
    """Return the physical rows of a file by its statistics; None if these lack or do not give them (STATS-002)."""
    return None if add.stats is None else count_of_text(add.stats)


def carried(log: DeltaLog, snapshot: Snapshot) -> CarriedActions:
    """Return the actions that a version's log carries on."""
    return carry_actions(log.store, log.segment(snapshot.version))


def unknown_fields(log: DeltaLog, snapshot: Snapshot) -> dict[FileKey, JsonObject]:
    """Return the fields of its live files that this program does not know."""
    return carried(log, snapshot).unknown_adds()


def number_rows(
    adds: Iterable[Add], tracking: RowTracking, version: int
) -> tuple[tuple[Add, ...], tuple[DomainMetadata, ...], tuple[GuardResult, ...]]:
    """Give base row ids to files that have none.

    Args:
        tracking: Row tracking of the version read, under the protocol that the commit leaves.

    Returns:
        The files, the domain with the new mark if it rose, and a failed guard if a file does not record how many rows
        it has.
    """
    files = tuple(adds)
    if not tracking.supported or tracking.suspended:
        return files, (), ()
    mark = before = tracking.last_id
    numbered: list[Add] = []
    for add in files:
        if add.base_row_id is not None:
            numbered.append(add)
            continue
        rows = num_records(add)
        if rows is None:
            return files, (), (_uncounted(add),)
        numbered.append(msgspec.structs.replace(add, base_row_id=mark + 1, default_row_commit_version=version))
        mark += rows
    return tuple(numbered), (() if mark == before else (high_water_mark(mark),)), ()


def high_water_mark(mark: int) -> DomainMetadata:
    """Return the domain with the highest row id given."""
    configuration = msgspec.json.encode({"rowIdHighWaterMark": mark, "domainName": DOMAIN}).decode()
    return DomainMetadata(domain=DOMAIN, configuration=configuration)


def _uncounted(add: Add) -> GuardResult:
    return GuardResult(
        "row-ids",
        "fail",
        {
            "path": add.path,
            "detail": "Row tracking needs the number of rows of every file; the log does not record it for this one.",
        },
        "Rewrite the file with statistics, or suspend row tracking.",
    )


_LINES_AT_ONCE: Final = 1 << 14


def vector_tombstones(carried: CarriedActions, now: int) -> tuple[Remove, ...]:
    """Make the tombstones.

    Args:
        now: ms since the epoch.

    Raises:
        CorruptTable: The retention has no readable value.
        CorruptDeletionVector: A vector does not say where it is.
    """
    configuration = carried.state.metadata.configuration
    after = now - span_milliseconds(FILE_RETENTION.of(configuration))
    places: set[str] = set()
    removed: set[str] = set()
    for path, vector in _tombstones(carried, after):
        removed.add(canonical_key(path))
        place = None if vector is None else location(vector)
        # Vectors at absolute locations belong to the table that a clone was made from.
        if place is not None and not is_absolute(place):
            places.add(place)
    paths = (encode_path(place) for place in sorted(places - removed))
    return tuple(Remove(path=path, deletion_timestamp=now, data_change=False) for path in paths)


def _tombstones(carried: CarriedActions, after: int) -> Iterator[tuple[str, DeletionVectorId | None]]:
    """Yield path and vector of each tombstone whose time is after a moment."""
    for chunk in carried.removes(_LINES_AT_ONCE):
        if isinstance(chunk, list):
            yield from ((line.path, _vector_id(line)) for line in chunk if (line.deletion_timestamp or 0) > after)
        else:
            yield from _of_checkpoint(chunk, after)


def _vector_id(line: RemoveLine) -> DeletionVectorId | None:
    return None if line.deletion_vector is None else line.deletion_vector.id


def _of_checkpoint(chunk: pa.StructArray, after: int) -> Iterator[tuple[str, DeletionVectorId | None]]:
    members = dict(zip([field.name for field in chunk.type], chunk.flatten(), strict=True))
    if "deletionTimestamp" not in members:
        return
    times, _ = numbers(members["deletionTimestamp"].cast(pa.int64()))
    young = mask(times > after)
    paths = members["path"].filter(young).to_pylist()
    vectors = (
        members["deletionVector"].filter(young).to_pylist() if "deletionVector" in members else [None] * len(paths)
    )
    for path, vector in zip(paths, vectors, strict=True):
        if vector is None or vector["storageType"] is None:
            yield path, None
        else:
            yield path, DeletionVectorId(vector["storageType"], vector["pathOrInlineDv"])
