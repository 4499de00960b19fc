"""When the files that a version needs may be deleted: data files by VACUUM, log files by log cleanup.

Protocol sections: Metadata Cleanup, Action Reconciliation (tombstones), VACUUM. Invariants: a file may go once its last
tombstone has expired, unless it is live (FILE-014, VACUUM-001), and a file of deletion vectors once none of its vectors
is referenced (VACUUM-002); files in hidden folders or outside the table are never deleted (VACUUM-003). The log
before a checkpoint may go once the checkpoint is old enough to be the cut-off, and not without one (CLEANUP-001 to
003).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow.compute as pc

from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.arrow.arrays import Int32s, Int64s, Integers, Mask, flags, int64s, joined
from explorer.core.protocol.schema.column_mapping import physical_paths
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.protocol.table_properties.registry import EXPIRED_LOG_CLEANUP, FILE_RETENTION, LOG_RETENTION
from explorer.core.protocol.times import span_milliseconds
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.lifetimes import NEVER, Lifetimes

FOREVER: Final = int(np.iinfo(np.int64).max)
"""Time of something that never expires."""

UNTIMED: Final = 0
"""Time of a tombstone without one, which counts as long expired (FILE-003): a loss by it has no date."""

_DAY: Final = 86_400_000
_HIDDEN: Final = re.compile(r"(?:\A|/)[_.]")
_UNUSUAL: Final = r"^[_./]|/[_.]|:"
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:/")
_NOT_HIDDEN: Final = ("_change_data", "_delta_index")


class Terms(msgspec.Struct, frozen=True):
    """Retention in force, in ms; the log's is None where expired log files are not deleted.

    It is that of the newest version, because cleanups use that.
    """

    files: int
    log: int | None
    partition_columns: tuple[str, ...]


class LastNeeded(msgspec.Struct, frozen=True):
    """For each instance of the lifetimes, the last tombstone of its data file and that of its file of deletion vectors.

    In ms since the epoch; `FOREVER` where the file is live, is none, or is one that VACUUM never deletes.
    """

    paths: Int64s
    vectors: Int64s

    @property
    def first(self) -> Int64s:
        """The earlier of both: from then on the instance lacks something that it needs."""
        return np.minimum(self.paths, self.vectors)


class Risk(msgspec.Struct, frozen=True):
    """For each readable version: when it may first be lost, and the reason.

    Attributes:
        since: ms since the epoch, `FOREVER` if never.
        first: The deciding item: the row of a file in the lifetimes, or the version of a checkpoint; -1 for never.
    """

    since: Int64s
    first: Int64s


def retention_terms(history: History) -> Terms:
    """Read the retention from the newest version's metadata.

    Raises:
        CorruptTable: A property has no readable value.
    """
    metadata = history.metadata_at(history.latest)
    configuration = {} if metadata is None else metadata.configuration
    files = span_milliseconds(FILE_RETENTION.of(configuration))
    log = span_milliseconds(LOG_RETENTION.of(configuration))
    cleaned = EXPIRED_LOG_CLEANUP.of(configuration)
    return Terms(files, log if cleaned else None, _partition_names(history))


def expiries(needed: LastNeeded, terms: Terms) -> Int64s:
    """Return when VACUUM may first delete the file of each instance or its deletion vector, ms; `FOREVER` if never."""
    last = needed.first
    return np.where(last == FOREVER, FOREVER, last + terms.files)


def last_needed(life: Lifetimes, terms: Terms) -> LastNeeded:
    """Return until when the files of each instance were needed, by the tombstones."""
    ended = life.removed != NEVER
    files, _ = life.vector_files
    tombstones = np.where(ended, life.deletion_times, FOREVER)
    tombstones[_superseded(life.path_ids, files)] = 0
    paths = _latest_by(life.path_ids, tombstones)
    paths[ended] = np.where(_out_of_reach(life, terms)[ended], FOREVER, paths[ended])
    vectors = np.full(len(files), FOREVER)
    masked = files >= 0
    vectors[masked] = _latest_by(files[masked], tombstones[masked])
    return LastNeeded(paths, vectors)


def data_risk(life: Lifetimes, expiry: Int64s) -> Risk:
    """Return when VACUUM may first delete a file of each readable version, with the `expiries` of the instances."""
    start, stop, rows = readable_spans(life, expiry != FOREVER)
    return _earliest(start, stop, rows, expiry, life.last - life.readable_from + 1)


def log_risk(listing: LogListing, life: Lifetimes, terms: Terms) -> Risk:
    """Return when log cleanup may first delete files that each readable version needs (CLEANUP-001 to 003).

    A checkpoint becomes the cut-off at the first midnight, UTC, that is later than its commit by the retention; then
    everything before it is deleted. Cleanup uses the times of the files, whatever timestamps the commits have.
    """
    count = life.last - life.readable_from + 1
    since, first = np.full(count, FOREVER), np.full(count, -1, np.int64)
    if terms.log is None:
        return Risk(since, first)
    times = file_times(listing)
    start = 0
    for checkpoint in listing.checkpoints:
        end = min(checkpoint.version - life.readable_from, count)
        if end > start:
            made = times.get(checkpoint.version, max(part.modified for part in checkpoint.parts))
            since[start:end] = -(-made // _DAY) * _DAY + terms.log
            first[start:end] = checkpoint.version
            start = end
    return Risk(since, first)


def readable_spans(life: Lifetimes, chosen: Mask) -> tuple[Int64s, Int64s, Int64s]:
    """Return the versions in which each chosen instance lives, counted from the first: start, stop and row."""
    count = life.last - life.readable_from + 1
    start = np.clip(life.added.astype(np.int64) - life.readable_from, 0, count)
    stop = np.clip(life.removed.astype(np.int64) - life.readable_from, 0, count)
    rows = np.flatnonzero(chosen & (start < stop))
    return start[rows], stop[rows], rows


def is_hidden(path: str, partition_columns: Sequence[str]) -> bool:
    """Return whether VACUUM skips the file: a part of its path begins with ``_`` or ``.`` (VACUUM-003).

    Change files, indexes and folders of partition columns whose names begin so are not hidden.
    """
    if _HIDDEN.search(path) is None:
        return False
    return any(
        part[:1] in ("_", ".")
        and not part.startswith(_NOT_HIDDEN)
        and not any(part.startswith(f"{column}=") for column in partition_columns)
        for part in path.split("/")
    )


def _partition_names(history: History) -> tuple[str, ...]:
    """Return logical and physical names of the partition columns: folders may have either."""
    metadata = history.metadata_at(history.latest)
    logical = () if metadata is None else metadata.partition_columns
    if metadata is None or not logical or metadata.schema_string is None:
        return logical
    paths = physical_paths(parse_schema(metadata.schema_string), history.mapping_mode(history.latest))
    return (*logical, *(paths[(name,)][0] for name in logical if (name,) in paths))


def _superseded(path_ids: Int32s, files: Int32s) -> Mask:
    """Return a mask of instances whose tombstone a later one of the same path and vector replaced (REPLAY-003)."""
    keys = path_ids.astype(np.int64) * (int(files.max(initial=-1)) + 2) + files + 1
    _, from_end = np.unique(keys[::-1], return_index=True)
    superseded = np.ones(len(keys), bool)
    superseded[len(keys) - 1 - from_end] = False
    return superseded


def _latest_by(groups: Integers, times: Int64s) -> Int64s:
    """Return for each item the latest time among those of its group."""
    latest = np.full(int(groups.max(initial=-1)) + 1, np.iinfo(np.int64).min)
    np.maximum.at(latest, groups, times)
    latest_by_item: Int64s = latest[groups]
    return latest_by_item


def _out_of_reach(life: Lifetimes, terms: Terms) -> Mask:
    """Return a mask of instances whose data file VACUUM of this table never deletes."""
    rows = np.flatnonzero(life.removed != NEVER)
    out_of_reach = np.zeros(len(life.added), bool)
    paths = life.take(rows, ["path"]).column(0)
    unusual = np.flatnonzero(flags(joined(pc.match_substring_regex(paths, _UNUSUAL))))
    for row, path in zip(rows[unusual].tolist(), paths.take(int64s(unusual)).to_pylist(), strict=True):
        out_of_reach[row] = _ABSOLUTE.match(path) is not None or is_hidden(path, terms.partition_columns)
    return out_of_reach


def _earliest(start: Int64s, stop: Int64s, rows: Int64s, expiry: Int64s, count: int) -> Risk:
    """Return for each version the smallest expiry of the spans that cover it, and its row.

    A span of n versions is the union of two of length 2^k, k = floor(log2 n); minima of spans of one power of two are
    handed down to their halves, so the cost is that of the spans plus that of versions times log versions.
    """
    order = np.argsort(expiry[rows], kind="stable")
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.arange(len(rows))
    no_row = len(rows)
    levels = max(count.bit_length(), 1)
    best = np.full((levels, count), no_row, np.int64)
    power = np.frexp((stop - start).astype(np.float64))[1].astype(np.int64) - 1
    flat = best.reshape(-1)
    np.minimum.at(flat, power * count + start, ranks)
    np.minimum.at(flat, power * count + stop - (np.int64(1) << power), ranks)
    for level in range(levels - 1, 0, -1):
        half = 1 << (level - 1)
        best[level - 1] = np.minimum(best[level - 1], best[level])
        best[level - 1, half:] = np.minimum(best[level - 1, half:], best[level, : count - half])
    winners = best[0]
    some = winners < no_row
    first = np.full(count, -1, np.int64)
    first[some] = rows[order[winners[some]]]
    since = np.full(count, FOREVER)
    since[some] = expiry[first[some]]
    return Risk(since, first)


def file_times(listing: LogListing) -> dict[int, int]:
    """Return the modification time of each commit's file, raised where it would go backwards."""
    clock, times = -1, {}
    for version, path in listing.commits.items():
        clock = max(path.modified, clock + 1)
        times[version] = clock
    return times
