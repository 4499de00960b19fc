"""Optimizing: small files and files with masked rows become fewer and larger ones, in the order that was asked for.

Protocol sections: Add File and Remove File (``dataChange``), Clustered Table, Row Tracking. Invariants: no row that a
reader sees changes, so nothing is data change; files of one partition stay in it; a new file of a clustered table says
who clustered it (CLUSTER-003).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Add
from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.schema.edit import column_path
from explorer.core.transaction.intents.records import Optimize
from explorer.core.transaction.new_files.arrangement import Arrangement
from explorer.core.transaction.new_files.file_actions import adds, num_records, remove_of
from explorer.core.transaction.new_files.row_ids import number_rows
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal, Written
from explorer.core.transaction.proposals.rewriting.file_sizes import size_metrics
from explorer.core.transaction.proposals.rewriting.partition_files import partition_files
from explorer.core.transaction.proposals.rows.delete_rows import kept_tags
from explorer.core.versions.snapshot import Snapshot

__all__ = ["Compaction", "compaction", "optimize_files"]

_TARGET: Final = 1 << 30
"""Bytes of a new file at most, unless the intent says so; as in the reference writer."""
_MASKED: Final = 0.05
"""Files of which a larger share is masked are rewritten whatever their size; as in the reference writer."""
_PROVIDER: Final = "liquid"
_CUBE_ORDER: Final = "ZCUBE_ZORDER_BY"
"""The tag of a clustered file that names the columns, as the reference writer does."""


class Compaction(msgspec.Struct, frozen=True):
    """What is rewritten.

    Attributes:
        gone: The files that go.
        rows: Their rows that are not masked; None if one of them does not say how many it has.
        arrangement: How the new files are made of them.
    """

    gone: tuple[Add, ...]
    rows: int | None
    arrangement: Arrangement


def compaction(
    intent: Optimize, snapshot: Snapshot, unknown: Mapping[tuple[str, str | None], JsonObject]
) -> Compaction:
    """Choose the files to rewrite.

    Args:
        intent: What was asked for.
        snapshot: The newest version.
        unknown: Fields of the live files that this program does not know.

    Raises:
        InvalidIntent: A column to order by cannot be used, or the condition is not over partition columns.
    """
    order = _order(intent, snapshot)
    target = intent.target_size or _TARGET
    files = partition_files(intent.where, snapshot)
    if snapshot.clustering_columns:
        told = files.column("tags").to_pylist(maps_as_pydicts="strict")
        cube = _text(snapshot.clustering_columns)
        files = files.filter(pa.array([(tags or {}).get(_CUBE_ORDER) != cube for tags in told], pa.bool_()))
    sizes = files.column("size").fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    masked = files.column("dv_cardinality").fill_null(0).to_numpy(zero_copy_only=False)
    records = files.column("num_records").fill_null(0).to_numpy(zero_copy_only=False)
    heavy = masked > _MASKED * records
    partitions = [tuple(values or ()) for values in files.column("partition_values").to_pylist()]
    by_partition: dict[tuple[object, ...], list[int]] = {}
    for place, key in enumerate(partitions):
        if order or sizes[place] < target or heavy[place]:
            by_partition.setdefault(key, []).append(place)
    groups: dict[int, int] = {}
    number = 0
    for places in by_partition.values():
        for chosen in [places] if order else _bins(places, sizes, target):
            if order or len(chosen) > 1 or heavy[chosen[0]]:
                groups |= dict.fromkeys(chosen, number)
                number += 1
    places = sorted(groups)
    gone = adds(files.take(int64s(places)), data_change=False, unknown=unknown)
    counts = [num_records(add) for add in gone]
    rows = None if None in counts else sum(count or 0 for count in counts) - int(masked[places].sum())
    bins = {add.path: groups[place] for add, place in zip(gone, places, strict=True)}
    made = (
        number if not order else sum(max(1, -(-int(sizes[found].sum()) // target)) for found in by_partition.values())
    )
    return Compaction(gone, rows, Arrangement(bins, order, intent.z_order_by != () or not intent.order_by, made))


def optimize_files(
    intent: Optimize, snapshot: Snapshot, found: Compaction, written: Written, circumstances: Circumstances
) -> Proposal:
    """Rewrite files.

    Args:
        intent: What was asked for.
        snapshot: The newest version.
        found: What is rewritten.
        written: The new files.
        circumstances: The present and fresh identifiers.
    """
    clustered = snapshot.clustering_columns
    made = (
        msgspec.structs.replace(add, data_change=False, **_cluster(snapshot, circumstances)) for add in written.adds
    )
    fresh, mark, faults = number_rows(made, snapshot.row_tracking, snapshot.version + 1)
    had = sum(add.deletion_vector is not None for add in found.gone)
    numbers = {
        "numRemovedFiles": len(found.gone),
        "numRemovedBytes": sum(add.size for add in found.gone),
        "numAddedFiles": len(fresh),
        "numAddedBytes": sum(add.size for add in fresh),
        "numDeletionVectorsRemoved": had,
        **size_metrics(fresh),
    }
    parameters: JsonObject = {
        "predicate": _text([] if intent.where is None else [intent.where]),
        "zOrderBy": _text(intent.z_order_by),
        "clusterBy": _text(clustered),
        "auto": False,
        **({"isFull": False} if clustered else {}),
        **({"orderBy": _text(intent.order_by)} if intent.order_by else {}),
    }
    return Proposal(
        operation="OPTIMIZE",
        parameters=parameters,
        adds=fresh,
        removes=tuple(
            msgspec.structs.replace(remove_of(add, now=circumstances.now, data_change=False), stats=add.stats)
            for add in found.gone
        ),
        domains=mark,
        metrics={name: str(number) for name, number in numbers.items()},
        tags=kept_tags(snapshot),
        is_blind_append=False,
        isolation="SnapshotIsolation",
        guards=(*faults, _found(found)),
        change_feed="Nothing appears in it: the rows that readers see stay the same.",
        undo=f"Restore version {snapshot.version}, as long as its files are not vacuumed.",
    )


def _cluster(snapshot: Snapshot, circumstances: Circumstances) -> dict[str, object]:
    if not snapshot.clustering_columns:
        return {}
    tags = {"ZCUBE_ID": circumstances.new_id(), _CUBE_ORDER: _text(snapshot.clustering_columns)}
    return {"clustering_provider": _PROVIDER, "tags": tags}


def _bins(places: list[int], sizes: np.ndarray[tuple[int], np.dtype[np.int64]], target: int) -> list[list[int]]:
    """Files in the order of their size, as many in a bin as stay below the target."""
    found: list[list[int]] = []
    filled = target
    for place in sorted(places, key=lambda each: int(sizes[each])):
        if not found or filled + int(sizes[place]) > target:
            found.append([])
            filled = 0
        found[-1].append(place)
        filled += int(sizes[place])
    return found


def _order(intent: Optimize, snapshot: Snapshot) -> tuple[str, ...]:
    """The columns to order by, as the schema spells them."""
    named = intent.z_order_by or intent.order_by
    field = "zOrderBy" if intent.z_order_by else "orderBy"
    if named and snapshot.clustering_columns:
        raise InvalidIntent(
            f"The table is clustered by {', '.join(snapshot.clustering_columns)}: leave zOrderBy and orderBy out.",
            field=field,
        )
    if not named:
        return tuple(snapshot.clustering_columns)
    known = {tuple(part.lower() for part in column.path): column.path for column in snapshot.statistics_columns}
    found = []
    for name in named:
        path = known.get(tuple(part.lower() for part in column_path(name, field)))
        if path is None or path[0] in snapshot.partition_columns:
            why = "is a partition column" if path else "is no column with an order"
            raise InvalidIntent(f"{name} {why}, so files cannot be ordered by it.", field=field, column=name)
        found.append(format_column(path))
    return tuple(found)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _found(found: Compaction) -> GuardResult:
    evidence: dict[str, object] = {"files": len(found.gone), "newFiles": found.arrangement.files}
    if found.gone:
        files = counted(len(found.gone), "file becomes", "files become")
        detail = f"{files} {'' if found.arrangement.is_exact else 'about '}{found.arrangement.files:,}."
        return GuardResult("files-found", "pass", evidence | {"detail": detail})
    detail = "No partition has two files that are small enough, so there is nothing to commit."
    return GuardResult("files-found", "fail", evidence | {"detail": detail})
