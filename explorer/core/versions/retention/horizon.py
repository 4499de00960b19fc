"""The retention horizon: what a VACUUM now would leave readable and what it would free, for every retention period.

Protocol section: VACUUM. Invariants: a file is deleted if its last need ended longer ago than the retention period; a
version, and the changes of a version, are lost with the first file that they need. Every step between two retentions
that differ in anything is here, so the curves are exact. What VACUUM deleted already is not lost or freed again.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property, partial
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrays import Int64s, Mask, exact_sum, joined, known_int64s, mask, strings
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.lifetimes import Lifetimes
from explorer.core.versions.retention.expiry import FOREVER, LastNeeded, data_risk
from explorer.core.versions.retention.missing_files import MissingFiles
from explorer.core.versions.retention.readable_until import (
    FolderScan,
    Freed,
    ReadableUntil,
    TakenFiles,
    feed_readable_until,
    freed_by_log,
    freed_by_scan,
    recorded_by_log,
    recorded_by_scan,
)
from explorer.core.versions.retention.version_states import VersionRisks

VersionRange = tuple[int, int]
"""Consecutive versions, both ends included."""


class WhatIf(msgspec.Struct, frozen=True):
    """The effect of a VACUUM now with a retention period.

    Attributes:
        retention: The retention period, in ms.
        kept, feed_kept: How many versions, and changes of versions, can be read afterwards.
        versions, feed_versions: Those that can be read now and not afterwards.
        files, bytes: All that it frees.
        sizes_unknown: The number of these files with unknown size, which are not counted in ``bytes``.
        dates: One row a version, ascending: version; lost_from, feed_lost_from: when VACUUM may first delete it, or
            its changes, under this retention (ms, UTC; null if never, or already lost); gone, feed_gone: true if it is
            lost already; feed_gone is null where no feed was recorded.
    """

    retention: int
    kept: int
    feed_kept: int
    versions: tuple[VersionRange, ...]
    feed_versions: tuple[VersionRange, ...]
    files: int
    bytes: int
    sizes_unknown: int
    dates: pa.Table

    def __repr__(self) -> str:
        return f"WhatIf(retention={self.retention}, {self.kept} versions kept, {self.files} files freed)"


class Horizon(msgspec.Struct, frozen=True, dict=True):
    """For every retention period: how many versions a VACUUM now leaves readable, and the files it frees.

    A retention period has the numbers at the last of `retentions` that is not longer.

    Attributes:
        now: The present, ms since the epoch.
        retention: The table's own, ms.
        basis: ``log``: by the log alone, so files that were deleted without a record count as existing, and orphaned
            files do not count; ``folder``: the folder was listed.
        versions: The versions that the log rebuilds.
        feed: Those in which the change feed was enabled.
        freed: The files.
        look: The scan of the folder; None without one.
    """

    now: int
    retention: int
    basis: Literal["log", "folder"]
    versions: ReadableUntil
    feed: ReadableUntil
    freed: Freed
    scan: FolderScan | None = None

    def __repr__(self) -> str:
        readable = f"{len(self._version_limits)} of {len(self.versions.versions)} versions readable"
        return f"Horizon({readable}, retention={self.retention}, basis={self.basis!r})"

    @cached_property
    def retentions(self) -> Int64s:
        """The retention periods, in ms, ascending from 0, at which something changes."""
        ages = [np.zeros(1, np.int64), self._version_limits, self._feed_limits, self._ages]
        return np.unique(np.concatenate(ages))

    @cached_property
    def num_versions(self) -> Int64s:
        """The number of readable versions after a VACUUM with each of `retentions`."""
        counts: Int64s = np.searchsorted(self._version_limits, self.retentions, side="right")
        return counts

    @cached_property
    def num_feed_versions(self) -> Int64s:
        """The number of versions with a readable change feed then."""
        counts: Int64s = np.searchsorted(self._feed_limits, self.retentions, side="right")
        return counts

    @cached_property
    def num_files(self) -> Int64s:
        """The number of files that a VACUUM with each of `retentions` deletes."""
        counts: Int64s = len(self._ages) - np.searchsorted(self._ages, self.retentions, side="right")
        return counts

    @cached_property
    def num_bytes(self) -> Int64s:
        """The bytes that this frees, as far as they are known."""
        return self._bytes_from[len(self._ages) - self.num_files]

    def table(self) -> pa.Table:
        """Return the curves: retention (ms), versions, feed_versions, files, bytes."""
        columns = (self.retentions, self.num_versions, self.num_feed_versions, self.num_files, self.num_bytes)
        names = ("retention", "versions", "feed_versions", "files", "bytes")
        everywhere = np.ones(len(self.retentions), bool)
        return pa.table({name: known_int64s(column, everywhere) for name, column in zip(names, columns, strict=True)})

    def what_if(self, retention_ms: int | None = None) -> WhatIf:
        """Return the effect of a VACUUM now with a retention period.

        Args:
            retention_ms: The period in ms; None for the table's own, or 0 where that is negative.

        Raises:
            RequestError: It is negative.
        """
        retention = max(self.retention, 0) if retention_ms is None else retention_ms
        if retention < 0:
            raise RequestError(f"A retention period cannot be negative, as {retention} ms is.", field="retention")
        freed = self._old(retention)
        lost, lost_feed = (each.dying(self.now, retention) for each in (self.versions, self.feed))
        return WhatIf(
            retention=retention,
            kept=len(self._version_limits) - len(lost),
            feed_kept=len(self._feed_limits) - len(lost_feed),
            versions=_ranges(lost),
            feed_versions=_ranges(lost_feed),
            files=int(freed.sum()),
            bytes=exact_sum(self.freed.sizes[freed & self.freed.known]),
            sizes_unknown=int((freed & ~self.freed.known).sum()),
            dates=self._dates(retention),
        )

    def _old(self, retention: int) -> Mask:
        old: Mask = self.now - self.freed.since > retention
        return old

    def _dates(self, retention: int) -> pa.Table:
        versions, feed = self.versions, self.feed
        places = np.searchsorted(feed.versions, versions.versions)
        where = known_int64s(places, np.isin(versions.versions, feed.versions))
        return pa.table(
            {
                "version": known_int64s(versions.versions, np.ones(len(versions.versions), bool)),
                "lost_from": versions.lost_from(retention).view(pa.timestamp("ms", "UTC")),
                "gone": mask(versions.lost),
                "feed_lost_from": feed.lost_from(retention).take(where).view(pa.timestamp("ms", "UTC")),
                "feed_gone": mask(feed.lost).take(where),
            }
        )

    @cached_property
    def _version_limits(self) -> Int64s:
        return np.sort(self.versions.least(self.now)[~self.versions.lost])

    @cached_property
    def _feed_limits(self) -> Int64s:
        return np.sort(self.feed.least(self.now)[~self.feed.lost])

    @cached_property
    def _order(self) -> Int64s:
        """The files that nothing needs now, the youngest first."""
        ages = self.now - self.freed.since
        old = np.flatnonzero(ages > 0)
        order: Int64s = old[np.argsort(ages[old], kind="stable")]
        return order

    @cached_property
    def _ages(self) -> Int64s:
        """For how long nothing has needed each of these, ms, ascending."""
        ages: Int64s = self.now - self.freed.since[self._order]
        return ages

    @cached_property
    def _bytes_from(self) -> Int64s:
        """For each of these the bytes of it and all older ones, and 0 after the last."""
        sizes = np.where(self.freed.known, self.freed.sizes, 0)[self._order]
        return np.concatenate([np.cumsum(sizes[::-1])[::-1], np.zeros(1, np.int64)])


def horizon(history: History, risks: VersionRisks, now: datetime, scan: FolderScan | None = None) -> Horizon:
    """Compute the effect of a VACUUM now with every retention period.

    Args:
        now: The present, with a zone.
        look: The scan of the folder; None goes by the log, by its records of VACUUM, and by the files that are known
            to be missing.

    Raises:
        RequestError: ``now`` has no zone.
    """
    life, present = history.lifetimes, milliseconds(now)
    if scan is None:
        states, needed = risks.at(present), risks.needed
        taken = TakenFiles([vacuum for vacuum in risks.vacuums if vacuum.version > risks.known.now.checked_to])
        missing = MissingFiles(life, risks.known.now.missing).instances
        lost, recorded = taken.mask(needed.first, life.removed) | missing, partial(recorded_by_log, risks, taken)
        freed = freed_by_log(history, risks, needed, taken)
    else:
        states, needed = risks.at(present, scan.missing), _with_times(life, risks.needed, scan)
        lost, recorded = MissingFiles(life, scan.missing).instances, partial(recorded_by_scan, scan)
        freed = freed_by_scan(scan)
    since = data_risk(life, needed.first).since
    versions = life.readable_from + np.arange(len(since), dtype=np.int64)
    lost_versions = np.isin(versions, states.versions("data gone"))
    return Horizon(
        now=present,
        retention=risks.terms.files,
        basis="log" if scan is None else "folder",
        versions=ReadableUntil(versions, since, lost_versions),
        feed=feed_readable_until(history, needed.first, lost, recorded),
        freed=freed,
        scan=scan,
    )


def _with_times(life: Lifetimes, needed: LastNeeded, scan: FolderScan) -> LastNeeded:
    """Return the needed times with the times of the files: a file is old only once it was written long enough ago."""
    paths, vectors = needed.paths.copy(), needed.vectors.copy()
    rows = np.flatnonzero(paths != FOREVER)
    paths[rows] = np.maximum(paths[rows], scan.modified(joined(life.take(rows, ["path"]).column(0))))
    files, ids = life.vector_files
    rows = np.flatnonzero(vectors != FOREVER)
    written = scan.modified(strings([location(vector) for vector in ids]))
    vectors[rows] = np.maximum(vectors[rows], written[files[rows]])
    return LastNeeded(paths, vectors)


def _ranges(versions: Int64s) -> tuple[VersionRange, ...]:
    """Return consecutive versions as ranges."""
    if not len(versions):
        return ()
    bounds = [0, *(np.flatnonzero(np.diff(versions) != 1) + 1).tolist(), len(versions)]
    return tuple((int(versions[start]), int(versions[stop - 1])) for start, stop in pairwise(bounds))
