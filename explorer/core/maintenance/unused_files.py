"""Which files under a table's root nothing needs any more, so that VACUUM may delete them.

Protocol sections: VACUUM, Action Reconciliation (tombstones), Deletion Vectors. Invariants: a file goes only if nothing
live names it, no tombstone within the retention does, and it is itself older than that (VACUUM-001); a file of deletion
vectors stays while one vector in it is needed (VACUUM-002); hidden names stay, change files, folders of partition
columns and Hadoop's checksums of deleted files excepted (VACUUM-003). If it is unclear, a file stays: every spelling of
a needed path counts, an absolute one keeps all files of its name, and files in the folder of another table belong to
that table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.log.checkpoint.file_columns import decoded_paths
from explorer.core.log.commit import Commit
from explorer.core.log.writing.writer_state import CarriedActions
from explorer.core.protocol.actions import DeletionVectorId
from explorer.core.protocol.arrow.arrays import (
    Int64s,
    Mask,
    flags,
    in_large_chunks,
    int64s,
    mask,
    numbers,
    only_array,
    strings,
    validity,
)
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.raw_actions import AddLine, RemoveLine
from explorer.core.versions.lifetimes.lifetimes import NEVER, Lifetimes
from explorer.core.versions.retention.expiry import FOREVER, is_hidden

UNNAMED: Final = int(np.iinfo(np.int64).min)
"""Time of a file that nothing names."""

_CHUNK: Final = 1 << 16
_COLUMNS: Final = ("path", "raw_path", "dv_storage_type", "dv_path_or_inline")
_ODD: Final = r"^/|:|//|(^|/)\.\.?(/|$)"
"""Paths that may name a file of the table without being its key: absolute, or with empty or dot parts."""
_HIDDEN: Final = r"(^|/)[_.]"
_OTHER_LOG: Final = "/_delta_log/"

_T = TypeVar("_T", pa.Array, pa.RecordBatch)


class ReferencedFiles:
    """The files that something names, and until when, in columns, so that there may be many."""

    def __init__(self) -> None:
        self._live: list[pa.StringArray] = []
        self._keys: list[tuple[pa.StringArray, Int64s]] = []
        self._names: list[tuple[pa.StringArray, Int64s]] = []

    def add(self, places: pa.StringArray, until: Int64s | None = None) -> None:
        """Add decoded locations.

        Args:
            until: Until when each was needed, ms since the epoch; None if all are needed now.
        """
        import pyarrow.compute as pc

        times = np.full(len(places), FOREVER) if until is None else until
        self._keys.append((places, times))
        odd = pc.match_substring_regex(places, _ODD)
        if len(odd_places := places.filter(odd)):
            self._names.append((_names(odd_places), times[flags(odd)]))

    def add_vectors(self, kinds: pa.StringArray, places: pa.StringArray, until: Int64s | None = None) -> None:
        """Add the files of deletion vectors: storage type and pathOrInlineDv, null where there is none.

        Raises:
            CorruptDeletionVector: A vector does not say where it is.
            UnsupportedFeature: A storage type is not known.
        """
        known = validity(kinds)
        with_vector = mask(known)
        pairs = zip(kinds.filter(with_vector).to_pylist(), places.filter(with_vector).to_pylist(), strict=True)
        times = np.full(int(known.sum()), FOREVER) if until is None else until[known]
        latest: dict[tuple[str, str], int] = {}
        for pair, time in zip(pairs, times.tolist(), strict=True):
            latest[pair] = max(time, latest.get(pair, time))
        latest_by_file = {location(DeletionVectorId(*pair)): time for pair, time in latest.items()}
        named = [(place, time) for place, time in latest_by_file.items() if place is not None]
        self.add(strings([place for place, _ in named]), np.array([time for _, time in named], np.int64))

    def add_lines(self, lines: Iterable[AddLine | RemoveLine], until: Sequence[int] | None = None) -> None:
        """Add what file actions of commits name."""
        actions = list(lines)
        times = np.full(len(actions), FOREVER) if until is None else np.array(until, np.int64)
        self.add(strings([canonical_key(line.path) for line in actions]), times)
        self.add(strings([line.path for line in actions]), times)
        vectors = [line.deletion_vector for line in actions]
        kinds = strings([None if each is None else each.storage_type for each in vectors])
        places = strings([None if each is None else each.path_or_inline_dv for each in vectors])
        self.add_vectors(kinds, places, times)

    def add_columns(self, files: pa.Table, until: Int64s | None = None, *, live: bool = False) -> None:
        """Add what logical files name (columns of `explorer.core.protocol.logical_files.SCHEMA`)."""
        paths, raw_paths = (in_large_chunks(files.column(name)) for name in _COLUMNS[:2])
        self._live += paths if live else []
        for chunk, times in (*_timed(paths, until), *_timed(raw_paths, until)):
            self.add(chunk, times)
        for vectors, times in _timed(files.select(_COLUMNS[2:]).to_batches(), until):
            kinds, places = vectors.columns
            self.add_vectors(kinds, places, times)

    def unlisted(self, keys: pa.StringArray) -> tuple[int, list[str]]:
        """Return how many live data files are under the root, and which of them are not in the store."""
        import pyarrow.compute as pc

        inside = [places.filter(pc.invert(pc.match_substring_regex(places, _ODD))) for places in self._live]
        lacking = [places.filter(pc.invert(pc.is_in(places, value_set=keys))).to_pylist() for places in inside]
        return sum(map(len, inside)), [place for places in lacking for place in places]

    def holds(self, keys: pa.StringArray) -> Mask:
        """Return the keys under the root that something may name."""
        held: Mask = self.until(keys) != UNNAMED
        return held

    def until(self, keys: pa.StringArray) -> Int64s:
        """Return until when each key was needed, ms since the epoch; `FOREVER`, or `UNNAMED`."""
        latest = _latest(self._keys, keys)
        return np.maximum(latest, _latest(self._names, _names(keys))) if self._names else latest


def _timed(chunks: Iterable[_T], until: Int64s | None) -> Iterator[tuple[_T, Int64s | None]]:
    """Return each of some chunks of rows, and its part of the times, of which there is one a row or none."""
    start = 0
    for chunk in chunks:
        yield chunk, None if until is None else until[start : start + len(chunk)]
        start += len(chunk)


def _latest(named: Sequence[tuple[pa.StringArray, Int64s]], keys: pa.StringArray) -> Int64s:
    """Return for each key the latest time among the locations that equal it."""
    import pyarrow.compute as pc

    latest_by_key = np.full(len(keys), UNNAMED)
    for places, times in named:
        indexes = pc.index_in(keys, value_set=places)
        rows, there = numbers(indexes)
        if (times == times[:1]).all():
            latest_by_key[there] = np.maximum(latest_by_key[there], times[rows[there]])
            continue
        # A place may be there several times, with different times.
        distinct = places.dictionary_encode()
        latest = np.full(len(distinct.dictionary), UNNAMED)
        np.maximum.at(latest, numbers(distinct.indices)[0], times)
        rows, there = numbers(pc.index_in(keys, value_set=distinct.dictionary))
        latest_by_key[there] = np.maximum(latest_by_key[there], latest[rows[there]])
    return latest_by_key


class UnusedFiles(msgspec.Struct, frozen=True):
    """What may go.

    Attributes:
        files: path, size (bytes), modified (ms since the epoch), by path.
        other_tables: Folders under the root that are tables of their own; nothing in them is checked.
    """

    files: pa.Table
    other_tables: tuple[str, ...] = ()


def needed_files(carried: CarriedActions, life: Lifetimes, changes: Iterable[tuple[Commit, int]]) -> ReferencedFiles:
    """Gather the files that are live, or were, and until when.

    Args:
        life: All recorded instances: a checkpoint drops the tombstones that the table's own retention lets expire.
        changes: Commits, for their change files, each with the time of its file (ms since the epoch).

    Raises:
        TableError: The log is broken.
        UnsupportedFeature: A deletion vector is stored in a way that is not known.
    """
    needed = ReferencedFiles()
    needed.add_columns(carried.files.select(_COLUMNS), live=True)
    removed = np.flatnonzero(life.removed != NEVER)
    needed.add_columns(life.take(removed, _COLUMNS), life.deletion_times[removed])
    for chunk in carried.removes(_CHUNK):
        if isinstance(chunk, list):
            needed.add_lines(chunk, [_in_range(line.deletion_timestamp or 0) for line in chunk])
        else:
            _add_tombstones(needed, chunk)
    files = [(canonical_key(file.path), written) for commit, written in changes for file in commit.change_files()]
    needed.add(strings([path for path, _ in files]), np.array([written for _, written in files], np.int64))
    return needed


def unused_files(
    listing: pa.Table,
    needed: ReferencedFiles,
    cutoff: int,
    partition_columns: Sequence[str] = (),
    *,
    iceberg: bool = False,
) -> UnusedFiles:
    """Find the files that may go.

    Args:
        listing: What is stored (`explorer.core.protocol.log_store.LogStore.list_files`).
        cutoff: ms since the epoch; only files that are older, and were not needed then or later, go.
        partition_columns: Logical and physical names of the partition columns: folders may have either.
        iceberg: Folders ``metadata`` belong to Iceberg, whose metadata the table has next to its own log.
    """
    import pyarrow.compute as pc

    others = other_tables(only_array(listing, "path"))
    times, _ = numbers(only_array(listing, "modified"))
    old = listing.filter(mask(times < cutoff))
    keys = only_array(old, "path")
    named = needed.until(keys) >= cutoff
    staying = named | exempt(keys, others, partition_columns, iceberg=iceberg)
    unused = old.filter(mask(~staying | (_shadows(keys, keys.filter(mask(~staying))) & ~named)))
    return UnusedFiles(unused.take(pc.sort_indices(only_array(unused, "path"))), others)


def exempt(
    keys: pa.StringArray, others: Sequence[str], partition_columns: Sequence[str], *, iceberg: bool = False
) -> Mask:
    """Return the files that always stay: hidden ones, those of `other_tables`, and Iceberg's metadata."""
    import pyarrow.compute as pc

    staying = _hidden(keys, partition_columns)
    for folder in others:
        staying |= flags(pc.starts_with(keys, f"{folder}/"))
    if iceberg:
        staying |= flags(pc.match_substring_regex(keys, "(^|/)metadata/"))
    return staying


