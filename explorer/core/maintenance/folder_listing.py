"""The table's folder against its log: unused and missing files, until when each was needed, and temporary files.

Protocol sections: VACUUM, Add CDC File, Delta Log Entries. Invariants: the rules are those of
`explorer.core.maintenance.unused_files`, for every cutoff at once; a file that is not in the listing is checked by
itself before it counts as missing, because listings leave out links; no file of a table has the name of a temporary
file, so none is ever read as one (LOG-004), and none is deleted here, because a writer may still need it.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow as pa

from explorer.core.log.commit import Commit
from explorer.core.log.replay import read_commits
from explorer.core.log.writing.writer_state import carry_actions
from explorer.core.maintenance.unused_files import (
    UNNAMED,
    ReferencedFiles,
    exempt,
    needed_files,
    other_tables,
    shadowed,
)
from explorer.core.protocol.arrow.arrays import Int64s, Mask, int64s, known_int64s, mask, numbers, only_array, strings
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.table_properties.registry import ENABLED_FORMATS
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.history import History
from explorer.core.versions.retention.expiry import FOREVER, retention_terms
from explorer.core.versions.retention.missing_files import absent, data_locations
from explorer.core.versions.retention.readable_until import FILE_STATES, FolderScan

_LIVE, _REMOVED, _CHANGES, _ORPHAN = range(len(FILE_STATES))
_Changes = list[tuple[Commit, int]]


def scan_folder(log: DeltaLog) -> FolderScan:
    """List the folder, and hold it against the log; files that are missing are known from then on.

    Raises:
        TableError: The log is broken.
        UnsupportedFeature: A deletion vector is stored in a way that is not known.
        NotAllowed: The log points outside the places that may be read.
        StorageError: The folder cannot be listed.
    """
    history = log.history_record()
    changes = _changes(log, history)
    listing = log.store.list_files()
    paths = only_array(listing, "path")
    others = other_tables(paths)
    iceberg = ENABLED_FORMATS.is_set(log.snapshot().metadata.configuration)
    stay = exempt(paths, others, retention_terms(history).partition_columns, iceberg=iceberg)
    carried = log.on_segment(history.latest, lambda segment: carry_actions(log.store, segment))
    files = _files(listing, stay, needed_files(carried, history.lifetimes, changes), changes)
    written = dict(zip(paths.to_pylist(), numbers(only_array(listing, "modified"))[0].tolist(), strict=True))
    needed = [place for place in data_locations(history.lifetimes) if place not in written]
    scan = FolderScan(files, absent(log.store, needed), _change_times(log, changes, written), others)
    unread_changes = {commit.version for commit, _ in changes} - scan.changes.keys()
    log.known_missing.record_all_checked(scan.missing, history.latest, unread_changes)
    return scan


def _changes(log: DeltaLog, history: History) -> _Changes:
    commits = log.listing.commits
    paths = [commits[each.version] for each in history.commits if each.change_files and each.version in commits]
    return [(commit, path.modified) for commit, path in zip(read_commits(log.store, paths), paths, strict=True)]


def _files(listing: pa.Table, stay: Mask, needed: ReferencedFiles, changes: _Changes) -> pa.Table:
    """Return the files that do not stay anyway, and the checksums of these; see `FolderScan.files`."""
    import pyarrow.compute as pc

    paths = only_array(listing, "path")
    modified = numbers(only_array(listing, "modified"))[0].astype(np.int64)
    until = needed.until(paths)
    states = np.where(until == FOREVER, _LIVE, np.where(until == UNNAMED, _ORPHAN, _REMOVED))
    recorded = strings([canonical_key(file.path) for commit, _ in changes for file in commit.change_files()])
    states[(states == _REMOVED) & numbers(pc.index_in(paths, value_set=recorded))[1]] = _CHANGES
    checksums, owners = shadowed(paths)
    owned = stay[checksums] & ~stay[owners] & (until[checksums] == UNNAMED)
    checksums, owners = checksums[owned], owners[owned]
    stay = stay.copy()
    stay[checksums] = False
    states[checksums] = states[owners]
    until[checksums] = _with_owner(until[owners], modified[owners])
    known = (until != FOREVER) & (until != UNNAMED)
    files = pa.table(
        {
            "path": paths,
            "size": only_array(listing, "size"),
            "modified": int64s(modified),
            "state": strings([FILE_STATES[state] for state in states.tolist()]),
            "needed_until": known_int64s(np.where(known, until, 0), known),
        }
    ).filter(mask(~stay))
    return files.take(pc.sort_indices(only_array(files, "path"))).combine_chunks()


def _with_owner(until: Int64s, modified: Int64s) -> Int64s:
    """Return a checksum goes once its file goes, which is not before that was written."""
    return np.where(until == FOREVER, FOREVER, np.maximum(until, modified))


def _change_times(log: DeltaLog, changes: _Changes, written: dict[str, int]) -> dict[int, int]:
    """Return from when on a change file can be old, for each version whose change files all exist."""
    files = {commit.version: [canonical_key(file.path) for file in commit.change_files()] for commit, _ in changes}
    missing = absent(log.store, {key for keys in files.values() for key in keys if key not in written})
    return {
        commit.version: min(max(time, written.get(key, 0)) for key in files[commit.version])
        for commit, time in changes
        if not missing.intersection(files[commit.version])
    }


_NAME: Final = re.compile(
    r"\..+\.[0-9a-f]{16}\.tmp"  # this program
    r"|\..+\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp(?:\.crc)?"  # Spark
    r"|_commit_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json\.tmp"  # delta-rs
)


def is_leftover(key: str) -> bool:
    """Return whether a key is the name of a file that is being written, by this program or others."""
    return _NAME.fullmatch(key.rpartition("/")[2]) is not None


def leftovers(store: LogStore) -> pa.Table:
    """List the temporary files of a table, in the log and among the data.

    Returns:
        path, size (bytes), modified (ms, UTC), by path. A recent one may belong to a running writer.
    """
    files = []
    for key in sorted(filter(is_leftover, store.list_tree())):
        try:
            files.append(store.head(key))
        except FileNotFoundError:
            continue  # its writer has ended
    return pa.table(
        {
            "path": strings([each.path for each in files]),
            "size": int64s([each.size for each in files]),
            "modified": int64s([each.modified for each in files]).view(pa.timestamp("ms", "UTC")),
        }
    )
