"""Commits of a table: operation, time and author of each, its changes, and the totals after it.

Protocol sections: Commit Provenance Information, In-Commit Timestamps. Invariants: a number that is not in the log is
null, never 0; a file that was only re-masked or re-added is neither added nor removed; a sum is unknown if the value of
one of its files is, or if 64 bits cannot hold the sum over all files: only a damaged log has such a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import Final, TypeAlias, cast

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.actions import CommitInfo, Protocol
from explorer.core.protocol.arrow.arrays import (
    Int32s,
    Int64s,
    Mask,
    bools,
    int64s,
    integers,
    known_int64s,
    mask,
    string_maps,
    strings,
    sums_fit,
)
from explorer.core.protocol.json_values import JsonObject, JsonValue, encode_json
from explorer.core.protocol.schema.edit import schema_without_marks
from explorer.core.protocol.times import in_calendar
from explorer.core.versions.commit_times import BASES
from explorer.core.versions.lifetimes.lifetimes import NEVER, Lifetimes
from explorer.core.versions.provenance import PROVENANCE, BaseState, CommitRecord, Provenance

_COPIED: Final = ("numCopiedRows", "numTargetRowsCopied")
# Digits of a count that fits 64 bits; writers record metrics as text, so they may be anything.
_MOST_DIGITS: Final = 18
_Unmarked = Callable[[str | None], str | None]


class History(Provenance):
    """The recorded commits, ascending, with every file's lifetime.

    Args:
        commits, base, by_catalog, newest_protocol: As of `Provenance`.
        lifetimes: Intervals of all logical files, or a function that makes them at the first need.
        versions: The first readable version and the newest.
        rows: The commits as a table, where that was made before.
        cached: Whether some of it comes from the cache of an earlier reading, not from the log.

    Attributes:
        cached: As given.
    """

    def __init__(
        self,
        commits: Sequence[CommitRecord] | Callable[[], Sequence[CommitRecord]],
        lifetimes: Lifetimes | Callable[[], Lifetimes],
        base: BaseState | None,
        *,
        versions: tuple[int, int],
        by_catalog: bool = False,
        newest_protocol: Protocol | None = None,
        rows: pa.Table | None = None,
        cached: bool = False,
    ) -> None:
        super().__init__(
            commits,
            base,
            first_readable=versions[0],
            latest=versions[1],
            by_catalog=by_catalog,
            newest_protocol=newest_protocol,
        )
        self._lifetimes_or_maker, self._cached_rows = lifetimes, rows
        self.cached = cached

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """Intervals of all logical files."""
        return self._lifetimes_or_maker() if callable(self._lifetimes_or_maker) else self._lifetimes_or_maker

    def table(self, limit: int | None = None) -> pa.Table:
        """Return the commits as a table, newest first; see `explorer.Table.history` for the columns."""
        return self._table.slice(0, limit)

    @cached_property
    def _table(self) -> pa.Table:
        return _table(self) if self._cached_rows is None else self._cached_rows


def _table(history: History) -> pa.Table:
    totals = VersionTotals(history.lifetimes)
    chosen = list(reversed(history.commits))
    at = np.array([record.version for record in chosen], np.int64) - history.lifetimes.first
    infos = [record.info or CommitInfo() for record in chosen]
    copied, _ = integers([_copied(info) for info in infos])
    rewritten, rewritten_known = totals.rows_rewritten

    def known(sums: KnownSums) -> pa.Int64Array:
        return known_int64s(sums[0][at], sums[1][at])

    recorded = record_table(history.commits)
    unmarked = cache(schema_without_marks)  # each text is parsed once, however often it is compared
    schema_changed = _schema_changes(history, unmarked)
    return pa.table(
        {
            **{name: recorded[name] for name in PROVENANCE[:-1]},
            "num_files_added": int64s(totals.files_added[at]),
            "num_files_removed": int64s(totals.files_removed[at]),
            "num_files_remasked": int64s(totals.remasked[at]),
            "bytes_added": known(totals.bytes_added),
            "bytes_removed": known(totals.bytes_removed),
            "rows_added": known(totals.rows_added),
            "rows_removed": known(totals.rows_removed),
            "rows_masked": known(totals.rows_masked),
            "rows_rewritten": known_int64s(rewritten[at] + copied, rewritten_known[at]),
            "num_files": known(totals.files),
            "num_bytes": known(totals.bytes),
            "num_rows": known(totals.rows),
            "num_deleted_rows": known(totals.deleted),
            "metadata_changed": bools([_metadata_changed(history, record, unmarked) for record in chosen]),
            "protocol_changed": bools([_protocol_changed(history, record) for record in chosen]),
            "schema_changed": bools([record.version in schema_changed for record in chosen]),
            "data_change": mask(totals.data_change[at]),
            "change_files": bools([record.change_files for record in chosen]),
            "change_feed": bools(history.change_feed_enabled([record.version for record in chosen])),
            "reason": recorded["reason"],
        }
    )


def record_table(commits: Sequence[CommitRecord]) -> pa.Table:
    """Return operation, time and author of each commit, newest first; the columns are `PROVENANCE`.

    Args:
        commits: The commits, ascending.
    """
    chosen = list(reversed(commits))
    return pa.table(
        {
            **time_columns(
                np.array([record.version for record in chosen], np.int64),
                np.array([record.timestamp for record in chosen], np.int64),
                np.array([record.time_in_commit for record in chosen], bool),
            ),
            **info_columns([record.info or CommitInfo() for record in chosen]),
        }
    )


def time_columns(versions: Int64s, times: Int64s, in_commit: Mask) -> dict[str, pa.Array]:
    """Return the versions and times of commits, as columns of their table.

    Args:
        versions: The versions.
        times: Their times, ms since the epoch.
        in_commit: Whether a time is an in-commit timestamp, or that of the commit's file.
    """
    return {
        "version": int64s(versions),
        "timestamp": int64s(times).view(pa.timestamp("ms", "UTC")),
        "timestamp_basis": strings([BASES[0] if is_in_commit else BASES[1] for is_in_commit in in_commit.tolist()]),
    }


def info_columns(infos: Sequence[CommitInfo]) -> dict[str, pa.Array]:
    """Return the provenance that commits record of themselves, as columns of their table."""
    return {
        "commit_info_timestamp": _writers_times(infos),
        "operation": strings([info.operation for info in infos]),
        "user_name": strings([info.user_name for info in infos]),
        "engine_info": strings([info.engine_info for info in infos]),
        "parameters": string_maps(_all_texts([info.operation_parameters for info in infos])),
        "metrics": string_maps(_all_texts([info.operation_metrics for info in infos])),
        "is_blind_append": bools([info.is_blind_append for info in infos]),
        "reason": strings([info.user_metadata for info in infos]),
    }


def _writers_times(infos: Sequence[CommitInfo]) -> pa.Array:
    """Return the times by the writers' clocks; one that is not a valid time is null (LOG-024)."""
    times = [info.timestamp for info in infos]
    recorded = [time for time in times if time is not None]
    if recorded and not (in_calendar(min(recorded)) and in_calendar(max(recorded))):
        times = [time if time is not None and in_calendar(time) else None for time in times]
    return int64s(times).view(pa.timestamp("ms", "UTC"))


