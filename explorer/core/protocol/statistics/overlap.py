"""The overlap of the files' ranges of a column.

Protocol section: Per-file Statistics. A point lookup must read every file whose range contains the point; the depth is
the number of these files, taken at the bounds themselves, where it changes. Invariants: a file without bounds may
contain any point and is counted separately; files with only nulls contain none.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Mask, Numbers, int64s, numbers
from explorer.core.protocol.statistics.column_facts import BoundValues, ColumnFacts
from explorer.core.protocol.statistics.file_statistics import FileStatistics, StatisticsColumn

__all__ = ["Overlap", "overlap_depth"]


class Overlap(msgspec.Struct, frozen=True):
    """The number of files that cover a point of a column.

    Attributes:
        files: Files with both bounds.
        unbounded: Files that may contain any value, because a bound is unknown.
        average: Mean depth over the minimum of every file with bounds; 1.0 if no ranges overlap, None without any.
        greatest: The most files that cover one point, None without any.
    """

    files: int
    unbounded: int
    average: float | None
    greatest: int | None


def overlap_depth(statistics: FileStatistics, column: StatisticsColumn) -> Overlap:
    """Count the files over each minimum: those that begin at or before it, less those that end before it."""
    facts = ColumnFacts.of(statistics, column)
    bounded = facts.low.known & facts.high.known & ~facts.all_null
    unbounded = int((~bounded & ~facts.all_null).sum())
    if not bounded.any():
        return Overlap(0, unbounded, None, None)
    low, high = _ranks(facts.low.values, facts.high.values, bounded)
    begun = np.searchsorted(np.sort(low), low, side="right")
    ended = np.searchsorted(np.sort(high), low, side="left")
    depth = begun - ended
    return Overlap(int(bounded.sum()), unbounded, float(depth.mean()), int(depth.max()))


def _ranks(low: BoundValues, high: BoundValues, bounded: Mask) -> tuple[Numbers, Numbers]:
    """Return the bounds as numbers of the same order."""
    import pyarrow.compute as pc

    if not isinstance(low, pa.Array):
        return low[bounded], high[bounded]
    places = int64s(np.flatnonzero(bounded))
    both = pa.concat_arrays([low.take(places), high.take(places)])
    ranks, _ = numbers(pc.rank(both, tiebreaker="dense").cast(pa.int64()))
    return ranks[: len(places)], ranks[len(places) :]
