"""Every data file of a table that is still stored: what part it plays, since and until which version, and until when.

Protocol sections: Action Reconciliation, VACUUM, Add CDC File. Invariants: a key comes once, however the log spells its
path, and the newest version decides its role; a file that the log names and that is gone is counted, and for a live one
that is no answer; a file in the folder of another table belongs to that table; a time is the earliest at which VACUUM
with the table's own retention deletes the file, None where it never does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import StorageError
from explorer.core.log.log_path import LOG_FOLDER
from explorer.core.log.replay import read_commits
from explorer.core.log.writing.writer_state import carry_actions
from explorer.core.protocol.arrow.arrays import int64s, mask, only_array, string_maps, strings
from explorer.core.protocol.file_paths import canonical_key, decode_path, is_absolute_location, stored_key
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.file_search import FILE_COLUMNS
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.lifetimes import NEVER
from explorer.core.versions.retention.expiry import FOREVER, Terms, expiries, is_hidden, last_needed, retention_terms
from explorer.core.versions.retention.missing_files import absent

Role = Literal["live", "history", "feed", "orphan"]

_VECTOR: Final = FILE_COLUMNS[5:]
_OF_LOG: Final = ("path", "raw_path", "partition_values", "size", *_VECTOR)
_MAGIC: Final = (b"PAR1", b"PARE")
_LOG: Final = f"{LOG_FOLDER}/"
_HIDDEN: Final = "VACUUM skips hidden names; delete it manually"
_OUTSIDE: Final = "it is outside the table's folder, so VACUUM never deletes it; check which table it belongs to"


class StoredFiles(msgspec.Struct, frozen=True):
    """The files to search, and those that cannot be.

    Attributes:
        files: `FILE_COLUMNS`, then role, first_version and last_version (None where no version that can be read had the
            file), gone_from (ms since the epoch, None for never), kept_by (why never; else empty).
        unanswered: Keys with the reason why they are not searched.
        gone: How many files the log still names that are no longer stored.
        other_tables: Folders inside that are tables of their own.
        file_retention: Of removed files, ms.
    """

    files: pa.Table
    unanswered: tuple[tuple[str, str], ...]
    gone: int
    other_tables: tuple[str, ...]
    file_retention: int


def stored_files(log: DeltaLog, now: int, check_cancelled: Callable[[], None] = lambda: None) -> StoredFiles:
    """Find every data file that is stored.

    Args:
        log: The table's log.
        now: ms since the epoch.
        check_cancelled: Called for each file and each commit that is read; may raise.

    Raises:
        TableError: The log is broken.
        StorageError: The folder cannot be listed.
    """
    return _Stored(log, now, check_cancelled).listed()


class _Stored:
    def __init__(self, log: DeltaLog, now: int, check_cancelled: Callable[[], None]) -> None:
        self._log, self._now, self._check_cancelled = log, now, check_cancelled
        self._root = decode_path(log.location)
        self._history: History = log.history_record()
        self._terms: Terms = retention_terms(self._history)
        listing = log.store.list_files(check_cancelled)
        names = ("path", "size", "modified")
        paths, sizes, times = (only_array(listing, name).to_pylist() for name in names)
        self._listed: dict[str, tuple[int, int]] = dict(zip(paths, zip(sizes, times, strict=True), strict=True))
        self._others = tuple(sorted({path.partition(f"/{_LOG}")[0] for path in paths if f"/{_LOG}" in path}))
        self._unanswered: list[tuple[str, str]] = []

    def listed(self) -> StoredFiles:
        data = self._data_files()
        named = set(data.column("key").to_pylist())
        feed = self._change_files(named)
        named.update(feed.column("key").to_pylist())
        logged = pa.concat_tables([data, feed])
        present, missing = self._present(logged)
        files = pa.concat_tables([present, self._orphans(named)]).combine_chunks()
        return StoredFiles(files, tuple(self._unanswered), missing, self._others, self._terms.files)

    def _data_files(self) -> pa.Table:
        """Return the files of all adds, one row a file: its last instance, and its lifetime."""
        life = self._history.lifetimes
        rows = np.arange(len(life.added))
        keys = [self._key(path) for path in life.take(rows, ["path"]).column(0).to_pylist()]
        distinct = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        codes = np.array([distinct[key] for key in keys], np.int64)
        order = np.lexsort((rows, life.removed, codes))
        last = order[np.flatnonzero(np.diff(codes[order], append=-1) != 0)] if len(order) else order
        first = np.full(len(distinct), NEVER, np.int64)
        np.minimum.at(first, codes, life.added)
        expiry = np.zeros(len(distinct), np.int64)
        np.maximum.at(expiry, codes, expiries(last_needed(life, self._terms), self._terms))
        table = life.take(last, _OF_LOG).add_column(0, "key", strings([keys[row] for row in last.tolist()]))
        live = life.removed[last] == NEVER
        for name in _VECTOR:
            # The vectors of files that are not live say nothing of the newest version.
            column = table.column(name)
            live_values = pc.if_else(mask(live), column, pa.nulls(len(column), column.type))
            table = table.set_column(table.column_names.index(name), name, live_values)
        ends = np.where(live, life.last, life.removed[last].astype(np.int64) - 1)
        starts = np.maximum(first, life.readable_from)
        versions = [(a, b) if a <= b else (None, None) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        dates = [
            self._date(key, self._now + self._terms.files if alive else expires)
            for key, alive, expires in zip(distinct, live.tolist(), expiry.tolist(), strict=True)
        ]
        return _with_roles(table, ["live" if alive else "history" for alive in live.tolist()], versions, dates)

    def _change_files(self, named: set[str]) -> pa.Table:
        commits = self._log.listing.commits
        recorded = (each.version for each in self._history.commits if each.change_files)
        made = [commits[version] for version in recorded if version in commits]
        times = {path.version: path.modified for path in made}
        changes: dict[str, tuple[Any, int]] = {}
        for commit in read_commits(self._log.store, made):
            self._check_cancelled()
            for action in commit.change_files():
                changes.setdefault(self._key(canonical_key(action.path)), (action, commit.version))
        unnamed = {key: value for key, value in changes.items() if key not in named}
        actions = [action for action, _ in unnamed.values()]
        versions = [(version, version) for _, version in unnamed.values()]
        table = _table(
            list(unnamed),
            [canonical_key(action.path) for action in actions],
            [action.path for action in actions],
            [action.partition_values for action in actions],
            [action.size for action in actions],
        )
        dates = [self._date(key, times[version] + self._terms.files) for key, (_, version) in unnamed.items()]
        return _with_roles(table, ["feed"] * len(unnamed), versions, dates)

    def _present(self, files: pa.Table) -> tuple[pa.Table, int]:
        """Return the stored files among those of the log, and how many are not stored; record missing live files."""
        keys, roles = (files.column(name).to_pylist() for name in ("key", "role"))
        unlisted = [key for key in keys if key not in self._listed]
        lacking: set[str] = set()
        for key in unlisted:
            self._check_cancelled()
            try:
                lacking |= absent(self._log.store, [key])
            except StorageError as error:
                lacking.add(key)
                self._unanswered.append((key, error.message))
        unreadable = {key for key, _ in self._unanswered}
        self._log.known_missing.record_checked(set(unlisted) - unreadable, lacking - unreadable)
        missing = 0
        for key, role in zip(keys, roles, strict=True):
            if key in lacking and key not in unreadable:
                missing += 1
                if role == "live":
                    reason = "it is live in the log but not stored; its rows may be in a copy or a backup"
                    self._unanswered.append((key, reason))
        return files.filter(mask([key not in lacking for key in keys])), missing

    def _orphans(self, named: set[str]) -> pa.Table:
        candidates = [key for key in self._listed if key not in named and self._may_hold_rows(key)]
        keys = [key for key in sorted(candidates) if self._is_parquet(key)]
        buried = self._tombstones(set(keys)) if keys else {}
        table = _table(
            keys,
            keys,
            keys,
            [buried[key][1] if key in buried and buried[key][1] is not None else None for key in keys],
            [self._listed[key][0] for key in keys],
        )
        dates = [self._date(key, buried[key][0] + self._terms.files if key in buried else 0) for key in keys]
        return _with_roles(table, ["orphan"] * len(keys), [(None, None)] * len(keys), dates)

    def _may_hold_rows(self, key: str) -> bool:
        name = key.rpartition("/")[2]
        if key.startswith(_LOG) or any(key.startswith(f"{folder}/") for folder in self._others):
            return False
        is_vector = "deletion_vector_" in name and name.endswith(".bin")
        is_checksum = name.startswith(".") and name.endswith(".crc")
        return bool(self._listed[key][0]) and not is_vector and not is_checksum

    def _is_parquet(self, key: str) -> bool:
        self._check_cancelled()
        try:
            if self._log.store.read_range(key, 0, 4) in _MAGIC:
                return True
            reason = "it is an orphaned file that is not Parquet, so its content was not searched"
        except FileNotFoundError:
            return False
        except StorageError as error:
            reason = error.message
        self._unanswered.append((key, reason))
        return False

    def _tombstones(self, keys: set[str]) -> dict[str, tuple[int, dict[str, str | None] | None]]:
        """Return when files that only tombstones name were removed (ms), and their partition values if known."""
        carried = self._log.on_segment(self._history.latest, lambda segment: carry_actions(self._log.store, segment))
        known: dict[str, tuple[int, dict[str, str | None] | None]] = {}
        for chunk in carried.removes(1 << 14):
            for path, time, values in _removed(chunk):
                key = self._key(canonical_key(path))
                if key in keys:
                    known[key] = (time or 0, values)
        return known

    def _date(self, key: str, expires: int) -> tuple[int | None, str]:
        """Return from when VACUUM deletes a file that is unneeded from a time on (ms); or None and the reason."""
        if is_absolute_location(key) or key.startswith(".."):
            return None, _OUTSIDE
        if expires == FOREVER or is_hidden(key, self._terms.partition_columns):
            return None, _HIDDEN
        modified = self._listed[key][1] + self._terms.files if key in self._listed else 0
        return max(expires, modified), ""

    def _key(self, path: str) -> str:
        return stored_key(path, self._root)


def _removed(chunk: Any) -> Iterable[tuple[str, int | None, dict[str, str | None] | None]]:
    if isinstance(chunk, list):
        for line in chunk:
            yield line.path, line.deletion_timestamp, None
        return
    names = [field.name for field in chunk.type]
    for row in chunk.to_pylist(maps_as_pydicts="lossy"):
        values = row.get("partitionValues") if "partitionValues" in names else None
        yield row["path"], row.get("deletionTimestamp"), values


def _table(
    keys: Sequence[str],
    paths: Sequence[str],
    raw_paths: Sequence[str],
    values: Sequence[Any],
    sizes: Sequence[int | None],
) -> pa.Table:
    from explorer.core.protocol.logical_files import SCHEMA

    columns = {
        "key": strings(list(keys)),
        "path": strings(list(paths)),
        "raw_path": strings(list(raw_paths)),
        "partition_values": string_maps(list(values)),
        "size": int64s(list(sizes)),
    }
    return pa.table(columns | {name: pa.nulls(len(keys), SCHEMA.field(name).type) for name in _VECTOR})


def _with_roles(
    table: pa.Table,
    roles: Sequence[Role],
    versions: Sequence[tuple[int | None, int | None]],
    dates: Sequence[tuple[int | None, str]],
) -> pa.Table:
    added = {
        "role": strings(list(roles)),
        "first_version": int64s([first for first, _ in versions]),
        "last_version": int64s([last for _, last in versions]),
        "gone_from": int64s([time for time, _ in dates]),
        "kept_by": strings([reason for _, reason in dates]),
    }
    for name, column in added.items():
        table = table.append_column(name, column)
    return table