def _metadata_changed(history: History, record: CommitRecord, unmarked: _Unmarked) -> bool:
    """Return whether a commit changed the metadata in force, identity marks aside: writing rows moves those."""
    if record.metadata is None:
        return False
    before = history.metadata_at(record.version - 1)
    if before is None or before == record.metadata:
        return before is None
    schema = unmarked(record.metadata.schema_string)
    same = unmarked(before.schema_string) == schema
    return not same or msgspec.structs.replace(before, schema_string=record.metadata.schema_string) != record.metadata


def _protocol_changed(history: History, record: CommitRecord) -> bool:
    """Return whether a commit changed the protocol in force; the order of features does not matter."""
    if record.protocol is None:
        return False
    before = history.protocol_at(record.version - 1)
    return before is None or _outline(before) != _outline(record.protocol)


def _outline(protocol: Protocol) -> tuple[int, int, frozenset[str], frozenset[str]]:
    readers, writers = frozenset(protocol.reader_features or ()), frozenset(protocol.writer_features or ())
    return protocol.min_reader_version, protocol.min_writer_version, readers, writers


def _schema_changes(history: History, unmarked: _Unmarked) -> set[int]:
    """Return versions whose schema text differs from the one before, identity marks aside; never the first readable."""
    texts = [(version, unmarked(metadata.schema_string)) for version, metadata in history.metadata_changes()]
    return {version for (_, before), (version, after) in pairwise(texts) if before != after}


def _copied(info: CommitInfo) -> int | None:
    metrics = info.operation_metrics
    if not metrics or metrics.keys().isdisjoint(_COPIED):
        return None
    metric_texts = [str(metrics[name]) for name in _COPIED if name in metrics]
    counts = (text for text in metric_texts if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS)
    return sum(map(int, counts))


