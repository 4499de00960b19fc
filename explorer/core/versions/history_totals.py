"""Sums by version over the lifetimes: added, removed and live files.

Invariants: a file that was only re-masked or re-added is neither added nor removed; a sum is unknown if the value of
one of its files is. So is a value so large that 64 bits cannot hold the sum over all files: only a damaged log has one.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np

from explorer.core.protocol.arrow.arrays import Int32s, Int64s, Mask, sums_fit
from explorer.core.versions.lifetimes.lifetimes import NEVER, Lifetimes

__all__ = ["KnownSums", "VersionTotals"]

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
