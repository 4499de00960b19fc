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
from explorer.core.protocol.arrow.arrays import Int64s, Mask, int64s, numbers, one_array
from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.partition_values import by_appearance, partition_codes, partition_texts
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
            f"The condition names {', '.join(others)}, but it may only name partition columns: {known}.",
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


DEFAULT_TARGET: Final = 1 << 30
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


class Packing(msgspec.Struct, frozen=True):
    """Which files of a list go, and into how many new ones.

    Attributes:
        places: Rows of the files that go, ascending.
        groups: For each of them, the number of the group that is written together.
        made: The number of new files.
        order: Columns by which rows are ordered; without any, each group becomes one file, so ``made`` is exact.
    """

    places: Int64s
    groups: Int64s
    made: int
    order: tuple[str, ...]


def packing(intent: Optimize, snapshot: Snapshot, files: pa.Table) -> Packing:
    """Choose among files those that are rewritten, and pack them; nothing is done for each file in Python.

    Args:
        intent: Its target size and its order count; its condition was applied to ``files``.
        snapshot: The version.
        files: Columns ``partition_values``, ``size``, ``num_records``, ``dv_cardinality``, and ``tags`` where the table
            is clustered; sizes in bytes.

    Raises:
        InvalidIntent: A column to order by cannot be used.
    """
    order = _order(intent, snapshot)
    target = intent.target_size or DEFAULT_TARGET
    sizes, records, masked = (_counts(files, name) for name in ("size", "num_records", "dv_cardinality"))
    heavy = masked > _MASKED * records
    candidates = np.ones(len(sizes), bool) if order else (sizes < target) | heavy
    if snapshot.clustering_columns:
        candidates &= ~_in_cubes(files, _text(snapshot.clustering_columns))
    places = np.flatnonzero(candidates)
    partitions = by_appearance(partition_codes(files.column("partition_values"))[places])
    groups, made = (
        _ordered_groups(partitions, sizes[places], target)
        if order
        else _packed_groups(partitions, sizes[places], heavy[places], target)
    )
    return Packing(places[groups >= 0], groups[groups >= 0], made, order)


def compaction(
    intent: Optimize, snapshot: Snapshot, unknown: Mapping[tuple[str, str | None], JsonObject]
) -> Compaction:
    """Choose the files to rewrite.

    Raises:
        InvalidIntent: A column to order by cannot be used, or the condition is not over partition columns.
    """
    files = partition_files(intent.where, snapshot)
    packed = packing(intent, snapshot, files)
    chosen = files.take(int64s(packed.places))
    removed = adds(chosen, data_change=False, unknown=unknown)
    counts = [num_records(add) for add in removed]
    masked = int(_counts(chosen, "dv_cardinality").sum())
    rows = None if None in counts else sum(count or 0 for count in counts) - masked
    bins = {add.path: group for add, group in zip(removed, packed.groups.tolist(), strict=True)}
    curve = intent.z_order_by != () or not intent.order_by
    return Compaction(removed, rows, Arrangement(bins, packed.order, curve, packed.made))


def _counts(files: pa.Table, name: str) -> Int64s:
    """Return a column of numbers, 0 for those that the log lacks."""
    values, known = numbers(one_array(files.column(name).chunks, pa.int64()))
    return np.where(known, values, 0).astype(np.int64)


def _in_cubes(files: pa.Table, cube: str) -> Mask:
    """Return which files were clustered by these columns before."""
    chunks = [partition_texts(chunk, _CUBE_ORDER) for chunk in files.column("tags").chunks if len(chunk)]
    encoded = one_array(chunks, pa.string()).dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    codes, known = numbers(encoded.indices)
    return known & (codes == texts.index(cube)) if cube in texts else np.zeros(len(codes), bool)


def _ordered_groups(partitions: Int64s, sizes: Int64s, target: int) -> tuple[Int64s, int]:
    """Return the group of each file, which is its partition, and the number of new files."""
    _, groups = np.unique(partitions, return_inverse=True)
    if not len(groups):
        return groups.astype(np.int64), 0
    totals = np.zeros(int(groups.max()) + 1, np.int64)
    np.add.at(totals, groups, sizes)
    return groups.astype(np.int64), int(np.maximum(1, -(-totals // target)).sum())


def _packed_groups(partitions: Int64s, sizes: Int64s, heavy: Mask, target: int) -> tuple[Int64s, int]:
    """Return the group of each file, -1 for one that stays alone, and the number of groups.

    Files of a partition are packed in the order of their size, as many in a group as stay below the target.
    """
    order = np.lexsort((sizes, partitions))
    ordered = sizes[order]
    begins = np.flatnonzero(np.diff(partitions[order], prepend=-1))
    is_first = np.zeros(len(order), bool)
    is_first[begins] = True
    totals = np.add.reduceat(ordered, begins) if len(begins) else ordered
    ends = np.append(begins[1:], len(order))
    for place in np.flatnonzero(totals > target):
        start, end = int(begins[place]), int(ends[place])
        is_first[start + _group_starts(ordered[start:end], target)] = True
    number = np.cumsum(is_first) - 1
    counts = np.bincount(number)
    kept = (counts > 1) | heavy[order][is_first]
    groups = np.empty(len(order), np.int64)
    groups[order] = np.where(kept, np.cumsum(kept) - 1, -1)[number]
    return groups, int(kept.sum())


def _group_starts(sizes: Int64s, target: int) -> Int64s:
    """Return where groups begin among the files of one partition, by ascending size."""
    ends, starts, start = np.cumsum(sizes), [0], 0
    while start + 1 < len(sizes):
        if sizes[start] + sizes[start + 1] > target:
            # No two of the others fit, as they are larger.
            return np.concatenate([starts, np.arange(start + 1, len(sizes))])
        start = int(np.searchsorted(ends, ends[start] - sizes[start] + target, side="right"))
        if start < len(sizes):
            starts.append(start)
    return np.asarray(starts)


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
