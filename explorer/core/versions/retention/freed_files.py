"""The files that VACUUM may delete at some time, and when nothing needed each any more.

Protocol sections: VACUUM, Deletion Vectors, Add CDC File. Invariant: a file that a recorded VACUUM deleted, or that is
known to be missing, is not among them; by the log alone, one that was deleted without a record is.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

import msgspec
import numpy as np

from explorer.core.protocol.arrow.arrays import Int64s, Integers, Mask, numbers
from explorer.core.protocol.deletion_vectors import location
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.lifetimes import Lifetimes
from explorer.core.versions.retention.expiry import FOREVER, LastNeeded
from explorer.core.versions.retention.readable_until import FolderScan, TakenFiles, written
from explorer.core.versions.retention.version_states import VersionRisks

__all__ = ["Freed", "freed_by_log", "freed_by_scan"]

# A file of deletion vectors begins with a byte; each vector has its size before it and a checksum after it.
_AROUND_VECTOR: Final = 8
_VECTOR: Final = ("dv_offset", "dv_size_in_bytes")


class Freed(msgspec.Struct, frozen=True):
    """Files: since when nothing needs each (ms since the epoch), its bytes, and a mask of the known ones."""

    since: Int64s
    sizes: Int64s
    known: Mask


def freed_by_scan(scan: FolderScan) -> Freed:
    """Return the files of a scan of the folder."""
    old = scan.old_from
    rows = np.flatnonzero(old != FOREVER)
    sizes, known = numbers(scan.files.column("size").combine_chunks())
    return Freed(old[rows], sizes[rows].astype(np.int64), known[rows])


def freed_by_log(history: History, risks: VersionRisks, needed: LastNeeded, taken: TakenFiles) -> Freed:
    """Return data, deletion vector and change files that nothing needs and no recorded VACUUM deleted."""
    life = history.lifetimes
    missing = risks.known.now.missing
    data, vectors = _data_files(life, needed, taken, missing), _vector_files(life, needed, taken, missing)
    groups = [data, vectors, _change_files(history, risks, taken)]
    return Freed(*(np.concatenate(parts) for parts in zip(*groups, strict=True)))


_Files = tuple[Int64s, Int64s, Mask]


def _data_files(life: Lifetimes, needed: LastNeeded, taken: TakenFiles, missing: Set[str]) -> _Files:
    rows = np.flatnonzero(needed.paths != FOREVER)
    last = _last_of_each(life.path_ids[rows], life.removed[rows])
    rows = rows[last]
    rows = rows[~taken.mask(needed.paths[rows], life.removed[rows])]
    if missing:
        paths = life.take(rows, ["path"]).column(0).to_pylist()
        rows = rows[np.fromiter((path not in missing for path in paths), bool, len(rows))]
    sizes, known = life.sizes
    return needed.paths[rows], sizes[rows], known[rows]


def _vector_files(life: Lifetimes, needed: LastNeeded, taken: TakenFiles, missing: Set[str]) -> _Files:
    """Return files of deletion vectors; their sizes come from position and size of each vector in the log."""
    files, ids = life.vector_files
    inside = np.array([*(vector.storage_type == "u" and location(vector) not in missing for vector in ids), False])
    rows = np.flatnonzero((needed.vectors != FOREVER) & inside[files])
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool)
    offsets, sizes = (numbers(column.combine_chunks()) for column in life.take(rows, _VECTOR).columns)
    ends = offsets[0].astype(np.int64) + sizes[0] + _AROUND_VECTOR
    known = np.ones(len(ids), bool)
    np.logical_and.at(known, files[rows], offsets[1] & sizes[1])
    file_sizes = np.zeros(len(ids), np.int64)
    np.maximum.at(file_sizes, files[rows], ends)
    rows = rows[_last_of_each(files[rows], life.removed[rows])]
    rows = rows[~taken.mask(needed.vectors[rows], life.removed[rows])]
    return needed.vectors[rows], file_sizes[files[rows]], known[files[rows]]


def _change_files(history: History, risks: VersionRisks, taken: TakenFiles) -> _Files:
    """Return change files; VACUUM counts them as needed until their commit was written."""
    commits, missing = risks.listing.commits, risks.known.now.feed
    records = [record for record in history.commits if record.change_files and record.version in commits]
    records = [record for record in records if record.version not in missing]
    records = [record for record in records if not taken.mask(np.array([written(record)]), np.array([record.version]))]
    sizes = [size for record in records for size in record.change_sizes]
    since = [commits[record.version].modified for record in records for _ in record.change_sizes]
    known = np.array([size is not None for size in sizes], bool)
    return np.array(since, np.int64), np.array([size or 0 for size in sizes], np.int64), known


def _last_of_each(groups: Integers, removed: Integers) -> Int64s:
    """Return the index of the item of each group that was removed last."""
    order = np.lexsort((removed, groups))
    ends = np.flatnonzero(np.diff(groups[order], append=-1) != 0)
    last: Int64s = order[ends]
    return last
