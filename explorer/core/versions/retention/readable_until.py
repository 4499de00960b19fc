"""Until when the files that versions, or their changes, need were needed, and which VACUUM may delete at some time.

Protocol sections: VACUUM, Deletion Vectors, Add CDC File. Invariants: a file that a recorded VACUUM deleted, or a scan
of the folder lacks, is lost, and is not among those to delete; by the log alone, one deleted without a record is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s, Integers, Mask, joined, known_int64s, mask, numbers, validity
from explorer.core.protocol.deletion_vectors import location
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.lifetimes import NEVER, Lifetimes
from explorer.core.versions.provenance import CommitRecord
from explorer.core.versions.retention.expiry import FOREVER, UNTIMED, LastNeeded
from explorer.core.versions.retention.version_states import RecordedVacuum, VersionRisks

FILE_STATES: Final = ("live", "removed", "changes", "orphan")
"""The state of a stored file in the log: live; removed; with recorded changes; in no action."""


class FolderScan(msgspec.Struct, frozen=True):
    """The folder's listing compared with the log.

    Attributes:
        files: The files that VACUUM considers, by path: path, size (bytes), modified (ms since the epoch), state (one
            of `FILE_STATES`), needed_until (ms since the epoch, until when something needed it; null while something
            does, or if nothing ever did).
        missing: The decoded locations that a readable version needs and at which there is no file.
        changes: For each version that recorded changes and whose files all exist, when VACUUM could first
            count them as old: ms since the epoch.
        other_tables: Folders inside that are tables of their own; VACUUM skips them.
    """

    files: pa.Table
    missing: frozenset[str]
    changes: dict[int, int]
    other_tables: tuple[str, ...] = ()

    @property
    def old_from(self) -> Int64s:
        """When VACUUM could first count each file as old: `FOREVER` while something needs it."""
        until = joined(self.files.column("needed_until"))
        modified = numbers(joined(self.files.column("modified")))[0]
        needed = (~validity(until)) & ~self.states("orphan")
        return np.where(needed, FOREVER, np.maximum(numbers(until)[0], modified))

    def states(self, state: str) -> Mask:
        """Return a mask of the files of a state."""
        in_state: Mask = np.array(self.files.column("state").to_pylist(), object) == state
        return in_state

    def modified(self, locations: pa.StringArray) -> Int64s:
        """Return when the files at decoded locations were written, ms since the epoch; 0 if not in the folder."""
        import pyarrow.compute as pc

        positions = pc.index_in(locations, value_set=joined(self.files.column("path")))
        times = joined(self.files.column("modified"))
        modified_times: Int64s = numbers(times.take(positions).cast(pa.int64()))[0]
        return modified_times

    @property
    def orphans(self) -> pa.Table:
        """The files that are in no action of the log: path, size, modified."""
        return self.files.filter(mask(self.states("orphan"))).select(["path", "size", "modified"])

    @property
    def orphan_bytes(self) -> int:
        """The bytes of these."""
        return int(numbers(joined(self.orphans.column("size")))[0].sum())


_MAX_DATE: Final = 253_402_300_799_999


class ReadableUntil(msgspec.Struct, frozen=True):
    """Some versions, ascending, and until when all files that each needs were needed.

    Attributes:
        versions: The versions.
        until: The first tombstone among the files each needs, ms since the epoch; `FOREVER` if none of them was
            removed.
        lost: A mask of those that were lost already.
    """

    versions: Int64s
    until: Int64s
    lost: Mask

    def least(self, now: int) -> Int64s:
        """Return the shortest retention, in ms, with which a VACUUM now leaves each as it is."""
        return np.where(self.until == FOREVER, 0, np.maximum(now - self.until, 0))

    def dying(self, now: int, retention: int) -> Int64s:
        """Return the versions that a VACUUM now makes unreadable."""
        lost: Int64s = self.versions[~self.lost & (self.least(now) > retention)]
        return lost

    def lost_from(self, retention: int) -> pa.Int64Array:
        """Return when each may first be lost under a retention, ms since the epoch; null if lost, never, or unknown."""
        known = ~self.lost & (self.until <= _MAX_DATE - retention) & (self.until != UNTIMED)
        return known_int64s(np.where(known, self.until, 0) + retention, known)


class TakenFiles:
    """Whether a recorded VACUUM deleted files needed until a time and removed in a version.

    Args:
        vacuums: Those that the log records, ascending.
    """

    def __init__(self, vacuums: Sequence[RecordedVacuum]) -> None:
        self._versions = np.array([vacuum.version for vacuum in vacuums], np.int64)
        before = np.array([vacuum.before for vacuum in vacuums], np.int64)
        # The latest cut-off among this vacuum and the later ones; nothing is older than the last item.
        latest = np.maximum.accumulate(before[::-1])[::-1]
        self._before = np.concatenate([latest, np.full(1, np.iinfo(np.int64).min)])

    def mask(self, until: Int64s, removed: Integers) -> Mask:
        """Return a mask of the deleted ones."""
        taken: Mask = self._before[np.searchsorted(self._versions, removed, side="left")] > until
        return taken


def feed_readable_until(
    history: History, until: Int64s, lost: Mask, recorded: Callable[[CommitRecord], tuple[int, bool]]
) -> ReadableUntil:
    """Return the versions with the change feed enabled, and until when the files of their changes were needed."""
    life, first = history.lifetimes, history.first_readable
    times, lost_by_version = np.full(life.last - first + 1, FOREVER), np.zeros(life.last - first + 1, bool)
    for versions, ends, losses in _sources(life, until, lost):
        inside = versions >= first
        np.minimum.at(times, versions[inside] - first, ends[inside])
        np.logical_or.at(lost_by_version, versions[inside] - first, losses[inside])
    changed = np.array(history.layout_changes(first, life.last), np.int64)
    on = np.array([history.records_changes(version) for version in changed.tolist()], bool)
    records = [record for record in history.commits if record.version >= first]
    positions = np.searchsorted(changed, [record.version for record in records], side="right") - 1
    records = [record for record, is_on in zip(records, on[positions].tolist(), strict=True) if is_on]
    for record in records:
        if record.change_files:
            times[record.version - first], lost_by_version[record.version - first] = recorded(record)
        elif record.changes_no_row:
            times[record.version - first], lost_by_version[record.version - first] = FOREVER, False
    chosen = np.array([record.version for record in records], np.int64)
    return ReadableUntil(chosen, times[chosen - first], lost_by_version[chosen - first])


def recorded_by_log(risks: VersionRisks, taken: TakenFiles, record: CommitRecord) -> tuple[int, bool]:
    """Return the time of the commit, until which VACUUM counts change files as needed, and whether it deleted them."""
    path, missing = risks.listing.commits.get(record.version), record.version in risks.known.now.feed
    if path is None:
        return FOREVER, missing
    return path.modified, missing or bool(taken.mask(np.array([written(record)]), np.array([record.version]))[0])


def written(record: CommitRecord) -> int:
    """Return a commit's time by the writer's clock, which a copy of its file preserves, as the records of VACUUM do."""
    writer_time = None if record.info is None else record.info.timestamp
    return record.timestamp if writer_time is None or record.time_in_commit else min(max(writer_time, 0), _MAX_DATE)


def recorded_by_scan(scan: FolderScan, record: CommitRecord) -> tuple[int, bool]:
    """Return the same by a scan of the folder."""
    written = scan.changes.get(record.version)
    return (FOREVER, True) if written is None else (written, False)


def _sources(life: Lifetimes, until: Int64s, lost: Mask) -> Iterator[tuple[Integers, Int64s, Mask]]:
    """Yield the instances with changes, as `explorer.core.versions.change_feed.sources` selects them.

    Of each: the version, until when its files were needed, and whether they are lost.
    """
    nonempty = life.removed > life.added
    new = np.flatnonzero(nonempty & (life.previous >= 0))
    old = life.previous[new]
    leaves = nonempty & (life.removed != NEVER) & life.removed_data_change
    leaves[old] = False
    differs = life.vectors_differ(old, new) & (life.data_change[new] | life.removed_data_change[old])
    new, old = new[differs], old[differs]
    came = np.flatnonzero(nonempty & (life.previous < 0) & life.data_change & (life.added >= life.first))
    removed = np.flatnonzero(leaves)
    yield life.added[came], until[came], lost[came]
    yield life.removed[removed], until[removed], lost[removed]
    yield life.added[new], np.minimum(until[new], until[old]), lost[new] | lost[old]


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
    sizes, known = numbers(joined(scan.files.column("size")))
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
    offsets, sizes = (numbers(joined(column)) for column in life.take(rows, _VECTOR).columns)
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
