"""Retention: which versions can be read, from when they may be lost, which are lost and why.

Protocol sections: Metadata Cleanup, VACUUM. Invariants: a version is readable as long as its part of the log and all
its files exist; a file counts as missing only after a check; a version is at risk from the first time
at which a clean-up by the table's own properties may delete something that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from datetime import datetime, timedelta
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import RequestError, VersionGap, VersionNotFound
from explorer.core.log.log_segment import LogListing
from explorer.core.protocol.arrow.arrays import int64s, strings
from explorer.core.protocol.table_properties.registry import (
    EXPIRED_LOG_CLEANUP,
    FILE_RETENTION,
    LOG_RETENTION,
)
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.commit_times import moment
from explorer.core.versions.history import History
from explorer.core.versions.retention.expiry import FOREVER, Risk, Terms, data_risk, log_risk, retention_terms
from explorer.core.versions.retention.missing_files import MissingFiles

__all__ = ["version_retention"]

_DAY: Final = 86_400_000
_MOST_GONE: Final = 1_000_000


def version_retention(
    history: History, listing: LogListing, now: datetime, missing: Set[str] | None = None
) -> pa.Table:
    """Say of every version whether it can be read, and until when that is certain.

    Args:
        history: The recorded commits and lifetimes.
        listing: The log.
        now: The present, with a zone.
        missing: Those of `data_locations` at which there is no file; None if nothing was checked.

    Returns:
        One row a version, ascending: version; status (``readable``, ``at risk``: a clean-up now may delete it,
        ``log gone``, ``data gone``); at_risk_from (ms, UTC: from then on it may be deleted; null if nothing in
        the log leads to that, or it is gone); by (the property that sets the time, null without one); reason;
        missing_files (some of the files that are gone, at most `MOST_NAMED`), num_missing_files (how many of the
        version's files cannot be read).

    Raises:
        RequestError: ``now`` has no zone.
        CorruptTable: A property has no readable value.
    """
    if now.tzinfo is None:
        raise RequestError("The present has no zone. Give a time in UTC.")
    life, terms = history.lifetimes, retention_terms(history)
    data, log = data_risk(life, terms), log_risk(listing, life, terms)
    lost = MissingFiles(life, missing or frozenset())
    start = max(0, life.readable_from - _MOST_GONE)
    gone = list(_before(listing, start, life.readable_from))
    words = _Words(history, terms, data, log, lost)
    clock = milliseconds(now)
    since = np.minimum(data.since, log.since)
    readable = [words.row(place, int(since[place]), clock) for place in range(len(since))]
    return _table(start, [*gone, *readable])


class _Row(msgspec.Struct, frozen=True):
    status: str
    since: int | None
    by: str | None
    reason: str
    missing: tuple[str, ...] = ()
    num_missing: int = 0


class _Words:
    """Gives the row of a readable version."""

    def __init__(self, history: History, terms: Terms, data: Risk, log: Risk, lost: MissingFiles) -> None:
        self._history, self._life, self._terms = history, history.lifetimes, terms
        self._data, self._log, self._lost = data, log, lost
        first = np.unique(data.first[data.first >= 0])
        paths = self._life.take(first, ["path"]).column(0).to_pylist()
        self._paths: dict[int, str] = dict(zip(first.tolist(), paths, strict=True))

    def row(self, place: int, since: int, now: int) -> _Row:
        """The row of a version, counted from the first readable one."""
        missing = int(self._lost.count[place])
        if missing:
            names = self._lost.named[place]
            return _Row("data gone", None, None, f"{_files(missing)} of it can no longer be read", names, missing)
        if since == FOREVER:
            return _Row("readable", None, None, self._safe(place))
        by_data = int(self._data.since[place]) <= int(self._log.since[place])
        reason = self._by_data(place) if by_data else self._by_log(place)
        # A tombstone expires after its last millisecond, a checkpoint may be the cut-off at its midnight.
        status = "at risk" if now > since - (not by_data) else "readable"
        return _Row(status, since, FILE_RETENTION.key if by_data else LOG_RETENTION.key, reason)

    def _safe(self, place: int) -> str:
        version = place + self._life.readable_from
        if version == self._life.last:
            return "the newest version"
        if self._terms.log is None:
            return f"none of its files was removed since, and {EXPIRED_LOG_CLEANUP} is false"
        return "none of its files was removed since, and no later checkpoint exists at which its log could be cut off"

    def _by_data(self, place: int) -> str:
        row = int(self._data.first[place])
        removed, kept = int(self._life.removed[row]), _duration(self._terms.files)
        what = "its deletion vector or file" if int(self._life.vector_files[0][row]) >= 0 else "file"
        return f"{what} {self._paths[row]} was removed in version {removed}; VACUUM keeps it for {kept}"

    def _by_log(self, place: int) -> str:
        kept = _duration(self._terms.log or 0)
        return f"the log before the checkpoint of version {int(self._log.first[place])} is kept for {kept}"


def _before(listing: LogListing, start: int, readable_from: int) -> Iterator[_Row]:
    """The versions before the unbroken run that ends at the newest one."""
    checkpoints = {checkpoint.version for checkpoint in listing.checkpoints}
    lacking = None if start == 0 else start - 1
    for version in range(start, readable_from):
        if version in checkpoints:
            lacking = None
        elif version not in listing.commits and lacking is None:
            lacking = version
        if lacking is None or _by_compaction(listing, version):
            yield _Row("at risk", None, None, "commits after it are gone from the log; its files were not checked")
        else:
            yield _Row("log gone", None, None, f"the commit of version {lacking}, which it is rebuilt from, is gone")


def _by_compaction(listing: LogListing, version: int) -> bool:
    """True if a log compaction covers what is gone."""
    if not listing.compactions:
        return False
    try:
        listing.segment(version)
    except (VersionGap, VersionNotFound):
        return False
    return True


def _table(start: int, rows: Sequence[_Row]) -> pa.Table:
    times = [None if row.since is None else _shown(row.since) for row in rows]
    offsets = np.cumsum([0, *(len(row.missing) for row in rows)], dtype=np.int32)
    names = strings([name for row in rows for name in row.missing])
    buffers = [None, pa.py_buffer(offsets)]
    return pa.table(
        {
            "version": int64s(list(range(start, start + len(rows)))),
            "status": strings([row.status for row in rows]),
            "at_risk_from": int64s(times).view(pa.timestamp("ms", "UTC")),
            "by": strings([row.by for row in rows]),
            "reason": strings([row.reason for row in rows]),
            "missing_files": pa.Array.from_buffers(pa.list_(pa.string()), len(rows), buffers, children=[names]),
            "num_missing_files": int64s([row.num_missing for row in rows]),
        }
    )


def _shown(milliseconds: int) -> int:
    """The time, if it is a valid date; an absurd retention must not break what shows the table."""
    moment(milliseconds)
    return milliseconds


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def _duration(milliseconds: int) -> str:
    days, rest = divmod(milliseconds, _DAY)
    if not rest:
        return "1 day" if days == 1 else f"{days} days"
    return str(timedelta(milliseconds=milliseconds))
