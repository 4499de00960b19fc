"""The rhythm of commits: how regularly they come, and since when they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.core.protocol.arrow.arrays import Int64s

_FEWEST: Final = 10
"""Commits from which a series has a rhythm."""
_RECENT: Final = 30
"""Gaps that it is taken from, the newest."""
_SHORTEST: Final = 600_000
_LATE: Final = 3


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The rhythm of a regular series of commits; durations and times in ms.

    Attributes:
        usual, longest: The median and the longest of the newest gaps.
        last: When the last commit came.
    """

    usual: int
    longest: int
    last: int

    def silent_for(self, now: int) -> int | None:
        """Return how long it has been silent, if that is over three times as long as ever before; None otherwise."""
        late = now - self.last
        return late if late > _LATE * max(self.longest, self.usual) else None

    def next_after(self, now: int) -> int | None:
        """Return when the next commit is expected; None if the last one is overdue."""
        expected = self.last + self.usual
        return expected if expected >= now else None


def rhythm_of(times: Int64s) -> Rhythm | None:
    """Return the rhythm of a series of commits; None if it has none: too few, irregular, or minutes apart.

    Args:
        times: When they came, ms since the epoch, ascending.
    """
    if len(times) < _FEWEST:
        return None
    gaps = np.diff(times[-_RECENT - 1 :])
    usual = int(np.median(gaps))
    if usual < _SHORTEST or float(np.quantile(gaps, 0.9)) > 1.5 * usual:
        return None
    return Rhythm(usual, int(gaps.max()), int(times[-1]))


def silences(times: Int64s, rhythm: Rhythm, now: int) -> list[tuple[int, int]]:
    """Return the gaps between commits, and since the last, in which a regular series was silent: from when to when.

    Args:
        times: When they came, ms since the epoch, ascending.
        rhythm: Its rhythm.
        now: ms since the epoch.
    """
    gaps = np.diff(times)
    spans = [(int(times[place]), int(times[place + 1])) for place in np.flatnonzero(gaps > _LATE * rhythm.usual)]
    return [*spans, (rhythm.last, now)] if rhythm.silent_for(now) is not None else spans