def _all_texts(values: Sequence[JsonObject | None]) -> Sequence[dict[str, str | None] | None]:
    """Return parameters and metrics as text: strings as they are, anything else as JSON."""
    kinds = set(map(type, chain.from_iterable(map(dict.values, filter(None, values)))))
    if kinds <= {str}:
        return cast(Sequence[dict[str, str | None] | None], values)
    return [None if value is None else {name: _text(item) for name, item in value.items()} for value in values]


def _text(value: JsonValue) -> str | None:
    return value if value is None or isinstance(value, str) else encode_json(value).decode()


KnownSums: TypeAlias = tuple[Int64s, Mask]
"""Sums by version, and a mask of the known ones."""

_MOST: Final = (1 << 63) - 1


class VersionTotals:
    """Sums by version over the instances, indexed from the first recorded version.

    Each is a NumPy array, or where a sum may be unknown a pair: the sums, and a mask of the known ones.
    """

    def __init__(self, lifetimes: Lifetimes) -> None:
        self._life = lifetimes
        self._count = lifetimes.last - lifetimes.first + 1
        life = lifetimes
        previous = life.previous
        replaced = np.zeros(len(life.added), bool)
        replaced[previous[previous >= 0]] = True
        entered = (life.added >= life.first) & (previous < 0)
        left = (life.removed != NEVER) & (life.removed >= life.first) & ~replaced
        remasked = life.remasked
        rows, rows_known = _of_64_bits(*life.rows)
        sizes, sizes_known = _of_64_bits(*life.sizes)
        everything = np.ones(len(life.added), bool)
        masked, masked_known = _of_64_bits(life.masked, everything)
        self.files_added, self.files_removed = self._sum(life.added, entered), self._sum(life.removed, left)
        self.remasked = np.bincount(life.added[remasked] - life.first, minlength=self._count)
        self.bytes_added = self._known(life.added, entered, sizes, sizes_known)
        self.bytes_removed = self._known(life.removed, left, sizes, sizes_known)
        self.rows_added = self._known(life.added, entered, rows, rows_known)
        self.rows_removed = self._known(life.removed, left, rows, rows_known)
        at, before = life.added[remasked] - life.first, previous[remasked]
        unknown = ~(masked_known[remasked] & masked_known[before])
        newly = np.zeros(self._count, np.int64)
        np.add.at(newly, at, masked[remasked] - masked[before])
        self.rows_masked = newly, np.bincount(at[unknown], minlength=self._count) == 0
        rearranged = entered & ~life.data_change
        self.rows_rewritten = self._known(life.added, rearranged, rows, rows_known)
        changed = (entered & life.data_change, left & life.removed_data_change)
        self.data_change = (self._sum(life.added, changed[0]) + self._sum(life.removed, changed[1]) + self.remasked) > 0
        self.files = self._running(np.ones(len(life.added), np.int64), everything)
        self.bytes = self._running(sizes, sizes_known)
        self.rows = self._running(rows, rows_known)
        self.deleted = self._running(masked, masked_known)

    def _sum(self, version: Int32s, chosen: Mask) -> Int64s:
        return np.bincount(version[chosen] - self._life.first, minlength=self._count)

    def _known(self, version: Int32s, chosen: Mask, values: Int64s, known: Mask) -> KnownSums:
        sums = np.zeros(self._count, np.int64)
        np.add.at(sums, version[chosen] - self._life.first, values[chosen])
        return sums, self._sum(version, chosen & ~known) == 0

    def _running(self, values: Int64s, known: Mask) -> KnownSums:
        """Return totals over the live files after each version; unknown before the first readable one."""
        life = self._life
        steps = np.zeros((2, self._count + 2), np.int64)
        start = np.clip(life.added - life.first + 1, 0, self._count)
        end = np.clip(life.removed.astype(np.int64) - life.first + 1, 0, self._count + 1)
        for row, amounts in enumerate((np.where(known, values, 0), (~known).astype(np.int64))):
            np.add.at(steps[row], start, amounts)
            np.add.at(steps[row], end, -amounts)
        sums, missing = np.cumsum(steps, axis=1)[:, 1 : self._count + 1]
        readable = np.arange(life.first, life.last + 1) >= life.readable_from
        return sums, readable & (missing == 0)


def _of_64_bits(values: Int64s, known: Mask) -> KnownSums:
    """Return the values; those too large for their sum to surely fit are unknown."""
    if sums_fit(values):
        return values, known
    amounts = np.abs(values, dtype=np.float64)
    return values, known if amounts.sum() < _MOST else known & (amounts < _MOST // len(values))
