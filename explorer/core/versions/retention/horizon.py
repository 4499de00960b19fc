"""How far back a retention reaches: what a VACUUM now would leave readable and what it would free, for every retention.

Protocol section: VACUUM. Invariants: a file goes if what needed it ended longer ago than the retention; a version, and
the changes of a version, die with the first file that they need. Every step between two retentions that differ in
anything is here, so the curves are exact. What VACUUM took already cannot die again, and is not freed again.
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
from explorer.core.protocol.arrow.arrays import Int64s, Mask, exact_sum, known_int64s, mask, strings
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.lifetimes import Lifetimes
from explorer.core.versions.retention.expiry import FOREVER, LastNeeded, data_risk
from explorer.core.versions.retention.folder_look import FolderLook
from explorer.core.versions.retention.freed_files import Freed, freed_by_folder, freed_by_log
from explorer.core.versions.retention.lasting import (
    Lasting,
    TakenFiles,
    feed_lasting,
    recorded_by_folder,
    recorded_by_log,
)
from explorer.core.versions.retention.missing_files import MissingFiles
from explorer.core.versions.retention.version_states import VersionRisks

__all__ = ["Horizon", "VersionRange", "WhatIf", "horizon"]

VersionRange = tuple[int, int]
"""Successive versions, both ends included."""


class WhatIf(msgspec.Struct, frozen=True):
    """What a VACUUM now with a retention does.

    Attributes:
        retention: The retention, in ms.
        kept, feed_kept: How many versions, and changes of versions, can be read afterwards.
        versions, feed_versions: Those that can be read now and not afterwards.
        files, bytes: What it frees, all of it.
        sizes_unknown: Of how many of these files the bytes are not known, so that they are not counted.
        dates: One row a version, ascending: version; lost_from, feed_lost_from: under this retention VACUUM may take
            it, or its changes, from then on (ms, UTC; null if nothing leads to that, or it is gone); gone, feed_gone:
            true if it is lost already; feed_gone is null where no feed was recorded.
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
    """For every retention: how many versions a VACUUM now leaves readable, and what it frees.

    A retention has the numbers at the last of `retentions` that is not longer.

    Attributes:
        now: The present, ms since the epoch.
        retention: The table's own, ms.
        basis: ``log``: by the log alone, so files that somebody deleted without a record count as there, and files that
            no action names do not count; ``folder``: the folder was listed.
        versions: The versions that the log rebuilds.
        feed: Those in which the change feed was on.
        freed: The files.
        look: What was found in the folder; None if nobody looked.
    """

    now: int
    retention: int
    basis: Literal["log", "folder"]
    versions: Lasting
    feed: Lasting
    freed: Freed
    look: FolderLook | None = None

    def __repr__(self) -> str:
        readable = f"{len(self._kept)} of {len(self.versions.versions)} versions readable"
        return f"Horizon({readable}, retention={self.retention}, basis={self.basis!r})"

    @cached_property
    def retentions(self) -> Int64s:
        """The retentions, in ms, ascending from 0, at which something changes."""
        ages = [np.zeros(1, np.int64), self._kept, self._feed_kept, self._ages]
        return np.unique(np.concatenate(ages))

    @cached_property
    def num_versions(self) -> Int64s:
        """How many versions can be read after a VACUUM with each of `retentions`."""
        found: Int64s = np.searchsorted(self._kept, self.retentions, side="right")
        return found

    @cached_property
    def num_feed_versions(self) -> Int64s:
        """Of how many versions the change feed can be read then."""
        found: Int64s = np.searchsorted(self._feed_kept, self.retentions, side="right")
        return found

    @cached_property
    def num_files(self) -> Int64s:
        """How many files a VACUUM with each of `retentions` deletes."""
        found: Int64s = len(self._ages) - np.searchsorted(self._ages, self.retentions, side="right")
        return found

    @cached_property
    def num_bytes(self) -> Int64s:
        """How many bytes that frees, as far as they are known."""
        return self._bytes_from[len(self._ages) - self.num_files]

    def table(self) -> pa.Table:
        """The curves: retention (ms), versions, feed_versions, files, bytes."""
        columns = (self.retentions, self.num_versions, self.num_feed_versions, self.num_files, self.num_bytes)
        names = ("retention", "versions", "feed_versions", "files", "bytes")
        everywhere = np.ones(len(self.retentions), bool)
        return pa.table({name: known_int64s(column, everywhere) for name, column in zip(names, columns, strict=True)})

    def what_if(self, retention_ms: int | None = None) -> WhatIf:
        """Say what a VACUUM now with a retention takes.

        Args:
            retention_ms: The retention in ms; None for the table's own, or 0 where that is negative.

        Raises:
            RequestError: It is negative.
        """
        retention = max(self.retention, 0) if retention_ms is None else retention_ms
        if retention < 0:
            raise RequestError(f"A retention cannot be negative, as {retention} ms is.", field="retention")
        goes = self._old(retention)
        dying, untold = (each.dying(self.now, retention) for each in (self.versions, self.feed))
        return WhatIf(
            retention=retention,
            kept=len(self._kept) - len(dying),
            feed_kept=len(self._feed_kept) - len(untold),
            versions=_ranges(dying),
            feed_versions=_ranges(untold),
            files=int(goes.sum()),
            bytes=exact_sum(self.freed.sizes[goes & self.freed.known]),
            sizes_unknown=int((goes & ~self.freed.known).sum()),
            dates=self._dates(retention),
        )

    def _old(self, retention: int) -> Mask:
        found: Mask = self.now - self.freed.since > retention
        return found

    def _dates(self, retention: int) -> pa.Table:
        versions, feed = self.versions, self.feed
        places = np.searchsorted(feed.versions, versions.versions)
        where = known_int64s(places, np.isin(versions.versions, feed.versions))
        return pa.table(
            {
                "version": known_int64s(versions.versions, np.ones(len(versions.versions), bool)),
                "lost_from": versions.lost_from(retention).view(pa.timestamp("ms", "UTC")),
                "gone": mask(versions.gone),
                "feed_lost_from": feed.lost_from(retention).take(where).view(pa.timestamp("ms", "UTC")),
                "feed_gone": mask(feed.gone).take(where),
            }
        )

    @cached_property
    def _kept(self) -> Int64s:
        return np.sort(self.versions.least(self.now)[~self.versions.gone])

    @cached_property
    def _feed_kept(self) -> Int64s:
        return np.sort(self.feed.least(self.now)[~self.feed.gone])

    @cached_property
    def _order(self) -> Int64s:
        """The files that nothing needs now, the youngest first."""
        ages = self.now - self.freed.since
        old = np.flatnonzero(ages > 0)
        found: Int64s = old[np.argsort(ages[old], kind="stable")]
        return found

    @cached_property
    def _ages(self) -> Int64s:
        """For how long nothing has needed each of these, ms, ascending."""
        found: Int64s = self.now - self.freed.since[self._order]
        return found

    @cached_property
    def _bytes_from(self) -> Int64s:
        """For each of these the bytes of it and all older ones, and 0 after the last."""
        sizes = np.where(self.freed.known, self.freed.sizes, 0)[self._order]
        return np.concatenate([np.cumsum(sizes[::-1])[::-1], np.zeros(1, np.int64)])