def _names(places: pa.StringArray) -> pa.StringArray:
    """Return the last part of each location."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(places, "(?s)^.*/", "")


def _in_range(time: int) -> int:
    """Return the time, or the nearest that a column holds: a writer may state any number."""
    return min(max(time, UNNAMED + 1), FOREVER - 1)


def _add_tombstones(needed: ReferencedFiles, chunk: pa.StructArray) -> None:
    """Add the tombstones of a checkpoint."""
    members = dict(zip([field.name for field in chunk.type], chunk.flatten(), strict=True))
    stated = members.get("deletionTimestamp")
    times = np.zeros(len(chunk), np.int64) if stated is None else numbers(stated.cast(pa.int64()))[0]
    raw_paths = members["path"].cast(pa.string())
    needed.add(decoded_paths(raw_paths), times)
    needed.add(raw_paths, times)
    vectors = members.get("deletionVector")
    if vectors is not None and pa.types.is_struct(vectors.type):
        parts = dict(zip([field.name for field in vectors.type], vectors.flatten(), strict=True))
        kinds, places = (parts[name].cast(pa.string()) for name in ("storageType", "pathOrInlineDv"))
        needed.add_vectors(kinds, places, times)


def _hidden(keys: pa.StringArray, partition_columns: Sequence[str]) -> Mask:
    import pyarrow.compute as pc

    hidden: Mask = flags(pc.match_substring_regex(keys, _HIDDEN))
    rows = np.flatnonzero(hidden)
    names = keys.take(int64s(rows.tolist())).to_pylist()
    hidden[rows] = [is_hidden(name, partition_columns) for name in names]
    return hidden


def _shadows(keys: pa.StringArray, deleted: pa.StringArray) -> Mask:
    """Return Hadoop's checksums ``.NAME.crc`` of deleted files on a local disk: nothing else uses them."""
    import pyarrow.compute as pc

    shadows = pc.replace_substring_regex(deleted, r"([^/]+)\z", r".\1.crc")
    checksums: Mask = flags(pc.is_in(keys, value_set=shadows))
    return checksums


def shadowed(keys: pa.StringArray) -> tuple[Int64s, Int64s]:
    """Return the checksums ``.NAME.crc`` that Hadoop keeps on a local disk: their places, and those of their files."""
    import pyarrow.compute as pc

    shadows = pc.replace_substring_regex(keys, r"([^/]+)\z", r".\1.crc")
    rows, there = numbers(pc.index_in(keys, value_set=shadows))
    places = np.flatnonzero(there)
    return places, rows[places].astype(np.int64)


def other_tables(keys: pa.StringArray) -> tuple[str, ...]:
    """Return folders below the root that have a log of their own; those inside hidden ones go with these."""
    import pyarrow.compute as pc

    logs = keys.filter(pc.match_substring(keys, _OTHER_LOG)).to_pylist()
    return tuple(sorted({key.partition(_OTHER_LOG)[0] for key in logs}))
