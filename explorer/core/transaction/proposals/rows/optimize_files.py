"""Optimizing: small files and files with masked rows become fewer and larger ones, in the requested order.

Protocol sections: Add File and Remove File (``dataChange``), Clustered Table, Row Tracking. Invariants: no row that a
reader sees changes, so nothing is data change; files of one partition stay in it; a new file of a clustered table names
what clustered it (CLUSTER-003).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from explorer.core.protocol.statistics.data_skipping import answerable
from explorer.core.transaction.intents.records import Optimize
from explorer.core.transaction.new_files.file_actions import adds, num_records, number_rows, remove_of
from explorer.core.transaction.new_files.file_facts import Arrangement
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal, Written
from explorer.core.transaction.proposals.rows.delete_rows import row_id_tags
from explorer.core.versions.snapshot import Snapshot


def partition_files(where: str | None, snapshot: Snapshot) -> pa.Table:
    """Return the live files of the partitions that a condition names.

    Args:
        where: A boolean SQL expression over partition columns; None for all files.

    Returns:
        Columns of `explorer.core.protocol.logical_files.SCHEMA`.

    Raises:
        InvalidIntent: The condition names another column, or cannot be answered from partition values.
        RequestError: The text is not a condition, or names a column that the table does not have.
    """
    files = snapshot.logical_files
    if where is None:
        return files
    _, used = answerable(where, snapshot.schema, snapshot.statistics_columns)
    others = [format_column(path) for path in used if path[0] not in snapshot.partition_columns]
    if others:
        known = ", ".join(snapshot.partition_columns) or "the table has none"
        raise InvalidIntent(
            f"The condition names {', '.join(others)}, and may name partition columns alone: {known}.",
            field="where",
            column=others[0],
            allowed=list(snapshot.partition_columns),
        )
    skipping = snapshot.skipping(where)
    if skipping.unsplittable:
        raise InvalidIntent("The condition cannot be answered from partition values alone.", field="where")
    return files.filter(skipping.files.column("kept"))


def size_metrics(adds: Sequence[Add]) -> dict[str, int]:
    """Return minimum, maximum and quartile sizes in bytes, by the reference writer's names; empty without files."""
    sizes = sorted(add.size for add in adds)
    places = {"minFileSize": 0, "p25FileSize": 1, "p50FileSize": 2, "p75FileSize": 3, "maxFileSize": 4}
    return {name: sizes[min(len(sizes) * part // 4, len(sizes) - 1)] for name, part in places.items()} if sizes else {}


_TARGET: Final = 1 << 30
"""Bytes of a new file at most, unless the intent has a size; as in the reference writer."""
_MASKED: Final = 0.05
"""Files of which a larger share is masked are rewritten whatever their size; as in the reference writer."""
_PROVIDER: Final = "liquid"
_CUBE_ORDER: Final = "ZCUBE_ZORDER_BY"
"""The tag of a clustered file that names the columns, as the reference writer does."""


class Compaction(msgspec.Struct, frozen=True):
    """What is rewritten.

    Attributes:
        files: The files that go.
        rows: Their rows that are not masked; None if one of them does not say how many it has.
        arrangement: How the new files are made of them.
    """

    files: tuple[Add, ...]
    rows: int | None
    arrangement: Arrangement


def compaction(
    intent: Optimize, snapshot: Snapshot, unknown: Mapping[tuple[str, str | None], JsonObject]
) -> Compaction:
    """Choose the files to rewrite.

    Raises:
        InvalidIntent: A column to order by cannot be used, or the condition is not over partition columns.
    """
    order = _order(intent, snapshot)
    target = intent.target_size or _TARGET
    files = partition_files(intent.where, snapshot)
    if snapshot.clustering_columns:
        tags_by_file = files.column("tags").to_pylist(maps_as_pydicts="strict")
        cube = _text(snapshot.clustering_columns)
        files = files.filter(pa.array([(tags or {}).get(_CUBE_ORDER) != cube for tags in tags_by_file], pa.bool_()))
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
    removed = adds(files.take(int64s(places)), data_change=False, unknown=unknown)
    counts = [num_records(add) for add in removed]
    rows = None if None in counts else sum(count or 0 for count in counts) - int(masked[places].sum())
    bins = {add.path: groups[place] for add, place in zip(removed, places, strict=True)}
    made = (
        number
        if not order
        else sum(max(1, -(-int(sizes[chosen_places].sum()) // target)) for chosen_places in by_partition.values())
    )
    return Compaction(removed, rows, Arrangement(bins, order, intent.z_order_by != () or not intent.order_by, made))


def optimize_files(
    intent: Optimize, snapshot: Snapshot, rewritten: Compaction, written: Written, circumstances: Circumstances
) -> Proposal:
    """Rewrite files."""
    clustered = snapshot.clustering_columns
    made = (
        msgspec.structs.replace(add, data_change=False, **_cluster(snapshot, circumstances)) for add in written.adds
    )
    fresh, mark, faults = number_rows(made, snapshot.row_tracking, snapshot.version + 1)
    had = sum(add.deletion_vector is not None for add in rewritten.files)
    numbers = {
        "numRemovedFiles": len(rewritten.files),
        "numRemovedBytes": sum(add.size for add in rewritten.files),
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
            for add in rewritten.files
        ),
        domains=mark,
        metrics={name: str(number) for name, number in numbers.items()},
        tags=row_id_tags(snapshot),
        is_blind_append=False,
        isolation="SnapshotIsolation",
        guards=(*faults, _files_guard(rewritten)),
        change_feed="Nothing appears in it: the rows that readers see stay the same.",
        undo=f"Restore version {snapshot.version}, as long as its files are not vacuumed.",
    )


def _cluster(snapshot: Snapshot, circumstances: Circumstances) -> dict[str, object]:
    if not snapshot.clustering_columns:
        return {}
    tags = {"ZCUBE_ID": circumstances.new_id(), _CUBE_ORDER: _text(snapshot.clustering_columns)}
    return {"clustering_provider": _PROVIDER, "tags": tags}


def _bins(places: list[int], sizes: np.ndarray[tuple[int], np.dtype[np.int64]], target: int) -> list[list[int]]:
    """Pack files in the order of their size, as many in a bin as stay below the target."""
    bins: list[list[int]] = []
    filled = target
    for place in sorted(places, key=lambda each: int(sizes[each])):
        if not bins or filled + int(sizes[place]) > target:
            bins.append([])
            filled = 0
        bins[-1].append(place)
        filled += int(sizes[place])
    return bins


def _order(intent: Optimize, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the columns to order by, as the schema spells them."""
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
    order = []
    for name in named:
        path = known.get(tuple(part.lower() for part in column_path(name, field)))
        if path is None or path[0] in snapshot.partition_columns:
            why = "is a partition column" if path else "is no column with an order"
            raise InvalidIntent(f"{name} {why}, so files cannot be ordered by it.", field=field, column=name)
        order.append(format_column(path))
    return tuple(order)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _files_guard(rewritten: Compaction) -> GuardResult:
    evidence: dict[str, object] = {"files": len(rewritten.files), "newFiles": rewritten.arrangement.files}
    if rewritten.files:
        files = counted(len(rewritten.files), "file becomes", "files become")
        detail = f"{files} {'' if rewritten.arrangement.is_exact else 'about '}{rewritten.arrangement.files:,}."
        return GuardResult("files-found", "pass", evidence | {"detail": detail})
    detail = "No partition has two files that are small enough, so there is nothing to commit."
    return GuardResult("files-found", "fail", evidence | {"detail": detail})