def horizon(history: History, risks: VersionRisks, now: datetime, look: FolderLook | None = None) -> Horizon:
    """Find out what a VACUUM with any retention would do now.

    Args:
        history: The recorded commits and lifetimes.
        risks: What leads to the loss of versions.
        now: The present, with a zone.
        look: What the folder holds; None goes by the log, which is believed in what it records of VACUUM, and by the
            files that are known to be missing.

    Raises:
        RequestError: ``now`` has no zone.
    """
    life, present = history.lifetimes, milliseconds(now)
    if look is None:
        states, needed = risks.at(present), risks.needed
        taken = TakenFiles([vacuum for vacuum in risks.vacuums if vacuum.version > risks.known.now.checked_to])
        missing = MissingFiles(life, risks.known.now.missing).instances
        lost, recorded = taken.mask(needed.first, life.removed) | missing, partial(recorded_by_log, risks, taken)
        freed = freed_by_log(history, risks, needed, taken)
    else:
        states, needed = risks.at(present, look.missing), _with_times(life, risks.needed, look)
        lost, recorded = MissingFiles(life, look.missing).instances, partial(recorded_by_folder, look)
        freed = freed_by_folder(look)
    since = data_risk(life, needed.first).since
    versions = life.readable_from + np.arange(len(since), dtype=np.int64)
    gone = np.isin(versions, states.versions("data gone"))
    return Horizon(
        now=present,
        retention=risks.terms.files,
        basis="log" if look is None else "folder",
        versions=Lasting(versions, since, gone),
        feed=feed_lasting(history, needed.first, lost, recorded),
        freed=freed,
        look=look,
    )


def _with_times(life: Lifetimes, needed: LastNeeded, look: FolderLook) -> LastNeeded:
    """A file is old only once it was written long enough ago, whatever its tombstone says."""
    paths, vectors = needed.paths.copy(), needed.vectors.copy()
    rows = np.flatnonzero(paths != FOREVER)
    paths[rows] = np.maximum(paths[rows], look.modified(life.take(rows, ["path"]).column(0).combine_chunks()))
    files, ids = life.vector_files
    rows = np.flatnonzero(vectors != FOREVER)
    written = look.modified(strings([location(vector) for vector in ids]))
    vectors[rows] = np.maximum(vectors[rows], written[files[rows]])
    return LastNeeded(paths, vectors)


def _ranges(versions: Int64s) -> tuple[VersionRange, ...]:
    """Successive versions together."""
    if not len(versions):
        return ()
    bounds = [0, *(np.flatnonzero(np.diff(versions) != 1) + 1).tolist(), len(versions)]
    return tuple((int(versions[start]), int(versions[stop - 1])) for start, stop in pairwise(bounds))
