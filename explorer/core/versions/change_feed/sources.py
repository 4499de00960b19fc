"""Files with the changes of versions, as a table: change files, adds, removes and exchanged deletion vectors.

Protocol sections: Add CDC File, Deletion Vectors. Invariants: a path that a version removes and adds again is one
source, the difference of its deletion vectors, and none where they are the same (CDF-008, D-07); partition values of a
removed file are those of its add (CDF-020); the same instance of a file never counts as a difference of versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.actions import AddCDCFile, DeletionVectorDescriptor, DeletionVectorId
from explorer.core.protocol.arrow.arrays import Int32s, Integers, Mask, int64s, string_maps, strings
from explorer.core.protocol.deletion_vectors import location, read_rows
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import SCHEMA
from explorer.core.versions.lifetimes.lifetimes import Lifetimes

RowIndexes = npt.NDArray[np.uint64]

_VECTOR: Final = (
    "dv_unique_id",
    "dv_storage_type",
    "dv_cardinality",
    "dv_path_or_inline",
    "dv_offset",
    "dv_size_in_bytes",
)
_FILE: Final = ("path", "raw_path", "partition_values", "size", "num_records", "base_row_id")
_KINDS: Final = ("delete", "difference", "insert")


def change_table(
    recorded: Mapping[int, Sequence[AddCDCFile]], life: Lifetimes, from_files: Set[int], times: Mapping[int, int]
) -> pa.Table:
    """Return the sources of some versions, ascending.

    Columns as in `explorer.core.versions.change_feed.feed.ChangeSources`.

    Args:
        times: Commit time of each version, ms since the epoch.
    """
    return _sorted([_of_change_files(recorded), _of_lifetimes(life, from_files)], times)


def difference_table(life: Lifetimes, from_version: int, to_version: int) -> pa.Table:
    """Return the files in which two versions differ: removed, added, or with another deletion vector.

    Args:
        from_version, to_version: The versions, in either order.

    Returns:
        Columns as in `change_table`, without the timestamp; ``version`` is the one whose rows the file has, for a
        ``difference`` the second.

    Raises:
        VersionNotFound: One of the versions cannot be read.
    """
    before, after = life.live(from_version), life.live(to_version)
    left, entered = np.flatnonzero(before & ~after), np.flatnonzero(after & ~before)
    places = life.same_path(left, entered)
    stays = places >= 0
    removed = np.ones(len(left), bool)
    removed[places[stays]] = False
    old, new = left[places[stays]], entered[stays]
    differs = life.vectors_differ(old, new)
    table = _of_instances(life, left[removed], (old[differs], new[differs]), entered[~stays])
    versions = [from_version if kind == "delete" else to_version for kind in table.column("kind").to_pylist()]
    return table.add_column(0, "version", int64s(versions))


class ReadEstimate(msgspec.Struct, frozen=True):
    """Cost of reading some sources, by the log: distinct files, their bytes (None if one is unknown)."""

    files: int
    bytes: int | None


def read_estimate(files: pa.Table) -> ReadEstimate:
    """Estimate the cost of reading sources, columns as in `change_table`; a file with several roles counts once."""
    sizes = dict(zip(files.column("path").to_pylist(), files.column("size").to_pylist(), strict=True))
    known = [size for size in sizes.values() if size is not None]
    return ReadEstimate(len(sizes), sum(known) if len(known) == len(sizes) else None)


def locations(files: pa.Table) -> list[tuple[int, str]]:
    """Return the version and decoded location of every file to be read, deletion vectors included."""
    versions = files.column("version").to_pylist()
    needed = list(zip(versions, files.column("path").to_pylist(), strict=True))
    for prefix in ("", "before_"):
        names = ("dv_storage_type", "dv_path_or_inline")
        kinds, places = (files.column(prefix + name).to_pylist() for name in names)
        for version, kind, place in zip(versions, kinds, places, strict=True):
            file = None if kind is None else location(DeletionVectorId(kind, place))
            if file is not None:
                needed.append((version, file))
    return sorted(needed)


def masked_difference(
    store: LogStore,
    before: DeletionVectorDescriptor | None,
    after: DeletionVectorDescriptor | None,
    file: str | None = None,
    version: int | None = None,
) -> tuple[RowIndexes, RowIndexes]:
    """Return the rows of one file whose masking changed (CDF-008).

    Args:
        before, after: The file's deletion vectors; None masks nothing.

    Returns:
        Row indexes that became masked (deleted), and those that became visible again (inserted), ascending.

    Raises:
        CorruptDeletionVector: A vector does not match its descriptor.
    """
    empty = np.empty(0, np.uint64)
    old = empty if before is None else read_rows(store, before, file, version)
    new = empty if after is None else read_rows(store, after, file, version)
    return np.setdiff1d(new, old, assume_unique=True), np.setdiff1d(old, new, assume_unique=True)


def _of_change_files(recorded: Mapping[int, Sequence[AddCDCFile]]) -> pa.Table:
    actions = [(version, action) for version, files in recorded.items() for action in files]
    columns: dict[str, pa.Array] = {
        "version": int64s([version for version, _ in actions]),
        "kind": strings(["cdc"] * len(actions)),
        "path": strings([canonical_key(action.path) for _, action in actions]),
        "raw_path": strings([action.path for _, action in actions]),
        "partition_values": string_maps([action.partition_values for _, action in actions]),
        "size": int64s([action.size for _, action in actions]),
        "num_records": pa.nulls(len(actions), pa.int64()),
        "base_row_id": pa.nulls(len(actions), pa.int64()),
    }
    for prefix in ("", "before_"):
        columns |= {prefix + name: pa.nulls(len(actions), SCHEMA.field(name).type) for name in _VECTOR}
    return pa.table(columns)


def _of_lifetimes(life: Lifetimes, from_files: Set[int]) -> pa.Table:
    """Return adds, removes and exchanged deletion vectors of some versions."""
    first, last = min(from_files, default=0), max(from_files, default=-1)
    chosen = np.zeros(max(last - first + 1, 1), bool)
    chosen[[version - first for version in from_files]] = True

    def among(versions: Int32s) -> Mask:
        inside = (versions >= first) & (versions <= last)
        return inside & chosen[np.where(inside, versions - first, 0)]

    distinct = life.removed > life.added
    came, went = among(life.added) & distinct, among(life.removed) & distinct
    new = np.flatnonzero(came & (life.previous >= 0))
    old = life.previous[new]
    went[old] = False
    differs = life.vectors_differ(old, new) & (life.data_change[new] | life.removed_data_change[old])
    new, old = new[differs], old[differs]
    inserts = np.flatnonzero(came & (life.previous < 0) & life.data_change)
    deletes = np.flatnonzero(went & life.removed_data_change)
    table = _of_instances(life, deletes, (old, new), inserts)
    versions = np.concatenate([life.removed[deletes], life.added[new], life.added[inserts]])
    return table.add_column(0, "version", int64s(versions.tolist()))


def _of_instances(
    life: Lifetimes, deletes: Integers, remasked: tuple[Integers, Integers], inserts: Integers
) -> pa.Table:
    """Return sources without their versions: removed instances, pairs of one path, added instances."""
    old, new = remasked
    kinds = np.repeat(np.arange(3), [len(deletes), len(new), len(inserts)])
    table = life.take(np.concatenate([deletes, new, inserts]), [*_FILE, *_VECTOR])
    table = table.add_column(0, "kind", strings([_KINDS[kind] for kind in kinds.tolist()]))
    positions = [None] * len(deletes) + list(range(len(new))) + [None] * len(inserts)
    before = life.take(old, _VECTOR).take(int64s(positions))
    for name in _VECTOR:
        table = table.append_column(f"before_{name}", before.column(name))
    return table


def _sorted(tables: Sequence[pa.Table], times: Mapping[int, int]) -> pa.Table:
    """Return the sources in the order of versions, with their commit times."""
    table = pa.concat_tables(tables)
    versions: npt.NDArray[np.int64] = np.array(table.column("version").to_pylist(), np.int64)
    order = np.argsort(versions, kind="stable")
    table = table.take(int64s(order.tolist())).combine_chunks()
    stamps = int64s([times[version] for version in versions[order].tolist()])
    return table.add_column(1, "timestamp", stamps.view(pa.timestamp("ms", "UTC")))
